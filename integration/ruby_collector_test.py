#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 600 s
"""What Ruby's garbage collector does stands where it does it: `[GC marking]`, `[GC sweeping]` or `[GC compacting]` between the
method that allocates and the runtime's own functions, in as many samples as the runtime says that it takes time, and in no
sample of another thread.

usage: ruby_collector_test.py [RUBY...]
"""
import collections
import math
import os
import re
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rubies
import ruby_stack_test
from chain_samples import profile_program
from harness import IS_LONG, Program, Tap, need_root
from runtimes import newest_or_all

SECONDS = 10 if IS_LONG else 1
SAMPLES_PER_SECOND = 4000
TARGET = os.path.join(rubies.TARGETS, "collector.rb")
MARK = re.compile(r"\[GC (marking|sweeping|compacting)\]")
# How far the share of the samples with a mark may be from what the runtime's clock says, beside what chance does to it: the
# clock has a part of the collector's beginning and end, too.
SHARE_TOLERANCE = 0.03
DEVIATIONS = 4
# GC.stat has a time from here on, in which sweeping is counted in part; then marking_time and sweeping_time as well.
TELLS_TIME, TELLS_APART = (3, 1), (3, 3)


class Target:
    """The program, which is asked for its times."""

    def __init__(self, ruby, mode):
        self.program = Program(*ruby.command(TARGET, mode))

    def times(self):
        """Seconds of CPU time, in the collector, marking, sweeping."""
        os.kill(self.program.pid, signal.SIGUSR1)
        return [float(number) for number in self.program.process.stdout.readline().split()]


def profile(ruby, mode):
    """The stacks of a program that runs, the shares of the times that it said while it ran, and what the agent said."""
    target = Target(ruby, mode)
    with target.program:
        before = target.times()
        result = profile_program(target.program, SECONDS, SAMPLES_PER_SECOND)
        after = target.times()
    spent = [last - first for first, last in zip(before, after)]
    return result, [seconds / spent[0] for seconds in spent[1:]]


def misplaced(stack):
    """What is wrong with the marks of a stack; None."""
    texts = stack.user_frames
    marks = [i for i, text in enumerate(texts) if MARK.fullmatch(text)]
    if not marks:
        return None
    if len(marks) > 1:
        return "several marks"
    inner = texts[marks[0] + 1:]
    if any(map(ruby_stack_test.parse_frame, inner)):
        return "frames of Ruby within the collector"
    if not inner:
        return "nothing runs the collector"
    if not marks[0] or not ruby_stack_test.parse_frame(texts[marks[0] - 1]):
        return "no method called the collector"
    return None


def count_marks(stacks):
    """Samples with each mark, and all; wrong stacks."""
    counts, wrong = collections.Counter(), collections.Counter()
    for stack, count in stacks.items():
        counts["all"] += count
        for text in stack.user_frames:
            match = MARK.fullmatch(text)
            if match:
                counts[match[1]] += count
        if misplaced(stack):
            wrong["%s: %s" % (misplaced(stack), ";".join(stack.user_frames))] += count
    return counts, wrong


def tolerance(share, count):
    return SHARE_TOLERANCE + DEVIATIONS * math.sqrt(share * (1 - share) / max(count, 1))


def check_shares(tap, ruby):
    name = "%s: " % ruby
    result, (whole, marking, sweeping) = profile(ruby, "run")
    counts, wrong = count_marks(result.stacks)
    shares = {mark: counts[mark] / max(counts["all"], 1) for mark in ("marking", "sweeping")}
    tap.note("%s%s, of %.3f (%.3f marking, %.3f sweeping)" % (name, dict(counts), whole, marking, sweeping))
    tap.ok(counts["all"] >= SECONDS * SAMPLES_PER_SECOND / 10, name + "there are samples", result.log)
    tap.never(wrong, name + "marks stand between a method and the collector", *wrong.most_common(3))
    if ruby.version >= TELLS_APART:
        for mark, expected in (("marking", marking), ("sweeping", sweeping)):
            tap.ok(expected and abs(shares[mark] - expected) <= tolerance(expected, counts["all"]),
                   name + "the share of %s is what the runtime says" % mark, shares, expected)
    elif ruby.version >= TELLS_TIME:
        tap.ok(whole and shares["marking"] and sum(shares.values()) >= whole - tolerance(whole, counts["all"]),
               name + "the share of marks is no smaller than what the runtime says", shares, whole)
    else:
        tap.ok(all(shares.values()), name + "there are both marks", shares)


def check_compacting(tap, ruby):
    name = "%s compact: " % ruby
    counts, wrong = count_marks(profile(ruby, "compact")[0].stacks)
    # 2.7 compacts without being at work.
    if ruby.version >= TELLS_TIME:
        tap.ok(counts["compacting"], name + "it shows", dict(counts))
    tap.never(wrong, name + "marks stand between a method and the collector", *wrong.most_common(3))


def check_other_thread(tap, ruby):
    name = "%s beside: " % ruby
    counts = collections.Counter()
    for stack, count in profile(ruby, "beside")[0].stacks.items():
        is_marked = any(map(MARK.fullmatch, stack.user_frames))
        is_other = any("deflate" in text for text in stack.user_frames)
        counts["other" if is_other else "own"] += count
        counts["other marked" if is_other else "own marked"] += count * is_marked
    tap.note("%s%s" % (name, dict(counts)))
    tap.ok(counts["other"] and counts["own marked"], name + "both threads run", dict(counts))
    tap.never(counts["other marked"], name + "a thread that works without the lock has no mark", dict(counts))


def main():
    tap = Tap()
    need_root(tap, "Ruby's garbage collector")
    chosen = rubies.chosen(sys.argv[1:], IS_LONG)
    if not chosen.every:
        tap.skip("Ruby's garbage collector", "no Ruby is at hand: scripts/fetch_rubies.py")
    for ruby in chosen.runtimes or chosen.every.values():
        check_shares(tap, ruby)
    for ruby in chosen.runtimes or newest_or_all(chosen.every.values(), IS_LONG):
        check_compacting(tap, ruby)
        check_other_thread(tap, ruby)
    tap.finish()


if __name__ == "__main__":
    main()
