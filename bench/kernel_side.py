# SPDX-License-Identifier: Apache-2.0
"""Times of BPF programs, from the kernel's statistics."""
import collections
import contextlib
import json
import os
import signal
import statistics
import subprocess
import time

from tools import bench_cpu, path, start_alone, undisturbed
import harness

RATE = 4999
SECONDS = 2

# Of the kernel walk: how often, and for how long, each of two programs runs.
TURNS = 24
TURN_SECONDS = 0.25
TURN_RUNS_MIN = 100
# Not the agent's: else one of them would always come right behind the other, whose data it finds in
# the caches.
BASE_RATE, EMPTY_RATE = 4973, 4951


def _programs():
    text = subprocess.run([harness.bpftool(), "-j", "prog", "list"], stdout=subprocess.PIPE,
                          check=True).stdout
    return {one["id"]: one for one in json.loads(text)}


def _number_of(name, pid):
    """The id of the one program @name of process @pid."""
    mine = harness.bpf_objects_of(pid)
    found = [number for number, one in _programs().items()
             if ("prog", number) in mine and one.get("name") == name]
    assert len(found) == 1, "%d programs called %s" % (len(found), name)
    return found[0]


def _measure_all(numbers, seconds):
    """(ns, runs) of each of the programs with ids @numbers, for some time."""
    first = _programs()
    time.sleep(seconds)
    last = _programs()
    return [tuple(last[number].get(key, 0) - first[number].get(key, 0)
                  for key in ("run_time_ns", "run_cnt")) for number in numbers]


def _measure(name, pid):
    """(ns, runs) of some seconds of the one program @name of process @pid."""
    return _measure_all([_number_of(name, pid)], SECONDS)[0]


def agent_ns(command):
    """Mean time of the agent's programs for a sample of @command, which runs for ever."""
    with start_alone(command) as program:
        with harness.Agent("-pid", program.pid, "-cpus", bench_cpu(), "-samples-per-second",
                           RATE) as agent:
            if not agent.wait_started():
                raise RuntimeError(agent.log_text())
            # The first samples find tables that are not loaded yet.
            time.sleep(0.5)
            with undisturbed(program):
                time_ns, runs = _measure("sample_entry", agent.pid)
            _check(agent.stop(), command)
            return time_ns / runs


def _check(result, command):
    """The walks did what they were timed for: all went to the end, none was cut."""
    stacks = result.stacks
    total = sum(stacks.values())
    good = sum(count for stack, count in stacks.items()
               if not stack.errors and len(stack.user_frames) >= int(command[1]))
    assert good > 0.95 * total, "%d of %d stacks are whole: %s" % (
        good, total, next((str(stack) for stack in stacks if stack.errors), ""))


@contextlib.contextmanager
def _base_walk(program_name, pid, rate=RATE):
    """The process that runs a program of base_walk.bpf.c at each clock event of process @pid."""
    base = subprocess.Popen([path("base_walk"), path("base_walk.bpf.o"), program_name, str(pid),
                             str(rate)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert base.stdout.readline() == "ready\n"
        yield base
    finally:
        base.kill()
        base.wait()


def base_ns(program_name, command):
    """Mean time of a program of base_walk.bpf.c for @command."""
    with start_alone(command) as program:
        with _base_walk(program_name, program.pid) as base:
            with undisturbed(program):
                time_ns, runs = _measure(program_name, base.pid)
            frames, _ = base.communicate("", timeout=10)
    if program_name == "base_user":
        assert float(frames) > 0.9 * int(command[1]), "bpf_get_stack found " + frames
    return time_ns / runs


KernelWalk = collections.namedtuple("KernelWalk", "agent_ns base_ns ratio whole_ns")


def kernel_walk():
    """What a sample costs more for being in the kernel, beside bpf_get_stack() alone.

    Two programs take turns on the bench's CPU, one in user mode and one in a system call, each one
    call deep: of deeper ones the walk of the user frames would be timed as well, since the kernel
    leaves less of what it reads in the caches. Agent and base run in the same turns. The agent's
    figure is the difference of the two programs: it finds the user registers,
    takes the kernel's frames and sends them. The base's is that of a program that has
    bpf_get_stack() write to a buffer, counts and sends nothing, without the call of an empty
    program. whole_ns is all of the agent's sample in the system call.
    """
    with start_alone(["depth", 1]) as user, start_alone(["depth", 1, "read"]) as system, \
            harness.Agent("-pid", "%d,%d" % (user.pid, system.pid), "-cpus", bench_cpu(),
                          "-samples-per-second", RATE) as agent, \
            _base_walk("base_kernel", system.pid, BASE_RATE) as base, \
            _base_walk("base_empty", system.pid, EMPTY_RATE) as empty, \
            _base_walk("base_empty", user.pid, EMPTY_RATE) as empty_user:
        if not agent.wait_started():
            raise RuntimeError(agent.log_text())
        time.sleep(0.5)
        numbers = [_number_of("sample_entry", agent.pid), _number_of("base_kernel", base.pid),
                   _number_of("base_empty", empty.pid),
                   _number_of("base_empty", empty_user.pid)]
        with undisturbed(user), undisturbed(system):
            turns = [_take_turns(user, system, numbers) for _ in range(TURNS)]
        _check(agent.stop(), ["depth", "1"])
    turns = [turn for turn in turns if turn]
    assert len(turns) > TURNS / 2, "the programs did not run"
    return KernelWalk(statistics.median(turn.agent_ns for turn in turns),
                      statistics.median(turn.base_ns for turn in turns),
                      statistics.median(turn.ratio for turn in turns),
                      statistics.median(turn.whole_ns for turn in turns))


def _take_turns(user, system, numbers):
    """A KernelWalk of one turn of each program; None if one had no CPU."""
    times = []
    for runs, waits in (user, system), (system, user):
        os.kill(waits.pid, signal.SIGSTOP)
        os.kill(runs.pid, signal.SIGCONT)
        times.append(_measure_all(numbers, TURN_SECONDS))
    os.kill(user.pid, signal.SIGCONT)
    (in_user, _, _, user_ticks), (in_kernel, base, empty, _) = times
    if min(count for _, count in (user_ticks, base, empty)) < TURN_RUNS_MIN:
        return None
    # The agent's events are the CPU's, those of the base the program's: what runs for other tasks,
    # which is short, must not be in the mean.
    user, whole = (mine[0] / (ticks[1] * RATE / EMPTY_RATE)
                   for mine, ticks in ((in_user, user_ticks), (in_kernel, empty)))
    base_ns_ = base[0] / base[1] - empty[0] / empty[1]
    return KernelWalk(whole - user, base_ns_, (whole - user) / base_ns_, whole)
