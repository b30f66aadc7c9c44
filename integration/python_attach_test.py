#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# apart: the memory of the agent depends on what other programs start
# time limit: 900 s
"""What attaching to a Python takes, in CPU time and memory: of many that start at once, and of many
that are there when the agent starts. All of them have Python frames then.

usage: python_attach_test.py [PYTHON...]
"""
import collections
import contextlib
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
import pythons
from harness import IS_LONG, Agent, Tap, die_with_parent, need_root
from many_processes_test import Usage
from python_chains import parse_frame

PROCESSES = 300 if IS_LONG else 60
ATTACH_MAX_MS = 10
MEMORY_MAX_KIB = 200
START_SECONDS = 60
# Between two lines of the agent's log that tell what its tables take.
TOLD_SECONDS = 12
STOP_SECONDS = 60
# The loop runs in a signal's handler, when all are attached to; samples of Python's start are earlier.
IN_HANDLER = "PyErr_CheckSignals"
# A fault: a sample of the loop without frames of Python.
WITHOUT_PYTHON = "without Python frames"
WITHOUT_FAULT = 0.05
COMM = "py-attach"

PROGRAM = """
import signal
with open("/proc/self/comm", "w") as file:
    file.write("%s")
def spin(count):
    return sum(i * i for i in range(count))
def handle(number, frame):
    spin(100000)
signal.signal(signal.SIGUSR1, handle)
print("r", end="", flush=True)
while True:
    signal.pause()
""" % COMM


class Crowd:
    """@count processes of one Python, started at once; killed when the context is left."""

    def __init__(self, python, count=PROCESSES):
        self._output, writer = os.pipe()
        command = python.command("-S", "-E", "-c", PROGRAM)
        self.processes = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=writer,
                                           preexec_fn=die_with_parent)
                          for _ in range(count)]
        os.close(writer)
        while count:
            part = os.read(self._output, count)
            if not part:
                raise RuntimeError("%d of the processes ended" % count)
            count -= len(part)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        os.close(self._output)

    @property
    def pids(self):
        return {process.pid for process in self.processes}

    def run(self):
        for process in self.processes:
            process.send_signal(signal.SIGUSR1)


def usage(agent):
    """What the agent uses, with the map bytes of now."""
    told = agent.log_text().count("bytes of maps")
    end = time.monotonic() + TOLD_SECONDS
    while agent.log_text().count("bytes of maps") == told and time.monotonic() < end:
        time.sleep(0.1)
    return Usage(agent, "/")


def judge(tap, run, name, agent, crowd, times):
    """Results on the attaching itself, and on the stacks of @crowd."""
    slowest = max(times.values(), default=0)
    missing = "|".join(map(str, crowd.pids - set(times)))
    tap.ok(not missing, "%s: all are attached to" % name, "%d of %d" % (len(times), PROCESSES),
           *re.findall(r"^.*\b(?:%s)\b.*$" % missing, agent.log_text(), re.M)[-20:])
    tap.ok(slowest < 1000 * ATTACH_MAX_MS, "%s: each in less than %d ms" % (name, ATTACH_MAX_MS),
           "the slowest took %d us" % slowest)
    tap.note("%s: %d us on average, %d us at most"
             % (name, sum(times.values()) / max(1, len(times)), slowest))
    crowd.run()
    time.sleep(3)
    agent.process.send_signal(signal.SIGINT)
    result = agent.wait(STOP_SECONDS)
    total, without = 0, collections.Counter()
    for stack, count in result.stacks.items():
        if stack.comm == COMM and IN_HANDLER in stack.frames:
            total += count
            if not any(parse_frame(frame) for frame in stack.frames):
                without[stack] += count
    run.check(tap, "%s: their loops have Python frames" % name, WITHOUT_PYTHON, result.times.count_events(without),
              total, WITHOUT_FAULT, is_good=result.status == 0 and total >= PROCESSES // 5)


def start_agent(stack, crowd=None):
    agent = stack.enter_context(Agent("-samples-per-second", 997, "-with-lines", "-comm", COMM,
                                      "-log-level", "debug", is_timed=True))
    begin = time.monotonic()
    if not agent.wait_started(START_SECONDS):
        raise RuntimeError("the agent failed: " + agent.log_text())
    times = agent.wait_attached(crowd.pids) if crowd else None
    return agent, times, time.monotonic() - begin


def test_started_at_once(tap, run, python):
    """They start under an agent that runs, and take their memory of it."""
    name = "%d of %s that start at once" % (PROCESSES, python)
    with contextlib.ExitStack() as stack:
        agent = start_agent(stack)[0]
        # Costs that come with the file, and not with each process.
        stack.enter_context(Crowd(python, 1))
        before = usage(agent)
        crowd = stack.enter_context(Crowd(python))
        begin = time.monotonic()
        times = agent.wait_attached(crowd.pids)
        tap.note("%s: attached to %.2f s after the last one was ready"
                 % (name, time.monotonic() - begin))
        after = usage(agent)
        # Memory that other programs gave back does not count.
        kib = (max(0, after.anonymous_kib - before.anonymous_kib)
               + max(0, after.map_bytes - before.map_bytes) / 1024) / PROCESSES
        tap.ok(kib < MEMORY_MAX_KIB, "%s: less than %d KiB each" % (name, MEMORY_MAX_KIB),
               "%.1f KiB" % kib)
        tap.note("%s: %.1f KiB each\nbefore: %s\nafter: %s" % (name, kib, before, after))
        judge(tap, run, name, agent, crowd, times)


def test_there_at_start(tap, run, python):
    name = "%d of %s that are there at the start" % (PROCESSES, python)
    with contextlib.ExitStack() as stack:
        crowd = stack.enter_context(Crowd(python))
        agent, times, seconds = start_agent(stack, crowd)
        tap.note("%s: attached to %.2f s after the agent's start" % (name, seconds))
        judge(tap, run, name, agent, crowd, times)


def main():
    tap = Tap()
    need_root(tap, "attaching to many Pythons")
    run = bad_events.Run("python_attach_test")
    every = pythons.at_hand(IS_LONG or len(sys.argv) > 1)
    own = [name for name, python in every.items() if python.root == "/"]
    for name in sys.argv[1:] or (own if IS_LONG else own[-1:]):
        test_started_at_once(tap, run, every[name])
        test_there_at_start(tap, run, every[name])
    run.finish(tap)
    tap.finish()


if __name__ == "__main__":
    main()
