#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it compares shares with another profiler's
# long
# time limit: 1500 s
"""Beside `perf record --call-graph dwarf` on the same load: the 20 functions with the most time, what
they call counted in, have the same shares within 2 points.

Both sample the clock of every CPU while a mix of native programs runs: cryptography, compression, a
data base, a compiler, an interpreter, sort. Functions go by their name; names that stand at one
address of a file are one, and those that only separate debug files know are left out. Stacks that
either side could not walk to their start are left out too, and counted: in each program's share of
the samples its whole stacks stand for them.
usage: perf_compare_test.py [SECONDS]
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from busy_mix import DATA_BASE, FOREVER, write_sources
from harness import Agent, ProcessGroups, Tap, need_root

SECONDS = int(sys.argv[1]) if sys.argv[1:] else 60
RATE = 199
POINTS_MAX = 2.0
FUNCTIONS = 20
LEAST_SAMPLES = 4000
# The C library's part of a start.
START = re.compile(r"_start|__libc_start_\w+|_*clone3?|start_thread|_dl_start\w*")


class Load(ProcessGroups):
    """Programs that run until the context ends; comms: how a profiler sees them."""

    def __init__(self, directory):
        super().__init__()
        write_sources(directory)
        data = os.path.join(directory, "data")
        with open(data, "wb") as file:
            file.write(b"".join(b"%d some text that can be made shorter %d\n"
                                % (i * 7919 % 100003, i) for i in range(60000)))
        python = os.path.realpath(sys.executable)
        commands = {
            "openssl": FOREVER % "openssl speed -seconds 1 rsa2048 sha256",
            "xz": FOREVER % ('xz -6 -T1 -c "%s"' % data),
            "sort": FOREVER % ('sort --parallel=1 -k 2 "%s"' % data),
            "cc1": FOREVER % ('for f in "%s"/file_1*.c; do gcc -O2 -S "$f" -o /dev/null; done'
                              % directory),
        }
        self.comms = set(commands) | {os.path.basename(python)}
        for command in commands.values():
            self.start(["sh", "-c", command])
        self.start([python, "-c", DATA_BASE])


class Shares:
    """Samples by function, what it calls counted in, of stacks that were not cut. Each program
    weighs as much as it has samples, cut ones included.
    """

    def __init__(self):
        self.total = collections.Counter()
        self.cut = collections.Counter()
        self._functions = collections.defaultdict(collections.Counter)

    def add(self, comm, frames, count, is_cut):
        self.total[comm] += count
        if is_cut:
            self.cut[comm] += count
            return
        for name in set(frames):
            self._functions[name][comm] += count

    def percent(self, name):
        weighed = sum(count * self.total[comm] / (self.total[comm] - self.cut[comm])
                      for comm, count in self._functions[name].items())
        return 100.0 * weighed / self.total.total()

    def top(self, count):
        return sorted(self._functions, key=self.percent, reverse=True)[:count]

    def __str__(self):
        return ", ".join("%s %d (%d cut)" % (comm, count, self.cut[comm])
                         for comm, count in sorted(self.total.items()))


class Names:
    """The functions that @files have in their own symbol tables."""

    def __init__(self, files):
        self._first = {}
        for path in files:
            by_address = collections.defaultdict(set)
            for option in ((), ("-D",)):
                text = subprocess.run(["nm", "--defined-only", *option, path], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      check=False).stdout
                for line in text.splitlines():
                    address, kind, name = line.split(" ", 2)
                    if kind in "tTwWiV":
                        by_address[address].add(name.partition("@")[0])
            for names in by_address.values():
                for name in names:
                    self._first.setdefault(name, min(names))

    def plain(self, frames):
        """One name for each of @frames that has any; none of the start, which perf often lacks."""
        names = (self._first.get(frame.partition("@")[0]) for frame in frames)
        return [name for name in names if name and not START.fullmatch(name)]


def read_perf(data, comms):
    """perf's samples of @comms: (comm, frames root first, file of the root) to counts; and all
    files in them.
    """
    stacks, files = collections.Counter(), set()
    frames, files_of, comm = [], [], None
    command = ["perf", "script", "-i", data, "-F", "comm,ip,sym,dso", "--no-inline",
               "--max-stack", "1024"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="surrogateescape") as script:
        for line in script.stdout:
            if not line.strip():
                if comm in comms and frames:
                    stacks[comm, tuple(reversed(frames)), files_of[-1]] += 1
                frames, files_of = [], []
            elif not line.startswith((" ", "\t")):
                comm = line.strip()
            else:
                match = re.match(r"\s+[0-9a-f]+ (.+) \((.*)\)$", line)
                if match:
                    frames.append(match[1])
                    files_of.append(match[2])
                    if match[2].startswith("/"):
                        files.add(match[2])
    return stacks, files


def perf_shares(stacks, names):
    """What perf could not unwind ends somewhere in a library, mostly at the leaf."""
    shares = Shares()
    for (comm, frames, root_file), count in stacks.items():
        is_cut = not (START.fullmatch(frames[0]) or os.path.basename(root_file) == comm)
        shares.add(comm, names.plain(frames), count, is_cut)
    return shares


def agent_shares(stacks, comms, names):
    shares = Shares()
    for stack, count in stacks.items():
        if stack.comm in comms:
            shares.add(stack.comm, names.plain(stack.user_frames), count, bool(stack.errors))
    return shares


def record(directory):
    """Both at once: the agent's stacks, perf's file, and the comms of the load."""
    data = os.path.join(directory, "perf.data")
    with Load(directory) as load:
        with Agent("-samples-per-second", RATE, "-duration", "%ds" % SECONDS) as agent:
            if not agent.wait_started():
                raise RuntimeError("the agent did not start: " + agent.log_text())
            subprocess.run(["perf", "record", "-q", "-a", "-e", "cpu-clock", "-F", str(RATE),
                            "--call-graph", "dwarf,65528", "-m", "16M", "-o", data, "--", "sleep",
                            str(SECONDS)], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            result = agent.wait(SECONDS + 60)
            if result.status != 0:
                raise RuntimeError("the agent failed: " + result.log)
            return result.stacks, data, load.comms


def compare(tap, ours, theirs):
    names = list(dict.fromkeys(ours.top(FUNCTIONS) + theirs.top(FUNCTIONS)))
    far = []
    for name in names:
        line = "%6.2f %% %6.2f %%  %s" % (ours.percent(name), theirs.percent(name), name)
        tap.note(line)
        if abs(ours.percent(name) - theirs.percent(name)) > POINTS_MAX:
            far.append(line)
    tap.ok(not far, "the shares of the top %d functions are within %g points of perf's"
           % (FUNCTIONS, POINTS_MAX), *far)


def main():
    tap = Tap()
    need_root(tap, "comparison with perf")
    if not shutil.which("perf"):
        tap.skip("comparison with perf", "no perf on this machine")
        tap.finish()
    with tempfile.TemporaryDirectory(prefix="allframes-perf-") as directory:
        stacks, data, comms = record(directory)
        perf_stacks, files = read_perf(data, comms)
    names = Names(files)
    ours, theirs = agent_shares(stacks, comms, names), perf_shares(perf_stacks, names)
    tap.ok(min(ours.total.total(), theirs.total.total()) >= LEAST_SAMPLES,
           "both have samples enough")
    tap.note("ours: %s" % ours)
    tap.note("perf's: %s" % theirs)
    compare(tap, ours, theirs)
    tap.finish()


if __name__ == "__main__":
    main()
