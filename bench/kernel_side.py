# SPDX-License-Identifier: Apache-2.0
"""Times of BPF programs, from the kernel's statistics."""
import collections
import contextlib
import os
import signal
import statistics
import subprocess
import time

from tools import bench_cpu, path, start_alone, undisturbed
import harness

RATE = 4999
SECONDS = 2

# How often, and for how long, each of some programs runs where they take turns.
TURNS = 24
TURN_SECONDS = 0.25
TURN_RUNS_MIN = 100
# Not the agent's: else one of them would always come right behind the other, whose data it finds in
# the caches.
BASE_RATE, EMPTY_RATE = 4973, 4951


def programs():
    return {one["id"]: one for one in harness.list_bpf("prog")}


def number_of(name, pid):
    """The id of the one program @name of process @pid."""
    mine = harness.bpf_objects_of(pid)
    found = [number for number, one in programs().items()
             if ("prog", number) in mine and one.get("name") == name]
    assert len(found) == 1, "%d programs called %s" % (len(found), name)
    return found[0]


def _measure_all(numbers, seconds):
    """(ns, runs) of each of the programs with ids @numbers, for some time."""
    first = programs()
    time.sleep(seconds)
    last = programs()
    return [tuple(last[number].get(key, 0) - first[number].get(key, 0)
                  for key in ("run_time_ns", "run_cnt")) for number in numbers]


def _measure(name, pid):
    """(ns, runs) of some seconds of the one program @name of process @pid."""
    return _measure_all([number_of(name, pid)], SECONDS)[0]


def agent_ns(command):
    """Mean time of the agent's programs for a sample of @command, which runs for ever."""
    with start_alone(command) as program, _agent_of([program]) as agent:
        with undisturbed(program):
            time_ns, runs = _measure("sample_entry", agent.pid)
        _check(agent.stop(), command)
    return time_ns / runs


def _check(result, command):
    """The unwinds did what they were timed for: all went to the end, none was cut."""
    stacks = result.stacks
    total = sum(stacks.values())
    good = sum(count for stack, count in stacks.items()
               if not stack.errors and len(stack.user_frames) >= int(command[1]))
    assert good > 0.95 * total, "%d of %d stacks are whole: %s" % (
        good, total, next((str(stack) for stack in stacks if stack.errors), ""))


