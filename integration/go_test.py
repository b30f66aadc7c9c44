#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""Every sample of every target in Go lies in the set of chains that its source allows, in every Go
at hand, and in all ways to build and link programs.

The targets are stopped while the agent starts and attaches to them, so that no sample comes before.

usage: go_test.py [VERSION|MODE|TARGET...]

A VERSION is as go1.22.12, a MODE one of gos.MODES.
"""
import collections
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gos
from attached_samples import sample_attached, shorten, stacks_by_comm
from go_chains import Chains
from harness import IS_LONG, Program, Tap, need_root, share

SAMPLES_PER_TARGET = 200
AT_ONCE = 6
SECONDS = 10 if IS_LONG else 3
# On a machine that is busy with other things the targets get little of it.
ROUNDS_MAX = 5
# Of samples that say that they were taken while the kernel changed what is walked.
BETWEEN_STATES_MAX = 0.002
SHOWN_STACKS = 4
# The long tier wants none. What else comes once in some thousand samples are functions of the runtime
# and of libc that go_chains.py has no name for.
WRONG_MAX = 0 if IS_LONG else 0.004
WRONG_MAX_SAMPLES = 0 if IS_LONG else 2


class Verdict:
    """What there is to say about the stacks of one target."""

    def __init__(self, target, style):
        self._target = target
        self._chains = Chains(target, style)
        self.total = self.own = self.in_kernel = self.between_states = 0
        self.wrong = collections.Counter()
        self.seen = set()

    def add(self, stack, count):
        """Judges one stack."""
        users = stack.user_frames
        if stack.is_without_memory:
            return
        self.total += count
        if stack.is_between_states:
            self.between_states += count
            return
        if stack.frames[-1].endswith("_[k]"):
            self.in_kernel += count
        if self._chains.is_own(users):
            self.own += count
        elif not self._chains.is_background(users):
            self.wrong[shorten(stack.frames)] += count
        self.seen.update(self._chains.find_wanted(users))

    @property
    def is_settled(self):
        """True if more samples would not make it better."""
        return self.has_wrong or not self.failures

    @property
    def has_wrong(self):
        """True if more samples are wrong than may be."""
        return self.wrong.total() > max(WRONG_MAX_SAMPLES, WRONG_MAX * self.total)

    @property
    def failures(self):
        """Texts of what is not as it should be."""
        target = self._target
        found = []
        if self.has_wrong:
            found = ["%d times %s" % (count, text[-1500:])
                     for text, count in self.wrong.most_common(SHOWN_STACKS)]
            found.append("%d of %d samples are wrong" % (self.wrong.total(), self.total))
        if self.total < SAMPLES_PER_TARGET:
            found.append("only %d samples" % self.total)
        if 100 * self.own < target.own_percent * self.total:
            found.append("in chains that are declared: " + share(self.own, self.total))
        if 100 * self.in_kernel < target.kernel_percent * self.total:
            found.append("in the kernel: " + share(self.in_kernel, self.total))
        if self.between_states > max(1, BETWEEN_STATES_MAX * self.total):
            found.append("between two states: %d" % self.between_states)
        found += ["never seen: " + text for text in self._chains.wanted if text not in self.seen]
        return found


def sample(programs, seconds, *options):
    """Stacks of @programs, which run while the agent knows them, by comm."""
    return stacks_by_comm(sample_attached(programs, seconds, *options).stacks)


def title(target, go, mode_name):
    """The name of a result."""
    return "all samples of %s in %s, %s, are allowed" % (target.name, go, mode_name)


def sample_group(commands, verdicts):
    """Runs programs side by side, @commands by comm, until @verdicts, by comm too, are settled."""
    programs = []
    try:
        for command in commands.values():
            programs.append(Program(*command))
        for _ in range(ROUNDS_MAX):
            for comm, stacks in sample(programs, SECONDS).items():
                for stack, count in stacks.items():
                    verdicts[comm].add(stack, count)
            if all(verdict.is_settled for verdict in verdicts.values()):
                break
    finally:
        for program in programs:
            program.__exit__()


def test_group(tap, go, mode_name, group):
    """Samples the targets of @group, (target, command) each, together and judges each."""
    verdicts = {target.comm: Verdict(target, gos.MODES[mode_name].style(target))
                for target, _ in group}
    sample_group({target.comm: command for target, command in group}, verdicts)
    for target, _ in group:
        verdict = verdicts[target.comm]
        tap.ok(not verdict.failures, title(target, go, mode_name), *verdict.failures)
        tap.note("%s: %d samples, in its own chains: %s" % (
            target.comm, verdict.total, share(verdict.own, verdict.total)))


def test_mode(tap, go, mode_name, targets):
    """All @targets, built by @go in one mode."""
    built = []
    for target in targets:
        try:
            built.append((target, go.build(target, mode_name)))
        except gos.Lacking as lack:
            tap.skip(title(target, go, mode_name), lack)
    for first in range(0, len(built), AT_ONCE):
        test_group(tap, go, mode_name, built[first:first + AT_ONCE])


def plan(arguments):
    """What is to run: (Go, mode, names of targets or none for all) each."""
    every = gos.at_hand(IS_LONG or any(word.startswith("go1.") for word in arguments))
    gos_wanted = [name for name in every if name in arguments]
    modes = [name for name in gos.MODES if name in arguments]
    names = [word for word in arguments if word not in gos_wanted + modes]
    if arguments or IS_LONG:
        return [(every[name], mode, names) for name in gos_wanted or every
                for mode in modes or gos.MODES]
    first, *others = every.values()
    return ([(first, "plain", [])]
            + [(first, mode, gos.SHORT_TARGETS) for mode in gos.SHORT_MODES[1:]]
            + [(go, "stripped", gos.SHORT_TARGETS) for go in others])


def main():
    tap = Tap()
    need_root(tap, "stacks of Go")
    if not gos.at_hand(IS_LONG):
        tap.skip("stacks of Go", "there is no go on this machine")
        tap.finish()
    for go, mode_name, names in plan(sys.argv[1:]):
        test_mode(tap, go, mode_name, gos.find_targets(names).values())
    tap.finish()


if __name__ == "__main__":
    main()
