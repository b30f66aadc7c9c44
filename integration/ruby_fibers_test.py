#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 600 s
"""The stack of a fiber goes on with that of what has resumed it, natively and in Ruby: each sample that has come to the end of a
chain of the target has the frames of its source, from the program's entry on.

usage: ruby_fibers_test.py [RUBY...]
"""
import collections
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rubies
from chain_samples import profile
from harness import IS_LONG, Tap, need_root
from runtimes import newest_or_all
from ruby_stack_test import bare, parse_frame, wrong_natives

SECONDS = 5 if IS_LONG else 1
SAMPLES_PER_SECOND = 4000
TARGET = os.path.join(rubies.TARGETS, "fibers.rb")
HEADS = {"run": ("<main>", "loop", "block in <main>"), "threads": ("block in <main>", "loop", "block (2 levels) in <main>")}
CHAINS = [
    ("resumed", "work"),
    ("resumed", "resume", "block in resumed", "inner", "work"),
    ("nested", "resume", "block in nested", "resume", "block (2 levels) in nested", "each", "block (3 levels) in nested",
     "inner", "work"),
    ("deep", *("resume", "block in deep", "deep") * 3, "resume", "block in deep", "inner", "work"),
    ("enumerated", "next", "each", "each", "block in enumerated", "inner", "work"),
    ("sliced", "next", "each", "each_slice", "each"),
]
# At least so many of the samples are at the end of a chain; each chain is there.
WORK_SHARE = 0.5
# At most so many of the samples are in the few instructions that change stacks, with an error that says so.
ERROR_SHARE = 0.005
# At most so many of the samples are of a fiber that is about to yield and has forgotten what has resumed it, in these methods in C.
YIELDING = {"yield", "<<", "each"}
YIELDING_SHARE = 0.005
# The limit of frames that the runtime adds between the lines of the target.
MAX_EXTRA = 2
# The main program, while its thread runs.
WAITING = ("<main>", "join")
SHOWN_WRONG = 3


def names_of(stack):
    return tuple(bare(frame.name) for frame in map(parse_frame, stack.user_frames) if frame)


def is_beginning(names, chain):
    """True if the frames are those of a chain, or stand at its beginning with what the runtime has called last."""
    common = len(os.path.commonprefix([names, chain]))
    return common and len(names) - common <= MAX_EXTRA


def judge(stacks, mode):
    """Samples by chain and with errors; wrong stacks."""
    chains = {(*HEADS[mode], "all", *chain) for chain in CHAINS}
    counts, wrong = collections.Counter(), collections.Counter()
    for stack, count in stacks.items():
        names = names_of(stack)
        counts["all"] += count
        if stack.errors:
            counts["errors"] += count
        elif names in chains or names[-1:] == ("work",):
            counts[names] += count
            if names not in chains:
                wrong[";".join(stack.user_frames)] += count
        elif names and names[-1] in YIELDING and names[0] != HEADS[mode][0]:
            counts["yielding"] += count
        elif names and names != WAITING and not any(is_beginning(names, chain) for chain in chains):
            wrong[";".join(stack.user_frames)] += count
        misplaced = wrong_natives(stack.user_frames, {})
        if misplaced and not stack.errors:
            wrong["%s: %s" % (misplaced, ";".join(stack.user_frames))] += count
    return counts, wrong, chains


def check(tap, ruby, mode):
    name = "%s %s: " % (ruby, mode)
    result = profile(ruby.command(TARGET, mode), SECONDS, SAMPLES_PER_SECOND)
    counts, wrong, chains = judge(result.stacks, mode)
    ends = [counts[chain] for chain in chains]
    tap.note("%s%d samples, %s at ends, %d with errors, %d about to yield" % (
        name, counts["all"], ends, counts["errors"], counts["yielding"]))
    tap.ok(counts["all"] >= SECONDS * SAMPLES_PER_SECOND / 10, name + "there are samples", result.log)
    tap.never(wrong, name + "every stack is one of the source", *["%d %s" % (count, text) for text, count in
                                                                 wrong.most_common(SHOWN_WRONG)])
    tap.ok(all(ends) and sum(ends) >= WORK_SHARE * counts["all"], name + "all chains are there to their ends", ends)
    tap.ok(counts["yielding"] <= YIELDING_SHARE * counts["all"], name + "few stacks end where a fiber is about to yield")
    tap.ok(counts["errors"] <= ERROR_SHARE * counts["all"], name + "few stacks end where a stack is changed",
           *["%d %s" % (count, ";".join(stack.user_frames)) for stack, count in result.stacks.items()
             if stack.errors][:SHOWN_WRONG])


def main():
    tap = Tap()
    need_root(tap, "Ruby's fibers")
    chosen = rubies.chosen(sys.argv[1:], IS_LONG)
    if not chosen.every:
        tap.skip("Ruby's fibers", "no Ruby is at hand: scripts/fetch_rubies.py")
    for ruby in chosen.runtimes or chosen.every.values():
        check(tap, ruby, "run")
    for ruby in chosen.runtimes or newest_or_all(chosen.every.values(), IS_LONG):
        check(tap, ruby, "threads")
    tap.finish()


if __name__ == "__main__":
    main()
