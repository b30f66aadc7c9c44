#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 7200 s
"""The unwinder of arm64 over core files of Debian's JDKs of arm64, which run under qemu-user and are
stopped at random: stacks lie in the set that the target's source allows (java_chains.py), with lines,
and are whole. Unwound here and under qemu-user, as in arm64_test.py.

The thread that gets the signal is one of those that run. qemu-user writes the registers of the others
as it last had them in memory, while they go on: they are judged where they wait in a system call, for
then that is what they are.

usage: java_arm64_test.py [-stops N] [JDK|MODE|TARGET...]
"""
import ctypes
import glob
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import arm64_test
import core_notes
import go_arm64_test
import java_cores
import javas
import pythons
from harness import IS_LONG, Program, StackEnds, Tap, share, take_count

STOPS = 6 if IS_LONG else 1
SHORT_JAVAS = ["trixie-arm64-21"]
SHORT_MODES = ["plain", "int"]
SHORT_TARGETS = ["Calls", "Exceptions"]
MODES = ["plain", "int", "c1", "c2"]
# Small heaps keep core files small.
OPTIONS = ["-Xms16m", "-Xmx64m"]
# Where stubs put back what a virtual thread had on its stack.
GUESS_PERCENT = 2
READY_SECONDS = 200
WAIT_SECONDS = (0.05, 3)
CORE_TRIES = 3
END_SECONDS = 120
# Where all roots see it.
QEMU = os.path.join(javas.OUTPUT, "qemu-aarch64")
# A library of this machine is not one of arm64.
NEEDS_LIBRARY = ("Jni", "Upcalls")
# Threads that run methods, and not the JVM's own.
JAVA_THREADS = re.compile(r"java|j-.*|main|Thread-.*|qemu.*|ForkJoin.*")


class Arm64Java(javas.Java):
    """A JDK of arm64, by qemu-user, in its root: some of its files are links."""

    def command(self, *arguments, program="java"):
        return pythons.enter(self.root, [javas.OUTPUT], QEMU, "-cpu", "max", self.path(program),
                             *arguments)

    @property
    def directories(self):
        found = [os.path.join(self.home, "bin"), os.path.join(self.home, "lib"),
                 os.path.join(self.home, "lib", "server"), os.path.join(self.home, "lib", "jli"),
                 "/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu"]
        return [self.root + directory for directory in found]


def at_hand():
    """All of them by name."""
    found = {}
    for suite, (architecture, _, versions) in javas.fetch_javas.ROOTS.items():
        for version in versions if architecture == "arm64" else []:
            home = os.path.dirname(os.path.dirname(javas.fetch_javas.java_path("arm64", version)))
            root = str(javas.fetch_javas.JAVAS / suite)
            if os.path.exists(root + home):
                name = "%s-%d" % (suite, version)
                found[name] = Arm64Java(name, home, version, root)
    return found


