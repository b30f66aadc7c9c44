#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""Stacks of Java are what the JVM itself says of them: methods, files and lines, frame by frame.

A target writes down what Thread.getStackTrace() tells in the calls of Target.spin(); each stack that the
agent shows there must be one of these, hidden methods and inlined ones included.

What C2 inserts last of all, such as spills, no record of DebugNonSafepoints is made for: the JVM describes it
by the next instruction that has one, which may be of another branch of the same compiled method. Such
stacks are whole, and both of their parts are told of.

usage: java_observer_test.py [JDK|MODE|TARGET...]
"""
import collections
import contextlib
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
import javas
from attached_samples import sample_attached, stacks_by_comm
from harness import IS_LONG, Program, Tap, need_root
from java_chains import LANGUAGES, JavaFrame, split, text_of
from judge import groups_of
from java_targets_test import SHOWING_ALL, read_frame, without_number

SECONDS = 6 if IS_LONG else 30
# In the short tier a target is stopped when it has used so much.
CPU_SECONDS = None if IS_LONG else 1
READY_SECONDS = 120
ROUNDS_MAX = 5
SAMPLES = 100
# So many of the reported stacks have to be seen, or all; a program is in some of them for a moment only.
SEEN_MIN = 4
# In others most of these callers are approximate.
MODES = ["int", "exact", "c1", "comp"]
# Whose methods call Target.spin() in the same ways again and again.
TARGETS = ["Calls", "Exceptions", "Hidden", "Jni", "Kotlin", "Monitors", "Names", "Recursion",
           "Reflection", "Scala", "Streams"]
SHORT_TARGETS, SHORT_INTERPRETED, SHORT_OTHERS = ["Calls", "Reflection", "Scala", "Streams"], ["Exceptions"], ["Recursion"]
LEAF = "Target.spin"
# Samples that the next instruction's record describes.
MISPLACED = "misplaced"
MISPLACED_FAULT = 0.02
SUFFIXES = tuple("." + suffix for suffix in LANGUAGES)


def callers_of_spin(frames):
    """What stands below the innermost method, which is LEAF; None in other stacks."""
    if not frames or frames[-1].name != LEAF:
        return None
    return tuple((without_number(frame.name), frame.file, frame.line) for frame in frames[:-1])


def _without_made_file(frame):
    """@frame, of a method that the JDK has made without what it calls its file."""
    is_source = frame.file and frame.file.endswith(SUFFIXES)
    return frame if is_source else frame._replace(file=None)


def read_told(path):
    """The stacks that a target has written, as callers_of_spin() has them."""
    stacks = set()
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            frames = [_without_made_file(read_frame(text)) for text in line.split("\t")[1:]]
            names = [frame.name for frame in frames]
            stacks.add(callers_of_spin(frames[:names.index(LEAF) + 1]))
    return stacks


def is_misplaced(frames, told):
    """True if the callers of the compiled method that @frames end in are those of a stack of @told, and what is
    inlined into it, down to LEAF, is that of another one.
    """
    callers = callers_of_spin(frames)
    at = max((i for i, frame in enumerate(frames) if not frame.is_inlined), default=0)
    if at >= len(callers):
        return False
    return (any(stack[:at] == callers[:at] and stack[at:] and stack[at][:2] == callers[at][:2] for stack in told)
            and any(stack[at - len(callers):] == callers[at:] for stack in told))


class Comparison:
    """Of one target's samples with what it told; @is_described: the JVM has a record of each instruction."""

    def __init__(self, is_described):
        self._told = set()
        self.is_described = is_described
        self._seen = set()
        self.total = self.approximate = self.misplaced = 0
        self._wrong = collections.Counter()

    def tell(self, told):
        """What the target has told, which is started once more for each round."""
        self._told |= told

    def add(self, stack, count):
        items, _ = split(stack.user_frames)
        frames = [item for item in items if isinstance(item, JavaFrame)]
        callers = callers_of_spin(frames)
        if callers is None:
            return
        if any(frame.is_approximate for frame in frames[:-1]):
            self.approximate += count
            return
        self.total += count
        if callers in self._told:
            self._seen.add(callers)
        elif self.is_described and is_misplaced(frames, self._told):
            self.misplaced += count
        else:
            self._wrong[callers] += count

    def judge(self, tap, name):
        text = "%d samples, %d of them wrong, %d misplaced, %d approximate; of %d stacks told %d were seen" % (
            self.total, self._wrong.total(), self.misplaced, self.approximate, len(self._told), len(self._seen))
        notes = ["%d times %s" % (count, text_of([JavaFrame(*frame) for frame in callers])[-1500:])
                 for callers, count in self._wrong.most_common(3)]
        if notes:
            nearest = max(self._told, key=lambda one: len(set(one) & set(next(iter(self._wrong)))))
            notes.append("told: " + text_of([JavaFrame(*frame) for frame in nearest])[-1500:])
        tap.ok(self.total >= SAMPLES and not self._wrong
               and len(self._seen) >= min(SEEN_MIN, len(self._told)),
               name, *notes, text)
        tap.note("%s: %s" % (name, text))


