#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""Every sample of every target in Java lies in the set of stacks that its source allows, with the
line of each frame, in every JDK at hand, and in all modes; and those of the JVM's own threads are whole.

The targets are stopped while the agent starts and attaches to them, so that no sample comes before.

usage: java_test.py [JDK|MODE|TARGET...]
"""
import itertools
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import javas
import judge
from attached_samples import sample_attached, shorten
from harness import IS_LONG, StackEnds, Tap, need_root, share
from java_chains import JavaFrame, is_library, parse_frame, split, text_of
from python_test import is_in_clone

# In the short tier it is long enough for all that run side by side to use their CPU time.
SECONDS = 10 if IS_LONG else 6
# With -Xcomp, beside others.
READY_SECONDS = 300
# So many samples have to have a function of the target.
OWN_MIN = 40
# The innermost method, just entered, has no line.
LINELESS = "without a line"
LINELESS_FAULT = 0.05
# Exact stacks that tell where the time goes: those that end in a method.
EXACT_MIN = 100
# In mode exact the JVM has a record of each instruction that may be interrupted. What it inserts later, such as
# barriers and what is spilled, has none; in the assembly that it has for some methods there is much of that.
APPROXIMATE, APPROXIMATE_STUBS = "approximate in mode exact", "approximate in mode exact, with stubs"
APPROXIMATE_FAULT = 0.2
# Where what the JVM inlines, and the assembly that it has for some methods, are judged.
INLINING_MODE = "exact"
STUB_MODES = ["plain", "exact"]
# 8 has none for hashes.
STUBS_FROM = 9
# In the short tier all targets run in mode plain, in turn over the JDKs, and these in other modes of the newest one.
SHORT_MODES = {"int": ["Calls", "Exceptions"], "exact": ["Calls", "Inlined", "Reflection"]}
NAMELESS = "[java: no name]"
_READY = re.compile(r"Target\.(ready|join|leave)\b")
# The depth of their call chains.
READY_DEPTH = 40


class Verdict(judge.Verdict):
    """What there is to say about the stacks of one target."""

    def __init__(self, target, ends, mode="plain", version=0, limits=judge.NoneAllowed):
        self.kinds = {**judge.Verdict.kinds, LINELESS: LINELESS_FAULT}
        self._approximate = APPROXIMATE_STUBS if target.seen else APPROXIMATE
        if mode == "exact":
            self.kinds[self._approximate] = APPROXIMATE_FAULT
        super().__init__(limits)
        self._target = target
        self._ends = ends
        self._mode = mode
        self._busy_percent = target.exact_busy_percent if mode == "exact" else target.busy_percent
        self.own = self.approximate = self.depth = 0
        self.inlined, self._unseen = 0, set(target.seen if version >= STUBS_FROM else ())
        self.unnamed = self.exact = self.busy = 0

    def is_left_out(self, stack):
        """Also where it was stopped while it said that it is ready."""
        return stack.is_without_memory or any(map(_READY.match, stack.user_frames[-READY_DEPTH:]))

    def judge(self, stack, count):
        flaw = self._find_flaw(stack)
        if flaw:
            self.add_bad(judge.FLAGGED, stack, count, flaw)
            return
        why = self._judge(stack, count)
        if why:
            self.add_wrong(why, stack, count)

    def _is_cut(self, stack):
        return self._target.is_truncated and stack.user_frames[:1] == ["[truncated]"]

    def _is_beginning(self, stack):
        """A thread that begins."""
        users = stack.user_frames
        return len(users) == 1 and is_in_clone(users[0], self._ends)

    def _find_flaw(self, stack):
        """What @stack says of itself, or None."""
        users = stack.user_frames
        if any(frame.endswith("_[?]") for frame in users):
            return "a guess"
        if self._is_cut(stack) or self._is_beginning(stack):
            return None
        if stack.errors or not users or not self._ends.is_entry(users[0]):
            return "not complete"
        return None

    def _judge(self, stack, count):
        target, users = self._target, stack.user_frames
        is_cut = self._is_cut(stack)
        if is_cut:
            users = users[1:]
        elif self._is_beginning(stack):
            return None
        if NAMELESS in users:
            self.unnamed += count
            return None
        items, why = split(users)
        if why and not is_cut:
            return why
        self._unseen -= {name for name in self._unseen for frame in users[-1:] if name in frame}
        if is_library(items):
            return None
        self.own += count
        methods = [item for item in items if isinstance(item, JavaFrame)]
        self.depth = max(self.depth, len(methods))
        if not methods[-1].is_approximate:
            self.inlined = max(self.inlined, deepest_inlined(methods))
        if methods[-1].is_approximate:
            self.approximate += count
            if self._approximate in self.kinds:
                self.add_bad(self._approximate, stack, count)
        elif parse_frame(stack.frames[-1]):
            self.exact += count
            self.busy += count * any(method.name == target.busy for method in methods)
        if not target.allows(items, is_cut=is_cut):
            return "not allowed: " + shorten(text_of(items).split(";"))
        if not methods[-1].line and not target.allows(items, is_cut=is_cut, needs_line=True):
            self.add_bad(LINELESS, stack, count)
        return None

    def shortfalls(self):
        target, found = self._target, []
        own_percent = target.comp_own_percent if self._mode == "comp" else target.own_percent
        if self.own < max(OWN_MIN, own_percent / 100 * self.total):
            found.append("of the target's own: " + share(self.own, self.total))
        if self.exact >= EXACT_MIN and 100 * self.busy < self._busy_percent * self.exact:
            found.append("in %s only %s of the exact ones" % (
                target.busy, share(self.busy, self.exact)))
        if 100 * self.unnamed > target.unnamed_percent * self.total:
            found.append("without names: " + share(self.unnamed, self.total))
        if self.depth < target.depth:
            found.append("%d deep at most" % self.depth)
        return found + self._shortfalls_of_mode()

    def _shortfalls_of_mode(self):
        """The same of what some modes have."""
        target, found = self._target, []
        if self._mode == INLINING_MODE and self.inlined < target.inlined:
            found.append("inlined %d deep at most" % self.inlined)
        if self._mode in STUB_MODES and self._unseen:
            found.append("never seen: " + " ".join(sorted(self._unseen)))
        return found

    @property
    def note(self):
        return "%s, %s its own, of these %s approximate, %d deep, %d inlined" % (
            super().note, share(self.own, self.total), share(self.approximate, self.own), self.depth,
            self.inlined)


def deepest_inlined(methods):
    """How many of @methods in a row are inlined, each into the one before."""
    return max(len(list(group)) if is_inlined else 0
               for is_inlined, group in itertools.groupby(method.is_inlined for method in methods))


def sample(programs, seconds, *options):
    """Stacks of @programs, which run while the agent knows them."""
    return sample_attached(programs, seconds, "-with-lines", *options).stacks


def title(target, java, mode):
    """The name of a result."""
    return "all samples of %s in %s, %s, are allowed" % (target.name, java, mode)


def cases_of(tap, the_judge, todo, targets):
    """The judge.Case of each of @targets that @todo names; others are skipped."""
    found = []
    for java, mode, names in todo:
        for target in targets:
            if names and target.name not in names:
                continue
            try:
                found.append((java, mode, target, java.target(target, mode)))
            except javas.Lacking as lack:
                tap.skip(title(target, java, mode), lack)
    limits = the_judge.limits(len(found))
    ends = {java: StackEnds(java.directories) for java, _, _, _ in found}
    return [judge.Case(title(target, java, mode), target.comm, command,
                       Verdict(target, ends[java], mode, java.version, limits), seconds=READY_SECONDS)
            for java, mode, target, command in found]


def plan(arguments):
    """(Java, mode, targets' names) of what is to be done."""
    every, todo = javas.chosen(arguments, IS_LONG)
    if IS_LONG and set(arguments) <= set(every):
        # A part of the long tier is one JDK in all modes.
        return [(every[name], mode, [] if mode in javas.LANGUAGE_MODES
                 else javas.MODE_TARGETS.get(mode, javas.SHORT_TARGETS))
                for name in arguments or every for mode in javas.MODES]
    if todo:
        return todo
    newest = list(every.values())[-1]
    return [(java, "plain", names) for java, names in in_turn(list(every.values())).items()] + [
        (newest, mode, names) for mode, names in SHORT_MODES.items()]


def in_turn(javas_at_hand):
    """{Java: targets' names}: each target in one of those that can run it."""
    found = {java: [] for java in javas_at_hand}
    for number, target in enumerate(javas.find_targets().values()):
        able = [java for java in javas_at_hand if java.version >= target.release] or javas_at_hand
        found[able[number % len(able)]].append(target.name)
    return found


def main():
    tap = Tap()
    need_root(tap, "stacks of Java")
    if not javas.of_machine():
        tap.skip("stacks of Java", "there is no JDK on this machine")
        tap.finish()
    todo = plan(sys.argv[1:])
    if IS_LONG:
        javas.skip_missing(tap)
    the_judge = judge.Judge(tap, "java_test", SECONDS, "-with-lines", cpu_seconds=judge.CPU_SECONDS)
    the_judge.run(cases_of(tap, the_judge, todo, javas.build()))
    the_judge.finish(is_whole=not sys.argv[1:])
    tap.finish()


if __name__ == "__main__":
    main()
