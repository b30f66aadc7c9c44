#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 10800 s
"""The unwinder of arm64 over core files of the targets in Go, which are compiled for arm64, run
under qemu-user and are stopped at random. Their stacks must end where goroutines and threads begin,
without a guess, and lie in the set of chains that the source allows (go_chains.py). Unwound here
and under qemu-user, as in arm64_test.py. Some are stopped at an instruction of those functions of the
runtime that change stacks, since hardly any is met by chance.

The thread that gets the signal is a random one of those that run. qemu-user writes the registers
of the others as it last had them in memory, while they go on: they are judged where they wait in a
system call, for then that is what they are. There is no vDSO: the runtime asks the kernel for the time.
System calls go on while the file is written: qemu-user 7.2 dies of a thread that is just being made, and
leaves the header alone. Such a stop does not count.

usage: go_arm64_test.py [-stops N] [VERSION|MODE|TARGET...]
"""
import collections
import ctypes
import glob
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import arm64_test
import core_notes
import gos
import qemu_stub
from go_chains import Chains
from harness import IS_LONG, OUTPUT, ROOT, Program, Tap, allow_core, take_count

STOPS = 6 if IS_LONG else 3
# At chosen instructions; such stops come to nothing if the program does not come there.
BREAKPOINT_STOPS = 4 if IS_LONG else 3
# For a core file that is whole.
TRIES_MAX = 3
ADDITIONS = os.path.join(ROOT, "integration", "targets", "go_arm64")
COMPILER = "aarch64-linux-gnu-gcc"
# Where Debian has the C library of arm64.
LIBRARIES = "/usr/aarch64-linux-gnu"
MODES = {
    "plain": gos.Mode(),
    "pie": gos.Mode("-buildmode=pie"),
    "not-inlined": gos.Mode("-gcflags=all=-l", is_inlining=False),
    "not-optimized": gos.Mode("-gcflags=all=-N -l", is_inlining=False),
    "internal": gos.Mode(link="-linkmode=internal", has_cgo=True),
    "internal-pie": gos.Mode("-buildmode=pie", link="-linkmode=internal", has_cgo=True),
    "external": gos.Mode(link="-linkmode=external", has_cgo=True),
    "external-pie-stripped": gos.Mode("-buildmode=pie", link="-linkmode=external -s -w",
                                      has_cgo=True, has_symbols=False),
}
# With symbols, which breakpoints need.
SHORT_MODE = "plain"
SHORT_TARGETS = ["callbacks", "panics", "recursion"]
# In all modes; in the first one, all are.
LONG_TARGETS = SHORT_TARGETS + ["clock", "signals", "yields"]
LONG_VERSIONS = ["1.16.15", "1.20.14", "1.23.12", "1.24.0", "1.26.11", "1.27.4"]
WAIT_SECONDS = (0.05, 0.5)
# For a program to come to one of its breakpoints.
BREAKPOINT_SECONDS = (0.5, 3)
BEGIN_SECONDS = 20
BREAKPOINT_END_SECONDS = 10
END_SECONDS = 60
# By which one sees that a program has begun: its own function, and that of its line "ready".
BEGINNING = ["main.main", "syscall.write"]
BREAKPOINT_FUNCTIONS = re.compile(
    r"(?:runtime\.(?:systemstack|mcall|morestack\w*|asmcgocall\w*|cgocallback|gogo|nanotime1|walltime|"
    r"clone|asyncPreempt|sigpanic|sigtramp|cgoSigtramp|sigfwd|load_g|save_g|setg|callCgo\w+|goexit|"
    r"newstack|gopreempt_m|park_m)(?:\.abi0|\.abiinternal)?|"
    r"crosscall2|gogo|gosave_systemstack_switch|_cgo_topofstack|setg_gcc|time\.now|gcWriteBarrier)")
BREAKPOINTS_AT_ONCE = 3
# Sources of ours, and options by which they are linked.
SIGNAL_RETURN = ("signal_return.S", "-nostdlib", "-Wl,--build-id=none")
THREAD_POINTERS = ("thread_pointers.c", "-pthread", "-ldl")
PAGE_BYTES = 4096
SYSTEM_CALL = struct.pack("<I", 0xd4000001)
SHOWN_STACKS = 4

Frame = collections.namedtuple("Frame", "address path name flags")
Segment = collections.namedtuple("Segment", "is_executable offset address bytes")
Thread = collections.namedtuple("Thread", "tid frames end")


