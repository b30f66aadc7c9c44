#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes testdata/seeds/php_jit: memory with a function of PHP, the traces of its loop, and code like that of the JIT."""
import pathlib
import struct

BASE = 0x100000
FUNCTION, FILE_NAME = BASE, BASE + 0x100
OPCODES = BASE + 0x200
TABLE = BASE + 0x500
EXITS = BASE + 0x800
USING, VARIABLE = BASE + 0xa00, BASE + 0xa80
LEAVING, GROUP = BASE + 0xb00, BASE + 0xc00
CODE, SIDE, COLD = BASE + 0x1000, BASE + 0x1200, BASE + 0x1300
BYTES = 0x1800
EXIT_COUNT = 8
# Opcode and line of each instruction; jumps: operand and distance.
OPS = [(63, 1), (22, 2), (42, 3), (1, 4), (3, 4), (130, 5), (20, 3), (44, 3), (62, 6)]
# Bytes of a trace and of an exit, offset of the count of instructions.
VERSIONS = {"8.2": (1, 88, 32, 80, 152), "8.4": (0, 104, 48, 96, 168)}


class Memory:
    """The memory, and where the next code goes."""

    def __init__(self, version):
        self.number, self.trace_bytes, self.exit_bytes, self.last, self.file = VERSIONS[version]
        self.bytes = bytearray(BYTES)
        self.next = CODE

    def put(self, address, layout, *values):
        struct.pack_into("<" + layout, self.bytes, address - BASE, *values)

    def emit(self, text):
        code = bytes.fromhex(text)
        self.bytes[self.next - BASE:self.next - BASE + len(code)] = code
        self.next += len(code)

    def emit_to(self, text, target):
        self.emit(text)
        self.put(self.next, "i", target - self.next - 4)
        self.next += 4

    def branch(self, target):
        self.emit("4801c8")
        self.emit_to("0f80", target)

    def call(self, index):
        self.emit_to("4c8d3d", OPCODES + 32 * index)
        self.emit("4983ef20")
        self.emit("4d893e")
        self.emit_to("e8", USING)

    def put_function(self):
        for i, (opcode, line) in enumerate(OPS):
            self.put(OPCODES + 32 * i + 24, "IB", line, opcode)
        self.put(OPCODES + 32 * 2 + 8, "i", 32 * 4)
        self.put(OPCODES + 32 * 7 + 12, "i", -32 * 4)
        self.put(FUNCTION + self.last, "I", len(OPS))
        self.put(FUNCTION + (self.last & ~7) + 8, "Q", OPCODES)
        self.put(FUNCTION + self.file, "Q", BASE)

    def put_traces(self):
        for i, code, size, function, opline in (1, CODE, 0x100, FUNCTION, OPCODES + 32 * 6), (2, SIDE, 0x20, 0, 0):
            self.put(TABLE + i * self.trace_bytes, "12I4Q", i, i, 0, i, EXIT_COUNT, 0, size, 0, 0, 0, 0, 0, function, opline, code, EXITS)
        self.put(TABLE, "I", 3)
        for i, index in enumerate((8, 3, 4, 6, 20, 6, 8, 8)):
            self.put(EXITS + i * self.exit_bytes, "QQI", OPCODES + 32 * index, FUNCTION, i in (0, 5))
        self.next = GROUP
        for i in range(EXIT_COUNT):
            self.emit("6a%02xeb%02x" % (i, 4 * (EXIT_COUNT - 1 - i)))
        self.emit("4883042400")
        self.emit_to("e9", LEAVING)
        self.next = LEAVING
        self.emit("48b8" + struct.pack("<Q", USING).hex() + "ffd0")
        self.next = USING
        self.emit("4801c8")
        self.emit_to("488b05", VARIABLE)
        self.put(VARIABLE, "Q", TABLE)

    def put_trace_code(self, foreign):
        self.next = CODE
        self.branch(SIDE)
        self.branch(GROUP + 4)
        if foreign:
            self.branch(GROUP + 16)
        self.branch(GROUP + 8)
        self.call(6)
        self.branch(GROUP + 12)
        self.branch(CODE)
        self.emit_to("e9", GROUP + 20)

    def put_function_code(self):
        self.next = COLD
        self.call(5)
        self.emit_to("e9", CODE)
        self.next = CODE
        self.branch(COLD)
        self.branch(CODE)
        self.call(4)
        self.branch(COLD)
        self.emit_to("e9", SIDE)
        self.next = SIDE
        self.emit("4801c8")
        self.call(7)


def main():
    folder = pathlib.Path(__file__).parent / "php_jit"
    folder.mkdir(exist_ok=True)
    for version, numbers in VERSIONS.items():
        for kind in "trace", "foreign", "function":
            memory = Memory(version)
            memory.put_function()
            if kind == "function":
                memory.put_function_code()
            else:
                memory.put_traces()
                memory.put_trace_code(kind == "foreign")
            for flags, offset in (0, 3), (0, 0x14), (1, 0x14), (2, 0x2d):
                head = struct.pack("<BBBH", numbers[0], flags, 0, CODE - BASE + offset)
                (folder / ("%s-%s-%d-%d" % (version, kind, flags, offset))).write_bytes(head + memory.bytes)


if __name__ == "__main__":
    main()
