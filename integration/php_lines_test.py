#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""The innermost frame of a program in PHP has the right line: ten lines of known cost have their shares of the samples,
interpreted and with the JIT.

usage: php_lines_test.py [PHP...] [MODE...]

A MODE is one of phps.MODES.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import phps
from attached_samples import sample_attached
from harness import IS_LONG, Program, Tap, need_root
from line_shares import SECONDS_MAX, costs, judge_lines

TARGET = os.path.join(phps.TARGETS, "lines", "loops.php")
SHORT_MODES = ["tracing"]
CPU_SECONDS = 6
APPROXIMATE_PERCENT = 5


def test_lines(tap, php, mode):
    """The shares of one version in one mode."""
    with Program(*php.mode_command(mode, TARGET)) as program:
        result = sample_attached([program], SECONDS_MAX, "-with-lines", cpu_seconds=CPU_SECONDS)
    wrong, note = judge_lines(result.stacks, re.compile(r"loops \(%s:(\d+)\)" % re.escape(TARGET)),
                              costs(TARGET, r"i < (?:(\d+) \* )?\$n;"), APPROXIMATE_PERCENT)
    tap.ok(not wrong, "%s %s: lines have their shares" % (php, mode), note, *wrong)


def main():
    tap = Tap()
    need_root(tap, "lines of programs in PHP")
    chosen = phps.chosen(sys.argv[1:], IS_LONG)
    if not chosen.every:
        tap.skip("lines of programs in PHP", "no PHP is at hand: scripts/fetch_phps.py")
    modes = chosen.modes or (phps.MODES if IS_LONG else SHORT_MODES)
    every = list(chosen.every.values())
    for php in chosen.runtimes or (every if IS_LONG else [max(every, key=lambda php: php.version)]):
        for mode in [mode for mode in php.modes if mode in modes]:
            test_lines(tap, php, mode)
    tap.finish()


if __name__ == "__main__":
    main()
