# SPDX-License-Identifier: Apache-2.0
"""What a frame of Java costs in the kernel, beside a native one, and what the agent costs a program in
Java of its throughput.
"""
import collections
import os
import statistics
import subprocess
import sys
import threading
import time

import python_side
from tools import OUTPUT, ROOT, SOURCES, path

sys.path.insert(0, os.path.join(ROOT, "integration"))
import harness
import javas

# Each method in code of its own, as it was called.
MODES = {"interpreted": ["-Xint"], "compiled": ["-Xcomp", "-XX:-Inline"]}
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


def has_java():
    """True if this machine has a JDK."""
    return bool(javas.of_machine())


def slopes(median_of):
    """(JDK, mode, ns per frame of Java) for each JDK of the machine and each mode."""
    for java in javas.of_machine().values():
        subprocess.run([java.path("javac"), "-d", OUTPUT, os.path.join(SOURCES, "JavaDepth.java")],
                       check=True)
        for mode, options in MODES.items():
            name = "java_depth_%d_%s" % (java.version, mode)
            with open(path(name), "w", encoding="ascii") as file:
                file.write('#!/bin/sh\nexec %s -XX:+UseSerialGC %s -cp %s JavaDepth "$@"\n' % (
                    java.path(), " ".join(options), OUTPUT))
            os.chmod(path(name), 0o755)
            yield java.version, mode, python_side.slope(median_of, name)


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
            self._told = tuple(map(int, line.split()))

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


def _measure(load, has_agent):
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


def throughput(java):
    """The Loss of a server in @java, from pairs with and without the agent, each first by turns."""
    javas.build_loads()
    losses = []
    with Teller(java) as load:
        time.sleep(WARM_SECONDS)
        while True:
            order = [False, True] if len(losses) % 2 else [True, False]
            rates = {has_agent: _measure(load, has_agent) for has_agent in order}
            losses.append(100 * (1 - rates[True] / rates[False]))
            half_width = (INTERVAL * statistics.stdev(losses) / len(losses) ** 0.5
                          if len(losses) >= PAIRS_MIN else 100)
            if half_width < PRECISION_PERCENT or len(losses) >= PAIRS_MAX:
                return Loss(statistics.mean(losses), half_width, len(losses))
