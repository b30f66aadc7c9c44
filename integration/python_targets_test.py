#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""What the targets in Python declare is what their interpreters do: no agent is needed.

Each interpreter looks at its own stacks (python_observer.py), and the declaration must allow all of
them, and none in which a line, a name or a frame was changed.
"""
import glob
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pythons
from harness import IS_LONG, Tap
from python_chains import PythonFrame, Target

OBSERVER = os.path.join(pythons.TARGETS, "..", "..", "python_observer.py")
SECONDS = 4 if IS_LONG else 1
CHANGES = 200


def observe(python, target):
    """The stacks that @python sees of @target, as lists of items."""
    with open(OBSERVER, encoding="utf-8") as file:
        # The root of another suite has no observer in it.
        command = python.command("-B", "-c", "__file__ = '<string>'\n" + file.read(),
                                 target.observe, SECONDS, target.path)
    other = {**os.environ, "ALLFRAMES_OTHER_PYTHON": python.path}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=other, timeout=120, check=False)
    if done.returncode:
        raise RuntimeError("%s fails in %s: %s" % (target.name, python, done.stderr.decode()))
    text = done.stdout.decode().splitlines()[-1]
    return [[PythonFrame(*frame) for frame in stack] for stack in json.loads(text)]


def with_natives(target, stack):
    """@stack as the agent would see it, with what could stand for any C function in between."""
    items = []
    for frame in stack:
        items += [("?",), frame] if items else [frame]
    return items


def changed(generator, stack, inserted="inserted"):
    """@stack with one thing made wrong. @inserted: the name of a function that is nowhere."""
    stack = list(stack)
    index = generator.randrange(len(stack))
    frame = stack[index]
    way = generator.randrange(3)
    if way == 0:
        stack[index] = frame._replace(line=frame.line + 1000)
    elif way == 1:
        stack[index] = frame._replace(name=frame.name + "x")
    else:
        stack.insert(index, frame._replace(name=inserted))
    return stack


def shown(target, stack):
    """@stack as text that can be printed."""
    return target.text(stack).encode("ascii", "backslashreplace").decode()[:400]


def judge(tap, python, target):
    stacks = observe(python, target)
    wrong = [stack for stack in stacks if not target.allows(with_natives(target, stack))]
    tap.ok(len(stacks) >= 2 and not wrong,
           "%s allows what %s sees of itself" % (target.name, python),
           "%d of %d stacks are not allowed" % (len(wrong), len(stacks)),
           *[shown(target, stack) for stack in sorted(wrong, key=len)[:8]])
    generator = random.Random(1)
    passed = []
    for _ in range(CHANGES if stacks else 0):
        stack = changed(generator, generator.choice(stacks))
        # The standard library's functions may be in any line, and some in any order.
        if target.allows(with_natives(target, stack)) and not any(
                frame.file != target.path for frame in stack):
            passed.append(shown(target, stack))
    tap.ok(not passed, "%s with %s allows no stack that was changed" % (target.name, python),
           *passed[:4])


def has_needs(command, needs):
    """True if a Python has the modules @needs; @command makes the command with its arguments."""
    return not needs or subprocess.run(
        command("-c", "import " + ",".join(needs)), stderr=subprocess.DEVNULL,
        check=False).returncode == 0


def lack_of(python, target):
    """Why @python cannot run @target; None if it can."""
    if python.is_debug and "%d.%d" % python.version in target.too_deep:
        return "too deep for debug builds of this version"
    if not has_needs(python.command, target.needs):
        return "no " + " ".join(target.needs)
    return None


def main():
    tap = Tap()
    every = pythons.at_hand(IS_LONG)
    wanted = [every[name] for name in every if not sys.argv[1:] or name in sys.argv[1:]]
    names = [name for name in sys.argv[1:] if name not in every]
    is_slice = not IS_LONG and not sys.argv[1:]
    if is_slice:
        wanted, names = wanted[-2:], pythons.SHORT_TARGETS
    for number, python in enumerate(wanted):
        # The short tier has the targets in turn over the Pythons.
        own_names = names[number::len(wanted)] if is_slice else names
        for path in sorted(glob.glob(pythons.TARGETS + "/*.py")):
            name = os.path.basename(path)[:-len(".py")]
            if name == "target" or own_names and name not in own_names:
                continue
            target = Target(path, python.version)
            if target.observe == "no":
                continue
            lack = lack_of(python, target)
            if lack:
                tap.skip("%s allows what %s sees of itself" % (name, python), lack)
                continue
            judge(tap, python, target)
    tap.finish()


if __name__ == "__main__":
    main()
