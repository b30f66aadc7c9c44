#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 3600 s
"""The unwinder of arm64 over core files of Debian's Pythons of arm64, which run under qemu-user:
each thread's frames are those that the program told of itself, with lines, and stand where the
native frames run them. Unwound here and under qemu-user, as in arm64_test.py.

qemu-user writes no thread pointers into core files; they are added as the kernel writes them.
usage: python_arm64_test.py [-cores N] [ROOT|TARGET...]
"""
import glob
import os
import random
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import arm64_test
import core_notes
import python_cores
import pythons
from harness import IS_LONG, OUTPUT, Tap, take_count
from python_chains import Target
from pythons import fetch_pythons

CORES = 5 if IS_LONG else 1
ROOTS = list(fetch_pythons.ROOTS_ARM64) if IS_LONG else ["bookworm-arm64"]
TARGETS = ["c_between", "threads"] + ["calls", "coroutines", "exceptions", "generators"] * IS_LONG
SECONDS = (0.2, 2)


def find_python(root):
    """Path and version of the Python in @root, which is made if it is not there."""
    paths = glob.glob(str(fetch_pythons.fetch(root) / "usr/bin/python3.*"))
    path = [path for path in paths if re.search(r"/python3\.\d+$", path)][0]
    return path, (3, int(path.rpartition(".")[2]))


def check(tap, root, name, cores):
    path, version = find_python(root)
    target = Target(os.path.join(pythons.TARGETS, name + ".py"), version)
    generator = random.Random(root + name)
    wrong, threads, frames, differing = [], 0, 0, 0

    def command(*arguments):
        return [arm64_test.find_qemu(), "-cpu", "max", "-L", str(fetch_pythons.PYTHONS / root),
                path, *arguments]

    for _ in range(cores):
        with tempfile.TemporaryDirectory(prefix="python-arm64-", dir=OUTPUT) as directory:
            told = python_cores.make_core(command, target.path, generator.uniform(*SECONDS),
                                          directory)
            core_notes.add_thread_pointers(
                told.core, {tid: pointer for pointer, tid in told.tids.items()})
            text, is_same = arm64_test.unwind(told.core, told.maps, "-interpreted")
            wrong += python_cores.compare(python_cores.read_unwinds(text), told,
                                          {tid: pointer for pointer, tid in told.tids.items()},
                                          version)
        differing += not is_same
        threads += len(told.threads)
        frames += sum(map(len, told.threads.values()))
    tap.ok(not wrong and not differing,
           "core files of %s in %s have the stacks that it told" % (name, root),
           "%d of %d are printed differently under qemu" % (differing, cores), *wrong[:4])
    tap.note("%s in %s: %d core files, %d threads, %d Python frames" % (
        name, root, cores, threads, frames))


def main():
    tap = Tap()
    cores, arguments = take_count("-cores", CORES)
    missing = arm64_test.missing_tools()
    if missing:
        tap.skip("stacks of Python of arm64", "no " + " and no ".join(missing))
        tap.finish()
    arm64_test.build_unwinders()
    os.makedirs(OUTPUT, exist_ok=True)
    roots = [name for name in arguments if name in fetch_pythons.ROOTS_ARM64]
    names = [name for name in arguments if name not in fetch_pythons.ROOTS_ARM64]
    for root in roots or ROOTS:
        for name in names or TARGETS:
            check(tap, root, name, cores)
    tap.finish()


if __name__ == "__main__":
    main()