class Image:
    """Code of an ELF file by address."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self._bytes = file.read()
        start, size, count = struct.unpack_from("<Q14xHH", self._bytes, 32)
        self.segments = []
        for offset in range(start, start + size * count, size):
            kind, flags, *numbers = struct.unpack_from("<IIQQQQ", self._bytes, offset)
            if kind == 1:
                self.segments.append(Segment(flags & 1 != 0, numbers[0], numbers[1], numbers[3]))

    def word(self, address):
        """The four bytes at @address."""
        for segment in self.segments:
            at = address - segment.address
            if 0 <= at < segment.bytes:
                return self._bytes[at + segment.offset:][:4]
        return None


_images = {}


def is_in_system_call(thread):
    """Whether the innermost frame of @thread waits behind the instruction that enters the kernel, but
    not in what gives it other registers.
    """
    leaf = thread.frames[0]
    if not os.path.isfile(leaf.path) or leaf.path == addition(*SIGNAL_RETURN):
        return False
    if leaf.path not in _images:
        _images[leaf.path] = Image(leaf.path)
    return _images[leaf.path].word(leaf.address - 4) == SYSTEM_CALL


def has_additions(thread):
    """Whether @thread is at what we have threads do when they begin, and not at the program's work: that
    leaves no frame behind.
    """
    return any(frame.path == addition(*THREAD_POINTERS) for frame in thread.frames)


def read_threads(text):
    """The threads that walk_core prints, with their Frames, leaf first."""
    threads = []
    for line in text.splitlines():
        kind, *fields = line.split("\t")
        if kind == "thread":
            frames = []
            tid = int(fields[0])
        elif kind.startswith("#"):
            _, address, path, name, flags = fields
            frames.append(Frame(int(address, 16) if address != "-" else 0, path, name,
                                flags.split(",")))
        elif kind in ("end", "error"):
            threads.append(Thread(tid, frames, line if kind == "error" else ""))
    return threads


def show(thread):
    """The frames of @thread as the agent's outputs have them, root first."""
    shown, callee = [], None
    for frame in thread.frames:
        name = frame.name if frame.name != "-" else "%s+0x%x" % (
            os.path.basename(frame.path),
            frame.address - ("return" in frame.flags))
        if "wrapper" not in frame.flags or (callee and "panic" in callee.flags):
            shown.append(name + ("_[i]" if "inlined" in frame.flags else "")
                         + ("_[?]" if "guess" in frame.flags else ""))
        if "inlined" not in frame.flags:
            callee = frame
    return shown[::-1] + ["[%s]" % thread.end] * bool(thread.end)


def running_threads(pid, number=signal.SIGQUIT):
    """Tids of the process that can be signalled, those that run only if there are some."""
    every, running = [], []
    for status in glob.glob("/proc/%d/task/*/status" % pid):
        try:
            with open(status, encoding="ascii", errors="replace") as file:
                text = file.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        # A thread of qemu's own takes none.
        if int(re.search(r"^SigBlk:\t(\w+)$", text, re.M)[1], 16) >> (number - 1) & 1:
            continue
        every.append(int(re.search(r"^Pid:\t(\d+)$", text, re.M)[1]))
        if re.search(r"^State:\tR", text, re.M):
            running.append(every[-1])
    return running or every


