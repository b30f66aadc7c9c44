# SPDX-License-Identifier: Apache-2.0
"""Samples of programs in languages that the agent attaches to: it knows them before they run."""
import collections
import itertools
import os
import signal
import time

from harness import Agent, FinishedResult, without_native_lines

ATTACHED_RATE = 997
# On a busy machine, until the agent has started, attached, and ended.
AGENT_MAX_SECONDS = 120


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


def sample_attached(programs, seconds, *options, rate=ATTACHED_RATE, selection=None, is_known=True,
                    settle_seconds=1, stays_stopped=False):
    """What an agent left that samples @programs while they run. They are stopped while it attaches to
    their runtimes, so that no sample comes before, and while it ends. @selection: options in place of
    -pid; @is_known: it will attach to them.
    """
    pids = {program.pid for program in programs}

    def signal_all(number):
        for pid in pids:
            os.kill(pid, number)

    signal_all(signal.SIGSTOP)
    with Agent("-samples-per-second", rate, *["-log-level", "debug"] * is_known, *options,
               *(selection or ["-pid", ",".join(map(str, pids))])) as agent:
        if not agent.wait_started(AGENT_MAX_SECONDS):
            raise RuntimeError("the agent failed: " + agent.log_text())
        # What it does not know in time shows.
        if is_known:
            agent.wait_attached(pids, AGENT_MAX_SECONDS)
        # It is told to the kernel side soon after.
        time.sleep(settle_seconds)
        signal_all(signal.SIGCONT)
        time.sleep(seconds)
        signal_all(signal.SIGSTOP)
        # What is in the rings is named while the programs are there.
        result = agent.stop(seconds=AGENT_MAX_SECONDS)
        if result.status != 0:
            raise RuntimeError("the agent failed: " + result.log)
        stacks = result.stacks
        if "-with-lines" in options:
            stacks = without_native_lines(stacks)
        result = FinishedResult(result, stacks)
    if not stays_stopped:
        signal_all(signal.SIGCONT)
    return result
