#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the newest binutils and elfutils of Debian into a root file system of their own,
~/.cache/allframes/readers: their addr2line reads DWARF 5 and split DWARF, which that of an older machine does not.
Prints its path. What is there already stays.
"""
import os
import pathlib
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fetch_packages

ROOT = pathlib.Path.home() / ".cache/allframes/readers"


def fetch():
    """The root."""
    if not ROOT.exists():
        new = ROOT.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        fetch_packages.make_root("amd64", "sid", ["binutils", "elfutils"], new)
        new.rename(ROOT)
    return ROOT


if __name__ == "__main__":
    print(fetch())
