#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks whether a program has what makes faults harder to use: position-independent code, relocations that are read-only
when it runs, a stack without code, canaries, checked copies, and marked targets of jumps in our own objects. An exit
status of 1 says what is missing.

usage: check_hardening.py PROGRAM OBJECT_OR_ARCHIVE
"""
import platform
import re
import subprocess
import sys

FEATURES = {"x86_64": ("IBT", "SHSTK"), "aarch64": ("BTI", "PAC")}


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], check=True, text=True, stdout=subprocess.PIPE).stdout


def missing(program, made_object):
    """Yields what @program lacks, or @made_object, which is a part of it: libraries may have some of that, too."""
    headers, dynamic = readelf("-hl", program), readelf("-d", program)
    symbols, notes = readelf("-s", made_object), readelf("-n", made_object)
    stack = re.search(r"GNU_STACK(?:\s+0x\w+){5}\s+(\w+)", headers)
    if not re.search(r"Type:\s+DYN", headers) or "PIE" not in dynamic:
        yield "a position-independent program (-pie)"
    if "GNU_RELRO" not in headers or "BIND_NOW" not in dynamic:
        yield "read-only relocations (-z relro -z now)"
    if not stack or "E" in stack[1]:
        yield "a stack without code (-z noexecstack)"
    if "__stack_chk_fail" not in symbols:
        yield "canaries (-fstack-protector-strong)"
    if not re.search(r"__(?:memcpy|snprintf|read)_chk", symbols):
        yield "checked copies (-D_FORTIFY_SOURCE)"
    for feature in FEATURES[platform.machine()]:
        if not re.search(r"\b%s\b" % feature, notes):
            yield "marked targets of jumps (%s)" % feature


def main():
    found = list(missing(*sys.argv[1:]))
    for text in found:
        print("%s lacks %s" % (sys.argv[1], text))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
