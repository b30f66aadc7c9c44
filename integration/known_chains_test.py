#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every sample of every target lies in the set of chains that its source allows.

At least 200 samples per target. A stripped program is judged by the symbols of its unstripped twin.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
import chains
from harness import IS_LONG, Program, Tap, need_root, run_agent, share

SAMPLES_PER_TARGET = 200
RATE = 997
AT_ONCE = 6
SECONDS = 20 if IS_LONG else 3
# On a machine that is busy with other things the targets get little of it.
ROUNDS_MAX = 6
# Of samples that say that they were taken while the kernel changed what is walked.
BETWEEN_STATES_MAX = 0.002


def judge(tap, target, allowed, stacks):
    """One result: all of @stacks, those of one target, are allowed."""
    symbols = chains.Symbols(target.twin)
    wrong = collections.Counter()
    total = before_known = in_kernel = between_states = 0
    for stack, count in stacks.items():
        if allowed.forks and (stack.is_before_known or stack.is_without_memory):
            before_known += count
            continue
        total += count
        if stack.is_between_states:
            between_states += count
            continue
        if stack.frames[-1].endswith("_[k]"):
            in_kernel += count
        frames = chains.name_frames(stack.frames, target.name, symbols)
        if not allowed.allow(frames):
            wrong[";".join(frames)] += count
    notes = ["%d times %s" % (count, text) for text, count in wrong.most_common(8)]
    notes.append("%d of %d samples are wrong, %d were of tasks not known yet or in their exit"
                 % (sum(wrong.values()), total, before_known))
    notes.append("between two states: %d" % between_states)
    tap.ok(total >= SAMPLES_PER_TARGET and not wrong
           and between_states <= max(1, BETWEEN_STATES_MAX * total)
           and 100 * in_kernel >= allowed.kernel_percent * total,
           "all samples of %s are in chains that the source allows" % target.name,
           *notes, "in the kernel: " + share(in_kernel, total))
    return before_known


def profile(targets, *selection):
    """Samples @targets, which run already, and returns their stacks by comm."""
    result = run_agent("-samples-per-second", RATE, "-duration", "%ds" % SECONDS, *selection)
    if result.status != 0:
        raise RuntimeError("the agent failed: " + result.log)
    by_comm = collections.defaultdict(collections.Counter)
    for stack, count in result.stacks.items():
        by_comm[stack.comm][stack] += count
    unexpected = set(by_comm) - {target.name for target in targets}
    if unexpected:
        raise RuntimeError("not selected, but sampled: %s" % unexpected)
    return by_comm


def profile_enough(targets, *selection):
    """As profile(), again and again until there are enough samples of each of @targets."""
    by_comm = collections.defaultdict(collections.Counter)
    for _ in range(ROUNDS_MAX):
        for comm, stacks in profile(targets, *selection).items():
            by_comm[comm].update(stacks)
        if all(by_comm[target.name].total() >= 1.1 * SAMPLES_PER_TARGET for target in targets):
            break
    return by_comm


def main():
    tap = Tap()
    need_root(tap, "known chains")
    wanted = sys.argv[1:] or [name for name, target in build_targets.TARGETS.items()
                              if chains.are_declared(target.source)]
    built = build_targets.build(wanted)
    singles, groups, group = [], [], []
    for name in wanted:
        target = build_targets.TARGETS[name]
        if name not in built:
            tap.skip("all samples of %s are in chains that the source allows" % name,
                     "no %s on this machine" % target.command[0])
            continue
        allowed = chains.Chains(target.source)
        if allowed.forks:
            singles.append((target, allowed))
            continue
        group.append((target, allowed))
        if len(group) == AT_ONCE:
            groups.append(group)
            group = []
    groups.append(group)
    for group in filter(None, groups):
        programs = [Program(target.path) for target, _ in group]
        try:
            pids = ",".join(str(program.pid) for program in programs)
            by_comm = profile_enough([target for target, _ in group], "-pid", pids)
        finally:
            for program in programs:
                program.__exit__()
        for target, allowed in group:
            judge(tap, target, allowed, by_comm[target.name])
    for target, allowed in singles:
        with Program(target.path):
            by_comm = profile_enough([target], "-comm", target.name)
        before_known = judge(tap, target, allowed, by_comm[target.name])
        tap.note("%s: %d samples came before their process was known" % (target.name, before_known))
    tap.finish()


if __name__ == "__main__":
    main()
