#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeds for ruby_names_fuzz: a sequence with its body, strings and tables of lines, and a method entry with the table of
symbols, of each version.

Offsets as in ruby_layout.c. Both objects begin the memory; a flag of the first word says which one it is. The method entry
that a sequence runs for is at OWNER; its class is a singleton class without an array.
"""
import pathlib
import struct

SEEDS = pathlib.Path(__file__).with_name("ruby_names")
SEQUENCE, METHOD = 0x1a | 7 << 12, 0x1a | 6 << 12
BODY, LABEL, PATHS, PATH, LINES, INDEX, DEFINITION, ARRAYS, ARRAY, TEXT, LONG = (
    0x100, 0x200, 0x240, 0x280, 0x2c0, 0x340, 0x500, 0x540, 0x580, 0x5c0, 0x600)
OWNER, CLASS, CLASS_PATH, OUTER, OUTER_BODY = 0x680, 0x6c0, 0x780, 0x7c0, 0x800
POSITIONS = 100
VERSIONS = ["3.3", "3.1", "3.4"]


def seed(version, flags, label, with_array):
    is_new = version != "3.1"
    memory = bytearray(2560)

    def put(address, *words):
        struct.pack_into("<%dQ" % len(words), memory, address, *words)

    def put_string(address, text):
        if is_new:
            put(address, 5, 0, len(text))
        else:
            put(address, 5 | len(text) << 14, 0)
        start = address + (24 if is_new else 16)
        memory[start:start + len(text)] = text

    put(0, flags, 0, BODY if flags == SEQUENCE else DEFINITION)
    put(80, ARRAYS)
    put(BODY, POSITIONS << 32 | 1, 0x700)
    put(BODY + 64, PATHS)
    put(BODY + 80, LABEL, 10)
    put(BODY + (112 if is_new else 120), LINES, 0, 3, INDEX)
    put_string(LABEL, label)
    if label == b"":
        put(LABEL, 5 | 1 << 13, 0, 60, LONG)
        memory[LONG:LONG + 60] = "näive \udc80 ".encode("utf-8", "surrogateescape").ljust(60, b"x")
    put_string(PATHS, b"a.rb")
    if with_array:
        put(PATHS, 7 | 1 << 13 | 2 << 15, 0, PATH, 8)
        put_string(PATH, b"b.rb")
    for i, line in enumerate((11, 12, 13)):
        struct.pack_into("<III", memory, LINES + 12 * i, line, 0, 0)
    ranks = [1 + (position >= 20) for position in range(54)]
    for word in range(6):
        put(INDEX + 8 * word, sum(rank << 7 * i for i, rank in enumerate(ranks[9 * word:9 * word + 9])))
    put(INDEX + 48, 2, 0, 1 << 6)
    put(DEFINITION + 32, 3 << 4 if not with_array else 3)
    put(ARRAYS, 7 | 1 << 13 | 2 << 15, 0, ARRAY)
    put(ARRAY, 7 if with_array else 7 | 1 << 13 | 8 << 15, 0, 8, 8, TEXT)
    put(TEXT, TEXT)
    if version == "3.4":
        put(0 if flags == METHOD else OWNER, METHOD, 0, DEFINITION, 0, CLASS)
        # A block in a method; or a method, which is around itself.
        put(BODY, POSITIONS << 32 | (2 if with_array else 1))
        put(BODY + 160, OUTER, OUTER)
        put(OUTER, SEQUENCE, 0, OUTER_BODY)
        put(OUTER_BODY, 1)
        put(OUTER_BODY + 80, LABEL)
        put(OUTER_BODY + 168, OUTER)
        put(CLASS, 2 if with_array else 2 | 1 << 13)
        put(CLASS + 128, CLASS, 0, 1 << 40, CLASS_PATH)
        put_string(CLASS_PATH, b"Foo::Bar")
    return bytes([VERSIONS.index(version), 0, 30]) + memory


def main():
    SEEDS.mkdir(exist_ok=True)
    for version in VERSIONS:
        for flags, kind in ((SEQUENCE, "sequence"), (METHOD, "method")):
            for label in (b"block in foo", b""):
                for with_array in (True, False):
                    name = "%s-%s-%d-%d" % (version, kind, len(label), with_array)
                    (SEEDS / name).write_bytes(seed(version, flags, label, with_array))


if __name__ == "__main__":
    main()
