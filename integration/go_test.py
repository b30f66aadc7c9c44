#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""Every sample of every target in Go lies in the set of chains that its source allows, in every Go
at hand, and in all ways to build and link programs.

The targets are stopped while the agent starts and attaches to them, so that no sample comes before.

usage: go_test.py [VERSION|MODE|TARGET...]

A VERSION is as go1.22.12, a MODE one of gos.MODES.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gos
import judge
from attached_samples import sample_attached, stacks_by_comm
from go_chains import Chains
from harness import IS_LONG, Tap, need_root, share

# In the short tier it is long enough for all that run side by side to use their CPU time.
SECONDS = 10 if IS_LONG else 8
AT_ONCE = judge.AT_ONCE if IS_LONG else 12
# A stack that is allowed but for functions, innermost, that go_chains.py has no name for: of the runtime,
# of libc.
UNKNOWN_RUNTIME = "unknown functions of the runtime"


class Verdict(judge.Verdict):
    """What there is to say about the stacks of one target."""
    kinds = {judge.BETWEEN_STATES: judge.RUN_FAULT, UNKNOWN_RUNTIME: judge.RUN_FAULT}

    def __init__(self, target, style, limits=judge.NoneAllowed):
        super().__init__(limits)
        self._target = target
        self._chains = Chains(target, style)
        self.kernel_percent = target.kernel_percent
        self.own = 0
        self.seen = set()

    def judge(self, stack, count):
        users = stack.user_frames
        if self._chains.is_own(users):
            self.own += count
        elif not self._chains.is_background(users):
            if self._chains.has_unknown_runtime(users):
                self.add_bad(UNKNOWN_RUNTIME, stack, count)
            else:
                self.add_wrong("not allowed", stack, count)
        self.seen.update(self._chains.find_wanted(users))

    def shortfalls(self):
        found = []
        if 100 * self.own < self._target.own_percent * self.total:
            found.append("in chains that are declared: " + share(self.own, self.total))
        return found + ["never seen: " + text for text in self._chains.wanted if text not in self.seen]

    @property
    def note(self):
        return "%s, in its own chains: %s" % (super().note, share(self.own, self.total))


def sample(programs, seconds, *options):
    """Stacks of @programs, which run while the agent knows them, by comm."""
    return stacks_by_comm(sample_attached(programs, seconds, *options).stacks)


def title(target, go, mode_name):
    """The name of a result."""
    return "all samples of %s in %s, %s, are allowed" % (target.name, go, mode_name)


def cases_of(tap, the_judge, todo):
    """The judge.Case of each target in @todo; what a build needs and lacks is skipped."""
    builds = []
    for go, mode_name, names in todo:
        for target in gos.find_targets(names).values():
            try:
                builds.append((target, go, mode_name, go.build(target, mode_name)))
            except gos.Lacking as lack:
                tap.skip(title(target, go, mode_name), lack)
    limits = the_judge.limits(len(builds))
    return [judge.Case(title(target, go, mode_name), target.comm, command,
                       Verdict(target, gos.MODES[mode_name].style(target), limits))
            for target, go, mode_name, command in builds]


def plan(arguments):
    """What is to run: (Go, mode, names of targets or none for all) each."""
    chosen = gos.chosen(arguments, IS_LONG)
    every = chosen.every
    if arguments or IS_LONG:
        return [(go, mode, chosen.names) for go in chosen.runtimes or every.values()
                for mode in chosen.modes or gos.MODES]
    first, *others = every.values()
    return ([(first, "plain", [])]
            + [(first, mode, gos.SHORT_TARGETS[::2]) for mode in gos.SHORT_MODES[1:]]
            + [(go, "stripped", gos.SHORT_TARGETS[1::2]) for go in others[-1:]])


def main():
    tap = Tap()
    need_root(tap, "stacks of Go")
    if not gos.at_hand(IS_LONG):
        tap.skip("stacks of Go", "there is no go on this machine")
        tap.finish()
    the_judge = judge.Judge(tap, "go_test", SECONDS, at_once=AT_ONCE, cpu_seconds=judge.CPU_SECONDS)
    the_judge.run(cases_of(tap, the_judge, plan(sys.argv[1:])))
    the_judge.finish(is_whole=not sys.argv[1:])
    tap.finish()


if __name__ == "__main__":
    main()
