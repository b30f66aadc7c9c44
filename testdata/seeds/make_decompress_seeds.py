#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes testdata/seeds/decompress/, the first inputs of decompress_fuzz."""

import lzma
import pathlib
import struct
import subprocess
import zlib

SEEDS = pathlib.Path(__file__).resolve().parent / "decompress"
TEXT = b"".join(b"%d squared is %d\n" % (i, i * i) for i in range(300))
SIZE = struct.pack("<H", len(TEXT))


def zstd(data):
    return subprocess.run(["zstd", "-c", "-q"], input=data, stdout=subprocess.PIPE,
                          check=True).stdout


def main():
    SEEDS.mkdir(exist_ok=True)
    seeds = {
        "zlib": b"\0" + SIZE + zlib.compress(TEXT),
        "zstd": b"\1" + SIZE + zstd(TEXT),
        "xz": b"\2\xff\xff" + lzma.compress(TEXT),
        "xz_two_streams": b"\2\xff\xff" + lzma.compress(TEXT) + lzma.compress(TEXT, preset=0),
        "xz_bomb": b"\2\xff\xff" + lzma.compress(bytes(1 << 24)),
        "debug_link": b"\3program.debug\0\0\0" + struct.pack("<I", 0x12345678),
    }
    for name, content in seeds.items():
        (SEEDS / name).write_bytes(content)


main()
