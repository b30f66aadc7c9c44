#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""The innermost frame of a program in PHP has the right line: ten lines of known cost have their shares of the samples,
interpreted and with the JIT.

usage: php_lines_test.py [PHP...] [MODE...]

A MODE is one of phps.MODES.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import phps
from harness import IS_LONG, Tap, need_root
from line_shares import check_lines
from runtimes import newest_or_all

TARGET = os.path.join(phps.TARGETS, "lines", "loops.php")
SHORT_MODES = ["tracing"]
FUNCTION = r"loops"
LOOP = r"i < (?:(\d+) \* )?\$n;"


def main():
    tap = Tap()
    need_root(tap, "lines of programs in PHP")
    chosen = phps.chosen(sys.argv[1:], IS_LONG)
    if not chosen.every:
        tap.skip("lines of programs in PHP", "no PHP is at hand: scripts/fetch_phps.py")
    modes = chosen.modes or (phps.MODES if IS_LONG else SHORT_MODES)
    for php in chosen.runtimes or newest_or_all(chosen.every.values(), IS_LONG):
        for mode in [mode for mode in php.modes if mode in modes]:
            check_lines(tap, "%s %s" % (php, mode), php.mode_command(mode, TARGET), TARGET, FUNCTION, LOOP)
    tap.finish()


if __name__ == "__main__":
    main()
