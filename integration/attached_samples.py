# SPDX-License-Identifier: Apache-2.0
"""Samples of programs that the agent knows before they run: their unwind rows, and their runtimes."""
import collections
import itertools
import os
import re
import signal
import time

from harness import Agent, FinishedResult, without_native_lines
from sampled import run_at_most

# A process that sample_attached() takes as a program, if another one has started it.
Process = collections.namedtuple("Process", "pid")

ATTACHED_RATE = 997
# On a busy machine, until the agent has started, attached, and ended.
AGENT_MAX_SECONDS = 120

# Where e_phnum is, of 2 bytes.
_PROGRAM_HEADER_COUNT = 56


def shorten(frames):
    """@frames as text, repeated ones once with their number."""
    runs = [(frame, len(list(group))) for frame, group in itertools.groupby(frames)]
    return ";".join(frame if count == 1 else "%d x %s" % (count, frame) for frame, count in runs)


def stacks_by_comm(stacks):
    """Counters of @stacks by the name of the process."""
    found = collections.defaultdict(collections.Counter)
    for stack, count in stacks.items():
        found[stack.comm][stack] += count
    return found


def _has_segments(path):
    """Whether the file at @path, an ELF file of 64 bits, has program headers."""
    with open(path, "rb") as file:
        header = file.read(_PROGRAM_HEADER_COUNT + 2)
    return any(header[_PROGRAM_HEADER_COUNT:])


def _files_of(pid):
    """The paths of the files with unwind rows whose code a process has mapped. They are read where the process has
    them, since a path may be gone.
    """
    with open("/proc/%d/maps" % pid, encoding="utf-8", errors="surrogateescape") as file:
        mapped = re.findall(r"^(\w+)-(\w+) ..x. \S+ \S+ \d+ +(/.*)$", file.read(), re.M)
    return {path for start, end, path in mapped
            if _has_segments("/proc/%d/map_files/%x-%x" % (pid, int(start, 16), int(end, 16)))}


def _wait_published(agent, pids, is_known):
    """Waits until the kernel side has the runtimes of @pids with the unwind rows of their files, or if not @is_known
    the unwind rows of the files that they have mapped. What it does not know in time shows.
    """
    wanted = set()
    for pid in pids:
        wanted |= {"process %d: runtime published" % pid} if is_known else {
            path + ": unwind rows published" for path in _files_of(pid)}
    end = time.monotonic() + AGENT_MAX_SECONDS
    while True:
        lines = {line.removeprefix("debug: ") for line in agent.log_text().splitlines()}
        runtimes = re.findall(r"^process \d+: attached to (.*) in \d+ us$", "\n".join(lines), re.M) if is_known else []
        missing = (wanted | {path + ": unwind rows published" for path in runtimes}) - lines
        if agent.has_languages() and not missing:
            return
        if time.monotonic() > end:
            print("# after %d s the agent has not said: %s" % (AGENT_MAX_SECONDS, ", ".join(sorted(missing)) or "a language is loaded"),
                  flush=True)
            return
        time.sleep(0.05)


def sample_attached(programs, seconds, *options, rate=ATTACHED_RATE, selection=None, is_known=True,
                    stays_stopped=False, cpu_seconds=None):
    """What an agent left that samples @programs while they run, an AgentResult with @times, the SampleTimes.
    They are stopped until it knows their unwind rows or runtimes, so that no sample comes before, and while
    it ends. They run for @seconds, or for less: each until it has used @cpu_seconds. @selection: options
    instead of -pid; @is_known: it will attach to their runtimes.
    """
    pids = {program.pid for program in programs}
    has_lines = "-with-lines" in options

    def signal_all(number):
        for pid in pids:
            os.kill(pid, number)

    signal_all(signal.SIGSTOP)
    with Agent("-samples-per-second", rate, "-log-level", "debug", *options,
               *(selection or ["-pid", ",".join(map(str, pids))]), is_timed=True) as agent:
        if not agent.wait_started(AGENT_MAX_SECONDS):
            raise RuntimeError("the agent failed: " + agent.log_text())
        _wait_published(agent, pids, is_known)
        if cpu_seconds:
            run_at_most(pids, cpu_seconds, seconds)
        else:
            signal_all(signal.SIGCONT)
            time.sleep(seconds)
        signal_all(signal.SIGSTOP)
        # The agent names what is left in its rings while the programs still exist.
        result = agent.stop(seconds=AGENT_MAX_SECONDS)
        if result.status != 0:
            raise RuntimeError("the agent failed: " + result.log)
        stacks = result.stacks
    result = FinishedResult(result, without_native_lines(stacks) if has_lines else stacks)
    result.times.is_without_native_lines = has_lines
    if not is_known:
        # Only the wait needed these lines; what people see of such runtimes is judged by the others.
        result.log = "".join(line for line in result.log.splitlines(True) if not line.startswith("debug: "))
    if not stays_stopped:
        signal_all(signal.SIGCONT)
    return result
