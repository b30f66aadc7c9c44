#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a seed of vm_structs_fuzz.c: of the tables of a running JVM what java_layout.c asks for.

usage: make_vm_structs_seeds.py PID SEED
"""
import os
import re
import struct
import subprocess
import sys

BASE = 0x10000
# As enum vm_symbol.
SYMBOLS = ["Structs", "StructEntryTypeNameOffset", "StructEntryFieldNameOffset",
           "StructEntryTypeStringOffset", "StructEntryIsStaticOffset", "StructEntryOffsetOffset",
           "StructEntryAddressOffset", "StructEntryArrayStride", "Types",
           "TypeEntryTypeNameOffset", "TypeEntrySizeOffset", "TypeEntryArrayStride",
           "IntConstants", "IntConstantEntryNameOffset", "IntConstantEntryValueOffset",
           "IntConstantEntryArrayStride"]
LAYOUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../interpreters/java/java_layout.c")


class Process:
    """Memory of a JVM."""

    def __init__(self, pid):
        self._memory = open("/proc/%d/mem" % pid, "rb", buffering=0)
        with open("/proc/%d/maps" % pid) as maps:
            line = next(line for line in maps if line.rstrip().endswith("libjvm.so"))
        self._bias = int(line.split("-")[0], 16)
        listed = subprocess.run(["nm", "-D", "--defined-only", line.split()[-1]],
                                stdout=subprocess.PIPE, check=True, text=True).stdout
        self._symbols = {re.sub("@.*", "", name): int(address, 16) for address, _, name in
                         map(str.split, listed.splitlines())}

    def read(self, address, size):
        self._memory.seek(address)
        return self._memory.read(size)

    def word(self, address):
        return struct.unpack("<Q", self.read(address, 8))[0]

    def symbol(self, name):
        return self.word(self._bias + self._symbols["gHotSpotVM" + name])

    def string(self, address):
        return self.read(address, 256).split(b"\0")[0] if address else None


class Image:
    """The seed: words of the symbols, a version, tables, strings."""

    def __init__(self):
        self.content = bytearray(8 * len(SYMBOLS) + 8)

    def add(self, content):
        self.content += bytes(-len(self.content) % 8)
        self.content += content
        return BASE + len(self.content) - len(content)

    def string(self, text):
        return self.add(text + b"\0") if text is not None else 0


def entries(process, table, stride, name):
    address = process.symbol(table)
    while process.word(address + process.symbol(name)):
        yield bytearray(process.read(address, process.symbol(stride)))
        address += process.symbol(stride)


def copy_table(process, image, names, stride, wanted):
    """Entries of a table, with the strings in @names (offsets), of which @wanted has the first ones."""
    offsets = [process.symbol(name) for name in names]
    copied = bytearray()
    for entry in entries(process, names[0].partition("Entry")[0] + "s", stride, names[0]):
        texts = [process.string(struct.unpack_from("<Q", entry, at)[0]) for at in offsets]
        if not wanted(texts):
            continue
        for at, text in zip(offsets, texts):
            struct.pack_into("<Q", entry, at, image.string(text))
        if texts[-2:-1] == [b"_vm_major_version"]:
            version = process.word(struct.unpack_from(
                "<Q", entry, process.symbol("StructEntryAddressOffset"))[0])
            struct.pack_into("<Q", image.content, 8 * len(SYMBOLS), version)
            struct.pack_into("<Q", entry, process.symbol("StructEntryAddressOffset"),
                             BASE + 8 * len(SYMBOLS))
        copied += entry
    return image.add(copied + bytes(process.symbol(stride)))


def main():
    process = Process(int(sys.argv[1]))
    image = Image()
    with open(LAYOUT) as source:
        asked = {text.encode() for text in re.findall(r'"([^"]*)"', source.read())}
    values = {name: process.symbol(name) for name in SYMBOLS}
    values["Structs"] = copy_table(
        process, image, SYMBOLS[1:4], "StructEntryArrayStride",
        lambda texts: texts[0] in asked and texts[1] in asked)
    values["Types"] = copy_table(process, image, SYMBOLS[9:10], "TypeEntryArrayStride",
                                 lambda texts: texts[0] in asked)
    values["IntConstants"] = copy_table(process, image, SYMBOLS[13:14],
                                        "IntConstantEntryArrayStride",
                                        lambda texts: texts[0] in asked)
    struct.pack_into("<%dQ" % len(SYMBOLS), image.content, 0, *values.values())
    with open(sys.argv[2], "wb") as seed:
        seed.write(image.content)


if __name__ == "__main__":
    main()
