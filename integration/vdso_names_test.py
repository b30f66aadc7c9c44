#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames in the vDSO, a file that is in memory only, have the names of its functions."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from harness import OUTPUT, Program, Tap, need_root
from sampled import sample

RATE = 499
CPU_SECONDS = 1
LEAST_SAMPLES = 100


def main():
    tap = Tap()
    need_root(tap, "names in the vDSO")
    build_targets.build(["vdso"])
    with Program(os.path.join(OUTPUT, "vdso")) as program:
        stacks = sample([program.pid], RATE, CPU_SECONDS)
    frames = {}
    for stack, count in stacks.items():
        for frame in stack.user_frames:
            frames[frame] = frames.get(frame, 0) + count
    # __vdso_clock_gettime on x86-64, __kernel_clock_gettime on arm64; libc's has no such name.
    named = sum(count for name, count in frames.items()
                if name in ("__vdso_clock_gettime", "__kernel_clock_gettime"))
    nameless = sum(count for name, count in frames.items() if name.startswith("[vdso]"))
    tap.ok(named >= LEAST_SAMPLES and nameless <= named // 100,
           "frames in the vDSO have the names of its functions", frames)
    tap.finish()


if __name__ == "__main__":
    main()