def name_of(pid, tid):
    """A thread's name; "" if it has ended."""
    try:
        with open("/proc/%d/task/%d/comm" % (pid, tid), encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def stop(command, seconds, generator, directory):
    """Runs a JVM for @seconds from its start line on, and has a thread that runs die by a signal that
    JVMs leave alone: paths of the core file and of the maps, and the tid.
    """
    maps = os.path.join(directory, "maps")
    command = command[:-1] + ["-Dallframes.maps=" + maps, command[-1]]
    # Of qemu itself the kernel writes one, too.
    with Program(*command, cwd=directory, seconds=READY_SECONDS,
                 preexec_fn=lambda: java_cores.choose_memory(java_cores.NOTHING),
                 env={**os.environ, "ROOT_DIRECTORY": directory}) as program:
        time.sleep(seconds)
        running = go_arm64_test.running_threads(program.pid, signal.SIGABRT)
        tid = generator.choice([tid for tid in running if JAVA_THREADS.fullmatch(
            name_of(program.pid, tid))] or running)
        ctypes.CDLL(None).tgkill(program.pid, tid, signal.SIGABRT)
        program.process.wait(END_SECONDS)
    cores = glob.glob(os.path.join(directory, "qemu_*.core"))
    if len(cores) != 1:
        raise RuntimeError("%s left %d core files" % (command[-1], len(cores)))
    core_notes.check_whole(cores[0])
    return cores[0], maps, tid


def stop_whole(command, generator, directory):
    """The same after a random time, again if qemu leaves off in the midst of the core file, as it does at times.
    Raises core_notes.Cut if each of some tries does so.
    """
    cuts = []
    for number in range(CORE_TRIES):
        folder = os.path.join(directory, str(number))
        os.mkdir(folder)
        try:
            return stop(command, generator.uniform(*WAIT_SECONDS), generator, folder)
        except core_notes.Cut as cut:
            cuts.append(str(cut))
    raise core_notes.Cut("%s left core files of %s" % (command[-1], "; ".join(cuts)))


def waiting_threads(text, root):
    """Tids of those that walk_core prints in a system call, but for threads that are just being made."""
    found = set()
    for thread in go_arm64_test.read_threads(text):
        frames = [frame._replace(path=root + frame.path) for frame in thread.frames]
        if (frames and not re.fullmatch(r"_*clone3?", frames[0].name)
                and go_arm64_test.is_in_system_call(thread._replace(frames=frames))):
            found.add(thread.tid)
    return found


def check(tap, java, mode, target, stops):
    title = "stacks of %s in %s, %s, are allowed" % (target.name, java, mode)
    try:
        if target.name in NEEDS_LIBRARY:
            raise javas.Lacking("needs a library of arm64")
        command = java.target(target, mode, *OPTIONS)
    except javas.Lacking as lack:
        tap.skip(title, lack)
        return
    generator = random.Random(title)
    verdict = java_cores.CoresVerdict(target, StackEnds(java.directories), 0, GUESS_PERCENT)
    differing = unknown = 0
    for _ in range(stops):
        with tempfile.TemporaryDirectory(prefix="arm64-", dir=javas.OUTPUT) as directory:
            core, maps, signalled = stop_whole(command, generator, directory)
            text, is_same = arm64_test.unwind(core, maps, "-interpreted", "-inlined", "-root",
                                            java.root)
            differing += not is_same
            waiting = waiting_threads(text, java.root)
            for tid, stack in java_cores.read_stacks(text, target.comm).items():
                if tid == signalled or tid in waiting:
                    verdict.add(stack, 1)
                else:
                    unknown += 1
    tap.ok(not verdict.failures and not differing, title,
           "%d of %d are printed differently under qemu" % (differing, stops), *verdict.failures)
    tap.note("%s: %d stacks, %d its own, %d guessed, %d not judged, %s approximate, %d deep" % (
        target.name, verdict.total, verdict.own, verdict.guessed, unknown,
        share(verdict.approximate, verdict.total), verdict.depth))


def plan(arguments):
    """(Java, mode, targets' names) of what is to be done."""
    every = at_hand()
    wanted = [every[name] for name in every if name in arguments]
    modes = [name for name in javas.MODES if name in arguments]
    names = [word for word in arguments if word not in every and word not in javas.MODES]
    if arguments:
        return [(java, mode, names) for java in wanted or every.values()
                for mode in modes or ["plain"]]
    if IS_LONG:
        return [(java, mode, [] if mode == "plain" else javas.SHORT_TARGETS)
                for java in every.values() for mode in MODES]
    return [(every[name], mode, SHORT_TARGETS) for name in SHORT_JAVAS if name in every
            for mode in SHORT_MODES]


def main():
    tap = Tap()
    stops, arguments = take_count("-stops", STOPS)
    missing = arm64_test.missing_tools() + ["JDK"] * (not javas.of_machine() or not at_hand())
    if missing:
        tap.skip("stacks of Java of arm64", "no " + " and no ".join(missing))
        tap.finish()
    arm64_test.build_unwinders()
    os.makedirs(javas.OUTPUT, exist_ok=True)
    shutil.copy2(arm64_test.find_qemu(), QEMU)
    todo = plan(arguments)
    targets = javas.build()
    for java, mode, names in todo:
        for target in targets:
            if not names or target.name in names:
                check(tap, java, mode, target, stops)
    tap.finish()


if __name__ == "__main__":
    main()
