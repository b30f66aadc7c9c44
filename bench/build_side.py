# SPDX-License-Identifier: Apache-2.0
"""What the agent costs a build of small files, one after the other, in CPU time.

Builds by themselves differ by a tenth on a virtual machine. So a build is measured in short slices, with and without an agent by
turns, and its parts are measured beside it, each in the way that is exact for it: CPU time of the agent and of the processes that
read for it, run time of its kernel programs, and the records of mappings by turns of single compiles (side_band.c).
"""
import collections
import os
import resource
import statistics
import subprocess
import tempfile
import time

from tools import bench_cpu, path
import harness
import user_side

PAIRS = 15
# Of each half of a pair; a slice takes less than half a second.
SLICES = 5
SLICE_FILES = 20
# The first files of a pair are not measured: names of the compiler's files are made once for each run of the agent.
WARM_FILES = 100
SETTLE_SECONDS = 1
SIDE_BAND_SECONDS = 40

# In per cent of the CPU time of the build without an agent. whole_percent: the median of pairs, and agent_percent,
# programs_percent and side_band_percent: the parts.
BuildCost = collections.namedtuple("BuildCost", "whole_percent agent_percent programs_percent side_band_percent")
_Half = collections.namedtuple("_Half", "slice_seconds build_seconds agent_seconds program_seconds")


def _compile_command(name):
    return ["gcc", "-O1", "-c", name, "-o", "/dev/null"]


def _build(directory, file_count):
    """CPU seconds of compiling so many files there, one after the other, on one CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    commands = "".join(" ".join(_compile_command("file%d.c" % i)) + " || exit 1\n" for i in range(file_count))
    subprocess.run(["sh", "-c", commands], cwd=directory, check=True,
                   preexec_fn=lambda: os.sched_setaffinity(0, [bench_cpu()]))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _program_seconds(agent):
    """Run time of the agent's kernel programs; tail calls count for the program that was entered."""
    ids = {number for kind, number in harness.bpf_objects_of(agent.pid) if kind == "prog"}
    return sum(one.get("run_time_ns", 0) for one in harness.list_bpf("prog") if one["id"] in ids) / 1e9


def _half(directory, agent):
    """One half of a pair, with @agent or, if that is None, without."""
    ran = programs = 0
    if agent:
        ran, programs = user_side.user_and_system(agent.pid)[1], _program_seconds(agent)
    slices = [_build(directory, SLICE_FILES) for _ in range(SLICES)]
    if agent:
        ran = user_side.user_and_system(agent.pid)[1] - ran
        programs = _program_seconds(agent) - programs
    return _Half(statistics.median(slices), sum(slices), ran, programs)


def _half_with_agent(directory, rate):
    with harness.Agent("-samples-per-second", rate) as agent:
        agent.wait_started()
        _build(directory, WARM_FILES)
        time.sleep(SETTLE_SECONDS)
        half = _half(directory, agent)
        agent.stop()
    return half


def _side_band_percent(directory):
    text = subprocess.run([path("side_band"), str(SIDE_BAND_SECONDS), *_compile_command("file0.c")], cwd=directory,
                          stdout=subprocess.PIPE, text=True, check=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, [bench_cpu()])).stdout
    base_us, difference_us, _ = map(float, text.split())
    return 100 * difference_us / base_us


def costs(rates):
    """{rate: BuildCost}."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="allframes-build-") as directory:
        for i in range(WARM_FILES):
            with open(os.path.join(directory, "file%d.c" % i), "w", encoding="ascii") as file:
                file.write("int function_%d(int x) { return x * %d; }\n" % (i, i))
        side_band = _side_band_percent(directory)
        for rate in rates:
            wholes, with_agent = [], []
            for i in range(PAIRS):
                halves = {}
                for has_agent in (bool(i % 2), not i % 2):
                    halves[has_agent] = _half_with_agent(directory, rate) if has_agent else _half(directory, None)
                own = halves[True].agent_seconds / SLICES
                wholes.append(100 * ((halves[True].slice_seconds + own) / halves[False].slice_seconds - 1))
                with_agent.append(halves[True])
            built = sum(half.build_seconds for half in with_agent)
            found[rate] = BuildCost(statistics.median(wholes),
                                    100 * sum(half.agent_seconds for half in with_agent) / built,
                                    100 * sum(half.program_seconds for half in with_agent) / built, side_band)
    return found