def name_of(java, mode, target):
    return "stacks of %s in %s, %s, are as the JVM says" % (target.name, java, mode)


class Case:
    """One target, which is started anew for each round. Raises javas.Lacking where it cannot run."""

    def __init__(self, java, mode, target):
        self.name = name_of(java, mode, target)
        self.comm = target.comm
        self.forks = False
        self.comparison = Comparison(is_described=mode == "exact")
        self._path = os.path.join(javas.OUTPUT, "told-%s-%s-%s" % (java, mode, target.name))
        self._command = java.target(target, mode, *SHOWING_ALL, "-Dallframes.tell=" + self._path)

    def start(self):
        """The Program, stopped when it has told its stacks, so that the next one gets ready as well."""
        program = Program(*self._command, seconds=READY_SECONDS)
        os.kill(program.pid, signal.SIGSTOP)
        self.comparison.tell(read_told(self._path))
        os.unlink(self._path)
        return program


def test(tap, run, cases):
    """Targets of different names, side by side."""
    for _ in range(ROUNDS_MAX):
        # Each time anew: in some runs, with all instructions described, C2 keeps no lines of LEAF's loop.
        lacking = [case for case in cases if case.comparison.total < SAMPLES]
        if not lacking:
            break
        with contextlib.ExitStack() as running:
            programs = [running.enter_context(case.start()) for case in lacking]
            by_comm = stacks_by_comm(sample_attached(programs, SECONDS, "-with-lines", cpu_seconds=CPU_SECONDS).stacks)
        for case in lacking:
            for stack, count in by_comm[case.comm].items():
                case.comparison.add(stack, count)
    for case in cases:
        case.comparison.judge(tap, case.name)
        if case.comparison.is_described:
            run.add(MISPLACED, case.comparison.misplaced, case.comparison.total, MISPLACED_FAULT)


def plan(arguments):
    """(Java, mode, targets' names) of what is to be done."""
    every, todo = javas.chosen(arguments, IS_LONG)
    if todo:
        return [(java, mode, names or TARGETS) for java, mode, names in todo]
    if IS_LONG:
        return [(java, mode, TARGETS) for java in every.values() for mode in MODES]
    *others, newest = every.values()
    return [(newest, "exact", SHORT_TARGETS), (newest, "int", SHORT_INTERPRETED)] + [
        (java, "exact", SHORT_OTHERS) for java in others]


def main():
    tap = Tap()
    need_root(tap, "what the JVM says of stacks")
    if not javas.of_machine():
        tap.skip("what the JVM says of stacks", "there is no JDK on this machine")
        tap.finish()
    todo = plan(sys.argv[1:])
    run = bad_events.Run("java_observer_test")
    targets = {target.name: target for target in javas.build()}
    cases = []
    for java, mode, name in [(java, mode, name) for java, mode, names in todo for name in names if name in targets]:
        try:
            cases.append(Case(java, mode, targets[name]))
        except javas.Lacking as lack:
            tap.skip(name_of(java, mode, targets[name]), lack)
    for group in groups_of(cases):
        test(tap, run, group)
    run.finish(tap, is_whole=not sys.argv[1:])
    tap.finish()


if __name__ == "__main__":
    main()
