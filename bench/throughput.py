# SPDX-License-Identifier: Apache-2.0
"""What the agent costs a program in Java of its throughput."""
import collections
import os
import statistics
import sys
import threading
import time

from tools import ROOT

sys.path.insert(0, os.path.join(ROOT, "integration"))
import harness
import javas

RATE = 99
WINDOW_SECONDS = 10
SETTLE_SECONDS = 1
WARM_SECONDS = 30
PAIRS_MIN = 20
PAIRS_MAX = 60
# Half of the 95 % interval of the mean.
PRECISION_PERCENT = 1
# Of the normal distribution; Student's is 2.09 for the fewest pairs.
INTERVAL = 2.1

Loss = collections.namedtuple("Loss", "percent half_width_percent pairs")


class Teller:
    """A load that tells how often it has done its work."""

    def __init__(self, java):
        self._program = harness.Program(
            *java.command("-Xmx64m", "-Dallframes.tell=yes", "-cp", javas.LOAD_CLASSES, "Serve"),
            seconds=60, preexec_fn=self._on_all_cpus)
        self._told = None
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
                self._told = numbers

    def _next(self):
        before = self._told
        while self._told in (before, None):
            time.sleep(0.005)
        return self._told

    def per_second(self, seconds):
        """Turns a second, over that time."""
        first, first_ns = self._next()
        time.sleep(seconds)
        last, last_ns = self._next()
        return (last - first) / ((last_ns - first_ns) / 1e9)


def _rate(load, has_agent):
    if not has_agent:
        time.sleep(SETTLE_SECONDS)
        return load.per_second(WINDOW_SECONDS)
    with harness.Agent("-samples-per-second", RATE, "-log-level", "debug") as agent:
        if not agent.wait_started(60):
            raise RuntimeError("the agent failed: " + agent.log_text())
        agent.wait_attached({load.pid})
        time.sleep(SETTLE_SECONDS)
        result = load.per_second(WINDOW_SECONDS)
        agent.stop(seconds=60)
    return result


def measure():
    """The Loss of a server in the machine's newest JDK, from pairs with and without the agent, each
    first by turns; None if there is no JDK.
    """
    if not javas.of_machine():
        return None
    java = list(javas.of_machine().values())[-1]
    javas.build_loads()
    losses = []
    with Teller(java) as load:
        time.sleep(WARM_SECONDS)
        while True:
            order = [False, True] if len(losses) % 2 else [True, False]
            rates = {has_agent: _rate(load, has_agent) for has_agent in order}
            losses.append(100 * (1 - rates[True] / rates[False]))
            half_width = (INTERVAL * statistics.stdev(losses) / len(losses) ** 0.5
                          if len(losses) >= PAIRS_MIN else 100)
            if half_width < PRECISION_PERCENT or len(losses) >= PAIRS_MAX:
                return Loss(statistics.mean(losses), half_width, len(losses))
