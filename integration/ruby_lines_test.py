#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""The innermost frame of a program in Ruby has the right line: ten lines of known cost have their shares of the samples,
interpreted. Code of YJIT does not have the line.

usage: ruby_lines_test.py [RUBY...]
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rubies
from harness import IS_LONG, Tap, need_root
from line_shares import check_lines
from runtimes import newest_or_all

TARGET = os.path.join(rubies.TARGETS, "lines", "loops.rb")
FUNCTION = r"(?:Object#)?loops"
LOOP = r"i < (?:(\d+) \* )?n;"


def main():
    tap = Tap()
    need_root(tap, "lines of programs in Ruby")
    chosen = rubies.chosen(sys.argv[1:], IS_LONG)
    if not chosen.every:
        tap.skip("lines of programs in Ruby", "no Ruby is at hand: scripts/fetch_rubies.py")
    every = [ruby for ruby in chosen.every.values() if not isinstance(ruby, rubies.BuiltRuby)]
    for ruby in chosen.runtimes or newest_or_all(every, IS_LONG):
        check_lines(tap, str(ruby), ruby.command(TARGET), TARGET, FUNCTION, LOOP)
    tap.finish()


if __name__ == "__main__":
    main()
