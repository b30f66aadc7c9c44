#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that end soon have whole stacks too where a function has a large frame: the first samples of a program are unwound over a
copy of its stack.
"""
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from harness import OUTPUT, Agent, Tap, need_root, share

NAME = "large_frame"
RATE = 997
RUNS = 40
MILLISECONDS = 30
LEAST_SAMPLES = 400
# Samples in ld.so and libc before and behind are judged too; a few come while a page of the stack is not there.
WHOLE = 0.97


def sample_runs(tap, title, *arguments):
    with Agent("-comm", NAME, "-samples-per-second", RATE) as agent:
        tap.ok(agent.wait_started(), "the agent starts: " + title, agent.log_text())
        for _ in range(RUNS):
            subprocess.run([os.path.join(OUTPUT, NAME), str(MILLISECONDS), *arguments], check=True)
        # The file is gone with the agent's block.
        stacks = agent.stop().stacks
    total = sum(stacks.values())
    errors = collections.Counter()
    for stack, count in stacks.items():
        if stack.errors:
            errors[";".join(stack.errors + stack.user_frames[-4:])] += count
    large = sum(count for stack, count in stacks.items()
                if not stack.errors and {"large", "spin"} <= set(stack.user_frames))
    tap.ok(total >= LEAST_SAMPLES and large > total / 2, "%s: most samples are behind the large frame" % title, large, total)
    tap.ok(errors.total() <= (1 - WHOLE) * total, "%s: stacks are whole, but %s" % (title, share(errors.total(), total)),
           *errors.most_common(5))


def main():
    tap = Tap()
    need_root(tap, "large frames of short programs")
    build_targets.build([NAME])
    sample_runs(tap, "main thread")
    sample_runs(tap, "another thread", "thread")
    tap.finish()


if __name__ == "__main__":
    main()
