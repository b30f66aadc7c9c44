#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every sample of every target lies in the set of chains that its source allows.

At least 200 samples per target. A stripped program is judged by the symbols of its unstripped twin. The
programs are stopped until the agent has their unwind rows: what is judged is unwinding, and not how fast
tables are loaded.

usage: known_chains_test.py [TARGET...]
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
import chains
import judge
from harness import IS_LONG, Tap, need_root

SECONDS = 20 if IS_LONG else 8
FORK_SECONDS = 20 if IS_LONG else 0.5
# A little more than the samples of one target take.
CPU_SECONDS = None if IS_LONG else 0.22
# More than elsewhere, since these programs need next to no memory.
AT_ONCE = 12 if IS_LONG else 24


class Verdict(judge.Verdict):
    """What there is to say about the stacks of one target."""
    kinds = {judge.BETWEEN_STATES: judge.RUN_FAULT}

    def __init__(self, target, allowed, limits=judge.NoneAllowed):
        super().__init__(limits)
        self._name = target.name
        self._symbols = chains.Symbols(target.twin)
        self._allowed = allowed
        self.kernel_percent = allowed.kernel_percent
        self.before_known = 0

    def is_left_out(self, stack):
        return self._allowed.forks and (stack.is_before_known or stack.is_without_memory)

    def add(self, stack, count):
        if self.is_left_out(stack):
            self.before_known += count
        super().add(stack, count)

    def judge(self, stack, count):
        frames = chains.name_frames(stack.frames, self._name, self._symbols)
        if not self._allowed.allow(frames):
            self.add_wrong("not allowed", stack._replace(frames=tuple(frames)), count)

    @property
    def note(self):
        return "%s, %d of tasks not known yet or in their exit" % (super().note, self.before_known)


def title(target):
    return "all samples of %s are in chains that the source allows" % target.name


def main():
    tap = Tap()
    need_root(tap, "known chains")
    wanted = sys.argv[1:] or [name for name, target in build_targets.TARGETS.items()
                              if chains.are_declared(target.source)]
    built = build_targets.build(wanted)
    the_judge = judge.Judge(tap, "known_chains_test", SECONDS, is_known=False,
                            at_once=AT_ONCE, cpu_seconds=CPU_SECONDS, fork_seconds=FORK_SECONDS)
    cases = []
    for name in wanted:
        target = build_targets.TARGETS[name]
        if name not in built:
            tap.skip(title(target), "no %s on this machine" % target.command[0])
            continue
        allowed = chains.Chains(target.source)
        verdict = Verdict(target, allowed, the_judge.limits(len(built)))
        cases.append(judge.Case(title(target), target.name, [target.path], verdict, allowed.forks))
    the_judge.run(cases)
    the_judge.finish(is_whole=not sys.argv[1:])
    tap.finish()


if __name__ == "__main__":
    main()
