#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 600 s
"""The stack of a fiber goes on with that of what has resumed it, natively and in PHP: each sample that has come to the end of a
chain of the target has the frames of its source, from the program's entry on.

usage: php_fibers_test.py [PHP...] [MODE...]
"""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
import phps
from chain_samples import profile
from harness import IS_LONG, Tap, need_root
from php_stack_test import NAMELESS, WORK_SHARE, parse_frame

SECONDS = 5 if IS_LONG else 0.75
SAMPLES_PER_SECOND = 4000
TARGET = os.path.join(phps.TARGETS, "fibers.php")
SHORT_MODES = ["plain", "tracing"]
START, RESUME = "Fiber::start", "Fiber::resume"
CLOSURE = "{closure}"
# The functions behind all(), to the end of each chain.
CHAINS = [
    ("resumed", RESUME, CLOSURE, "inner", "work"),
    ("nested", START, CLOSURE, START, CLOSURE, "array_map", "inner", "work"),
    ("deep", *(START, "deep") * 3, "inner", "work"),
    ("generated", START, CLOSURE, "delegated", "inner", "work"),
    ("called", START, "array_map", "inner", "work"),
]
HEAD = ("{main}", "all")
# The frame with which each fiber's own stack begins.
STACK_START = "make_fcontext"
# Samples in the few instructions that change stacks, with an error, or of a fiber that has just begun, or is about to suspend and has
# forgotten what has resumed it. A fault would have so many of them.
CHANGES, FAULT_RATE = "at a change of stacks", 0.05
# The limit of frames that the engine adds between the lines of the target.
MAX_EXTRA = 2
SHOWN_WRONG = 3


def bare(name):
    """The name of a closure says where it was made, from 8.4 on, and is not known if it was freed meanwhile."""
    return CLOSURE if name.startswith("{closure") or name == NAMELESS else name


def names_of(stack):
    return tuple(bare(frame.name) for frame in map(parse_frame, stack.user_frames) if frame)


def is_beginning(names, chain):
    """True if the frames are those of a chain, or stand at its beginning with what the engine has called last."""
    common = len(os.path.commonprefix([names, chain]))
    return len(names) - common <= MAX_EXTRA


def starts_of(names):
    """How many fibers are on a stack with these functions."""
    return sum(name in (START, RESUME) for name in names)


def judge(stacks):
    """Samples by chain, with errors and cut; wrong stacks."""
    chains = {(*HEAD, *chain) for chain in CHAINS}
    counts, wrong = collections.Counter(), collections.Counter()
    for stack, count in stacks.items():
        names = names_of(stack)
        starts = sum(re.match(STACK_START + r"\b", frame) is not None for frame in stack.user_frames)
        counts["all"] += count
        if stack.errors:
            counts["errors"] += count
        elif stack.user_frames and stack.user_frames[0].startswith(STACK_START):
            counts["cut"] += count
        elif names in chains:
            counts[names] += count
            if starts != starts_of(names):
                wrong[";".join(stack.user_frames)] += count
        elif names[-1:] == ("work",) or (names and not any(is_beginning(names, chain) for chain in chains)):
            wrong[";".join(stack.user_frames)] += count
    return counts, wrong, chains


def check(tap, run, php, mode):
    name = "%s %s: " % (php, mode)
    result = profile(php.mode_command(mode, TARGET), SECONDS, SAMPLES_PER_SECOND)
    counts, wrong, chains = judge(result.stacks)
    ends = [counts[chain] for chain in chains]
    tap.note("%s%d samples, %s at ends, %d with errors, %d cut" % (name, counts["all"], ends, counts["errors"], counts["cut"]))
    tap.ok(counts["all"] >= SECONDS * SAMPLES_PER_SECOND / 10, name + "there are samples", result.log)
    tap.never(wrong, name + "every stack is one of the source", *["%d %s" % (count, text) for text, count in
                                                                 wrong.most_common(SHOWN_WRONG)])
    tap.ok(all(ends) and sum(ends) >= WORK_SHARE * counts["all"], name + "all chains are there to their ends", ends)
    run.add(CHANGES, counts["errors"] + counts["cut"], counts["all"], FAULT_RATE)


def main():
    tap = Tap()
    need_root(tap, "PHP's fibers")
    chosen = phps.chosen(sys.argv[1:], IS_LONG)
    run = bad_events.Run("php_fibers_test")
    if not chosen.every:
        tap.skip("PHP's fibers", "no PHP is at hand: scripts/fetch_phps.py")
    for php in chosen.runtimes or chosen.every.values():
        # 7.4 has none.
        for mode in [mode for mode in php.modes if mode in (chosen.modes or SHORT_MODES) and not str(php).endswith("7.4")]:
            check(tap, run, php, mode)
    if chosen.every:
        run.finish(tap, is_whole=not sys.argv[1:])
    tap.finish()


if __name__ == "__main__":
    main()
