#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeds for php_names_fuzz: functions in PHP, with and without a class and a name, and in C, of either version.

Offsets as in php_layout.c. The function begins the memory.
"""
import pathlib
import struct

SEEDS = pathlib.Path(__file__).with_name("php_names")
NAME, FILE, CLASS, CLASS_NAME, OPCODES = 0x200, 0x300, 0x400, 0x500, 0x600
# last, opcodes, filename, line_start
LAYOUTS = {"8.2": (80, 88, 152, 160), "8.4": (96, 104, 168, 176)}


def seed(version, kind, name, has_class):
    memory = bytearray(2048)

    def put(address, *words):
        struct.pack_into("<%dQ" % len(words), memory, address, *words)

    def put_string(address, text):
        put(address + 16, len(text))
        memory[address + 24:address + 24 + len(text)] = text

    last, opcodes, file, line = LAYOUTS[version]
    put(0, kind, NAME if name else 0, CLASS if has_class else 0)
    if kind != 1:
        put(last, 20)
        put(opcodes, OPCODES)
        put(file, FILE)
        put(line, 14 << 32 | 10)
    put(CLASS + 8, CLASS_NAME)
    put_string(NAME, name)
    put_string(FILE, b"/srv/shop/lib/a_rather_long_name_of_a_file.php")
    put_string(CLASS_NAME, b"Base@anonymous\0/srv/shop.php:12$0")
    return bytes([version == "8.2", 0, 16 + kind]) + memory


def main():
    SEEDS.mkdir(exist_ok=True)
    for version in LAYOUTS:
        for kind in (1, 2, 4):
            for name in (b"", b"{closure}", "näive \udc80 name".encode("utf-8", "surrogateescape").ljust(60, b"x")):
                for has_class in (True, False):
                    (SEEDS / ("%s-%d-%d-%d" % (version, kind, len(name), has_class))).write_bytes(
                        seed(version, kind, name, has_class))


if __name__ == "__main__":
    main()
