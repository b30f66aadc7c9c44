#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 900 s
"""Stops real programs at random moments, and unwinds all their threads with the kernel side's unwinder
(build/walk_process) and with elfutils' (eu-stack): both must see the same (unwinders.py). Prints TAP.

    stopped_processes_test.py [-stops N] [NAME...]

The short tier takes some programs and a few stops, the long one all and 100 each.
"""
import os
import shutil
import signal
import tempfile
import time

import busy_programs
import unwinders
from harness import IS_LONG, OUTPUT, Tap, die_with_parent, need_root, take_count

SHORT_NAMES = ("python3", "perl", "bash", "sqlite3", "xz", "openssl", "cc1", "grep")
STOPS = 100 if IS_LONG else 5


def thread_states(pid):
    states = []
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, tid), encoding="utf-8",
                  errors="surrogateescape") as file:
            states.append(file.read().rpartition(")")[2].split()[0])
    return states


def stop(pid, seconds=10):
    """Stops a process; False if it ended."""
    end = time.monotonic() + seconds
    os.kill(pid, signal.SIGSTOP)
    while time.monotonic() < end:
        try:
            states = thread_states(pid)
        except OSError:
            return False
        if "T" in states and set(states) <= set("TtZX"):
            return True
        if set(states) <= set("ZX"):
            return False
        time.sleep(0.0005)
    raise RuntimeError("process %d does not stop" % pid)


def compare_process(tap, name, inputs, directory, stops):
    program = busy_programs.BusyProgram(name, inputs)
    what = "%d random stops" % stops
    begun = unwinders.begin(tap, program, what)
    if not begun:
        return
    comparison, generator = begun
    process = None
    try:
        for _ in range(stops * 4):
            if comparison.stops == stops:
                break
            if not process:
                process = program.start(die_with_parent)
            time.sleep(generator.uniform(0.003, 0.06))
            if process.poll() is not None or not stop(process.pid):
                process.wait()
                process = None
                continue
            comparison.add(*unwinders.unwinds_of_process(process.pid, directory))
            os.kill(process.pid, signal.SIGCONT)
    finally:
        if process:
            process.kill()
            process.wait()
    comparison.judge(tap, what)


def main():
    tap = Tap()
    need_root(tap, "stopped processes")
    stops, arguments = take_count("-stops", STOPS)
    for tool in ("eu-stack", "gdb"):
        if not shutil.which(tool):
            tap.skip("stopped processes", "no %s" % tool)
            tap.finish()
    names = arguments or (busy_programs.NAMES if IS_LONG else SHORT_NAMES)
    inputs = os.path.join(OUTPUT, "busy-stopped")
    busy_programs.make_inputs(inputs)
    with tempfile.TemporaryDirectory(prefix="allframes-test-") as directory:
        for name in names:
            compare_process(tap, name, inputs, directory, stops)
    tap.finish()


if __name__ == "__main__":
    main()
