#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: until programs are stopped at random
"""Core files of real programs, as the kernel writes them when a signal kills and as gdb's gcore does,
unwound with the kernel side's unwinder (build/walk_core) and with eu-stack: both must see the same
(unwinders.py). Prints TAP.

    core_files_test.py [-cores N] [NAME...]
"""
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time

import busy_programs
import unwinders
from harness import IS_LONG, OUTPUT, Tap, allow_core, take_count

NAMES = ("python3", "perl", "sqlite3", "cc1", "node", "xz")
# Programs that gdb copies as well: how such a core file differs is the same for all.
COPIED_NAMES = NAMES if IS_LONG else ("python3", "sqlite3")
CORES = 20 if IS_LONG else 2


def writes_into_own_folder():
    """Whether the kernel leaves core files where a process runs."""
    with open("/proc/sys/kernel/core_pattern", encoding="ascii", errors="replace") as file:
        pattern = file.read().strip()
    return bool(pattern) and pattern[0] != "|" and "/" not in pattern


def kill(process, directory):
    """Kills a program by a signal; its core file, None if there is none."""
    process.send_signal(signal.SIGQUIT)
    process.wait(60)
    found = glob.glob(os.path.join(directory, "*core*"))
    return found[0] if found else None


def copy(process, directory):
    """Has gdb write a core file of a program; its path, None if there is none."""
    prefix = os.path.join(directory, "core")
    subprocess.run(["gcore", "-o", prefix, str(process.pid)], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=False, timeout=120)
    path = "%s.%d" % (prefix, process.pid)
    return path if os.path.exists(path) else None


def compare(tap, name, inputs, way, cores):
    program = busy_programs.BusyProgram(name, inputs)
    what = "%d core files by %s" % (cores, way.__name__)
    begun = unwinders.begin(tap, program, what)
    if not begun:
        return
    comparison, generator = begun
    for _ in range(cores * 4):
        if comparison.stops == cores:
            break
        with tempfile.TemporaryDirectory(prefix="cores-", dir=OUTPUT) as directory:
            process = program.start(allow_core, directory)
            try:
                time.sleep(generator.uniform(0.1, 0.6))
                core = process.poll() is None and way(process, directory)
                if core:
                    executable = os.path.realpath("/proc/%d/exe" % process.pid)
                    comparison.add(*unwinders.unwinds_of_core(
                        core, executable if os.path.exists(executable) else program.path,
                        directory))
            finally:
                process.kill()
                process.wait()
    comparison.judge(tap, what)


def main():
    tap = Tap()
    cores, arguments = take_count("-cores", CORES)
    for tool in ("eu-stack", "gdb", "gcore"):
        if not shutil.which(tool):
            tap.skip("core files", "no %s" % tool)
            tap.finish()
    inputs = os.path.join(OUTPUT, "busy")
    busy_programs.make_inputs(inputs)
    for name in arguments or NAMES:
        if writes_into_own_folder():
            compare(tap, name, inputs, kill, cores)
        else:
            tap.skip("core files by kill: " + name, "the kernel hands them to another program")
        if arguments or name in COPIED_NAMES:
            compare(tap, name, inputs, copy, cores)
    tap.finish()


if __name__ == "__main__":
    main()
