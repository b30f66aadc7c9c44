#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""The innermost frame of a program in JavaScript has the right line: ten lines of known cost have their shares of the
samples, in the versions of Node.js at hand and in all ways in which V8 runs the program.

usage: javascript_lines_test.py [NODE|MODE...]
"""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nodes
from attached_samples import sample_attached
from harness import IS_LONG, Program, Tap, need_root
from javascript_test import MODES, options_of

TARGET = os.path.join(nodes.TARGETS, "lines", "loops.js")
SHORT_MODES = ["plain", "interpreted"]
CPU_SECONDS = 6
MAX_SECONDS = 120
# The largest share is 18 %: by chance it differs by 2 points less than once in 4,000 times then.
SAMPLES = 5000
SHARE_POINTS = 2
APPROXIMATE_PERCENT = 1


def costs():
    """The share of each line of TARGET that has a loop, in per cent."""
    found = {}
    with open(TARGET, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = re.search(r"i < (?:(\d+) \* )?n;", line)
            if match:
                found[number] = int(match[1] or 1)
    return {number: 100 * parts / sum(found.values()) for number, parts in found.items()}


def test_lines(tap, node, mode):
    """The shares of one version in one mode."""
    name = "%s, %s: lines have their shares" % (node, mode)
    with Program(*node.command(*options_of(mode, node.version[0]), TARGET)) as program:
        result = sample_attached([program], MAX_SECONDS, "-with-lines", cpu_seconds=CPU_SECONDS)
    found, approximate = collections.Counter(), 0
    for stack, count in result.stacks.items():
        frame = next((frame for frame in reversed(stack.user_frames) if TARGET in frame), "")
        match = re.search(r"^loops \(%s:(\d+)\)" % re.escape(TARGET), frame)
        if match:
            found[int(match[1])] += count
            approximate += count * ("_[~]" in frame)
    total = found.total()
    wrong = ["line %d: %.1f %%, not %.1f %%" % (line, 100 * found[line] / max(total, 1), cost)
             for line, cost in costs().items() if abs(100 * found[line] / max(total, 1) - cost) > SHARE_POINTS]
    tap.ok(total >= SAMPLES and not wrong and 100 * approximate <= APPROXIMATE_PERCENT * total, name,
           "%d samples, %d approximate" % (total, approximate), *wrong)


def main():
    tap = Tap()
    need_root(tap, "lines of programs in JavaScript")
    arguments = sys.argv[1:]
    modes = [name for name in arguments if name in MODES] or (list(MODES) if IS_LONG else SHORT_MODES)
    chosen = nodes.chosen([name for name in arguments if name not in MODES], IS_LONG)
    every = chosen.runtimes or (list(chosen.every.values()) if IS_LONG else
                                [max(chosen.every.values(), key=lambda node: node.version)])
    for node in every:
        for mode in modes:
            if node.version[0] >= MODES[mode][1]:
                test_lines(tap, node, mode)
    tap.finish()


if __name__ == "__main__":
    main()
