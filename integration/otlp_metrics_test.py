#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for intervals
"""-metrics-interval: the collector gets the agent's metrics as OTLP by the connection of the profiles. They are those that
Prometheus gets. A collector that fails, or takes no metrics, delays no profiles, and nothing is lost without a count.
"""
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import HANG_SECONDS, Agent, Program, Tap, need_root
from metrics_test import get, parse
from otlp_collector import Collector, sending_warnings

# These are not in OTLP.
PROMETHEUS_ALONE = {"allframes_build_info", "process_max_fds", "process_start_time_seconds"}
# OpenTelemetry's conventions and Prometheus's have names of their own for these.
AGREED_NAMES = {"process.cpu.time": "process_cpu_seconds_total", "process.memory.usage": "process_resident_memory_bytes",
                "process.memory.virtual": "process_virtual_memory_bytes",
                "process.unix.file_descriptor.count": "process_open_fds"}
UNITS = {"s": "_seconds", "By": "_bytes"}


def prometheus_name(series):
    """opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics, "Metric Metadata"."""
    if series["name"] in AGREED_NAMES:
        return AGREED_NAMES[series["name"]]
    return (series["name"].replace(".", "_") + UNITS.get(series["unit"], "")
            + ("_total" if series["kind"] == "counter" else ""))


def prometheus_key(series):
    labels = re.sub(r"(\S+)=(\S+)", r'\1="\2"', series["attributes"]).replace(" ", ",")
    return prometheus_name(series), labels or None


def options(address, *more):
    return ["-collection-agent", address, "-disable-tls", "-reporter-interval", "300ms", "-reporter-jitter", "0",
            "-log-level", "debug", *more]


def count_connections(address):
    """TCP connections to @address that are open."""
    port = "%04X" % int(address.rsplit(":", 1)[1])
    rows = []
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(path, encoding="ascii") as file:
            rows += [line.split() for line in file.readlines()[1:]]
    return sum(row[2].endswith(":" + port) and row[3] == "01" for row in rows)


def check_same(tap, before, series, after, kinds):
    """The series that a collector has are those of Prometheus, with values between two answers to it."""
    series = {prometheus_key(one): one for one in series}
    missing = [key for key in before if key not in series and key[0] not in PROMETHEUS_ALONE]
    more = [key for key in series if key not in before]
    tap.ok(len(series) > 80 and not missing and not more, "OTLP has the metrics that Prometheus has", *missing, *more)
    wrong = ["%s: %s, then %s, then %s" % (key, before[key], one["value"], after[key]) for key, one in series.items()
             if one["kind"] == "counter" and not before[key] <= one["value"] <= after[key]]
    tap.ok(not wrong, "each counter lies between what Prometheus got before and after", *wrong)
    wrong = [key for key, one in series.items() if (kinds[key[0]] == "counter") != (one["kind"] == "counter")]
    tap.ok(not wrong, "both have the same kinds", *wrong)


def check_received(tap):
    with Collector() as collector, Program(TARGETS["calls"].path) as program, \
            Agent(*options(collector.address, "-metrics", "127.0.0.1:0", "-metrics-interval", "300ms", "-tags", "env:test",
                           "-samples-per-second", 97, "-pid", program.pid)) as agent:
        tap.ok(agent.wait_started(), "the agent sends metrics", agent.log_text())
        collector.wait_for(lambda one: one.samples_taken > 20)
        before, kinds = parse(get(agent, "/metrics")[2])
        since = time.time_ns()
        received = collector.wait_for(lambda one: one.metrics["series"]
                                      and min(series["time_ns"] for series in one.metrics["series"]) > since)
        after = parse(get(agent, "/metrics")[2])[0]
        check_same(tap, before, received.metrics["series"], after, kinds)
        tap.ok(count_connections(collector.address) == 1, "profiles and metrics go by one connection",
               count_connections(collector.address))
        result = agent.stop()
        samples = sum(result.stacks.values())
        received = collector.stop()
    metrics = received.metrics
    tap.ok(received.status == 0 and metrics["taken"] == metrics["requests"] >= 2, "no rule is broken", received.broken(),
           metrics["requests"])
    tap.ok(re.search(r"\benv=test\b.* host\.name=\S+.* process\.pid=%d service\.instance\.id=\S+ service\.name=allframes "
                     r"service\.version=\S" % agent.pid, metrics["resource"]), "the resource is the agent", metrics["resource"])
    ticks = {one["attributes"]: one["value"] for one in metrics["series"] if one["name"] == "allframes.ticks"}
    tap.ok(ticks["class=busy"] == samples > 0, "the last values are those of the summary", ticks, result.last_line)
    tap.ok(result.metrics["otlp_metric_requests_sent"] == metrics["taken"]
           and result.metrics["otlp_points_sent"] == metrics["taken_points"]
           and not result.metrics["otlp_points_dropped"], "the agent counts what it sends", result.metrics)
    sent = [one["value"] for one in metrics["series"] if one["name"] == "allframes.otlp_sent"]
    tap.ok(received.samples_taken == ticks["class=busy"] and sent[0] > 1000, "profiles arrive as without metrics",
           received.samples_taken, sent)


def run_with(answers, *more, until):
    """A run against a collector that answers metrics like that."""
    with Collector("-metrics-answers", answers) as collector, Program(TARGETS["calls"].path) as program, \
            Agent(*options(collector.address, "-samples-per-second", 97, "-pid", program.pid, *more)) as agent:
        agent.wait_started()
        collector.wait_for(until)
        result = agent.stop()
        return result, sum(result.stacks.values()), collector.stop()


def check_faults(tap):
    result, samples, received = run_with("status=14:busy*2", "-metrics-interval", "200ms", until=lambda one: one.metrics["taken"] >= 3)
    metrics = result.metrics
    tap.ok(received.metrics["requests"] == received.metrics["taken"] + 2 and metrics["otlp_retries"] >= 2
           and not metrics["otlp_metric_requests_dropped"], "metrics are sent again", received.metrics["requests"], metrics)
    tap.ok(received.samples_taken == samples > 0 and not received.broken_rules,
           "profiles do not wait for them", received.broken())
    result, samples, received = run_with("status=12:no metrics here*", "-metrics-interval", "200ms",
                                until=lambda one: one.metrics["requests"] >= 3 and one.samples_taken > 20)
    about = [line for line in sending_warnings(result.log) if "data points" in line]
    tap.ok(received.samples_taken == samples > 0 and not result.metrics["otlp_retries"],
           "a collector that takes profiles alone gets all of them")
    tap.ok(len(about) == 1 and "no metrics here" in about[0]
           and result.metrics["otlp_metric_requests_dropped"] == received.metrics["requests"],
           "the log says once that it takes no metrics", *about, received.metrics["requests"], result.metrics)


def check_off(tap):
    result, _, received = run_with("", until=lambda one: one.samples_taken > 20)
    tap.ok(result.status == 0 and not received.metrics["requests"], "without the option no metrics are sent", received.metrics)
    for words in (["-metrics-interval", "1s"], ["-collection-agent", "host", "-metrics-interval", "1ms"]):
        with Agent(*words) as agent:
            status = agent.process.wait(HANG_SECONDS)
            tap.ok(status == 2 and "-metrics-interval" in agent.log_text(), "an error names the option: " + " ".join(words),
                   status, agent.log_text())


def main():
    tap = Tap()
    need_root(tap, "metrics as OTLP")
    build_targets.build(["calls"])
    check_received(tap)
    check_faults(tap)
    check_off(tap)
    tap.finish()


if __name__ == "__main__":
    main()
