#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""Stacks of Go are what the runtime itself says of them: names, files and lines, frame by frame.

A target (targets/go/observer) writes down what runtime.CallersFrames() tells on the lines where
its goroutines then stay; each stack that the agent shows there must be one of these.

usage: go_observer_test.py [VERSION|MODE...]
"""
import collections
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gos
from go_test import sample
from harness import IS_LONG, Program, Tap, need_root

SECONDS = 10 if IS_LONG else 4
ROUNDS_MAX = 5
SAMPLES = 200
# The part of the stacks written down that has to be seen.
SEEN_SHARE = 0.9
STAY = ["main.observe", "main.stay"]
_FRAME = re.compile(r"(?P<name>.*?) \((?P<file>[^()]*):(?P<line>\d+)\)(?P<inlined>_\[i\])?")


def read_observed(path):
    """The stacks that the target has written: frames as texts, root first."""
    stacks = set()
    with open(path, encoding="utf-8") as file:
        for line in file.read().split("\n")[:-1]:
            fields = line.split("\t")
            frames = [fields[i:i + 4] for i in range(0, len(fields) - 2, 4)]
            stacks.add(tuple("%s (%s:%s)%s" % (name, source, number, (more + [""])[0])
                             for name, source, number, *more in reversed(frames)))
    return stacks


def below_stay(users):
    """The frames below those in which goroutines stay, None in other stacks."""
    names = [match["name"] if (match := _FRAME.fullmatch(frame)) else frame for frame in users]
    for i in range(len(names) - 1):
        if names[i:i + 2] == STAY:
            return tuple(users[:i])
    return None


def nearest(frames, observed):
    """The observed stack that has the most frames of @frames, as what differs from it."""
    best = max(observed, key=lambda one: len(set(one) & set(frames)) - abs(len(one) - len(frames)))
    only = [frame for frame in frames if frame not in best]
    missing = [frame for frame in best if frame not in frames]
    return "shown: %s\n    told: %s" % ("; ".join(only), "; ".join(missing))


def judge(tap, name, stacks, observed):
    """One result: all of @stacks that show where a goroutine stays are among @observed."""
    total, wrong, seen = 0, collections.Counter(), set()
    for stack, count in stacks.items():
        frames = below_stay(stack.user_frames)
        if frames is None:
            continue
        total += count
        if frames in observed:
            seen.add(frames)
        else:
            wrong[frames] += count
    notes = ["%d times, %d frames, %s" % (count, len(frames), nearest(frames, observed))
             for frames, count in wrong.most_common(3)]
    text = "%d samples, %d of them wrong; of %d stacks told of %d were seen" % (
        total, wrong.total(), len(observed), len(seen))
    tap.ok(total >= SAMPLES and not wrong and len(seen) >= SEEN_SHARE * len(observed),
           "stacks in %s are as the runtime says" % name, *notes, text)
    tap.note("%s: %s" % (name, text))


def test(tap, go, mode_name, target):
    """The target, built by @go in one mode."""
    name = "%s, %s" % (go, mode_name)
    try:
        command = go.build(target, mode_name)
    except gos.Lacking as lack:
        tap.skip("stacks in %s are as the runtime says" % name, lack)
        return
    stacks = collections.Counter()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "stacks")
        with Program(*command, path) as program:
            for _ in range(ROUNDS_MAX):
                stacks.update(sample([program], SECONDS, "-with-lines")[target.comm])
                if stacks.total() > 1.1 * SAMPLES:
                    break
        judge(tap, name, stacks, read_observed(path))


def main():
    tap = Tap()
    need_root(tap, "what Go's runtime says of stacks")
    every = gos.at_hand(IS_LONG or any(word.startswith("go1.") for word in sys.argv[1:]))
    if not every:
        tap.skip("what Go's runtime says of stacks", "there is no go on this machine")
        tap.finish()
    target = gos.find_targets(["observer"])["observer"]
    wanted = [name for name in every if name in sys.argv[1:]]
    modes = [name for name in gos.MODES if name in sys.argv[1:]]
    if IS_LONG or wanted or modes:
        plan = [(name, mode) for name in wanted or every for mode in modes or gos.MODES]
    else:
        plan = [(list(every)[-1], "external-pie-stripped")]
    for name, mode in plan:
        test(tap, every[name], mode, target)
    tap.finish()


if __name__ == "__main__":
    main()
