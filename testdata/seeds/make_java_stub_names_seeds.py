#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of java_stub_names_fuzz.c, which says where things are in them: lists of 9 and 8.

usage: make_java_stub_names_seeds.py DIRECTORY
"""
import os
import struct
import sys

HEAP, OTHERS = 0x7f0000100000, 0x7f0000300000
BLOCK, CODE = 0xc00, 0xc50
NAMES = [b"forward exception", b"call_stub", b"sha256_implCompress", b"", b"not\ntext"]


def make(is_8, ends_at=0):
    """A seed: a list that @is_8 of Java 8, of a process that is gone with the read @ends_at."""
    memory = bytearray(0x1000)

    def put(at, form, *values):
        struct.pack_into("<" + form, memory, at, *values)

    put(0, "4Q", OTHERS + 0x140, HEAP, OTHERS + 0x100, OTHERS + 0x700)
    memory[0x800:0x820] = bytes([255] * 24 + list(range(8)))
    memory[BLOCK + 8] = 1
    put(BLOCK + 16, "QIHHIHHII", 0, 0x300, 0x38, 0, 0, 0, 0, 0x200, CODE - BLOCK - 16)
    put(0x400, "13s", b"StubRoutines\0")
    for i, name in enumerate(NAMES):
        at, text = 0x100 + 0x40 * i, 0x420 + 0x20 * i
        memory[text:text + len(name)] = name
        following = OTHERS + at + 0x40 if i + 1 < len(NAMES) else 0
        start = HEAP + CODE + 0x20 * i
        put(at, "3Q", following, OTHERS + 0x400, OTHERS + text)
        put(at + 24 + 8 * is_8, "QQ", start, start + 0x18 + 0x10 * (i == 3))
    return struct.pack("<H", ends_at) + memory


if __name__ == "__main__":
    for seed, content in {"9": make(False), "8": make(True), "gone": make(False, 12)}.items():
        with open(os.path.join(sys.argv[1], seed), "wb") as file:
            file.write(content)
