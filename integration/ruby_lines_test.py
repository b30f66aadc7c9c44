#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""The innermost frame of a program in Ruby has the right line: ten lines of known cost have their shares of the samples,
interpreted. Code of YJIT does not have the line.

usage: ruby_lines_test.py [RUBY...]
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rubies
from attached_samples import sample_attached
from harness import IS_LONG, Program, Tap, need_root
from line_shares import SECONDS_MAX, costs, judge_lines

TARGET = os.path.join(rubies.TARGETS, "lines", "loops.rb")
CPU_SECONDS = 6
APPROXIMATE_PERCENT = 5


def test_lines(tap, ruby):
    """The shares of one version."""
    with Program(*ruby.command(TARGET)) as program:
        result = sample_attached([program], SECONDS_MAX, "-with-lines", cpu_seconds=CPU_SECONDS)
    wrong, note = judge_lines(result.stacks, re.compile(r"(?:Object#)?loops \(%s:(\d+)\)" % re.escape(TARGET)),
                              costs(TARGET, r"i < (?:(\d+) \* )?n;"), APPROXIMATE_PERCENT)
    tap.ok(not wrong, "%s: lines have their shares" % ruby, note, *wrong)


def main():
    tap = Tap()
    need_root(tap, "lines of programs in Ruby")
    chosen = rubies.chosen(sys.argv[1:], IS_LONG)
    if not chosen.every:
        tap.skip("lines of programs in Ruby", "no Ruby is at hand: scripts/fetch_rubies.py")
    every = [ruby for ruby in chosen.every.values() if not isinstance(ruby, rubies.BuiltRuby)]
    for ruby in chosen.runtimes or (every if IS_LONG else [max(every, key=lambda ruby: ruby.version)]):
        test_lines(tap, ruby)
    tap.finish()


if __name__ == "__main__":
    main()
