#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for collectors that fail
"""A collector that is late, full, wrong, silent, gone or not there yet. Every sample is delivered at
least once or counted as dropped; a retry has the bytes of the first try; the agent goes on, and ends
in time.
"""
import concurrent.futures
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import HANG_SECONDS, IS_LONG, STOP_SECONDS, Agent, Program, Tap, need_root
from otlp_collector import Collector, free_address, sending_warnings
from sampled import paced

# The program is paced: it runs once in so many seconds, less than the intervals between requests.
RATE = 997
PERIOD_SECONDS = 0.2
# Runs that wait most of the time.
AT_ONCE = 4


def options(program, address, interval="500ms"):
    return ["-collection-agent", address, "-disable-tls", "-samples-per-second", RATE, "-pid", program.pid,
            "-reporter-interval", interval, "-reporter-jitter", "0", "-log-level", "debug"]


class Outcome:
    """A run of the agent, which samples @program, against a collector with @answers."""

    def __init__(self, program, answers, seconds, interval="500ms"):
        with Collector("-answers", answers) as collector:
            with Agent(*options(program, collector.address, interval), "-duration", "%ds" % seconds) as agent:
                self.result = agent.wait(seconds + HANG_SECONDS)
                self.total = sum(self.result.stacks.values())
            self.received = collector.stop()
        self.metrics = self.result.metrics
        self.log = self.result.log
        self.dropped = self.metrics["otlp_samples_dropped"]
        self.requests = self.received.request_log

    def is_accounted(self):
        """Every sample was delivered at least once, or dropped and counted."""
        return (self.total > 0
                and self.received.samples_taken <= self.total
                and self.received.samples_once <= self.total
                and self.received.samples_taken + self.dropped >= self.total
                and self.metrics["otlp_samples_sent"] + self.dropped == self.total)

    def __str__(self):
        return "%d samples, sent %d, dropped %d; received %d, taken %d, with repeats %d\n%s\n%s" % (
            self.total, self.metrics["otlp_samples_sent"], self.dropped,
            self.received.samples_once, self.received.samples_taken, self.received.samples_all,
            self.received.broken(),
            "\n".join(sending_warnings(self.log)))


def check_outcome(tap, outcome, name):
    tap.ok(outcome.result.status == 0, "the agent goes on: " + name, outcome.log[-3000:])
    tap.ok(outcome.is_accounted(), "every sample is delivered or counted as dropped: " + name,
           outcome)
    tap.ok(not outcome.received.broken_rules, "no rule is broken: " + name,
           outcome.received.broken())


def check_random_faults(tap, outcome, name):
    answers = {entry["answer"] for entry in outcome.requests}
    tap.ok(len(answers) > 2 and outcome.received.samples_all > outcome.received.samples_once,
           "there were faults and retries: " + name, answers, outcome)
    tap.note("%s: %s" % (name, sorted(answers)))


def check_unavailable(tap, outcome, _):
    hashes = [entry["hash"] for entry in outcome.requests]
    tap.ok(len(hashes) > 3 and len(set(hashes[:3])) == 1,
           "a retry has the bytes of the first try, before newer ones", hashes)
    tap.ok(outcome.received.samples_once == outcome.total and not outcome.dropped
           and sum(entry["repeated_profiles"] for entry in outcome.requests[1:3])
           == sum(entry["profiles"] for entry in outcome.requests[1:3]),
           "and its profile_ids, by which sums are exact", outcome)
    lines = [line for line in outcome.log.splitlines() if "try again" in line
             and line.startswith("warn")]
    tap.ok(len(lines) == 1, "one line says that the collector does not take profiles",
           *sending_warnings(outcome.log))
    tap.ok("takes profiles again" in outcome.log, "and one that it does again")


def check_retry_info(tap, outcome, _):
    times = [entry["time_ns"] for entry in outcome.requests]
    tap.ok(len(times) > 1 and outcome.requests[0]["hash"] == outcome.requests[1]["hash"]
           and times[1] - times[0] >= 1.5e9 and not outcome.dropped, "RetryInfo is honoured",
           times, outcome)


def check_no_retry(tap, outcome, answer):
    hashes = [entry["hash"] for entry in outcome.requests]
    tap.ok(len(set(hashes)) == len(hashes) and outcome.dropped == outcome.requests[0]["samples"],
           "it is not tried again, and counted: " + answer, hashes, outcome)
    lines = sending_warnings(outcome.log)
    tap.ok(len(lines) == 1 and answer.partition(":")[2] in lines[0], "one line says so: " + answer, *lines)


def check_garbage(tap, outcome, _):
    lines = sending_warnings(outcome.log)
    tap.ok(not outcome.metrics["otlp_retries"] and not outcome.dropped and len(lines) == 1,
           "an answer that cannot be read is a success, by its status, and one line tells",
           outcome)


def check_partial_success(tap, outcome, _):
    hashes = [entry["hash"] for entry in outcome.requests]
    tap.ok(len(set(hashes)) == len(hashes) and not outcome.metrics["otlp_retries"],
           "a partial success is never tried again", hashes)
    tap.ok(outcome.metrics["otlp_profiles_rejected"] == 2, "what was rejected is counted")
    tap.ok(any("rejects 2 profiles" in line and "too long" in line
               for line in sending_warnings(outcome.log)), "and logged", *sending_warnings(outcome.log))


