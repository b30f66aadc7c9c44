# SPDX-License-Identifier: Apache-2.0
"""Compares stacks that the kernel side's unwinder unwound (build/walk_process, build/walk_core) with
those of eu-stack: pcs are equal from the leaf to the outermost frame, or the difference belongs to a
class below, for which readelf and gdb are asked.
"""
import bisect
import collections
import os
import random
import re
import struct
import subprocess

from harness import ROOT

WALK_PROCESS = os.path.join(ROOT, "build", "walk_process")
WALK_CORE = os.path.join(ROOT, "build", "walk_core")
# No unwinder of ours goes further.
DEEPEST = 3584

# Differences that are not ours, by class, all but the first two in code without unwind information.
NOWHERE = "both read a caller that lies nowhere, and eu-stack goes on by frame pointers"
CHILD = "ours ends in the child of a clone, where gdb finds no caller either"
ENTRY = "ours ends at a file's entry point, where eu-stack gives up"
NO_INFO = "ours ends or guesses where eu-stack goes on by frame pointers"
AS_GDB = "ours goes on as gdb does"
NOT_A_FRAME = "ours goes on as gdb does, which takes one more word for a frame"
ONLY_OURS = "only ours goes on, without a guess to a file's entry point"
# Our unwind ends at its limit.
TOO_DEEP = "deeper than %d frames" % DEEPEST
# The dynamic loader's entry calls, and goes on behind that.
ENTRY_BYTES = 0x60


class Unwind:
    """A thread's pcs, leaf first, and why the unwind ended: "" at the outermost frame."""

    def __init__(self):
        self.pcs = []
        self.lines = []
        # Of ours alone: ELF address and file of each frame, and which are guesses.
        self.locations = []
        self.guesses = set()
        self.error = ""
        # Of ours alone: where the unwind could not go on, the 48 lowest bits of it.
        self.error_pc = 0

    def __str__(self):
        return "\n".join(self.lines)


def read_ours(text):
    """Unwind by tid, from the output of walk_process or walk_core."""
    unwinds = {}
    for line in text.splitlines():
        kind, *fields = line.split("\t")
        if kind == "thread":
            unwind = unwinds[int(fields[0])] = Unwind()
            continue
        unwind.lines.append(line)
        if kind == "error":
            unwind.error_pc, unwind.error = int(fields[0], 16), fields[1]
        elif kind != "end":
            pc, address, path, _, flags = fields
            if "guess" in flags:
                unwind.guesses.add(len(unwind.pcs))
            unwind.locations.append((int(address, 16) - ("return" in flags), path))
            unwind.pcs.append(int(pc, 16))
    return unwinds


def read_theirs(text):
    """Unwind by tid, from the output of eu-stack with its errors."""
    unwinds = collections.OrderedDict()
    unwind = None
    for line in text.splitlines():
        thread = re.match(r"TID (\d+):", line)
        frame = re.match(r"#\d+ +0x([0-9a-f]+)", line)
        if thread:
            unwind = unwinds[int(thread[1])] = Unwind()
        elif frame:
            unwind.pcs.append(int(frame[1], 16))
        elif unwind and line.startswith("eu-stack: dwfl_thread_getframes"):
            unwind.error = line.split(": ", 2)[-1]
        if unwind:
            unwind.lines.append(line)
    return unwinds


def run(*command, seconds=120):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=seconds, check=False,
                          env={**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}).stdout


def read_gdb(text):
    """Lists of pcs by tid, from gdb's frames."""
    unwinds = {}
    for line in text.splitlines():
        thread = re.match(r"THREAD (\d+)", line)
        frame = re.match(r"PC ([0-9a-f]+)", line)
        if thread:
            pcs = unwinds[int(thread[1])] = []
        elif frame:
            pcs.append(int(frame[1], 16))
    return unwinds


# Inlined functions are no frames of their own.
GDB_SCRIPT = """
import gdb
for thread in gdb.selected_inferior().threads():
    thread.switch()
    print("THREAD %d" % thread.ptid[1])
    frame = gdb.newest_frame()
    while frame:
        if frame.type() != gdb.INLINE_FRAME:
            print("PC %x" % frame.pc())
        frame = frame.older()
"""


def ask_gdb(directory, *target):
    script = os.path.join(directory, "frames.py")
    with open(script, "w", encoding="ascii") as file:
        file.write(GDB_SCRIPT)
    return read_gdb(run("gdb", "-nx", "-batch", "-iex", "set auto-load off", "-iex",
                        "set debuginfod enabled off", "-ex", "set backtrace past-main on", "-ex",
                        "set backtrace past-entry on", *target, "-x", script))


def common_length(a, b):
    length = 0
    while length < min(len(a), len(b)) and a[length] == b[length]:
        length += 1
    return length


