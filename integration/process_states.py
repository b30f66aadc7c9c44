# SPDX-License-Identifier: Apache-2.0
"""What processes and threads do at the moment, by /proc, for tests of what hangs. Standard library only."""
import contextlib
import glob
import os
import time

from harness import HANG_SECONDS


def children(pid):
    """The processes that any thread of @pid has started."""
    found = []
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            found += map(int, file.read().split())
    return found


def state(pid):
    """The letter of a process's or thread's state; "gone" if it has ended."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            letter = file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"
    return "gone" if letter in "ZX" else letter


def stuck_threads(pid):
    """The threads of @pid that wait in the kernel, not to be interrupted."""
    return [tid for tid in map(int, os.listdir("/proc/%d/task" % pid)) if state(tid) == "D"]


def wait_for(condition):
    """Waits until @condition() is true; its last result."""
    end = time.monotonic() + HANG_SECONDS
    while not (result := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return result
