#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stack whose return address was overwritten ends in an error: it is no coroutine's, whose stack ends too in code that no
call is in front of.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from harness import Program, Tap, need_root
from sampled import sample

RATE = 499
CPU_SECONDS = 0.2
KINDS = ("start", "middle", "library", "data", "number")


def check(tap, path, kind):
    with Program(path, kind) as program:
        stacks = sample([program.pid], RATE, CPU_SECONDS)
    seen = {str(stack): count for stack, count in stacks.items() if "victim" in stack.user_frames}
    whole = {str(stack): count for stack, count in stacks.items() if not stack.errors}
    tap.ok(sum(seen.values()) >= 50 and not whole,
           "a return address that was overwritten (%s) is an error" % kind, seen, whole)


def main():
    tap = Tap()
    need_root(tap, "overwritten return addresses")
    for target in ("overwritten", "overwritten_nt"):
        build_targets.build([target])
        for kind in KINDS:
            check(tap, build_targets.TARGETS[target].path, kind)
    tap.finish()


if __name__ == "__main__":
    main()
