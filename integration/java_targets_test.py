#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""What the targets in Java declare is what their JVMs say of them: no agent is needed.

Each target looks at its own threads by Thread.getStackTrace() (Target.java), and the declaration
must allow all of these stacks, and none in which a line, a name or a frame was changed.

usage: java_targets_test.py [JDK|MODE|TARGET...]
"""
import collections
import concurrent.futures
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import javas
from harness import IS_LONG, Tap, die_with_parent
from java_chains import JavaFrame, text_of
from python_targets_test import changed

SECONDS = 3 if IS_LONG else 1
AT_ONCE = 2
CHANGES = 200
STACKS = 2
TIMEOUT_SECONDS = 120
# Hidden methods are shown as well, and of deep stacks the root. No classes are unloaded, for JDK 25
# crashes when that happens while it writes down a trace.
SHOWING_ALL = ["-Xnoclassgc", "-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames",
               "-XX:MaxJavaStackTraceDepth=100000"]
OBSERVING = SHOWING_ALL + ["-Dallframes.observe=%d" % SECONDS]
BYTECODES_FROM = 1000000
# The same in the spelling of stack traces: hidden classes with an address, those of JDK 8 a number.
_SUFFIX = re.compile(r"[/+](?:0x)?[0-9a-f]+(?=\.)")


def without_number(name):
    """The name of a method without what tells a hidden class from others."""
    return _SUFFIX.sub("", name)


def read_frame(text):
    """The JavaFrame that a target has printed."""
    name, file, line = text.split("|")
    # So ShowHiddenFrames numbers bytecodes that are of no line.
    line = int(line) if int(line) < BYTECODES_FROM else 0
    return JavaFrame(without_number(name), None if file == "null" else file, line)


def observe(java, mode, target):
    """The stacks that @target sees of itself in @java, as lists of items."""
    done = subprocess.run(java.target(target, mode, *OBSERVING), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          preexec_fn=die_with_parent, timeout=TIMEOUT_SECONDS)
    text = done.stdout.decode()
    if done.returncode:
        raise RuntimeError("%s fails in %s: %s" % (target.name, java, text[-2000:]))
    lines = [line.split("\t")[1:] for line in text.splitlines() if line.startswith("stack\t")]
    return [[read_frame(frame) for frame in line] for line in lines]


def is_ready(stack):
    """True if the program tells that it is ready, or is being looked at for the first time."""
    return any(re.match(r"Target\.(?!spin)", frame.name) for frame in stack)


def is_of_target(target, frame):
    """True for a frame that a declaration has by name and line."""
    return (frame.file in (target.file, "Target.java") and "$$Lambda" not in frame.name
            and frame.name.startswith((target.main_class, "Target.", "Inserted.")))


def judge(tap, name, target, stacks):
    """Two results: @target allows @stacks, and no changed ones."""
    stacks = [stack for stack in stacks if not is_ready(stack)]
    wrong = [stack for stack in stacks if not target.allows(stack, is_observed=True)]
    depth = max(map(len, stacks), default=0)
    tap.ok(len(stacks) >= (1 if target.depth else STACKS) and not wrong and depth >= target.depth,
           "%s is as %s sees itself" % (target.name, name),
           "%d of %d stacks are not allowed; %d deep" % (len(wrong), len(stacks), depth),
           *[text_of(stack)[-600:] for stack in sorted(wrong, key=len)[:8]])
    generator = random.Random(1)
    passed = []
    for _ in range(CHANGES if stacks else 0):
        stack = generator.choice(stacks)
        wrong = changed(generator, stack, "Inserted.inserted")
        # The standard library's methods may be in any line, and some in any order.
        differing = [frame for frame in wrong if frame not in stack]
        if (differing and is_of_target(target, differing[0]) and target.allows(wrong, True)):
            passed.append(text_of(wrong)[-600:])
    tap.ok(not passed, "%s in %s allows no stack that was changed" % (target.name, name),
           *passed[:4])
    return collections.Counter(len(stack) for stack in stacks)


def plan(arguments):
    """(Java, mode, targets' names) of what is to be done."""
    every, todo = javas.chosen(arguments, IS_LONG)
    if todo:
        return todo
    if IS_LONG:
        return [(java, mode, []) for java in every.values() for mode in ("int", "plain")]
    # In the interpreter a stack can be seen at each instruction.
    return [(java, mode, javas.SHORT_TARGETS) for java, mode in zip(every.values(), ["plain", "int"])]


def main():
    tap = Tap()
    if not javas.of_machine():
        tap.skip("targets in Java", "there is no JDK on this machine")
        tap.finish()
    todo = plan(sys.argv[1:])
    targets = {target.name: target for target in javas.build()}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        runs = []
        for java, mode, names in todo:
            for target in targets.values():
                if target.is_observed and (not names or target.name in names):
                    runs.append((java, mode, target, pool.submit(observe, java, mode, target)))
        for java, mode, target, run in runs:
            name = "%s, %s" % (java, mode)
            try:
                judge(tap, name, target, run.result())
            except javas.Lacking as lack:
                tap.skip("%s is as %s sees itself" % (target.name, name), lack)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                tap.ok(False, "%s is as %s sees itself" % (target.name, name), error)
    tap.finish()


if __name__ == "__main__":
    main()