class Core:
    """A program that was stopped: paths of the core file and the maps, and the tid that was signalled.
    """

    def __init__(self, command, has_cgo, directory):
        self.maps = os.path.join(directory, "maps")
        self.tid = 0
        self._directory = directory
        self._threads = os.path.join(directory, "threads") if has_cgo else None
        self._qemu = [arm64_test.find_qemu(), "-cpu", "max", "-L", LIBRARIES,
                      "-E", "CORE_MAPS=" + self.maps]
        if has_cgo:
            self._qemu += ["-E", "CORE_THREADS=" + self._threads,
                           "-E", "LD_PRELOAD=" + addition(*THREAD_POINTERS)]
        self._command = command

    def _start(self, *options, **more):
        return Program(*self._qemu, *options, *self._command, cwd=self._directory,
                       preexec_fn=allow_core, stderr=subprocess.DEVNULL, **more)

    def _take(self, program, seconds=END_SECONDS):
        program.process.wait(seconds)
        cores = glob.glob(os.path.join(self._directory, "qemu_*.core"))
        if len(cores) != 1:
            raise RuntimeError("%s left %d core files" % (self._command[0], len(cores)))
        self.path = cores[0]
        core_notes.check_whole(self.path)
        put_signal_return(self.maps)
        if self._threads:
            with open(self._threads, encoding="ascii") as file:
                pairs = [line.split() for line in file]
            core_notes.add_thread_pointers(
                self.path, {int(tid): int(pointer, 16) for tid, pointer in pairs})

    def stop_somewhere(self, generator):
        """Stops it after a random time. Raises core_notes.Cut if each of some tries leaves a core
        file that is cut.
        """
        cuts = []
        while len(cuts) < TRIES_MAX:
            try:
                with self._start() as program:
                    time.sleep(generator.uniform(*WAIT_SECONDS))
                    self.tid = generator.choice(running_threads(program.pid))
                    ctypes.CDLL(None).tgkill(program.pid, self.tid, signal.SIGQUIT)
                    self._take(program)
                return
            except core_notes.Cut as cut:
                cuts.append(str(cut))
                os.unlink(self.path)
        raise core_notes.Cut("%s left core files of %s" % (self._command[0], "; ".join(cuts)))

    def stop_at(self, before, addresses, generator):
        """Stops it at one of @addresses, after it has been at each of @before. False if it
        does not come there in time, or if qemu's stub, which threads disturb that meet something
        at once, fails or leaves a core file that is cut.
        """
        path = os.path.join(self._directory, "stub")
        try:
            with self._start("-g", path, ready=False) as program, qemu_stub.Stub(path) as stub:
                for address in before:
                    stub.stop_at([address])
                    if not stub.go_on(BEGIN_SECONDS):
                        return False
                    stub.forget([address])
                stub.stop_at(addresses)
                self.tid = stub.go_on(generator.uniform(*BREAKPOINT_SECONDS))
                if not self.tid:
                    return False
                stub.kill(signal.SIGQUIT)
                self._take(program, BREAKPOINT_END_SECONDS)
        except (qemu_stub.Failure, core_notes.Cut, subprocess.TimeoutExpired, OSError):
            return False
        return True


def addition(name, *options):
    """A shared object of one of our own sources."""
    path = os.path.join(gos.OUTPUT, "arm64", os.path.splitext(name)[0] + ".so")
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run([COMPILER, "-O2", "-shared", "-fPIC", "-o", path + ".new",
                        os.path.join(ADDITIONS, name), *options], check=True)
        os.replace(path + ".new", path)
    return path


def put_signal_return(path):
    """Names a file, in the maps at @path, for the page from which programs return from signals, and
    has it begin earlier.
    """
    file = addition(*SIGNAL_RETURN)
    [text] = [segment for segment in Image(file).segments if segment.is_executable]
    with open(path, encoding="utf-8", errors="surrogateescape") as maps:
        lines = maps.read().splitlines()
    for number, line in enumerate(lines):
        found = re.match(r"(\w+)-(\w+) r-xp 00000000 00:00 0\s*$", line)
        if found:
            start = int(found[1], 16) - PAGE_BYTES
            lines[number - 1] = re.sub("-%s " % found[1], "-%x " % start, lines[number - 1])
            lines[number] = "%x-%x r-xp %08x 00:01 1 %s" % (
                start, start + 2 * PAGE_BYTES, text.offset + text.bytes - 8 - PAGE_BYTES, file)
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as maps:
        maps.write("\n".join(lines) + "\n")


