#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A JVM without the tables by which its frames are found: native frames, and one clear line in the log.

Two JVMs run a copy of the machine's newest JDK, made of links, whose libjvm.so has one of the tables by
another name.
"""
import collections
import contextlib
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
import javas
from attached_samples import sample_attached, shorten
from harness import Program, StackEnds, Tap, need_root
from java_chains import JavaFrame, split
from java_test import NAMELESS
from judge import FLAGGED, RUN_FAULT

# They run until each has used the CPU time, and on a busy machine for so long.
SECONDS, CPU_SECONDS = 60, 2.4
READY_SECONDS = 60
# Of threads in code of Java, and of those that collect and compile.
SAMPLES = 100
# Of Garbage some threads are the collector's.
TARGETS = ["Calls", "Garbage"]
ANONYMOUS_ERROR = "[error: anonymous executable memory]"
TABLE, OTHER = b"\0gHotSpotVMTypes\0", b"\0gHotSpotVMTypez\0"


def link_all(source, target, *but):
    """@target, a folder of links to all in @source but what is called @but."""
    os.makedirs(target)
    for name in os.listdir(source):
        if name not in but:
            os.symlink(os.path.join(source, name), os.path.join(target, name))


def copy_without_table(java, directory):
    """A Java whose libjvm.so lacks one table."""
    home = os.path.join(directory, "jdk")
    link_all(java.home, home, "bin", "lib")
    link_all(os.path.join(java.home, "lib"), os.path.join(home, "lib"), "server")
    os.makedirs(os.path.join(home, "lib", "server"))
    os.makedirs(os.path.join(home, "bin"))
    # The JVM finds all else by the paths of its program and of its library.
    shutil.copy2(java.path(), os.path.join(home, "bin"))
    with open(os.path.join(java.home, "lib", "server", "libjvm.so"), "rb") as file:
        library = file.read()
    assert TABLE in library, "libjvm.so has no " + TABLE.decode()
    with open(os.path.join(home, "lib", "server", "libjvm.so"), "wb") as file:
        file.write(library.replace(TABLE, OTHER))
    return javas.Java("%s without a table" % java, home, java.version)


def is_whole(stack, ends):
    """True if @stack is a native one to its end. Of code in no file nothing tells who has called it: there
    it may end, in an error, or go on by guesses; what that code calls is no guess.
    """
    users = stack.user_frames
    indexes = [i for i, frame in enumerate(users) if frame.startswith("[anonymous]+0x")]
    if not indexes:
        return ends.is_complete(stack)
    return ((users[0] == ANONYMOUS_ERROR or ends.is_entry(users[0]))
            and not any(frame.endswith("_[?]") for frame in users[indexes[-1] + 1:]))


def test(tap, java):
    """Two programs, so that there is a line of each where there should be one of both."""
    targets = javas.find_targets(TARGETS)
    with tempfile.TemporaryDirectory() as directory:
        changed = copy_without_table(java, directory)
        with contextlib.ExitStack() as programs:
            running = [programs.enter_context(Program(*changed.target(target, "parallel"),
                                                      seconds=READY_SECONDS))
                       for target in targets.values()]
            result = sample_attached(running, SECONDS, is_known=False, cpu_seconds=CPU_SECONDS)
        stacks = [(stack, count) for stack, count in result.stacks.items()
                  if not stack.is_without_memory and not stack.is_between_states]
        ends = StackEnds(changed.directories)
        total = sum(count for _, count in stacks)
        bad = collections.Counter()
        for stack, count in stacks:
            if not is_whole(stack, ends):
                bad[stack] += count
        native = sum(count for stack, count in stacks if ends.is_complete(stack))
    with_java = sum(count for stack, count in stacks if NAMELESS in stack.user_frames or any(
        isinstance(item, JavaFrame) for item in split(stack.user_frames)[0]))
    text = "%d samples, %d of threads without code of Java, %d not whole, %d with frames of Java" % (
        total, native, bad.total(), with_java)
    run = bad_events.Run("java_refused_test")
    run.check(tap, "%s has native frames" % changed, FLAGGED, result.times.count_events(bad), total, RUN_FAULT, text,
              *["%d times %s" % (count, shorten(stack.frames)) for stack, count in bad.most_common(4)],
              is_good=min(total - native, native) >= SAMPLES and not with_java)
    run.finish(tap)
    tap.note(text)
    lines = [line for line in result.log.splitlines() if re.search(r"libjvm|hotspot|java", line, re.I)
             and not line.startswith("info: sampling")]
    tap.ok(len(lines) == 1 and "gHotSpotVMTypes" in lines[0] and "libjvm.so" in lines[0],
           "of %s one line tells" % changed, result.log)


def main():
    tap = Tap()
    need_root(tap, "JVMs without tables")
    if not javas.of_machine():
        tap.skip("JVMs without tables", "there is no JDK on this machine")
        tap.finish()
    javas.build()
    test(tap, list(javas.of_machine().values())[-1])
    tap.finish()


if __name__ == "__main__":
    main()
