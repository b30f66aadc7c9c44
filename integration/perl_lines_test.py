#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""The innermost frame of a program in Perl has the right line: ten lines of known cost have their shares of the samples.

usage: perl_lines_test.py [PERL...]
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perls
from attached_samples import sample_attached
from harness import IS_LONG, Program, Tap, need_root
from line_shares import SECONDS_MAX, costs, judge_lines

TARGET = os.path.join(perls.TARGETS, "lines", "loops.pl")
CPU_SECONDS = 6
APPROXIMATE_PERCENT = 5


def test_lines(tap, perl):
    """The shares of one version."""
    with Program(*perl.command(TARGET)) as program:
        result = sample_attached([program], SECONDS_MAX, "-with-lines", cpu_seconds=CPU_SECONDS)
    wrong, note = judge_lines(result.stacks, re.compile(r"main::loops \(%s:(\d+)\)" % re.escape(TARGET)),
                              costs(TARGET, r"i < (?:(\d+) \* )?\$n\)"), APPROXIMATE_PERCENT)
    tap.ok(not wrong, "%s: lines have their shares" % perl, note, *wrong)


def main():
    tap = Tap()
    need_root(tap, "lines of programs in Perl")
    chosen = perls.chosen(sys.argv[1:], IS_LONG)
    if not chosen.every:
        tap.skip("lines of programs in Perl", "no Perl is at hand: scripts/fetch_perls.py")
    every = list(chosen.every.values())
    for perl in chosen.runtimes or (every if IS_LONG else [max(every, key=lambda perl: perl.version)]):
        test_lines(tap, perl)
    tap.finish()


if __name__ == "__main__":
    main()