@contextlib.contextmanager
def base_program(program_name, *target):
    """The process that runs a program of base_unwind.bpf.c: at each clock event of a process, for the pid and the rate in @target, or at
    its tracepoint.
    """
    base = subprocess.Popen([path("base_unwind"), path("base_unwind.bpf.o"), program_name, *map(str, target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert base.stdout.readline() == "ready\n"
        yield base
    finally:
        base.kill()
        base.wait()


@contextlib.contextmanager
def _agent_of(programs):
    """The agent over @programs, which are found in its tables."""
    with harness.Agent("-pid", ",".join(str(program.pid) for program in programs), "-cpus",
                       bench_cpu(), "-samples-per-second", RATE) as agent:
        if not agent.wait_started():
            raise RuntimeError(agent.log_text())
        # The first samples find tables that are not loaded yet.
        time.sleep(0.5)
        yield agent


def _turn(runs, programs, numbers):
    """(ns, runs) of each of the BPF programs @numbers while of @programs only @runs is running."""
    for program in programs:
        os.kill(program.pid, signal.SIGCONT if program is runs else signal.SIGSTOP)
    return _measure_all(numbers, TURN_SECONDS)


def _per_tick(time_ns, rate, ticks, tick_rate):
    """Mean time of an event of the CPU at @rate, of which those in one program count: that one had
    @ticks at @tick_rate. What runs for other tasks, which is short, must not be in the mean.
    """
    return time_ns / (ticks * rate / tick_rate)


FrameUnwind = collections.namedtuple(
    "FrameUnwind", "agent_ns base_ns ratio agent_fixed_ns base_fixed_ns")


def frame_unwind(name, depths):
    """What a frame costs, beside one of bpf_get_stack() over frame pointers, and the rest of the
    user part of a sample.

    Four programs take turns on the bench's CPU: @name at two @depths without frame pointers, which
    the agent unwinds, and @name with frame pointers, for the base. So what the host does to one, it
    does to all. The figures are medians over the turns, without the call of an empty program.
    """
    ours = [[name, depth] for depth in depths]
    theirs = [[name + "_fp", depth] for depth in depths]
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(start_alone(command)) for command in ours + theirs]
        agent = stack.enter_context(_agent_of(programs[:2]))
        ticks = [stack.enter_context(base_program("base_empty", program.pid, EMPTY_RATE))
                 for program in programs[:2]]
        bases = [stack.enter_context(base_program("base_user", program.pid, BASE_RATE))
                 for program in programs[2:]]
        numbers = [number_of("sample_entry", agent.pid),
                   *(number_of("base_empty", tick.pid) for tick in ticks),
                   *(number_of("base_user", base.pid) for base in bases)]
        with contextlib.ExitStack() as quiet_stack:
            for program in programs:
                quiet_stack.enter_context(undisturbed(program))
            rounds = [_frame_round(programs, numbers, depths) for _ in range(TURNS)]
        for program in programs:
            os.kill(program.pid, signal.SIGCONT)
        _check(agent.stop(), ours[0])
        for base, command in zip(bases, theirs):
            frames, _ = base.communicate("", timeout=10)
            assert float(frames) > 0.9 * command[1], "bpf_get_stack found " + frames
    rounds = [one for one in rounds if one]
    assert len(rounds) > TURNS / 2, "the programs did not run"
    return FrameUnwind(*(statistics.median(column) for column in zip(*rounds)))


def _frame_round(programs, numbers, depths):
    """A FrameUnwind of one turn of each program; None if one had no CPU."""
    times = [_turn(program, programs, numbers) for program in programs]
    empties = [times[i][1 + i] for i in range(2)]
    bases = [times[2 + i][3 + i] for i in range(2)]
    if min(count for _, count in empties + bases) < TURN_RUNS_MIN:
        return None
    empty_ns = sum(time_ns for time_ns, _ in empties) / sum(count for _, count in empties)
    ours = [_per_tick(times[i][0][0], RATE, empties[i][1], EMPTY_RATE) - empty_ns
            for i in range(2)]
    theirs = [time_ns / count - empty_ns for time_ns, count in bases]
    slopes = [(deep - flat) / (depths[1] - depths[0]) for flat, deep in (ours, theirs)]
    fixed = [flat - depths[0] * slope for (flat, _), slope in zip((ours, theirs), slopes)]
    return FrameUnwind(*slopes, slopes[0] / slopes[1], *fixed)


KernelUnwind = collections.namedtuple("KernelUnwind", "agent_ns base_ns ratio whole_ns")


def kernel_unwind():
    """What a sample costs more for being in the kernel, beside bpf_get_stack() alone.

    Two programs take turns on the bench's CPU, one in user mode and one in a system call, each one
    call deep: of deeper ones the unwind of the user frames would be timed as well, since the kernel
    leaves less of what it reads in the caches. Agent and base run in the same turns. The agent's
    figure is the difference of the two programs: it finds the user registers,
    takes the kernel's frames and sends them. The base's is that of a program that has
    bpf_get_stack() write to a buffer, counts and sends nothing, without the call of an empty
    program. whole_ns is all of the agent's sample in the system call.
    """
    with start_alone(["depth", 1]) as user, start_alone(["depth", 1, "read"]) as system, \
            _agent_of([user, system]) as agent, \
            base_program("base_kernel", system.pid, BASE_RATE) as base, \
            base_program("base_empty", system.pid, EMPTY_RATE) as empty, \
            base_program("base_empty", user.pid, EMPTY_RATE) as empty_user:
        numbers = [number_of("sample_entry", agent.pid), number_of("base_kernel", base.pid),
                   number_of("base_empty", empty.pid),
                   number_of("base_empty", empty_user.pid)]
        with undisturbed(user), undisturbed(system):
            turns = [_kernel_turns(user, system, numbers) for _ in range(TURNS)]
        os.kill(user.pid, signal.SIGCONT)
        _check(agent.stop(), ["depth", "1"])
    turns = [turn for turn in turns if turn]
    assert len(turns) > TURNS / 2, "the programs did not run"
    return KernelUnwind(*(statistics.median(column) for column in zip(*turns)))


def _kernel_turns(user, system, numbers):
    """A KernelUnwind of one turn of each program; None if one had no CPU."""
    programs = user, system
    in_user, _, _, user_ticks = _turn(user, programs, numbers)
    in_kernel, base, empty, _ = _turn(system, programs, numbers)
    if min(count for _, count in (user_ticks, base, empty)) < TURN_RUNS_MIN:
        return None
    user_ns, whole_ns = (_per_tick(mine[0], RATE, ticks[1], EMPTY_RATE)
                         for mine, ticks in ((in_user, user_ticks), (in_kernel, empty)))
    base_ns = base[0] / base[1] - empty[0] / empty[1]
    return KernelUnwind(whole_ns - user_ns, base_ns, (whole_ns - user_ns) / base_ns, whole_ns)
