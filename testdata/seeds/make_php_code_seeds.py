#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeds for php_code_fuzz: a file with the functions that are looked at and the table of them, of the shapes that
compilers give them; with a cold part of execute_ex() and without, and one whose code names the variables.
"""
import pathlib
import struct

SEEDS = pathlib.Path(__file__).with_name("php_code")
INIT_FUNCTION, INIT_CODE, CALL, EXECUTE, RESUME, HANDLER, LOOP, COLD = (
    0x200, 0x220, 0x240, 0x280, 0x2c0, 0x300, 0x340, 0x400)
POINTER, HALT_OP, CURRENT, TABLE, BYTES = 0x800, 0x820, 488, 0x600, 0x900
FUNCTIONS = [(INIT_FUNCTION, 32), (INIT_CODE, 32), (CALL, 64), (EXECUTE, 64), (RESUME, 64), (HANDLER, 64), (LOOP, 128),
             (COLD, 32)]
NOP, RETURN, DISPATCH = b"\x90", b"\xc3", b"\x41\xff\x27"


def headers():
    elf = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, BYTES, BYTES, 0x1000)
    table = struct.pack("<IIQQQQQQ", 0x6474e550, 4, TABLE, TABLE, TABLE, 0x200, 0x200, 4)
    return elf + load + table


class Code:
    """Bytes that are put one behind the other."""

    def __init__(self, memory, at, is_named=False):
        self.memory = memory
        self.at = at
        self.is_named = is_named

    def put(self, *parts):
        for part in parts:
            self.memory[self.at:self.at + len(part)] = part
            self.at += len(part)
        return self

    def relative(self, opcode, target):
        return self.put(opcode + struct.pack("<i", target - self.at - len(opcode) - 4))

    def call(self, target):
        return self.relative(b"\xe8", target)

    # mov %rax,488(%rbx); mov %rax,executor_globals+488(%rip)
    def store(self):
        return self.relative(b"\x48\x89\x05", POINTER + CURRENT) if self.is_named else self.put(
            b"\x48\x89\x83" + struct.pack("<I", CURRENT))

    # lea zend_execute_ex(%rip),%rax; call *(%rax); call *zend_execute_ex(%rip)
    def call_loop(self):
        if self.is_named:
            return self.relative(b"\xff\x15", POINTER)
        return self.relative(b"\x48\x8d\x05", POINTER).put(b"\xff\x10")


def seed(is_cold, is_named):
    def code(at):
        return Code(memory, at, is_named)

    memory = bytearray(BYTES)
    memory[0:len(headers())] = headers()
    code(INIT_FUNCTION).put(NOP).store().put(NOP, RETURN)
    code(INIT_CODE).store().put(RETURN)
    code(CALL).call(INIT_FUNCTION).put(NOP).call_loop().put(RETURN)
    code(EXECUTE).store().call_loop().put(RETURN)
    code(RESUME).store().put(NOP).call_loop().put(NOP).store().put(RETURN)
    # Has the loop return, behind a call, or goes on.
    code(HANDLER).put(b"\x74\x01", RETURN).store().call(INIT_CODE).relative(b"\x4c\x8d\x3d", HALT_OP).put(RETURN)
    loop = code(LOOP)
    end = LOOP + 0x40
    loop.relative(b"\x48\x8d\x05", end).relative(b"\x48\x89\x05", HALT_OP)
    loop.store().call(HANDLER)
    loop.relative(b"\x0f\x84", COLD + 1 if is_cold else end).relative(b"\xe9", end)
    loop.put(DISPATCH)
    code(end).put(b"\x48\x83\xc4\x08", b"\x5b", RETURN)
    code(COLD).put(NOP).call(HANDLER).relative(b"\xe9", end)
    Code(memory, TABLE).put(bytes([1, 0x1b, 3, 0x3b]), struct.pack("<iI", 0, len(FUNCTIONS)))
    for i, (start, size) in enumerate(FUNCTIONS):
        description = TABLE + 0x80 + 16 * i
        Code(memory, TABLE + 12 + 8 * i).put(struct.pack("<ii", start - TABLE, description - TABLE))
        Code(memory, description).put(struct.pack("<iiii", 12, 0, start - description - 8, size))
    return struct.pack("<8H", LOOP, POINTER, INIT_FUNCTION, INIT_CODE, CALL, EXECUTE, RESUME, CURRENT) + memory


def main():
    SEEDS.mkdir(exist_ok=True)
    for name in ("cold", "whole", "named"):
        (SEEDS / name).write_bytes(seed(name == "cold", name == "named"))


if __name__ == "__main__":
    main()
