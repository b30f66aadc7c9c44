# SPDX-License-Identifier: Apache-2.0
"""Core files of Python programs that told their stacks just before (python_observer.py), and
whether unwinds over them (build/walk_core) show just that.
"""
import collections
import glob
import json
import os
import signal
import subprocess

from harness import allow_core
from pythons import TARGETS
from python_chains import PythonFrame, split

OBSERVER = os.path.join(TARGETS, "..", "..", "python_observer.py")
# On a machine that is busy with other things.
RUN_SECONDS = 400

# @threads: stacks, lists of PythonFrame, by thread pointer. @tids: tids by thread pointer, as far
# as the program knows them.
Told = collections.namedtuple("Told", "core maps threads tids")


def make_core(command, path, seconds, directory):
    """Runs the target at @path for @seconds; @command runs an interpreter with arguments. The core
    file and what was told before, all in @directory.
    """
    with open(OBSERVER, encoding="utf-8") as file:
        # The root of another suite has no observer in it.
        program = "__file__ = '<string>'\n" + file.read()
    done = subprocess.run(command("-B", "-c", program, "core", "%.3f" % seconds, path, directory),
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, preexec_fn=allow_core, timeout=RUN_SECONDS,
                          check=False)
    # Of qemu-user there is the program's and its own.
    cores = (glob.glob(os.path.join(directory, "qemu_*.core"))
             or glob.glob(os.path.join(directory, "*core*")))
    if done.returncode != -signal.SIGQUIT or len(cores) != 1:
        raise RuntimeError("%s ended with %d and left %d core files: %s" % (
            path, done.returncode, len(cores), done.stderr.decode(errors="replace")[-1000:]))
    with open(os.path.join(directory, "told"), "rb") as file:
        told = json.loads(file.read().rstrip(b"\0"))
    return Told(cores[0], os.path.join(directory, "maps"),
                {pointer: [PythonFrame(*frame) for frame in stack] for _, pointer, stack in told},
                {pointer: tid for tid, pointer, _ in told if tid})


class Unwind:
    """A thread's frames as text, root first, and how the unwind ended."""

    def __init__(self):
        self.frames = []
        self.is_complete = True

    @property
    def python(self):
        return [frame for frame in self.frames if isinstance(frame, PythonFrame)]

    @property
    def texts(self):
        return ["%s (%s:%d)" % frame if isinstance(frame, PythonFrame) else frame
                for frame in self.frames]


def read_unwinds(text):
    """Unwind by tid, from what walk_core prints."""
    unwinds = {}
    for line in text.splitlines():
        kind, *fields = line.split("\t")
        if kind == "thread":
            unwind = unwinds[int(fields[0])] = Unwind()
        elif kind in ("error", "missing"):
            unwind.is_complete = False
        elif kind != "end" and fields[0] == "python":
            unwind.frames.insert(0, PythonFrame(fields[3], fields[2], int(fields[1])))
        elif kind != "end":
            _, address, path, function, flags = fields
            unwind.is_complete = unwind.is_complete and "guess" not in flags
            unwind.frames.insert(0, function if function != "-" else "%s+0x%x" % (
                os.path.basename(path), int(address, 16)))
    return unwinds


def compare(unwinds, told, pointers, version):
    """What differs between the Unwinds of a core file and what was told, as texts. @pointers: thread
    pointers by tid.
    """
    wrong = []
    for tid, unwind in unwinds.items():
        expected = told.threads.get(pointers.get(tid), [])
        why = split(unwind.texts, version)[2] if expected else None
        if not unwind.is_complete:
            why = "not complete"
        elif unwind.python != expected:
            why = "not what was told"
        if why:
            wrong.append("%s: %s\n  told %s" % (why, ";".join(unwind.texts)[-3000:], expected))
    missing = set(told.threads) - {pointers.get(tid) for tid in unwinds}
    if missing or len(told.threads) < 2:
        wrong.append("%d threads were told, %d are missing" % (len(told.threads), len(missing)))
    return [text.encode("ascii", "backslashreplace").decode() for text in wrong]