def functions_of(path):
    """(start, end) by name of the functions that are looked for by name, in a program that is
    loaded where its file says.
    """
    text = subprocess.run(["nm", "-S", path], check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout
    rows = re.findall(r"^(\w+) (\w+) [tT] (\S+)$", text, re.M)
    return {name: (int(start, 16), int(start, 16) + int(size, 16))
            for start, size, name in rows if name in BEGINNING or BREAKPOINT_FUNCTIONS.fullmatch(name)}


class Result:
    """What there is to say of the stacks of a target."""

    def __init__(self, target, style):
        self._chains = Chains(target, style)
        self.signalled = self.waiting = self.unknown = self.frames = self.own = 0
        self.differing = self.stops = 0
        self.wrong = collections.Counter()
        self.seen = set()

    @property
    def unseen(self):
        return [text for text in self._chains.wanted if text not in self.seen]

    def add(self, core):
        """Unwinds @core and judges its threads."""
        text, is_same = arm64_test.unwind(core.path, core.maps, "-interpreted", "-inlined")
        self.stops += 1
        self.differing += not is_same
        for thread in read_threads(text):
            is_signalled = thread.tid == core.tid
            self.signalled += is_signalled
            if has_additions(thread):
                continue
            if not is_signalled:
                if not is_in_system_call(thread):
                    self.unknown += 1
                    continue
                self.waiting += 1
            frames = show(thread)
            self.frames += len(frames)
            if self._chains.is_own(frames):
                self.own += 1
            elif not self._chains.is_background(frames):
                self.wrong[";".join(frames)] += 1
            self.seen.update(self._chains.find_wanted(frames))


def check(tap, go, mode_name, target, stops, counts):
    """Stops @target as @go builds it in a mode, and judges its stacks."""
    what = "stacks of %s in %s for arm64, %s, are allowed" % (target.name, go, mode_name)
    mode = MODES[mode_name]
    has_cgo = mode.has_cgo or target.has_cgo
    try:
        if target.mode:
            raise gos.Lacking("libraries are loaded after the maps are written")
        command = go.build(target, mode_name, MODES)
    except gos.Lacking as lack:
        tap.skip(what, lack)
        return
    result = Result(target, mode.style(target))
    generator = random.Random(what)

    def stop(*arguments):
        with tempfile.TemporaryDirectory(prefix="go-arm64-", dir=OUTPUT) as directory:
            core = Core(command, has_cgo, directory)
            if not arguments:
                core.stop_somewhere(generator)
            elif not core.stop_at(*arguments, generator):
                return
            result.add(core)

    for _ in range(stops):
        stop()
    chosen = choose_breakpoints(command[0], mode, generator, BREAKPOINT_STOPS)
    for breakpoints in chosen:
        stop(*breakpoints)
    tap.ok(not result.wrong and not result.differing and result.signalled == result.stops, what,
           "%d of %d are printed differently under qemu" % (result.differing, result.stops),
           "%d of %d threads that were signalled are there" % (result.signalled, result.stops),
           *("%d times %s" % (count, text[-2500:])
             for text, count in result.wrong.most_common(SHOWN_STACKS)))
    tap.note("%s, %s, %s: %d stops at random, %d of %d at breakpoints; %d waiting threads beside, %d not "
             "judged; %d frames, %d stacks in declared chains; %s" % (
                 target.name, go, mode_name, stops, result.stops - stops, len(chosen),
                 result.waiting, result.unknown, result.frames, result.own,
                 "; ".join("not seen: " + text for text in result.unseen)))
    counts["stops"] += stops
    counts["breakpoints"] += result.stops - stops
    counts["threads"] += result.signalled + result.waiting
    counts["frames"] += result.frames
    counts["wrong"] += result.wrong.total()


def choose_breakpoints(path, mode, generator, count):
    """@count times where a program has to be before, and where it may stop."""
    if "-buildmode=pie" in mode.options or not mode.has_symbols:
        return []
    functions = functions_of(path)
    before = [functions.pop(name)[0] for name in BEGINNING]
    names = sorted(functions)
    return [(before, [generator.randrange(*functions[name], 4) for name in chosen])
            for chosen in (generator.sample(names, BREAKPOINTS_AT_ONCE) for _ in range(count))]


def at_hand():
    """Toolchains for arm64, by name."""
    additions = glob.glob(ADDITIONS + "/*.go")
    roots = [gos.fetch_gos.DIRECTORY / version for version in LONG_VERSIONS
             if gos.fetch_gos.is_fetched(version)]
    every = [gos.Go(root, "arm64", COMPILER, additions) for root in roots or [None]]
    return {go.name: go for go in every}


def plan(arguments):
    """What is to run: (Go, mode, names of targets or none for all) each."""
    every = at_hand()
    wanted = [name for name in every if name in arguments]
    modes = [name for name in MODES if name in arguments]
    names = [word for word in arguments if word not in wanted + modes]
    if arguments:
        return [(every[name], mode, names) for name in wanted or every for mode in modes or MODES]
    if IS_LONG:
        return [(go, mode, [] if mode == "plain" else LONG_TARGETS)
                for go in every.values() for mode in MODES]
    short = [every[name] for name in ("go" + version for version in gos.SHORT_VERSIONS)
             if name in every] or list(every.values())[:1]
    return [(short[-1], SHORT_MODE, SHORT_TARGETS)]


def main():
    tap = Tap()
    stops, arguments = take_count("-stops", STOPS)
    missing = arm64_test.missing_tools() + ["go"] * (not gos.fetch_gos.machines_go())
    missing += [COMPILER] * (not shutil.which(COMPILER))
    missing += ["libraries in " + LIBRARIES] * (not os.path.isdir(LIBRARIES))
    if missing:
        tap.skip("stacks of Go of arm64", "no " + " and no ".join(missing))
        tap.finish()
    arm64_test.build_unwinders()
    os.makedirs(OUTPUT, exist_ok=True)
    counts = collections.Counter()
    for go, mode_name, names in plan(arguments):
        for target in gos.find_targets(names).values():
            check(tap, go, mode_name, target, stops, counts)
    tap.ok(arguments or counts["breakpoints"], "programs stop at breakpoints")
    tap.note(", ".join("%d %s" % (count, name) for name, count in counts.items()))
    tap.finish()


if __name__ == "__main__":
    main()
