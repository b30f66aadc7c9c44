# SPDX-License-Identifier: Apache-2.0
"""What others lose by the agent beside them: the speed of works that the kernel tells it of, and what short-lived
programs cost. Builds are in build_side.py.
"""
import collections
import statistics
import subprocess
import time

from tools import path
import harness
import user_side

# Work: what is left of its speed at least.
WORKS = {"name": 0.95, "thread": 0.95, "fork": 0.95, "spawn": 0.95, "mmap": 0.75, "mprotect": 0.58}
# After its start the agent makes the names of what it sampled first.
SETTLE_SECONDS = 1
WORK_ROUNDS = 11
WORK_SECONDS = 0.8

EXEC_RATE = 719
EXEC_SECONDS = 15

ExecFigures = collections.namedtuple(
    "ExecFigures", "per_second core_percent bpf_us rss_anon_mb ls_complete_percent")


def _speed(work):
    text = subprocess.run([path("works"), work, str(WORK_SECONDS)], stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    return float(text)


def left_speeds(rate):
    """{work: what is left of its speed with an agent at @rate}, medians of pairs."""
    ratios = collections.defaultdict(list)
    for i in range(WORK_ROUNDS):
        speeds = {}
        # The two take turns in coming first, since the machine may become slower or faster.
        for with_agent in (bool(i % 2), not i % 2):
            if with_agent:
                with harness.Agent("-samples-per-second", rate) as agent:
                    agent.wait_started()
                    time.sleep(SETTLE_SECONDS)
                    speeds[True] = {work: _speed(work) for work in WORKS}
                    agent.stop()
            else:
                speeds[False] = {work: _speed(work) for work in WORKS}
        for work in WORKS:
            ratios[work].append(speeds[True][work] / speeds[False][work])
    return {work: statistics.median(values) for work, values in ratios.items()}


def _process_events_ns(agent):
    """Run time of the programs for execs and exits."""
    ids = {number for kind, number in harness.bpf_objects_of(agent.pid) if kind == "prog"}
    return sum(one.get("run_time_ns", 0) for one in harness.list_bpf("prog")
               if one["id"] in ids and one["type"] == "raw_tracepoint")


def exec_figures(rate):
    """The costs of @EXEC_RATE short-lived programs a second."""
    with harness.Agent("-samples-per-second", rate) as agent:
        agent.wait_started()
        time.sleep(2)
        ran_before, bpf_before = user_side.user_and_system(agent.pid)[1], _process_events_ns(agent)
        begin = time.monotonic()
        text = subprocess.run([path("execs"), str(EXEC_RATE), str(EXEC_SECONDS)],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        seconds = time.monotonic() - begin
        ran = user_side.user_and_system(agent.pid)[1] - ran_before
        bpf_ns = _process_events_ns(agent) - bpf_before
        rss_anon_mb = harness.rss_anon_bytes(agent.pid) / (1 << 20)
        # The file is gone with the agent's block.
        found = agent.stop().stacks
    ends = harness.StackEnds()
    stacks = {stack: count for stack, count in found.items() if stack.comm == "ls"}
    complete = sum(count for stack, count in stacks.items()
                   if stack.is_without_memory or ends.is_complete(stack))
    return ExecFigures(float(text) / seconds, 100 * ran / seconds, bpf_ns / 1000 / float(text),
                       rss_anon_mb, 100 * complete / max(1, sum(stacks.values())))
