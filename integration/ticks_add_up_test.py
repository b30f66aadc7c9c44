#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: twenty programs want the CPUs
"""Every tick of the sampling clock is in exactly one class of the summary. The classes are added up and compared with
what the perf events themselves have counted, read by the test: with nothing to do, on a busy machine with a collector
that never answers and a stop in the midst, with a selection that is on and off by turns, and with the work thread or
the whole agent held up until buffers are full.

An event's count is the time for which it was on. The agent can have one tick more of a CPU than whole periods are in
it: the timer and the count go by different clocks of the kernel, and the last tick may come with the end of the count.
"""
import contextlib
import re
import signal
import socket
import time

import build_targets
from build_targets import TARGETS
from harness import HANG_SECONDS, Agent, Program, Tap, need_root, online_cpus
from held_thread import PerfEvents, held, thread_ids
from sampled import signal_all
from viewer_pages import Api

BUSY_PROGRAMS = 20
# A sample of this one takes 8 KiB.
BUSY_TARGET = "recursion"
# Of each CPU, before a run is ended.
TICKS = 300
# With the ring's 4 MiB no room is left for so many samples.
RING_TICKS = 800
SUMMARY = re.compile(
    r"^info: (?P<busy>no|\d+) samples? \((?P<busy_percent>\d+) % busy\), "
    r"(?:none lost|(?P<lost>\d+) lost \([\d.]+ %: (?:ring full (?P<ring_full>\d+))?(?:, )?"
    r"(?:skipped by the kernel (?P<skipped>\d+))?(?:, )?(?:dropped (?P<dropped>\d+))?\))"
    r"(?:, (?P<unselected>\d+) not selected)?(?:, (?P<stolen>\d+) taken by the hypervisor)?", re.M)


