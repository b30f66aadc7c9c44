# SPDX-License-Identifier: Apache-2.0
"""The innermost lines of a program of which each line has a known share of the time."""
import collections
import re

from attached_samples import sample_attached
from harness import Program

SECONDS_MAX = 120
# The largest share is 18 %: by chance it differs by 2 points less than once in 4,000 times then.
SAMPLES = 5000
SHARE_POINTS = 2
RATE = 2999
CPU_SECONDS = 2
APPROXIMATE_PERCENT = 5


def costs(path, loop):
    """The share of each line of the file with a loop, in per cent. The first group of @loop: how often it runs, or nothing."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = re.search(loop, line)
            if match:
                found[number] = int(match[1] or 1)
    return {number: 100 * parts / sum(found.values()) for number, parts in found.items()}


def judge_lines(stacks, frame, wanted, approximate_percent):
    """What is wrong with the lines of the innermost frames that the pattern @frame matches, whose first group is the line; and
    a note. Lines that are marked as approximate have no share, but are @approximate_percent of the samples at most.
    """
    found, approximate = collections.Counter(), 0
    for stack, count in stacks.items():
        innermost = next((match for match in map(frame.match, reversed(stack.user_frames)) if match), None)
        if innermost and innermost.string.endswith("_[~]"):
            approximate += count
        elif innermost:
            found[int(innermost[1])] += count
    total = found.total()
    wrong = ["line %d: %.1f %%, not %.1f %%" % (line, 100 * found[line] / max(total, 1), cost)
             for line, cost in wanted.items() if abs(100 * found[line] / max(total, 1) - cost) > SHARE_POINTS]
    if total + approximate < SAMPLES:
        wrong.append("only %d samples" % (total + approximate))
    if 100 * approximate > approximate_percent * (total + approximate):
        wrong.append("too many lines are approximate")
    return wrong, "%d samples, %d more are approximate" % (total, approximate)


def check_lines(tap, name, command, target, function, loop):
    """Runs @command, which runs the file @target, and judges its innermost lines. @function: a pattern of the name of the
    function with the loops; @loop: as for costs().
    """
    with Program(*command) as program:
        result = sample_attached([program], SECONDS_MAX, "-with-lines", rate=RATE, cpu_seconds=CPU_SECONDS)
    wrong, note = judge_lines(result.stacks, re.compile(r"%s \(%s:(\d+)\)" % (function, re.escape(target))),
                              costs(target, loop), APPROXIMATE_PERCENT)
    tap.ok(not wrong, name + ": lines have their shares", note, *wrong)
