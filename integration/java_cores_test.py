#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: until programs are stopped at random
# time limit: 7200 s
"""The kernel side's unwinder over core files of JVMs: each thread's stack lies in the set that the
target's source allows (java_chains.py), with lines, and is whole, without a guess.

The targets are killed while they run, by a signal that the JVM leaves alone: so the kernel writes down
all threads at whatever instruction they are. build/walk_core attaches to what is in the core file.

usage: java_cores_test.py [-cores N] [JDK|MODE|TARGET...]
"""
import glob
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import java_cores
import javas
from core_files_test import writes_into_own_folder
from harness import IS_LONG, Program, StackEnds, Tap, share, take_count
from java_test import READY_SECONDS
from unwinders import WALK_CORE

CORES = 4 if IS_LONG else 1
LONG_JAVAS = ["sid-8", "machine-17", "trixie-21", "machine-25"]
LONG_MODES = ["int", "c1", "c2", "exact"]
SHORT_TARGETS = ["Calls", "Exceptions"]
# From the line "ready" on.
WAIT_SECONDS = (0.05, 1.5)
END_SECONDS = 120
# A library of ours is not where unwinds look for it, below the other root.
NEEDS_LIBRARY = ("Jni", "Upcalls")


def make_core(command, seconds, directory):
    """Runs a JVM for @seconds from its start line on; the path of its core file, in @directory."""
    with Program(*command, cwd=directory, seconds=READY_SECONDS,
                 preexec_fn=lambda: java_cores.choose_memory(java_cores.WITH_FILES),
                 env={**os.environ, "ROOT_DIRECTORY": directory}) as program:
        time.sleep(seconds)
        program.process.send_signal(signal.SIGABRT)
        program.process.wait(END_SECONDS)
    cores = glob.glob(os.path.join(directory, "core*"))
    if len(cores) != 1:
        raise RuntimeError("%s left %d core files" % (command[-1], len(cores)))
    return cores[0]


def unwind(java, core):
    """What build/walk_core prints of a core file."""
    root = [] if java.root == "/" else ["-root", java.root]
    return subprocess.run([WALK_CORE, "-interpreted", "-inlined", *root, core],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="surrogateescape", check=True).stdout


def check(tap, java, mode, target, cores):
    title = "core files of %s in %s, %s, have stacks that are allowed" % (target.name, java, mode)
    try:
        if java.root != "/" and target.name in NEEDS_LIBRARY:
            raise javas.Lacking("needs a library in its root")
        command = java.target(target, mode)
    except javas.Lacking as lack:
        tap.skip(title, lack)
        return
    generator = random.Random(title)
    verdict = java_cores.CoresVerdict(target, StackEnds(java.directories), cores)
    for _ in range(cores):
        # Not below build: all roots have the same /tmp.
        with tempfile.TemporaryDirectory(prefix="allframes-cores-") as directory:
            core = make_core(command, generator.uniform(*WAIT_SECONDS), directory)
            for stack in java_cores.read_stacks(unwind(java, core), target.comm).values():
                verdict.add(stack, 1)
    tap.ok(not verdict.failures, title, *verdict.failures)
    tap.note("%s: %d stacks, %d its own, %s approximate, %d deep" % (
        target.name, verdict.total, verdict.own, share(verdict.approximate, verdict.total),
        verdict.depth))


def plan(arguments):
    """(Java, mode, targets' names) of what is to be done."""
    chosen = javas.FINDER.chosen(arguments, IS_LONG)
    every = chosen.every
    if arguments:
        return [(java, mode, chosen.names) for java in chosen.runtimes or every.values()
                for mode in chosen.modes or ["plain"]]
    if IS_LONG:
        found = [every[name] for name in LONG_JAVAS if name in every]
        return [(java, mode, [] if mode == "plain" else javas.SHORT_TARGETS)
                for java in found for mode in ["plain", *LONG_MODES]]
    # Each target in each JDK and in each mode, but not in all pairs of these.
    return [(java, mode, [SHORT_TARGETS[(i + j) % len(SHORT_TARGETS)]])
            for i, java in enumerate(every.values()) for j, mode in enumerate(("plain", "int"))]


def main():
    tap = Tap()
    cores, arguments = take_count("-cores", CORES)
    if not javas.of_machine():
        tap.skip("core files of Java", "there is no JDK on this machine")
        tap.finish()
    if not writes_into_own_folder():
        tap.skip("core files of Java", "the kernel hands them to another program")
        tap.finish()
    todo = plan(arguments)
    targets = javas.build()
    for java, mode, names in todo:
        for target in targets:
            if not names or target.name in names:
                check(tap, java, mode, target, cores)
    tap.finish()


if __name__ == "__main__":
    main()
