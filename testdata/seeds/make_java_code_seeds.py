#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeds for java_code_fuzz: the code cache of interpreters/java/tests/made_code.h with a compiled method in it,
and the method's name, folded into 4 KiB: addresses count modulo that.
"""
import pathlib
import struct

SEEDS = pathlib.Path(__file__).with_name("java_code")
BASE = 0x7000000
STATICS, ARRAY, ARRAY_DATA, HEAP, MAP, CODE = 0x100, 0x140, 0x180, 0x200, 0x800, 0x4000
SEGMENT = 16
BLOB = CODE + SEGMENT * 64 + 16
METHOD, CONST_METHOD, CONSTANTS, KLASS, SYMBOLS, NAME = 0xc00, 0xc40, 0xd00, 0xe00, 0xf00, 0xfc0
PLACE = SEGMENT * 64 + 16 + 0xa8


# Of the blob: debug information, where the rest of the memory leaves room.
RECORDS, SCOPES, METADATA = 0xa10, 0xa80, 0xaa0
LINES = bytes([0xff, 0, 20, 4 << 3 | 2, 0xff, 32, 0xc0, 6, 0])


def seed(class_name, first_bytes):
    memory = bytearray(4096)

    def put(offset, form, *values):
        struct.pack_into("<" + form, memory, offset % 4096, *values)

    put(STATICS, "QQQ", BASE + ARRAY, BASE + HEAP, BASE + CODE)
    put(ARRAY, "QQ", 1, BASE + ARRAY_DATA)
    put(ARRAY_DATA, "Q", BASE + HEAP)
    put(HEAP, "QQQQQ", BASE + CODE, 0, 0, BASE + CODE + 0x8000, BASE + MAP)
    put(HEAP + 64, "I", 6)
    memory[MAP:MAP + 512] = b"\xff" * 512
    memory[MAP + SEGMENT:MAP + SEGMENT + 21] = bytes(range(21))
    put(BLOB - 8, "B", 1)
    put(BLOB, "QIHxxIHxxIIQIBBxxi", BASE + NAME, 0x500, 0x80, 6, 15, 0x400, 0xa0, BASE + METHOD,
        77, 4, 0, -1)
    put(BLOB + 56, "Q", BASE + BLOB + 0xa0)
    put(BLOB + 64, "IIIIQ", RECORDS - 0x410, RECORDS + 64 - 0x410, SCOPES - 0x410,
        METADATA - 0x410, BASE + BLOB)
    for index, (place, scope) in enumerate(((-1, 0), (4, 1), (12, 7), (0x7fffffff, 0))):
        put(RECORDS + 16 * index, "iI", place, scope)
    memory[SCOPES + 1:SCOPES + 4] = bytes([0, 1, 6])
    memory[SCOPES + 7:SCOPES + 10] = bytes([1, 1, 3])
    put(METADATA, "Q", BASE + METHOD)
    put(CONST_METHOD + 24, "IH", 12, 1)
    memory[CONST_METHOD + 48 + 20:CONST_METHOD + 48 + 20 + len(LINES)] = LINES
    put(NAME, "8s", b"nmethod")
    put(METHOD + 8, "Q", BASE + CONST_METHOD)
    put(CONST_METHOD + 8, "QHHH", BASE + CONSTANTS, 20, 3, 4)
    put(CONSTANTS + 8, "QIH", BASE + KLASS, 5, 3)
    symbols = SYMBOLS
    for place, text in ((KLASS + 16, class_name), (CONSTANTS + 24 + 24, b"gr\xc3\xb6\xc3\x9fe"),
                        (CONSTANTS + 24 + 32, b"(I\xe2\x82\xac)V")):
        put(place, "Q", BASE + symbols)
        put(symbols + 4, "H", len(text))
        memory[symbols + 6:symbols + 6 + len(text)] = text
        symbols += 6 + len(text)
    return first_bytes + struct.pack("<H", PLACE) + memory


def main():
    SEEDS.mkdir(exist_ok=True)
    (SEEDS / "method").write_bytes(seed(b"a/B", b"\xff\0"))
    (SEEDS / "hidden").write_bytes(seed(b"a/B$$Lambda+0x00007f3c2c000a00", b"\0\2"))
    (SEEDS / "scopes_25").write_bytes(seed(b"a/B", b"\0\14"))
    (SEEDS / "one_heap").write_bytes(seed(b"\xed\xa0\xbd\xed\xb8\x80\xc0\x80", b"\0\1"))


if __name__ == "__main__":
    main()