class CodeWithoutInformation:
    """Tells which code the unwind tables of its file, as readelf shows them, do not speak of."""

    def __init__(self):
        self._ranges = {}

    def has(self, location):
        address, path = location
        if not path.startswith("/"):
            return True
        if path not in self._ranges:
            text = run("readelf", "--debug-dump=frames,no-follow-links", path)
            self._ranges[path] = sorted((int(start, 16), int(end, 16)) for start, end in re.findall(
                r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", text))
        ranges = self._ranges[path]
        index = bisect.bisect_right(ranges, (address, 1 << 64)) - 1
        return index < 0 or address >= ranges[index][1]


def is_entry(location):
    address, path = location
    if not path.startswith("/"):
        return False
    with open(path, "rb") as file:
        entry = struct.unpack_from("<Q", file.read(64), 24)[0]
    return entry <= address < entry + ENTRY_BYTES


def classify(ours, theirs, gdb, without_information):
    """The class of a difference between two Unwinds; None if there is none, "" if it has no class.
    @gdb is called for the pcs that gdb sees.
    """
    if ours.pcs == theirs.pcs and bool(ours.error) == bool(theirs.error):
        return None
    same = common_length(ours.pcs, theirs.pcs)
    if not same:
        return ""
    if len(ours.pcs) == DEEPEST == same:
        return TOO_DEEP
    if same == len(ours.pcs) and not ours.error and gdb() == ours.pcs + [0]:
        return CHILD
    if (same == len(ours.pcs) < len(theirs.pcs) and ours.error == "address in no known mapping"
            and ours.error_pc == theirs.pcs[same] & (1 << 48) - 1):
        return NOWHERE
    if not without_information.has(ours.locations[same - 1]):
        return ""
    if same == len(ours.pcs) and not ours.error:
        return ENTRY if is_entry(ours.locations[-1]) else ""
    if same == len(ours.pcs) or same in ours.guesses:
        return NO_INFO
    if common_length(ours.pcs, gdb()) > same:
        return AS_GDB
    rest = [pc for pc in gdb() if pc in ours.pcs]
    if same == len(theirs.pcs) and rest == ours.pcs and len(gdb()) <= len(rest) + 2:
        return NOT_A_FRAME
    if (same == len(theirs.pcs) and gdb() == theirs.pcs + [0] and not ours.guesses
            and not ours.error and is_entry(ours.locations[-1])):
        return ONLY_OURS
    return ""


def unwinds_of_process(pid, directory):
    """What the unwinders print of a stopped process, and a function for gdb's pcs."""
    return (run(WALK_PROCESS, "-without-names", str(pid)),
            run("eu-stack", "-q", "-n", "0", "-p", str(pid)),
            lambda: ask_gdb(directory, "-p", str(pid)))


def unwinds_of_core(core, program, directory):
    """The same of a core file of @program, a path."""
    return (run(WALK_CORE, "-without-names", core),
            run("eu-stack", "-q", "-n", "0", "--core=" + core, "--executable=" + program),
            lambda: ask_gdb(directory, program, core))


class Comparison:
    """Counts over all stops of one program."""

    def __init__(self, name):
        self.name = name
        self.stops = 0
        self.threads = 0
        self.frames = 0
        self.complete = 0
        self.classes = collections.Counter()
        self.unexplained = []
        self._without_information = CodeWithoutInformation()

    def add(self, ours_text, theirs_text, gdb):
        ours, theirs = read_ours(ours_text), read_theirs(theirs_text)
        self.stops += 1
        if not theirs or set(ours) != set(theirs):
            self.unexplained.append("threads differ: %s and %s\n%s\n%s" % (
                sorted(ours), sorted(theirs), ours_text[:2000], theirs_text[:2000]))
            return
        frames = {}
        for tid, unwind in ours.items():
            self.threads += 1
            self.frames += len(unwind.pcs)
            self.complete += not unwind.error

            def gdb_frames(tid=tid):
                if not frames:
                    frames.update(gdb())
                return frames.get(tid, [])

            difference = classify(unwind, theirs[tid], gdb_frames, self._without_information)
            if difference:
                self.classes[difference] += 1
            elif difference is not None:
                self.unexplained.append("ours:\n%s\neu-stack's:\n%s\ngdb's:\n%s" % (
                    unwind, theirs[tid], "\n".join("%x" % pc for pc in gdb_frames())))

    def judge(self, tap, what):
        classes = ", ".join("%d %s" % (count, name) for name, count in self.classes.items())
        tap.ok(self.stops and not self.unexplained,
               "%s: %s is unwound as eu-stack unwinds it" % (what, self.name),
               "%d stacks differ:" % len(self.unexplained), *self.unexplained[:3])
        tap.note("%s: %d stops, %d stacks, %d frames, %d complete; differences: %s; unexplained: %d"
                 % (self.name, self.stops, self.threads, self.frames, self.complete,
                    classes or "none", len(self.unexplained)))


def begin(tap, program, what):
    """For @what of @program, a BusyProgram: a Comparison, and random numbers for its moments that are
    the same in each run. None, and a skipped result, if the program cannot run here.
    """
    why_not = program.prepare()
    if why_not:
        tap.skip("%s: %s is unwound as eu-stack unwinds it" % (what, program.name), why_not)
        return None
    return Comparison(program.name), random.Random(program.name)
