#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeds for ruby_loop_fuzz: a file with a loop, the function that executes instructions, callers and their table, of the
shapes that compilers give them; with a return that takes a jump, and one that goes straight on.
"""
import pathlib
import struct

SEEDS = pathlib.Path(__file__).with_name("ruby_loop")
LABEL, EVAL, ID2STR, ENTRY, DURING, TRANSFER, EXEC, CORE = (
    0x200, 0x220, 0x240, 0x260, 0x2a0, 0x2c0, 0x300, 0x400)
CORE_BYTES, TABLE = 9 << 10, 0x3000
FUNCTIONS = [(LABEL, 16), (EVAL, 32), (ID2STR, 16), (ENTRY, 32), (EXEC, 64), (CORE, CORE_BYTES)]
BYTES = 0x3400


def jump(opcode, at, target):
    return opcode + struct.pack("<i", target - at - len(opcode) - 4)


def headers():
    elf = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, BYTES, BYTES, 0x1000)
    table = struct.pack("<IIQQQQQQ", 0x6474e550, 4, TABLE, TABLE, TABLE, 0x200, 0x200, 4)
    return elf + load + table


def seed(is_jumping):
    memory = bytearray(BYTES)

    def put(at, *parts):
        for part in parts:
            memory[at:at + len(part)] = part
            at += len(part)
        return at

    put(0, headers())
    # mov 16(%rdi),%rax; mov 80(%rax),%rax; ret
    put(LABEL, b"\x48\x8b\x47\x10\x48\x8b\x40\x50\xc3")
    put(EVAL, jump(b"\xe8", EVAL, ENTRY), jump(b"\xe9", EVAL + 5, EXEC))
    put(ID2STR, jump(b"\xe9", ID2STR, ENTRY))
    # cmp %edi,0x100(%rip); mov 0x109(%rip),%rdi; ret
    put(ENTRY, b"\x39\x3d\x00\x01\x00\x00\x48\x8b\x3d\x09\x01\x00\x00\xc3")
    # lea 0x100(%rip),%rax, or mov; mov (%rax),%rax; mov 0x510(%rax),%rax; movzbl 20(%rax),%eax; shr $5,%al; ret
    put(DURING, b"\x48\x8d" if is_jumping else b"\x48\x8b", b"\x05\x00\x01\x00\x00\x48\x8b\x00\x48\x8b\x80\x10\x05\x00\x00",
        b"\x0f\xb6\x40\x14\xc0\xe8\x05\xc3")
    # push of six registers, or room for them and mov; mov %rsp,(%rdi)
    put(TRANSFER, b"\x55\x53\x41\x54\x41\x55\x41\x56\x41\x57\x48\x89\x27" if is_jumping else
        bytes.fromhex("f30f1efa4883ec3048896c242848895c24204c896424184c896c24104c897424084c893c24488927"))
    at = put(EXEC, jump(b"\xe8", EXEC, CORE), b"\x85\xf6")
    # je over a nop, or jne out; mov %rax,24(%rdi); ret
    at = put(at, b"\x74\x01\x90" if is_jumping else b"\x75\x05")
    put(at, b"\x48\x89\x47\x18\xc3")
    # mov 16(%rdi),%r15; mov %r15,16(%rbx); je to the end
    put(CORE, b"\x4c\x8b\x7f\x10\x4c\x89\x7b\x10", jump(b"\x0f\x84", CORE + 8, CORE + CORE_BYTES - 8),
        b"\x90" * (CORE_BYTES - 22), b"\x48\x83\xc4\x08\x5b\x41\x5f\xc3")
    put(TABLE, bytes([1, 0x1b, 3, 0x3b]), struct.pack("<iI", 0, len(FUNCTIONS)))
    for i, (start, size) in enumerate(FUNCTIONS):
        description = TABLE + 0x80 + 16 * i
        put(TABLE + 12 + 8 * i, struct.pack("<ii", start - TABLE, description - TABLE))
        put(description, struct.pack("<iiii", 12, 0, start - description - 8, size))
    return struct.pack("<6H", EXEC, EVAL, EVAL + 10, LABEL if is_jumping else ID2STR, DURING, TRANSFER) + memory


def main():
    SEEDS.mkdir(exist_ok=True)
    for is_jumping in (True, False):
        (SEEDS / ("jump" if is_jumping else "straight")).write_bytes(seed(is_jumping))


if __name__ == "__main__":
    main()
