#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeds for perl_names_fuzz: subs with a glob and with a name of their own, of packages of either version.

Offsets as in ebpf/abi/perl.h. The sub begins the memory, of 2 KiB; the file's name is at 0x700.
"""
import pathlib
import struct

SEEDS = pathlib.Path(__file__).with_name("perl_names")
BODY, GLOB, GLOB_BODY, NAME, STASH, STASH_BODY, PACKAGE, BUCKETS, NAMES, FILE = (
    0x080, 0x100, 0x180, 0x200, 0x300, 0x380, 0x480, 0x500, 0x600, 0x700)
IS_NAMED, IS_LEXICAL, HAS_AUX = 0x8000, 0x10000, 0x2000000


def seed(is_old, flags, name, is_utf8, kind):
    memory = bytearray(2048)

    def put(address, *words):
        struct.pack_into("<%dQ" % len(words), memory, address, *words)

    def put_name(address, text, flag):
        struct.pack_into("<II", memory, address, 77, len(text))
        memory[address + 8:address + 8 + len(text)] = text
        memory[address + 8 + len(text) + 1] = flag

    put(0, BODY)
    put(BODY + 32, STASH)
    put(BODY + 56, NAME if flags & IS_NAMED else GLOB)
    struct.pack_into("<I", memory, BODY + 92, flags)
    put(GLOB, GLOB_BODY)
    put(GLOB_BODY + 32, NAME, STASH)
    put(STASH, STASH_BODY, 0 if kind == "none" else HAS_AUX << 32, BUCKETS)
    put(STASH_BODY + 24, 7)
    aux = BUCKETS + 64 if is_old else STASH_BODY + 32
    put(aux, NAMES if kind == "list" else PACKAGE)
    struct.pack_into("<i", memory, aux + 28, 2 if kind == "list" else 0)
    put(NAMES, PACKAGE)
    put_name(NAME, name, is_utf8)
    put_name(PACKAGE, b"Shop::Cart", 0)
    text = b"/srv/shop/lib/Shop/Cart.pm" if kind == "one" else b"(eval 12)"
    memory[FILE:FILE + len(text)] = text
    return bytes([is_old, 0, 12]) + memory


def main():
    SEEDS.mkdir(exist_ok=True)
    for is_old in (False, True):
        for flags in (0, IS_NAMED, IS_NAMED | IS_LEXICAL):
            for kind in ("one", "list", "none"):
                for is_utf8, name in ((0, b"na\xefve"), (1, "näive".encode())):
                    (SEEDS / ("%d-%x-%s-%d" % (is_old, flags, kind, is_utf8))).write_bytes(
                        seed(is_old, flags, name, is_utf8, kind))


if __name__ == "__main__":
    main()
