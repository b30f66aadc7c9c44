#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of programs that end soon are whole: those behind a function with a large frame, most of whose pages nobody has written,
and those in code that has just been mapped. Such samples are unwound over a copy of the stack.

usage: short_programs_test.py [MODE...]
"""
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from harness import OUTPUT, Agent, Tap, need_root, share

NAME = "short_program"
RATE = 997
LEAST_SAMPLES = 400
# Of each mode: runs, CPU time of one, what its stacks end in, an error that they may not have, and its share at most. A sample may
# come while the page that it needs is not there yet, or too late for the mappings of a program that has ended.
MODES = {
    "main": (100, 12, ["large", "spin"], "[error: stack unreadable]", 0.01),
    "thread": (100, 12, ["large", "spin"], "[error: stack unreadable]", 0.01),
    "mapped": (40, 40, ["main", "run_mapped", "spin_mapped"], "[error: address in no known mapping]", 0.05),
}


def build():
    os.makedirs(OUTPUT, exist_ok=True)
    path = os.path.join(OUTPUT, NAME)
    subprocess.run([*build_targets.C, "-pthread", "-o", path, os.path.join(build_targets.SOURCES, NAME + ".c")], check=True)
    return path


def check_runs(tap, path, mode):
    runs, milliseconds, chain, error, limit = MODES[mode]
    with Agent("-comm", NAME, "-samples-per-second", RATE) as agent:
        if not tap.ok(agent.wait_started(), "%s: the agent starts" % mode, agent.log_text()):
            return
        for _ in range(runs):
            subprocess.run([path, str(milliseconds), mode], check=True)
        stacks = agent.stop().stacks
    total = sum(stacks.values())
    found = sum(count for stack, count in stacks.items() if not stack.errors and stack.user_frames[-len(chain):] == chain)
    bad = collections.Counter({str(stack): count for stack, count in stacks.items() if error in stack.errors})
    tap.ok(total >= LEAST_SAMPLES and found > total / 2, "%s: most samples are in %s" % (mode, " > ".join(chain)),
           "%d of %d" % (found, total), *collections.Counter(stacks).most_common(5))
    tap.ok(bad.total() <= limit * total, "%s: stacks do not end in %s" % (mode, error), "but %s" % share(bad.total(), total),
           *bad.most_common(8))


def main():
    tap = Tap()
    need_root(tap, "programs that end soon")
    path = build()
    for mode in sys.argv[1:] or MODES:
        check_runs(tap, path, mode)
    tap.finish()


if __name__ == "__main__":
    main()
