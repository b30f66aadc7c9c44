#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""Every sample of every target in Python lies in the set of stacks that its source allows, with the
line of each frame, in every Python at hand.

The targets are stopped while the agent starts and attaches to them, so that no sample comes before.
usage: python_test.py [PYTHON|TARGET...]
"""
import collections
import glob
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge
import pythons
from harness import IS_LONG, StackEnds, Tap, need_root, share
from python_chains import PythonFrame, Target, split
from python_targets_test import lack_of

# In the short tier it is long enough for all that run side by side to use their CPU time.
SECONDS = 12 if IS_LONG else 6
# All targets that make no processes run side by side.
AT_ONCE = 40
# In the short tier the newest Pythons have a slice of all targets, the others those that depend most on how frames hang together.
NEWEST = 2
OLD_TARGETS = ["alternating", "calls", "coroutines", "names", "threads"]
# A debug build that starts among twenty others.
READY_SECONDS = 120
# Of two functions that take the same time.
EVEN_SHARE = 0.35
# The least share of known samples where a target's children are known only after a while.
KNOWN_SHARE = 0.5
# In a target that runs some instructions without unwind tables.
BARE = "in code without unwind tables"
BARE_FAULT = 0.1
NO_TABLES = ["[error: no unwind information]", "[error: anonymous executable memory]"]
# In forks that compile: their deferred samples are unwound from a copy of the stack, which the compiler's frames may
# not fit into, and without the code that was made.
CUT = "cut"
CUT_FAULT = 0.3
CUT_FRAMES = 10
CUT_ENDS = ["[error: anonymous executable memory]", "[error: stack unreadable]"]
UNREAD = "[error: interpreted frames unreadable]"


def has_no_stack(users, ends):
    """True if they are of a thread that has given its stack back, as musl has its threads do."""
    known = [frame for frame in users if not frame.startswith("[error: ")]
    return len(users) > len(known) == 1 and ends.is_entry(known[0])


class Verdict(judge.Verdict):
    """What there is to say about the stacks of one target."""

    def __init__(self, target, ends, is_compiling=False, limits=judge.NoneAllowed):
        self.kinds = {BARE: BARE_FAULT} if target.bare else {}
        if target.forks and is_compiling:
            self.kinds[CUT] = CUT_FAULT
        super().__init__(limits)
        self._target = target
        self._ends = ends
        self.unknown = self.unnamed = self.native = self.unread = 0
        self.names = collections.Counter()
        self.groups_max = 0

    def is_left_out(self, stack):
        """Also what cannot be known of programs that begin all the time, or lasts for a moment."""
        target = self._target
        return ((target.forks and (is_unavoidable(stack) or stack.errors and is_in_exec(stack)))
                or ((target.forks or target.is_native) and stack.is_without_memory))

    def add(self, stack, count):
        if self.is_left_out(stack):
            self.unknown += count
        super().add(stack, count)

    def judge(self, stack, count):
        why = self._judge(stack, count)
        if why:
            self.add_wrong(why, stack._replace(frames=tuple(stack.user_frames)), count)

    def _judge(self, stack, count):
        target = self._target
        users = stack.user_frames
        is_cloning = target.is_native and users and is_in_clone(users[-1], self._ends)
        if is_cloning:
            users = with_caller_of_clone(users)
        if not users and target.forks:
            self.total -= count
            self.unknown += count
            return None
        if (is_cloning and len(users) == 1) or (target.is_native
                                                and has_no_stack(users, self._ends)):
            self.native += count
            return None
        if target.bare and is_bare(users, target.bare):
            self.add_bad(BARE, stack, count)
            return None
        if CUT in self.kinds and users[0] in CUT_ENDS and len(users) < CUT_FRAMES:
            self.add_bad(CUT, stack, count)
            return None
        if target.unread_percent and set(stack.errors) == {UNREAD}:
            self.unread += count
            return None
        # An entry that may be a guess says so.
        seen = stack._replace(frames=tuple(users[1:]))
        if seen.errors or seen.has_guess or not users or not self._ends.is_entry(users[0]):
            return "not complete"
        if any(is_unnamed(frame) for frame in users):
            self.unnamed += count
            return None
        items, _, why = split(users, target.loop_version)
        if not items and target.forks:
            # The agent is on its way to attach.
            self.total -= count
            self.unknown += count
            return None
        if why:
            return why
        if not items:
            self.native += count
            return None if target.is_native else "no Python frame"
        python = [item for item in items if isinstance(item, PythonFrame)]
        if (python[-1].name == "ready" and python[-1].file.endswith("/target.py")
                or [frame.line for frame in python] == [target.ready_line]):
            # It was stopped while it told that it is ready.
            self.total -= count
            return None
        self.names[python[-1].name] += count
        self.groups_max = max(self.groups_max, sum(1 for item in items[:-1]
                                                   if not isinstance(item, PythonFrame)) + 1)
        return None if target.allows(items) else "not allowed: " + target.text(items)

    def shortfalls(self):
        target, found = self._target, []
        if 100 * self.unnamed > target.unnamed_percent * self.total:
            found.append("without names: " + share(self.unnamed, self.total))
        if 100 * self.unread > target.unread_percent * self.total:
            found.append("error frames for Python frames: " + share(self.unread, self.total))
        if self.native > 0.1 * self.total:
            found.append("without Python frames: " + share(self.native, self.total))
        if self.unknown > (1 - KNOWN_SHARE) * (self.total + self.unknown):
            found.append("before known: " + share(self.unknown, self.total + self.unknown))
        counts = [self.names[name] for name in target.even]
        if counts and min(counts) < EVEN_SHARE * sum(counts):
            found.append("not even: %s" % dict(zip(target.even, counts)))
        if self.groups_max < target.alternates:
            found.append("at most %d groups of Python frames" % self.groups_max)
        return found

    @property
    def note(self):
        return "%d samples, %d without names, %d without Python frames, %d not known, %d with error frames" % (
            self.total, self.unnamed, self.native, self.unknown, self.unread)


def is_in_clone(frame, ends):
    """True if @frame is clone() or clone3(): by name, else near the address where threads start."""
    name, has_address, address = frame.partition("+0x")
    if not has_address:
        return bool(re.fullmatch(r"_*clone3?(@.*)?", frame))
    return name.startswith("libc") and any(
        ends.is_entry("%s+%#x" % (name, int(address, 16) + more)) for more in range(0, 16, 2))


def with_caller_of_clone(users):
    """@users, which end in clone(), without flags: behind its system call the C library has no
    unwind tables, so that its caller is a guess, and a new thread has none.
    """
    callers = users[:-1]
    if callers == ["[error: no unwind information]"]:
        callers = []
    if callers and callers[-1].endswith("_[?]"):
        callers[-1] = callers[-1][:-len("_[?]")]
    return callers + users[-1:]


def is_bare(users, libraries):
    """True if the sample came in code of @libraries for which there are no unwind tables."""
    return (len(users) == 2 and users[0] in NO_TABLES and users[1].startswith(tuple(libraries)))


def is_unavoidable(stack):
    """True for what a target may show whose processes begin all the time: one that the agent has
    not read, or not to its end, and one for which a page is being copied: it is unmapped
    meanwhile, and what lies in it is not known.
    """
    if stack.is_in_page_copy:
        return bool(stack.errors) or any(map(is_unnamed, stack.frames))
    return bool({"[error: process not known yet]", "[error: unwind rows not loaded]",
                 "[error: address in no known mapping]"} & set(stack.errors))


def is_unnamed(frame):
    """True for an interpreted frame whose function could not be read any more."""
    return frame.startswith("[python")


def is_in_exec(stack):
    """True if the sample came between two programs of one process: its stack is gone."""
    return any(re.match(r"\w*execve\w*_\[k\]|begin_new_exec_\[k\]", frame)
               for frame in stack.frames)


def _other(python):
    """The path of another Python in the same root, its own if there is none."""
    others = [one for one in pythons.at_hand(python.root != "/").values()
              if one.root == python.root and one.version != python.version]
    return (others or [python])[-1].path


def case_of(python, target, limits=judge.NoneAllowed):
    """One target in one Python."""
    verdict = Verdict(target, StackEnds(python.directories, python.entries), python.is_compiling, limits)
    return judge.Case("all samples of %s in %s are allowed" % (target.name, python), target.comm,
                      python.target(target.name), verdict, target.forks, seconds=READY_SECONDS,
                      env={**os.environ, "ALLFRAMES_OTHER_PYTHON": _other(python)})


def targets_of(python, names):
    """The targets that @python can run, all or those in @names."""
    for path in sorted(glob.glob(pythons.TARGETS + "/*.py")):
        name = os.path.basename(path)[:-len(".py")]
        if name != "target" and (not names or name in names):
            yield Target(path, python.version)


def cases_in(tap, python, names):
    """All targets (@names, if any) in one Python."""
    found = []
    for target in targets_of(python, names):
        lack = lack_of(python, target)
        if lack:
            tap.skip("all samples of %s in %s are allowed" % (target.name, python), lack)
        else:
            found.append(case_of(python, target))
    return found


def main():
    tap = Tap()
    need_root(tap, "stacks of Python")
    chosen = pythons.chosen(sys.argv[1:], IS_LONG)
    is_slice = not IS_LONG and not sys.argv[1:]
    newest = list(chosen.every)[-NEWEST:]
    the_judge = judge.Judge(tap, "python_test", SECONDS, "-with-lines", at_once=AT_ONCE, cpu_seconds=judge.CPU_SECONDS_OF_MANY)
    for python in chosen.runtimes or chosen.every.values():
        names = pythons.SHORT_TARGETS if python.name in newest else OLD_TARGETS
        the_judge.run(cases_in(tap, python, names if is_slice else chosen.names))
    the_judge.finish(is_whole=not sys.argv[1:])
    tap.finish()


if __name__ == "__main__":
    main()
