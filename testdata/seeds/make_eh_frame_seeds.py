#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes testdata/seeds/eh_frame/, the first inputs of eh_frame_fuzz.

They come from the assembly below, which uses every kind of call frame information that compilers,
linkers and hand-written code on Linux have, put together by gcc (x86-64) and clang (arm64).
"""

import pathlib
import struct
import subprocess
import tempfile

SEEDS = pathlib.Path(__file__).resolve().parent / "eh_frame"

COMMON = """
    .text
plain:
    .cfi_startproc
    .zero 4
    .cfi_def_cfa_offset 16
    .cfi_offset FP, -16
    .zero 4
    .cfi_def_cfa_register FP
    .cfi_remember_state
    .zero 400
    .cfi_restore_state
    .zero 70000
    .cfi_restore FP
    .cfi_def_cfa SP, 8
    .zero 4
    .cfi_endproc
odd:
    .cfi_startproc
    .cfi_signal_frame
    .cfi_undefined LR
    .zero 4
    .cfi_same_value FP
    .zero 4
    .cfi_register LR, 1
    .zero 4
    .cfi_escape 0x14, 6, 4
    .zero 4
    .cfi_escape 0x2e, 0x10
    .cfi_escape 0x2f, 6, 2
    .cfi_escape 0x11, 6, 0x7e
    .cfi_escape 0x12, 7, 0x78
    .cfi_escape 0x13, 0x78
    .cfi_escape 0x15, 6, 0x7e
    .zero 4
    .cfi_endproc
"""

X86_ONLY = """
plt:
    .cfi_startproc
    .cfi_escape 0x0f, 0x0b, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
    .zero 64
    .cfi_endproc
deref:
    .cfi_startproc
    .cfi_escape 0x0f, 5, 0x77, 8, 6, 0x23, 8
    .cfi_escape 0x10, 6, 2, 0x76, 0
    .zero 8
    .cfi_escape 0x0f, 6, 0x92, 3, 8, 6, 0x38, 0x1c
    .zero 8
    .cfi_escape 0x16, 16, 2, 0x77, 0
    .zero 8
    .cfi_endproc
constants:
    .cfi_startproc
    .cfi_escape 0x0f, 0x2d, 0x77, 8, 0x08, 8, 0x22, 0x09, 0xf8, 0x1c, 0x0a, 8, 0, 0x22, 0x0b, 8, 0, 0x22
    .cfi_escape 0x0c, 8, 0, 0, 0, 0x22, 0x0d, 8, 0, 0, 0, 0x22, 0x0e, 8, 0, 0, 0, 0, 0, 0, 0, 0x22
    .cfi_escape 0x10, 8, 0x22, 0x11, 8, 0x22, 0x96
    .zero 8
    .cfi_escape 0x0f, 8, 0x77, 8, 0x71, 0, 0x38, 0x1e, 0x22, 6
    .zero 8
    .cfi_endproc
restore_rt:
    .cfi_startproc
    .cfi_signal_frame
    .cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6
    .cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0
    .cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1
    .zero 8
    .cfi_endproc
    .cfi_startproc
    .cfi_personality 0x9b, personality
    .cfi_lsda 0x1b, plain
    .zero 8
    .cfi_endproc
    .data
personality:
    .quad 0
"""

ARM64_ONLY = """
    .cfi_startproc
    .cfi_b_key_frame
    .zero 4
    .cfi_negate_ra_state
    .cfi_def_cfa_offset 32
    .cfi_offset w30, -24
    .cfi_offset w29, -32
    .zero 4
    .cfi_endproc
"""


def assemble(folder, compiler, text, names, output):
    for name, register in names.items():
        text = text.replace(name + ",", register + ",").replace(name + "\n", register + "\n")
    source = folder / "seed.s"
    source.write_text(text)
    subprocess.run([*compiler, "-o", folder / output, source], check=True)
    return (folder / output).read_bytes()


def sections(elf):
    """{name: (address, offset, size)} of an ELF file."""
    offset, = struct.unpack_from("<Q", elf, 40)
    count, names = struct.unpack_from("<HH", elf, 60)
    headers = [struct.unpack_from("<IIQQQQ", elf, offset + 64 * i) for i in range(count)]
    start = headers[names][4]
    return {elf[start + header[0]:elf.index(b"\0", start + header[0])].decode():
            (header[3], header[4], header[5]) for header in headers}


def fields(kind, elf, text_address):
    address, offset, size = sections(elf)[".eh_frame"]
    return (struct.pack("<BIIIB", kind, address, text_address, 0x20000, 0) +
            elf[offset:offset + size])


def main():
    SEEDS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        x86 = assemble(folder, ["gcc", "-shared", "-nostdlib", "-s", "-Wl,-z,noseparate-code"],
                       COMMON + X86_ONLY, {"FP": "rbp", "SP": "rsp", "LR": "rip"}, "x86.so")
        arm64 = assemble(folder, ["clang", "--target=aarch64-linux-gnu", "-c"],
                         COMMON + ARM64_ONLY, {"FP": "x29", "SP": "sp", "LR": "x30"}, "arm64.o")
        table = sections(x86)
        _, offset, size = table[".eh_frame_hdr"]
        (SEEDS / "fields_x86").write_bytes(fields(0, x86, table[".text"][0]))
        (SEEDS / "fields_arm64").write_bytes(fields(1, arm64, 0))
        (SEEDS / "header").write_bytes(b"\3" + x86[offset:offset + size])
        # The code is zeroes: with all of it the file would be too long for a good seed.
        short = assemble(folder, ["gcc", "-shared", "-nostdlib", "-s", "-Wl,-z,noseparate-code"],
                         (COMMON + X86_ONLY).replace("70000", "300"),
                         {"FP": "rbp", "SP": "rsp", "LR": "rip"}, "short.so")
        (SEEDS / "elf").write_bytes(b"\2" + short)
        debug = assemble(folder, ["gcc", "-shared", "-nostdlib", "-Wl,-z,noseparate-code"],
                         ".cfi_sections .debug_frame\n" + (COMMON + X86_ONLY).replace("70000", "300"),
                         {"FP": "rbp", "SP": "rsp", "LR": "rip"}, "debug.so")
        (SEEDS / "debug_frame").write_bytes(b"\2" + debug)
        stripped = bytearray(short)
        stripped[40:48] = bytes(8)
        stripped[60:64] = bytes(4)
        (SEEDS / "elf_without_sections").write_bytes(b"\2" + stripped)


if __name__ == "__main__":
    main()