def wait_until(condition):
    """Waits for @condition(); False if it does not come."""
    end = time.monotonic() + HANG_SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Run:
    """A running agent and its perf events. Used as a context. The busy programs @pids run while it samples and until
    all samples are converted, but not while it starts and writes its files.
    """

    def __init__(self, tap, name, rate, *options, pids=()):
        self._tap = tap
        self._name = name
        self._rate = rate
        self._pids = pids
        self.agent = Agent("-log-level", "debug", "-samples-per-second", rate, *options)
        if not self.agent.wait_started():
            raise RuntimeError("the agent did not start: " + self.agent.log_text())
        self._events = PerfEvents(self.agent.pid)
        signal_all(pids, signal.SIGCONT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        signal_all(self._pids, signal.SIGSTOP)
        self._events.__exit__()
        self.agent.__exit__()

    def ticks(self):
        """Whole periods of each CPU by its event's own count."""
        return [count // (10 ** 9 // self._rate) for count in self._events.counts()]

    def wait_ticks(self, count):
        """Waits until each CPU has had so many more."""
        before = sum(self.ticks())
        wait_until(lambda: sum(self.ticks()) >= before + count * len(online_cpus()))

    def end(self):
        """Waits for the end of the agent, which knows of its stop; returns its result."""
        pid = self.agent.pid
        wait_until(lambda: self.agent.process.poll() is not None or not thread_ids(pid, "work"))
        signal_all(self._pids, signal.SIGSTOP)
        return self.agent.wait()

    def check(self):
        """Compares the summary of the agent, when it has ended, with the events; returns its numbers."""
        ok, name, result = self._tap.ok, self._name, self.end()
        found = SUMMARY.search(result.log)
        if not ok(result.status == 0 and found, name + ": the agent ends with a summary", result.log):
            return None
        summary = {key: int(value) if value and value != "no" else 0 for key, value in found.groupdict().items()}
        metrics, counted = result.metrics, self.ticks()
        idle = metrics["bpf_idle"] + metrics["idle_unseen"]
        lost = summary["ring_full"] + summary["skipped"] + summary["dropped"]
        ticks = summary["busy"] + idle + summary["unselected"] + summary["stolen"] + summary["lost"]
        ok(lost == summary["lost"]
           and abs(100 * (ticks - idle - summary["stolen"]) / ticks - summary["busy_percent"]) <= 0.51,
           name + ": the summary's busy share and lost samples are the sums of their classes", found[0], idle)
        excess = ticks - sum(counted)
        self._tap.never(len(counted) != len(online_cpus()) or not 0 <= excess <= len(counted),
                        name + ": they are those that the perf events have counted",
                        "events %s, sum %d" % (counted, sum(counted)), found[0])
        ok(sum(result.stacks.values()) == summary["busy"] - metrics["samples_unstored"],
           name + ": every busy sample is in the output", sum(result.stacks.values()), found[0])
        ok(not metrics["samples_unsent"] and not metrics["samples_unread"]
           and metrics["samples_received"] == summary["busy"] + summary["dropped"],
           name + ": what was sent was read, and counted or dropped", found[0], dict(metrics))
        self._tap.note("%s, %.0f s: %d ticks, %d more than whole periods: %s"
                       % (name, result.seconds, ticks, excess, found[0]))
        return summary


@contextlib.contextmanager
def busy_programs():
    """The pids of stopped programs."""
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(Program(TARGETS[BUSY_TARGET].path)) for _ in range(BUSY_PROGRAMS)]
        pids = [program.pid for program in programs]
        signal_all(pids, signal.SIGSTOP)
        yield pids


def check_nothing_to_do(tap):
    with Run(tap, "nothing to do", 97, "-duration", "3s") as run:
        run.check()


def check_busy(tap, pids):
    """With a collector that takes the connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        collector = "127.0.0.1:%d" % server.getsockname()[1]
        with Run(tap, "busy", 997, "-collection-agent", collector, "-disable-tls", pids=pids) as run:
            run.wait_ticks(TICKS)
            run.agent.process.send_signal(signal.SIGTERM)
            run.check()


def check_by_turns(tap, pids):
    with Run(tap, "selected, on and off", 997, "-pid", pids[0], "-probabilistic-threshold", 60,
             "-probabilistic-interval", "50ms", "-probabilistic-seed", 1, pids=pids) as run:
        run.wait_ticks(TICKS)
        run.agent.process.send_signal(signal.SIGTERM)
        summary = run.check()
        tap.ok(summary and summary["unselected"], "what is not selected is a class of its own")


def check_held_up(tap, pids):
    """The stop comes while the work thread can do nothing."""
    with Run(tap, "work thread held up", 997, "-viewer", "127.0.0.1:0", pids=pids) as run:
        agent = run.agent
        api = Api(re.search(r"http://[^\s;,]+", agent.log_text())[0].rstrip("/") + "/")
        with held(agent.pid, "work"):
            tap.ok(wait_until(lambda: api.get("status")["totals"]["lost"] > 0), "the queue runs over")
            agent.process.send_signal(signal.SIGTERM)
            # By then nobody waits for the work thread any more but who ends it.
            tap.ok(wait_until(lambda: not thread_ids(agent.pid, "sync")), "the agent is being stopped")
        summary = run.check()
        tap.ok(summary and summary["dropped"], "what found no room in the queue is counted as dropped")


def check_stopped(tap, pids):
    with Run(tap, "agent stopped", 997, pids=pids) as run:
        run.wait_ticks(TICKS)
        run.agent.process.send_signal(signal.SIGSTOP)
        run.wait_ticks(RING_TICKS)
        run.agent.process.send_signal(signal.SIGTERM)
        run.agent.process.send_signal(signal.SIGCONT)
        summary = run.check()
        tap.ok(summary and summary["ring_full"], "what found no room in the ring is counted as such")


def main():
    tap = Tap()
    need_root(tap, "ticks add up")
    build_targets.build([BUSY_TARGET])
    check_nothing_to_do(tap)
    with busy_programs() as pids:
        check_busy(tap, pids)
        check_by_turns(tap, pids)
        check_held_up(tap, pids)
        check_stopped(tap, pids)
    tap.finish()


if __name__ == "__main__":
    main()
