#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for stops that take their time
"""A collector that floods the connection with frames, or reads nothing more, holds up no stop: it ends in time, with
the outputs and the summary written.
"""
import concurrent.futures
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from flooding_collector import FloodingCollector
from harness import HANG_SECONDS, STOP_SECONDS, Agent, FinishedResult, Program, Tap, need_root
from sampled import paced, wait_cpu

RATE = 97
# CPU time of the program, which is paced.
CPU_SECONDS = 0.2
# Not read: what the agent writes is stuck then, its answers to the frames first.
CASES = [("PING", "deaf"), ("SETTINGS", "deaf"), ("PING",), ("SETTINGS",), ("PING-answers",)]
SUMMARY = re.compile(r"info: \d+ samples? \(.* sent no samples, dropped (\d+) samples on the way")


def run(pid, case):
    """The result of an agent that is stopped when a call has run out of time, and others are tried."""
    with FloodingCollector(*case) as collector:
        with Agent("-collection-agent", collector.address, "-disable-tls", "-samples-per-second", RATE, "-pid", pid,
                   "-reporter-interval", "500ms", "-reporter-jitter", "0", "-log-level", "debug",
                   environment={"OTEL_EXPORTER_OTLP_TIMEOUT": "1000"}) as agent:
            agent.wait_started()
            collector.wait_request()
            end = time.monotonic() + HANG_SECONDS
            while "does not answer in time" not in agent.log_text() and time.monotonic() < end:
                time.sleep(0.05)
            wait_cpu([pid], CPU_SECONDS)
            result = agent.stop(signal.SIGTERM)
            return FinishedResult(result, result.stacks)


def main():
    tap = Tap()
    need_root(tap, "collectors that flood")
    if not build_targets.build(["calls"]):
        tap.skip("collectors that flood", "a compiler is missing")
        tap.finish()
    with Program(TARGETS["calls"].path) as program, paced([program.pid]), \
            concurrent.futures.ThreadPoolExecutor(len(CASES)) as pool:
        runs = [pool.submit(run, program.pid, case) for case in CASES]
        for case, future in zip(CASES, runs):
            name = "a collector that floods %s%s" % (case[0], " and reads nothing" if case[1:] else "")
            result = future.result()
            total = sum(result.stacks.values())
            summary = SUMMARY.match(result.last_line)
            tap.note("%.1f s with %s" % (result.stop_seconds, name))
            tap.ok(result.status == 0 and result.stop_seconds <= STOP_SECONDS, "the stop does not wait for " + name,
                   "status %d, %.1f s" % (result.status, result.stop_seconds), result.log[-2000:])
            tap.ok(summary and int(summary[1]) == total > 0,
                   "outputs and summary are written: " + name, total, result.log[-2000:])
    tap.finish()


if __name__ == "__main__":
    main()
