#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of greenlet's coroutines begin in greenlet and are whole: what lies above them on the stack belongs to others. The library
is Debian's, which has no symbols.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
from harness import Program, Tap, need_root
from sampled import sample

PYTHON = "/usr/bin/python3"
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "targets/python/greenlets.py")
RATE = 997
CPU_SECONDS = 2
MIN_SAMPLES = 600
# While stacks are copied, there may be none; a greenlet whose stacks have no end had 1 to 21 % of errors.
FAULT_RATE = 0.01
OWN = ("task", "recurse", "task_inner", "after_switch", "burn", "start", "<module>")
CHAIN = ["task"] + ["recurse"] * 6 + ["task_inner"]


def functions(stack):
    """Those of the program, the outermost first."""
    return [frame for frame in stack.frames if frame in OWN]


def main():
    tap = Tap()
    need_root(tap, "coroutines of greenlet")
    with Program(PYTHON, PROGRAM) as program:
        stacks = sample([program.pid], RATE, CPU_SECONDS)
    burning = {stack: count for stack, count in stacks.items() if "burn" in stack.frames}
    tap.ok(sum(burning.values()) >= MIN_SAMPLES, "coroutines are sampled", sum(burning.values()))
    chains = (CHAIN + ["burn"], CHAIN + ["after_switch", "burn"])
    wrong = {" ".join(functions(stack)): count for stack, count in burning.items() if functions(stack) not in chains}
    tap.ok(not wrong, "their functions are their own, and nobody else's", wrong)
    broken = {str(stack): count for stack, count in stacks.items() if stack.errors or stack.has_guess}
    run = bad_events.Run("python_greenlets_test")
    run.check(tap, "all stacks are whole", "not whole", sum(broken.values()), sum(stacks.values()), FAULT_RATE, broken)
    run.finish(tap)
    others = {str(stack): count for stack, count in burning.items() if any("Py_BytesMain" in frame or "_start" in frame
                                                                         for frame in stack.frames)}
    tap.ok(not others, "and end where a coroutine begins", others)
    tap.finish()


if __name__ == "__main__":
    main()
