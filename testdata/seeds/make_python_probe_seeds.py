#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeds for python_probe_fuzz: files of old and new versions, for both machines."""

import pathlib
import struct

SEEDS = pathlib.Path(__file__).with_name("python_probe")
# Bits of what is not exported.
NO_DEFAULT, NO_EX, NO_VERSION, NO_GET_VERSION, NO_LIST, NO_RUNTIME = (1 << i for i in range(6))
ARM64, HAS_SIZE, GNU_HASH = 1, 2, 4
OLD = NO_VERSION | NO_RUNTIME


def seed(choice, missing, version, text=b"", where=0):
    return (struct.pack("<BHI", choice, missing, version) + text.ljust(16, b"\0")
            + bytes([where]) + bytes(16))


def main():
    seeds = {
        "text_2_7": seed(GNU_HASH, OLD | NO_DEFAULT | NO_LIST, 0, b"2.7.18"),
        "text_3_8": seed(GNU_HASH | HAS_SIZE, OLD, 0, b"3.8.10"),
        "text_3_10": seed(0, OLD | NO_LIST, 0, b"3.10.13+", 2),
        "text_absolute": seed(GNU_HASH, OLD | NO_LIST, 0, b"3.9.2", 16 | 3),
        "text_arm64": seed(GNU_HASH | ARM64, OLD | NO_LIST, 0, b"3.9.2", 1),
        "text_bad": seed(GNU_HASH, OLD, 0, b"3.9.x"),
        "text_unknown": seed(GNU_HASH, OLD, 0, b"3.5.1"),
        "number_3_11": seed(GNU_HASH, NO_LIST, 0x030b09f0),
        "number_3_13": seed(GNU_HASH, NO_LIST, 0x030d00f0),
        "number_3_13_arm64": seed(GNU_HASH | ARM64, NO_LIST, 0x030d00f0),
        "no_runtime": seed(GNU_HASH, NO_RUNTIME, 0x030d00f0),
        "no_version": seed(GNU_HASH, NO_VERSION | NO_GET_VERSION, 0),
        "texts": b"\0PYTHONHASHSEED\0Fatal Python error: ",
        "texts_cut": b"YTHONHASHSEED\0PYTHONHASHSEED\0atal Python error: ",
        "number_unknown": seed(GNU_HASH, 0, 0x03200000),
    }
    SEEDS.mkdir(exist_ok=True)
    for name, data in seeds.items():
        (SEEDS / name).write_bytes(data)


main()
