#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the sources that programs may need, found by what they include: a header stands for the source of its name.

    needed_sources.py FILE.c...

Paths are from the root, where it must be run. A program whose link lacks something includes no header of that source's
name. Generated files are left out.
"""

import os
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include "([^"]+)"', re.MULTILINE)


def needed_sources(programs):
    """The .c files in the closure of @programs, themselves included, sorted."""
    found, left = set(), list(programs)
    while left:
        path = left.pop()
        if path in found or path.startswith("build/") or not os.path.exists(path):
            continue
        found.add(path)
        with open(path, encoding="utf-8") as file:
            left += INCLUDE.findall(file.read())
        if path.endswith(".h"):
            left.append(path[:-2] + ".c")
    return sorted(path for path in found if path.endswith(".c"))


if __name__ == "__main__":
    print("\n".join(needed_sources(sys.argv[1:])))
