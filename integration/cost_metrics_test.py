#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it measures memory, and what the whole machine did
# time limit: 600 s
"""Costs of processes as metrics (-accounting with -metrics and -metrics-interval): rows for the processes and cgroups that use most, one
for all others and one for idle CPUs. Thousands of short-lived processes make no series, no value falls, and memory does not grow.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from energy_test import MOUNTED, SPIN, make_tree, write
from go_loads_test import Lacking, program_of
from harness import HANG_SECONDS, IS_LONG, Agent, Program, Tap, need_root, rss_anon_bytes, run_seconds
from metrics_test import LABEL, OPEN_METRICS, get, parse
from otlp_collector import Collector
from sampled import paced, run_for, signal_all, stopped

# In the long tier a minute of 20,000 processes.
SHORT_COUNT = 20000 if IS_LONG else 800
# The limit of reporter/cost_series.h, with the rows for others and for idle CPUs.
ROWS_MAX = 50 + 2
TIME = "allframes_process_cpu_time_seconds_total"
PREFIXES = ("allframes_process_", "allframes_cgroup_")
# A time after which the costs have been read again (READ_INTERVAL_NS in agent/accounting.c).
REREAD_SECONDS = 1.5
MEMORY_KB = 8 << 10
# The table of costs is full after so many processes (reporter/cost_table.h): from then on memory does not grow.
TABLE_PROCESSES = 16384


def labels_of(text):
    return dict(label.split("=", 1) for label in re.findall(LABEL, text or ""))


def read_costs(agent):
    """{(name, labels): value} of the metrics of costs."""
    return {key: value for key, value in parse(get(agent, "/metrics")[2])[0].items() if key[0].startswith(PREFIXES)}


def value_of(values, pid, name=TIME):
    """The value of the row of @pid; None if it has none."""
    found = [value for (family, labels), value in values.items() if family == name and labels_of(labels).get("pid") == '"%s"' % pid]
    return found[0] if found else None


def wait_for_row(agent, pid):
    end = time.monotonic() + HANG_SECONDS
    while value_of(read_costs(agent), pid) is None and time.monotonic() < end:
        time.sleep(0.2)
    return value_of(read_costs(agent), pid) is not None


def value_at_rest(agent, pid):
    """The value of the row of @pid, which is stopped, once the costs have been read again."""
    last, value = None, value_of(read_costs(agent), pid)
    while value != last:
        time.sleep(REREAD_SECONDS)
        last, value = value, value_of(read_costs(agent), pid)
    return value


def check_churn(tap, agent, target):
    """Scrapes while processes come and go. Returns all label sets that were seen."""
    last, seen, fallen, widest = {}, set(), [], 0
    with subprocess.Popen([target, "true", str(SHORT_COUNT)], stdout=subprocess.DEVNULL) as churn:
        memory, scrapes = [rss_anon_bytes(agent.pid) >> 10], 0
        while churn.poll() is None or scrapes < 5:
            values = read_costs(agent)
            scrapes += 1
            fallen += [(key, last[key], value) for key, value in values.items() if value < last.get(key, 0)]
            # A series that is away for a while goes on where it was.
            last.update(values)
            seen |= {labels for name, labels in values if name == TIME}
            widest = max(widest, sum(name == TIME for name, _ in values))
            time.sleep(0.3)
        memory.append(rss_anon_bytes(agent.pid) >> 10)
    tap.never(fallen, "no value falls while processes come and go", *fallen[:10])
    tap.never(widest > ROWS_MAX, "there are %d rows at most" % ROWS_MAX, widest)
    comms = [labels_of(labels).get("comm") for labels in seen]
    # The program that starts them may have one; in the long tier it runs twice.
    tap.ok(comms.count('"cost_target"') <= 1 + IS_LONG, "short-lived processes make no series", *seen)
    tap.ok(len(seen) < 3 * ROWS_MAX, "few series come and go", len(seen), *seen)
    tap.ok(memory[1] - memory[0] < MEMORY_KB, "memory is flat: %d KB, and after %d processes %d KB" % (
        memory[0], SHORT_COUNT, memory[1]))


def package_joules(values, family):
    return sum(value for (name, labels), value in values.items()
               if name == family and labels_of(labels)["zone"] == '"package"')


def check_energy(tap, agent, folder):
    """The package uses 50 J, which are shared out with the next reading."""
    write(folder, "intel-rapl:0", "energy_uj", "%d\n" % 30_000_000)
    end = time.monotonic() + HANG_SECONDS
    while True:
        values = read_costs(agent)
        sums = [package_joules(values, prefix + "energy_joules_total") for prefix in PREFIXES]
        # A series that ends meanwhile takes its few joules along.
        is_good = all(49 < one < 50 + 1e-5 for one in sums)
        if is_good or time.monotonic() > end:
            break
        time.sleep(0.2)
    tap.ok(is_good, "joules of all rows are those of the zone", *sums)


def check_sent(tap, received, costs, pid):
    """A collector has the last value of each series that there was: together they are the time of all CPUs."""
    series = [one for one in received.metrics["series"] if one["name"] == "allframes.process.cpu.time"]
    tap.ok(received.status == 0 and any("pid=%d" % pid in one["attributes"].split() for one in series)
           and any("pid=other" in one["attributes"].split() for one in series), "a collector gets them too, and none falls",
           received.broken(), series[:5])
    seconds = costs["host"]["process_run_time"] / 1e9
    for name in ("process", "cgroup"):
        sent = sum(one["value"] for one in received.metrics["series"] if one["name"] == "allframes.%s.cpu.time" % name)
        tap.ok(abs(sent - seconds) < seconds / 100, "the rows of each %s are together the time of all CPUs" % name, sent, seconds)


def check_text(tap, agent, pid):
    text = get(agent, "/metrics")[2]
    values, families = parse(text)
    mine = {name: kind for name, kind in families.items() if name.startswith(PREFIXES)}
    tap.ok(len(mine) >= 8 and set(mine.values()) == {"counter"}, "they are counters", mine)
    row = [labels_of(labels) for name, labels in values if name == TIME and labels_of(labels).get("pid") == '"%d"' % pid]
    tap.ok(len(row) == 1 and row[0]["comm"] == '"sh"' and row[0].get("cgroup"), "a row has pid, name and cgroup", row)
    open_text = get(agent, "/metrics", Accept=OPEN_METRICS)[2]
    tap.ok("# UNIT allframes_process_energy_joules joules\n" in open_text and {name for name, _ in parse(open_text)[0]} == {name for name, _ in values},
           "units as of OpenMetrics", open_text[:2000])
    try:
        promtool = program_of("bookworm-prometheus", "usr/bin/promtool")
    except Lacking as why:
        tap.skip("promtool finds nothing", why)
        return
    result = subprocess.run([promtool, "check", "metrics"], input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            check=False)
    tap.ok(result.returncode == 0 and not result.stdout, "promtool finds nothing in them", result.stdout)


def main():
    tap = Tap()
    need_root(tap, "metrics of costs")
    build_targets.build(["cost_target"])
    target = TARGETS["cost_target"].path
    with tempfile.TemporaryDirectory() as folder, Program(*SPIN, ready=False) as spinner, Program(*SPIN, ready=False) as other, \
            Collector() as collector:
        make_tree(folder)
        for one in (spinner, other):
            # So that they are among those that use most, whatever else there is.
            os.setpriority(os.PRIO_PROCESS, one.pid, -15)
        with stopped([spinner.pid, other.pid]), Agent(
                "-accounting", "-report", "-json", "-metrics", "127.0.0.1:0", "-collection-agent", collector.address, "-disable-tls",
                "-metrics-interval", "500ms", outputs=[], prefix=[*MOUNTED, folder]) as agent:
            if not tap.ok(agent.wait_started(), "the agent serves metrics", agent.log_text()):
                tap.finish()
            # Rows are chosen every few seconds.
            with paced([spinner.pid, other.pid]):
                shown = [wait_for_row(agent, one.pid) for one in (spinner, other)]
            signal_all([spinner.pid, other.pid], signal.SIGSTOP)
            tap.ok(all(shown), "programs that compute have rows", read_costs(agent))
            check_text(tap, agent, spinner.pid)
            before, begin = value_at_rest(agent, spinner.pid), run_seconds(spinner.pid)
            if IS_LONG:
                subprocess.run([target, "true", str(TABLE_PROCESSES)], stdout=subprocess.DEVNULL, check=True)
            with paced([spinner.pid]):
                check_churn(tap, agent, target)
            run_for([spinner.pid], 1)
            grown, ran = value_at_rest(agent, spinner.pid) - before, run_seconds(spinner.pid) - begin
            tap.ok(abs(grown - ran) < 0.5, "a row grows by the run time of its process", grown, ran)
            check_energy(tap, agent, folder)
            spinner.process.kill()
            ended = value_of(read_costs(agent), spinner.pid)
            time.sleep(2)
            tap.ok((value_of(read_costs(agent), spinner.pid) or 0) >= ended, "the row of a process that has ended stays for a while")
            result = agent.stop()
        received = collector.stop()
    tap.ok(result.status == 0, "the agent ends", result.log)
    check_sent(tap, received, json.loads(result.output)["costs"], other.pid)
    tap.finish()


if __name__ == "__main__":
    main()
