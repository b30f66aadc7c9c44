#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""With -with-signatures the names of Java methods have the types that javap tells of them.

usage: java_signatures_test.py [JDK|MODE|TARGET...]
"""
import contextlib
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import javas
from attached_samples import sample_attached, stacks_by_comm
from harness import IS_LONG, Program, Tap, need_root
from java_chains import JavaFrame, split

# They run until they have used the CPU time, and on a busy machine for so long.
SECONDS, CPU_SECONDS = 30, 0.6
READY_SECONDS = 60
SAMPLES = 200
MODES = ["plain", "int"]
TARGETS = ["Calls", "Recursion"]
_METHOD = re.compile(r"^  (?:.* )?([\w.$<>]+|static \{\})(?:\(.*)?;\n    descriptor: (\S+)$", re.M)


def methods_of(target):
    """The methods of @target's classes, as the agent calls them: class.method, types and result."""
    found = set()
    for method, types in javas.disassembled(target.name, "-s", _METHOD):
        if types.startswith("("):
            # A semicolon ends a frame in folded files.
            found.add(method + types.replace(";", ":"))
    return found


def judge(tap, java, mode, target, stacks):
    """One target: its methods in all samples have the types that they have."""
    name = "methods of %s in %s, %s, have their types" % (target.name, java, mode)
    known = methods_of(target)
    seen, wrong, count = set(), set(), 0
    for stack, samples in stacks.items():
        own = [item for item in split(stack.user_frames)[0]
               if isinstance(item, JavaFrame) and item.file == target.file]
        count += samples * bool(own)
        seen |= {frame.name for frame in own if frame.name in known}
        wrong |= {frame.name for frame in own if frame.name not in known}
    tap.ok(count >= SAMPLES and len(seen) > 3 and not wrong, name,
           "%d samples, %d methods of %d" % (count, len(seen), len(known)), *sorted(wrong)[:8])


def test(tap, java, mode, targets):
    """The targets in one mode, side by side."""
    with contextlib.ExitStack() as running:
        programs = [running.enter_context(Program(*java.target(target, mode), seconds=READY_SECONDS)) for target in targets]
        stacks = sample_attached(programs, SECONDS, "-with-lines", "-with-signatures", cpu_seconds=CPU_SECONDS).stacks
    by_comm = stacks_by_comm(stacks)
    for target in targets:
        judge(tap, java, mode, target, by_comm[target.comm])


def plan(arguments):
    every, todo = javas.chosen(arguments, IS_LONG)
    if todo:
        return [(java, mode, names or TARGETS) for java, mode, names in todo]
    if IS_LONG:
        return [(java, mode, TARGETS) for java in every.values() for mode in MODES]
    return [(list(every.values())[-1], MODES[0], TARGETS)]


def main():
    tap = Tap()
    need_root(tap, "types of Java's methods")
    if not javas.of_machine():
        tap.skip("types of Java's methods", "there is no JDK on this machine")
        tap.finish()
    todo = plan(sys.argv[1:])
    javas.build()
    for java, mode, names in todo:
        test(tap, java, mode, list(javas.find_targets(names).values()))
    tap.finish()


if __name__ == "__main__":
    main()
