#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of a thread that ends have its user stack, though the kernel has taken the memory from it.

It needs a kernel whose tracepoint of exits comes before that: on others such samples have kernel frames only.
"""
import os
import platform
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from harness import Program, Tap, need_root
from sampled import sample

RATE = 997
CPU_SECONDS = 1.5
LEAST_SAMPLES = 30
EARLY_TRACEPOINT = (6, 16)


def release():
    return tuple(int(number) for number in re.findall(r"\d+", platform.release())[:2])


def main():
    tap = Tap()
    need_root(tap, "threads that end")
    name = "samples of a thread's exit have its user stack"
    if release() < EARLY_TRACEPOINT:
        tap.skip(name, "Linux %s takes the memory first" % platform.release())
        tap.finish()
        return
    build_targets.build(["thread_loop"])
    with Program(build_targets.TARGETS["thread_loop"].path) as program:
        stacks = sample([program.pid], RATE, CPU_SECONDS)
    exits = {stack: count for stack, count in stacks.items() if "do_exit_[k]" in stack.frames}
    whole = sum(count for stack, count in exits.items() if stack.user_frames and not stack.errors)
    total = sum(exits.values())
    tap.ok(total >= LEAST_SAMPLES and whole >= 0.9 * total, name, "%d of %d" % (whole, total),
           {str(stack): count for stack, count in exits.items() if not stack.user_frames or stack.errors})
    tap.finish()


if __name__ == "__main__":
    main()
