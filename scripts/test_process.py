# SPDX-License-Identifier: Apache-2.0
"""Runs a test program, and ends it with everything that it leaves behind.

For a process that runs one program at a time: orphans of the program come to it, also those with a
session of their own, and what two programs leave behind is never mixed up.
"""

import contextlib
import ctypes
import dataclasses
import os
import pathlib
import resource
import select
import signal
import subprocess
import tempfile
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
REAP_SECONDS = 0.5


@dataclasses.dataclass
class Run:
    """One finished run of a program. @status is None if its time was over."""
    status: int | None
    output: str
    began: float
    ended: float
    # User and system time of the program and of all that it started.
    cpu_seconds: float

    @property
    def seconds(self):
        return self.ended - self.began


def adopt_orphans():
    """Makes orphans of this process's programs its children; it ends with the process that made it."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_program(command, folder, environment, limit_s):
    """Runs @command in @folder for @limit_s seconds at most."""
    began, cpu_before = time.monotonic(), _children_cpu_seconds()
    # A file and not a pipe: a process that a test left behind must not keep the runner waiting.
    with tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace") as file:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = _wait(process, limit_s)
        finally:
            _end(process)
        file.seek(0)
        output = file.read()
    return Run(status, output, began, time.monotonic(), _children_cpu_seconds() - cpu_before)


def _children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _wait(process, limit_s):
    """The exit status of @process, None if it still runs after @limit_s. Collects orphans meanwhile."""
    deadline = time.monotonic() + limit_s
    descriptor = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0:
            if poll.poll(1000 * min(left, REAP_SECONDS)):
                return process.wait()
            for orphan in _children() - {process.pid}:
                _collect(orphan, os.WNOHANG)
    finally:
        os.close(descriptor)
    return None


def _end(process):
    """Ends @process, if it still runs, its process group, and orphans."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    while orphans := _children():
        for orphan in orphans:
            with contextlib.suppress(ProcessLookupError):
                os.kill(orphan, signal.SIGKILL)
            _collect(orphan, 0)


def _collect(pid, options):
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, options)


def _children():
    own = os.getpid()
    found = set()
    # Not by glob(), which asks for the status of each file: that fails if a process ends meanwhile.
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            pid = int(name)
            # The name in parentheses may hold anything.
            parent = pathlib.Path("/proc", name, "stat").read_bytes().rsplit(b")", 1)[1].split()[1]
            if int(parent) == own:
                found.add(pid)
    return found
