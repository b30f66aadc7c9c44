#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""The kernel side's unwinder over core files of every Python at hand: each thread's frames are
those that the program told of itself, with lines, and stand where the native frames run them.

Each target runs for a random time, until a thread tells the stacks of all and dies at once
(python_observer.py). build/walk_core attaches to what is in the core file, unwinds and names it.
usage: python_cores_test.py [-cores N] [PYTHON|TARGET...]
"""
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import core_notes
import python_cores
import pythons
from core_files_test import writes_into_own_folder
from harness import IS_LONG, Tap, take_count
from python_chains import Target
from python_targets_test import lack_of
from unwinders import WALK_CORE

CORES = 3 if IS_LONG else 1
SHORT_TARGETS = ["threads"]
LONG_TARGETS = SHORT_TARGETS + ["alternating", "c_between", "calls", "classes", "coroutines",
                                "exceptions", "exec_loop", "generators", "recursion", "reload",
                                "signals", "tasks", "thread_churn"]


def unwind(python, core):
    root = [] if python.root == "/" else ["-root", python.root]
    return python_cores.read_unwinds(subprocess.run(
        [WALK_CORE, "-interpreted", *root, core], stdout=subprocess.PIPE, text=True,
        errors="surrogateescape", check=True).stdout)


def check(tap, python, target, cores):
    generator = random.Random(python.name + target.name)
    wrong, threads, frames = [], 0, 0
    for _ in range(cores):
        # Not below build: all roots have the same /tmp.
        with tempfile.TemporaryDirectory(prefix="allframes-cores-") as directory:
            told = python_cores.make_core(python.command, target.path,
                                          generator.uniform(0.2, 0.6), directory)
            wrong += python_cores.compare(unwind(python, told.core), told,
                                          core_notes.fs_bases(told.core), python.version)
        threads += len(told.threads)
        frames += sum(map(len, told.threads.values()))
    tap.ok(not wrong, "core files of %s in %s have the stacks that it told" % (
        target.name, python), *wrong[:4])
    tap.note("%s in %s: %d core files, %d threads, %d Python frames" % (
        target.name, python, cores, threads, frames))


def main():
    tap = Tap()
    cores, arguments = take_count("-cores", CORES)
    if not writes_into_own_folder():
        tap.skip("core files of Python", "the kernel hands them to another program")
        tap.finish()
    every = pythons.at_hand(bool(IS_LONG or arguments))
    names = [name for name in arguments if name not in every]
    for python in every.values():
        # Without the lock nothing holds the other threads still while they are told.
        if python.is_free_threaded or set(arguments) - set(names) and python.name not in arguments:
            continue
        for name in names or (LONG_TARGETS if IS_LONG else SHORT_TARGETS):
            target = Target(os.path.join(pythons.TARGETS, name + ".py"), python.version)
            lack = lack_of(python, target)
            if lack:
                tap.skip("core files of %s in %s" % (name, python), lack)
            else:
                check(tap, python, target, cores)
    tap.finish()


if __name__ == "__main__":
    main()
