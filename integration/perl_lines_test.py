#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""The innermost frame of a program in Perl has the right line: ten lines of known cost have their shares of the samples.

usage: perl_lines_test.py [PERL...]
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perls
from harness import IS_LONG, Tap, need_root
from line_shares import check_lines
from runtimes import newest_or_all

TARGET = os.path.join(perls.TARGETS, "lines", "loops.pl")
FUNCTION = r"main::loops"
LOOP = r"i < (?:(\d+) \* )?\$n\)"


def main():
    tap = Tap()
    need_root(tap, "lines of programs in Perl")
    chosen = perls.chosen(sys.argv[1:], IS_LONG)
    if not chosen.every:
        tap.skip("lines of programs in Perl", "no Perl is at hand: scripts/fetch_perls.py")
    for perl in chosen.runtimes or newest_or_all(chosen.every.values(), IS_LONG):
        check_lines(tap, str(perl), perl.command(TARGET), TARGET, FUNCTION, LOOP)
    tap.finish()


if __name__ == "__main__":
    main()
