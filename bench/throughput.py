# SPDX-License-Identifier: Apache-2.0
"""What the agent costs a program in Java of its throughput.

On a machine that is shared with others a program's speed changes by tens of per cent within seconds: of 590
pairs of whole seconds the mean was sure to 1.8 % only. So the agent is not started and stopped, which takes
seconds, but switches its sampling on and off (-probabilistic-interval), and neighbouring intervals, of a fifth of
a second, are compared. What it takes while it is off is
measured as CPU time and counts as lost, too.
"""
import collections
import itertools
import math
import os
import re
import statistics
import sys
import threading
import time

from tools import ROOT

sys.path.insert(0, os.path.join(ROOT, "integration"))
import harness
import javas

RATE = 99
WARM_SECONDS = 60
# For so long or longer the sampling stays as it is.
INTERVAL_NS = 200000000
INTERVAL = "200ms"
# Before the next switch, of which the log tells late.
MARGIN_NS = 20000000
POLL_SECONDS = 0.002
ROUND_SECONDS = 60
ROUNDS_MAX = 30
PAIRS_MIN = 20
# Half of the 95 % interval of the mean.
PRECISION_PERCENT = 1
# The 95 % interval of the normal distribution; Student's is 2.09 for the fewest pairs.
INTERVAL_FACTOR = 2.1

# Of all CPUs: by the pairs with their number and half-width, and by the agent's own time while it is off.
Loss = collections.namedtuple("Loss", "sampling_percent half_width_percent pairs idle_percent")
# The sampling from a time on, and the agent's CPU time up to then.
Switch = collections.namedtuple("Switch", "is_on time_ns cpu_ns")


class Teller:
    """A load that tells how often it has done its work, and when."""

    def __init__(self, java):
        self._program = harness.Program(
            *java.command("-Xmx64m", "-Dallframes.tell=yes", "-cp", javas.LOAD_CLASSES, "Serve"),
            seconds=60, preexec_fn=self._on_all_cpus)
        # [(turns, CLOCK_MONOTONIC in ns)]
        self.told = []
        threading.Thread(target=self._read, daemon=True).start()

    @staticmethod
    def _on_all_cpus():
        harness.die_with_parent()
        os.sched_setaffinity(0, harness.online_cpus())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._program.process.kill()
        self._program.process.wait()

    @property
    def pid(self):
        return self._program.pid

    def _read(self):
        for line in self._program.process.stdout:
            numbers = tuple(map(int, line.split()))
            # The first line may have been read in part, with "ready".
            if len(numbers) == 2:
                self.told.append(numbers)


class Switches:
    """When a running agent switched its sampling."""

    def __init__(self, agent):
        self._agent = agent
        self._clock = ~agent.pid << 3 | 2
        self._read = len(agent.log_text())
        self.seen = []

    def _look(self):
        """What the log says since the last look, which costs little where that is nothing."""
        if self._agent.log_bytes() == self._read:
            return
        now_ns, cpu_ns = time.monotonic_ns(), time.clock_gettime_ns(self._clock)
        told = re.findall(r"sampling is (on|off) for this interval$",
                          self._agent.log_text()[self._read:], re.M)
        if told:
            self.seen.append(Switch(told[-1] == "on", now_ns, cpu_ns))
        self._read = self._agent.log_bytes()

    def watch(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._look()
            time.sleep(POLL_SECONDS)


def _rate(told, begin_ns, end_ns):
    """Turns a second in that time; None if little of it was told of."""
    inside = [item for item in told if begin_ns <= item[1] <= end_ns]
    if len(inside) < 2 or inside[-1][1] - inside[0][1] < (end_ns - begin_ns) / 2:
        return None
    return (inside[-1][0] - inside[0][0]) / ((inside[-1][1] - inside[0][1]) / 1e9)


def _losses(told, switches):
    """In per cent, by the interval before and the one after a switch; none counts twice."""
    losses, free_ns = [], 0
    for switch in switches:
        begin_ns, end_ns = switch.time_ns - INTERVAL_NS, switch.time_ns + INTERVAL_NS
        before = _rate(told, begin_ns, switch.time_ns - MARGIN_NS)
        after = _rate(told, switch.time_ns, end_ns - MARGIN_NS)
        # An interval may begin some milliseconds late.
        if begin_ns < free_ns - MARGIN_NS or not before or not after:
            continue
        losses.append(100 * (1 - (after / before if switch.is_on else before / after)))
        free_ns = end_ns
    return losses


def _idle_percent(switches):
    """The agent's part of all CPUs while it does not sample."""
    off = [(now, then) for now, then in itertools.pairwise(switches) if not now.is_on]
    return (100 * sum(then.cpu_ns - now.cpu_ns for now, then in off)
            / sum(then.time_ns - now.time_ns for now, then in off) / len(harness.online_cpus()))


def measure():
    """The Loss of a server in the machine's newest JDK; None if there is no JDK."""
    if not javas.of_machine():
        return None
    java = list(javas.of_machine().values())[-1]
    javas.build_loads()
    with Teller(java) as load, harness.Agent(
            "-samples-per-second", RATE, "-log-level", "info", "-probabilistic-threshold", 50,
            "-probabilistic-interval", INTERVAL, "-probabilistic-seed", 1) as agent:
        if not agent.wait_started(60):
            raise RuntimeError("the agent failed: " + agent.log_text())
        switches = Switches(agent)
        switches.watch(WARM_SECONDS)
        switches.seen.clear()
        for _ in range(ROUNDS_MAX):
            switches.watch(ROUND_SECONDS)
            losses = _losses(load.told, switches.seen)
            half_width = (INTERVAL_FACTOR * statistics.stdev(losses) / len(losses) ** 0.5
                          if len(losses) >= PAIRS_MIN else math.inf)
            if half_width < PRECISION_PERCENT:
                break
        agent.stop(seconds=60)
    return Loss(statistics.mean(losses), half_width, len(losses), _idle_percent(switches.seen))
