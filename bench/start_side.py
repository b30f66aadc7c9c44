# SPDX-License-Identifier: Apache-2.0
"""The first seconds of the agent on a busy machine and on a quiet one, and the start of a large program under an
agent that has run for long.
"""
import collections
import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from tools import path
import harness
import user_side
from sample_times import SampleTimes

RATE = 97
# Runnable threads for each CPU.
RUNNABLE = 10
# From the agent's exec on: what has to be good in which second.
FIRST_SECOND, LATER_SECOND = 4, 7
SECONDS = 8

BusyStart = collections.namedtuple("BusyStart", "first_percent later_percent raised_seconds percents")
QuietStart = collections.namedtuple("QuietStart", "first_complete_seconds")
LargeStart = collections.namedtuple("LargeStart", "samples not_loaded_percent agent_seconds")

_ENDLESS = (
    ("python3", "-c", "while True: sorted(str(i) for i in range(5000))"),
    ("perl", "-e", "while (1) { join ',', sort map { $_ * 7 } 1..1000 }"),
    ("bash", "-c", "while :; do x=$((x+1)); done"),
    ("md5sum", "/dev/zero"),
    ("sh", "-c", "exec gzip -9 < /dev/zero > /dev/null"),
)


@contextlib.contextmanager
def all_cpus():
    """Programs that are started here may use the bench's CPU, too."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, harness.online_cpus())
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _start_busy():
    """Programs that keep all CPUs busy."""
    count = RUNNABLE * len(harness.online_cpus())
    return [harness.Program(*_ENDLESS[i % len(_ENDLESS)], ready=False, stderr=subprocess.DEVNULL)
            for i in range(count)]


def _samples_of(data):
    """(seconds since the epoch, frames) of each sample in an .otlp file."""
    return [(time_ns / 1e9, frames) for samples in SampleTimes(data).threads.values()
            for time_ns, (_, frames) in samples]


def _is_complete(frames):
    return not any(frame.startswith("[error: ") or frame == "[truncated]" or frame.endswith("_[?]")
                   for frame in frames)


class _Raised:
    """CPU seconds that threads of a process used while they had a raised priority, as far as looking every few
    milliseconds shows.
    """

    def __init__(self, pid):
        self._pid = pid
        self._last = {}
        self.seconds = 0

    def look(self):
        for name in glob.glob("/proc/%d/task/*" % self._pid):
            try:
                with open(name + "/stat", encoding="utf-8", errors="surrogateescape") as file:
                    fields = file.read().rpartition(")")[2].split()
                with open(name + "/schedstat", encoding="ascii") as file:
                    ran_ns = int(file.read().split()[0])
            except OSError:
                continue
            is_raised = int(fields[16]) < 0 or int(fields[37]) > 0
            before_ns, was_raised = self._last.get(name, (0, is_raised))
            if was_raised:
                self.seconds += (ran_ns - before_ns) / 1e9
            self._last[name] = ran_ns, is_raised


def _started_at(pid):
    """When a process began, in seconds since the epoch."""
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="surrogateescape") as file:
        ticks = int(file.read().rpartition(")")[2].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age


def _run(seconds, *options):
    """Runs an agent for so long from its start on: its samples, times from then on, and its _Raised."""
    with tempfile.TemporaryDirectory(prefix="allframes-start-") as directory:
        file_name = os.path.join(directory, "profile.otlp")
        with harness.Agent("-samples-per-second", RATE, *options, outputs=[file_name]) as agent:
            begin = _started_at(agent.pid)
            raised = _Raised(agent.pid)
            while time.time() < begin + seconds:
                raised.look()
                time.sleep(0.01)
            agent.stop()
        with open(file_name, "rb") as file:
            samples = [(when - begin, frames) for when, frames in _samples_of(file.read())]
    return samples, raised.seconds


def _busy_start(*options):
    samples, raised_seconds = _run(SECONDS, *options)
    ticks = RATE * len(harness.online_cpus())
    percents = [100 * sum(1 for when, frames in samples
                          if second <= when < second + 1 and _is_complete(frames)) / ticks
                for second in range(SECONDS)]
    return BusyStart(percents[FIRST_SECOND - 1], percents[LATER_SECOND - 1], raised_seconds, percents)


def busy_figures():
    """Without and with a disk cache: 300 processes, RUNNABLE threads for each CPU."""
    with user_side.many_processes(), tempfile.TemporaryDirectory(prefix="allframes-cache-") as directory:
        cache = os.path.join(directory, "cache")
        programs = _start_busy()
        try:
            time.sleep(1)
            return _busy_start("-cache-dir", cache), _busy_start("-cache-dir", cache)
        finally:
            for program in programs:
                program.__exit__()


def quiet_figures():
    """Seconds from the agent's exec to its first complete sample, with one busy program."""
    with harness.Program("md5sum", "/dev/zero", ready=False):
        samples, _ = _run(4)
    complete = [when for when, frames in samples if _is_complete(frames)]
    return QuietStart(min(complete, default=float("inf")))


def _cpu_seconds(pid):
    return user_side.user_and_system(pid)[1]


def large_figures():
    """Chromium takes a picture of a page; None without it. The agent sees to the machine for a while before."""
    chromium = shutil.which("chromium")
    if not chromium:
        return None
    with tempfile.TemporaryDirectory(prefix="allframes-large-") as directory:
        folded = os.path.join(directory, "stacks.folded")
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu",
                   "--disable-background-networking", "--user-data-dir=" + directory,
                   "--screenshot=" + os.path.join(directory, "page.png"), "about:blank"]
        with harness.Agent("-samples-per-second", RATE, outputs=[folded]) as agent:
            agent.wait_started()
            # Longer than the agent counts as just started.
            time.sleep(25)
            before = _cpu_seconds(agent.pid)
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                           cwd=directory)
            time.sleep(1)
            used = _cpu_seconds(agent.pid) - before
            agent.stop()
        with open(folded, encoding="utf-8", errors="surrogateescape") as file:
            stacks = [(int(line.rpartition(" ")[2]), line) for line in file
                      if re.match(r"chrom|ThreadPool", line)]
    samples = sum(count for count, _ in stacks)
    not_loaded = sum(count for count, line in stacks if "unwind rows not loaded" in line)
    return LargeStart(samples, 100 * not_loaded / max(1, samples), used)


if __name__ == "__main__":
    sys.exit("run bench/run.py")
