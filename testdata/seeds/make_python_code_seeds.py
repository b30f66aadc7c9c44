#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeds for python_code_fuzz: a code object with its strings and line table, per version.

Offsets as in python_layouts.c; the names lie behind the object, at places that fit every version.
"""

import pathlib
import struct

SEEDS = pathlib.Path(__file__).with_name("python_code")
# Version index: first line, filename, name, qualname, line table, code, ascii bytes, bytes data.
LAYOUTS = {
    0: (96, 80, 88, 0, 104, 32, None, 36), 1: (36, 96, 104, 0, 112, 40, 48, 32),
    4: (40, 104, 112, 0, 120, 48, 48, 32), 5: (40, 104, 112, 0, 120, 48, 48, 32),
    6: (72, 112, 120, 128, 136, 184, 48, 32), 7: (68, 112, 120, 128, 136, 192, 40, 32),
}
# _Py_DebugOffsets of 3.13, by the number of the word.
OFFSETS_3_13 = {2: 0, 23: 72, 29: 8, 30: 0, 31: 56, 33: 70, 35: 112, 36: 120, 37: 128, 38: 136,
                39: 68, 43: 200, 65: 16, 66: 32, 68: 32, 69: 16, 70: 40}
TABLE = bytes([0x80, 0, 0xd9, 3, 1, 2, 0xf3, 0x81, 0x42, 1, 1, 1, 0xe8, 2, 0xfb, 0xff, 4])


def string(text, width, ascii_bytes, compact_bytes, kind, is_compact=True):
    is_ascii = is_compact and kind == 1 and ascii_bytes != compact_bytes
    state = kind << 2 | is_compact << 5 | is_ascii << 6 | 1 << 7
    header = struct.pack("<QQQQI", 1, 0x1000, len(text) // width, 77, state)
    return header.ljust(ascii_bytes if is_ascii else compact_bytes, b"\0") + text


def seed(index, layout, kinds, offsets=b""):
    first_line, filename, name, qualname, table, code, ascii_bytes, data = layout
    memory = bytearray(2048)
    memory[:len(offsets)] = offsets[:0]
    base = 0x10000
    memory[first_line:first_line + 4] = struct.pack("<I", 10)
    for number, (place, kind) in enumerate(zip((filename, name, qualname or code), kinds)):
        at = 400 + number * 200
        text = "na\u00efve".encode({1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[kind])
        if ascii_bytes is None:
            text = struct.pack("<QQQ", 1, 0x1000, 7).ljust(data, b"\0") + b"na\xc3\xafve\xff"
        else:
            compact = 72 if ascii_bytes == 48 else 56
            text = string(text, kind, ascii_bytes, compact, kind)
        memory[at:at + len(text)] = text
        memory[place:place + 8] = struct.pack("<Q", base + at)
    lines = struct.pack("<QQQ", 1, 0x1000, len(TABLE)).ljust(data, b"\0") + TABLE
    memory[1200:1200 + len(lines)] = lines
    memory[table:table + 8] = struct.pack("<Q", base + 1200)
    return bytes([index, 0, 0, 4]) + bytes(memory)


def main():
    SEEDS.mkdir(exist_ok=True)
    for index, layout in LAYOUTS.items():
        for kinds in ((1, 2, 4), (4, 1, 2)):
            (SEEDS / f"version_{index}_{kinds[0]}").write_bytes(seed(index, layout, kinds))
    words = [0] * 128
    for index, value in OFFSETS_3_13.items():
        words[index] = value
    offsets = b"xdebugpy" + struct.pack("<Q", 0x030d00f0) + struct.pack("<126Q", *words[2:])
    for index in (8, 9, 10):
        table = bytearray(offsets)
        table[8:16] = struct.pack("<Q", (0x030d + index - 8) << 16)
        (SEEDS / f"offsets_{index}").write_bytes(bytes([index, 0, 0, 1]) + bytes(table))


main()
