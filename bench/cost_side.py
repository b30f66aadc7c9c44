# SPDX-License-Identifier: Apache-2.0
"""What -accounting costs at a switch of tasks: by the kernel's statistics of its program, less those of a program that does nothing, and by
the speed of two processes that do nothing but switch.
"""
import collections
import os
import subprocess

from tools import ROOT, bench_cpu, path
import kernel_side

SECONDS = 1.0

Figures = collections.namedtuple("Figures", "program_ns counters_ns empty_ns switch_ns added_ns")


def _switch_ns():
    """The time of a switch between two processes on the bench's CPU, with all that they do for it."""
    output = subprocess.run([path("switches"), str(SECONDS)], stdout=subprocess.PIPE, text=True, check=True,
                            preexec_fn=lambda: os.sched_setaffinity(0, [bench_cpu()])).stdout
    switches, time_ns = map(float, output.split())
    return time_ns / switches


def _measure(name, pid):
    """The kernel's time of a run of the program @name of process @pid, and _switch_ns() meanwhile."""
    number = kernel_side.number_of(name, pid)
    before = kernel_side.programs()[number]
    switch_ns = _switch_ns()
    after = kernel_side.programs()[number]
    runs = after["run_cnt"] - before["run_cnt"]
    return (after["run_time_ns"] - before["run_time_ns"]) / runs, switch_ns


def _empty_ns():
    """The time of a program that does nothing: that of the statistics themselves, which read the clock twice."""
    with kernel_side.base_program("base_switch") as base:
        return _measure("base_switch", base.pid)[0]


def _with_counters(count):
    """The kernel's time of the program for a switch, and _switch_ns(), while costs and @count software events are counted."""
    with subprocess.Popen([os.path.join(ROOT, "build", "count_costs"), str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as counting:
        assert counting.stdout.readline() == "ready\n"
        return _measure("cost_switch", counting.pid)


def figures(median_of):
    """The medians of some rounds: without -accounting, with it, with four counters, and with a program that does nothing, in turn."""
    rounds = []

    def measure():
        without_ns = _switch_ns()
        program_ns, with_ns = _with_counters(0)
        counters_ns, _ = _with_counters(4)
        empty_ns = _empty_ns()
        rounds.append((empty_ns, without_ns, with_ns - without_ns, counters_ns - empty_ns))
        return program_ns - empty_ns

    program_ns = median_of(measure)
    empty_ns, switch_ns, added_ns, _ = sorted(rounds, key=lambda one: one[2])[len(rounds) // 2]
    return Figures(program_ns, sorted(one[3] for one in rounds)[len(rounds) // 2], empty_ns, switch_ns, added_ns)