def check_hint(tap, outcome, _):
    tap.ok(any("a hint" in line for line in sending_warnings(outcome.log)), "a warning is logged",
           *sending_warnings(outcome.log))


def check_late_and_reset(tap, outcome, _):
    tap.ok(not outcome.dropped and outcome.received.samples_once == outcome.total,
           "nothing is lost by late answers and resets", outcome)


# A name, what the collector answers, the seconds of the run and the interval between reports if it is not half a second.
RUNS = [(check_random_faults, "faults in half of the requests, seed %d" % seed, "random:%d:50" % seed,
         20 if IS_LONG else 6, "300ms") for seed in range(1, 13 if IS_LONG else 2)] + [
    (check_unavailable, "unavailable at first", "status=14:try again*2", 3),
    (check_retry_info, "RESOURCE_EXHAUSTED with RetryInfo", "retry-info=1500ms", 3),
    (check_no_retry, "status=8:no room", "status=8:no room", 2),
    (check_no_retry, "status=3:not wanted", "status=3:not wanted", 2),
    (check_no_retry, "status=12:unknown", "status=12:unknown", 2),
    (check_garbage, "garbage", "garbage", 2),
    (check_partial_success, "partial success", "partial=2:too long,partial=0:a hint", 2),
    (check_hint, "a hint", "partial=0:a hint", 2),
    (check_late_and_reset, "late answers and resets", "late=1s,reset,late=500ms,reset", 4),
]


def check_absent(tap, program):
    address = free_address()
    with Agent(*options(program, address)) as agent:
        started = agent.wait_started()
        time.sleep(2)
        tap.ok(started and agent.process.poll() is None and len(sending_warnings(agent.log_text())) == 1,
               "a collector that is not there does not stop the agent, and one line says so",
               agent.log_text()[-2000:])
        with Collector(listen=address) as collector:
            first = collector.wait_for(lambda received: received.samples_taken > 0)
            tap.ok(first.samples_taken > 0, "it is found when it comes", agent.log_text()[-2000:])
            first = collector.stop()
        time.sleep(1.5)
        with Collector("-answers", "status=14:starting", listen=address) as collector:
            second = collector.wait_for(lambda received: received.samples_taken > 0)
            tap.ok(second.samples_taken > 0, "and again when it has gone and come back",
                   *(line for line in agent.log_text().splitlines() if "collector" in line))
            result = agent.stop(signal.SIGTERM)
            total = sum(result.stacks.values())
            second = collector.stop()
        tap.ok(result.status == 0 and first.samples_once + second.samples_once
               + result.metrics["otlp_samples_dropped"] >= total > 0,
               "what was taken before it came is delivered too",
               first.samples_once, second.samples_once, total, result.last_line)
        tap.ok("takes profiles again" in result.log, "and the log says that it came",
               *sending_warnings(result.log))


def check_hanging(tap, program):
    with Collector("-answers", "hang*") as collector:
        with Agent(*options(program, collector.address)) as agent:
            agent.wait_started()
            collector.wait_for(lambda received: received.requests > 0)
            time.sleep(1)
            result = agent.stop(signal.SIGTERM)
            total = sum(result.stacks.values())
        received = collector.stop()
    tap.ok(result.status == 0 and result.stop_seconds <= STOP_SECONDS,
           "SIGTERM ends the agent within %d s while a collector hangs" % STOP_SECONDS,
           "%.1f s" % result.stop_seconds, result.log[-2000:])
    tap.ok(total > 0 and result.metrics["otlp_samples_dropped"] == total
           and received.samples_taken == 0, "and all that was not answered counts as dropped",
           total, result.log[-2000:])
    tap.note("it took %.1f s" % result.stop_seconds)


def check_flush(tap, program):
    """Nothing has been sent when the end comes: the interval is an hour."""
    with Collector() as collector:
        with Agent(*options(program, collector.address, "1h")) as agent:
            agent.wait_started()
            time.sleep(1)
            result = agent.stop(signal.SIGTERM)
            total = sum(result.stacks.values())
        received = collector.stop()
    tap.ok(result.status == 0 and received.requests == 1 and received.samples_once == total > 0,
           "what is there at the end is sent", received.samples_once, total, result.log[-2000:])


def main():
    tap = Tap()
    need_root(tap, "OTLP with faults")
    if not build_targets.build(["calls"]):
        tap.skip("OTLP with faults", "a compiler is missing")
        tap.finish()
    with Program(TARGETS["calls"].path) as program, paced([program.pid], PERIOD_SECONDS), \
            concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = [pool.submit(Outcome, program, *arguments) for _, _, *arguments in RUNS]
        check_absent(tap, program)
        check_hanging(tap, program)
        check_flush(tap, program)
        for (check, name, *_), future in zip(RUNS, outcomes):
            outcome = future.result()
            check_outcome(tap, outcome, name)
            check(tap, outcome, name)
    tap.finish()


if __name__ == "__main__":
    main()
