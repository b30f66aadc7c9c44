#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 3600 s
"""The agent on kernels of arm64, as qemu_test.py: 5.10, with chains of tail calls, and 6.1."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import qemu_test

if __name__ == "__main__":
    qemu_test.main(sys.argv[1:] or ["bookworm-arm64", "bullseye-arm64"])
