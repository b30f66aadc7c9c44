#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it compares what the whole machine did with the kernel's own counts, and memory
# time limit: 600 s
"""What -accounting counts is what the kernel counts: run times of programs that compute, sleep, migrate, fork, live for 5 ms or have
real-time priority; the time of each CPU; softirqs; pages read and written. Of thousands of short-lived processes none is missing.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import IS_LONG, Agent, Tap, bpf_objects_of, die_with_parent, host_seconds, list_bpf, need_root, rss_anon_bytes, stolen_seconds

# In the long tier a minute of 20,000 processes.
SHORT_COUNT = 10000 if IS_LONG else 1000
DATAGRAMS = 20000
FILE_PAGES = 4096
# The kernel tells a parent the time of a process a moment before it ends. The process may wait for a CPU in between, and then finds
# its data gone from the caches.
ENDS_US = 100
# Runs of which each process is so short that the moment counts.
SHORT = ("spawn", "true")
# Runs of one process of a few milliseconds, which are about something else.
UNTIMED = ("write", "read")
# Short runs that are repeated: a hypervisor that takes the CPU for some milliseconds spoils one, since the kernel does not count these for
# the program.
REPEATED = (("spin", 300), ("sleep", 100), ("migrate", 100), ("threads", 3), ("realtime", 100), ("send", DATAGRAMS))
REPEATS = 5
# The table of costs is bounded, and full after so many processes (reporter/cost_table.h).
TABLE_PROCESSES = 16384
TABLE_KB = 12 << 10
NS = 1e9


class Run:
    """A finished run of the target: @us of CPU time of it and all that it started, as the kernel has them, and @others: of all
    processes that it started by pid; of those with children None. @stolen_us: what the hypervisor took of all CPUs meanwhile.
    """

    def __init__(self, target, *arguments):
        self.begin_ns, stolen = time.monotonic_ns(), stolen_seconds()
        process = subprocess.Popen([target, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
        output = process.stdout.read()
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        self.end_ns, self.stolen_us = time.monotonic_ns(), 1e6 * (stolen_seconds() - stolen)
        if status:
            raise RuntimeError("cost_target %s ended with %d" % (arguments, status))
        self.name = arguments[0]
        self.pid = process.pid
        self.us = round((usage.ru_utime + usage.ru_stime) * 1e6)
        self.others = {}
        for line in output.splitlines():
            pid, us, has_children = map(int, line.split())
            self.others[pid] = None if has_children else us

    def rows(self, processes):
        """Its rows by pid. A pid may be used again, before and later."""
        return {row["pid"]: row for row in processes
                if (row["pid"] == self.pid or row["pid"] in self.others) and self.begin_ns < row["start_time_ns"] < self.end_ns}


def softirqs():
    with open("/proc/softirqs", encoding="ascii") as file:
        next(file)
        lines = [line.split(":") for line in file]
    return {name.strip(): sum(map(int, numbers.split())) for name, numbers in lines}


def idle_seconds():
    """The idle time of all CPUs."""
    return host_seconds("idle", "iowait")


def check_run_time(tap, run, processes, gone):
    """True if the run time is within 1 % (and what was stolen), or was not compared. @gone: how many processes are in the sums for others."""
    rows = run.rows(processes)
    us = sum(row["process_run_time"] for row in rows.values()) / 1000
    text = "the kernel has %d us of %d processes, the agent %d us: %+.2f %%" % (
        run.us, len(run.others) + 1, us, 100 * (us - run.us) / run.us)
    tap.note("%s: %s" % (run.name, text))
    missing = [pid for pid in (run.pid, *run.others) if pid not in rows]
    tap.never(len(missing) > gone, "%s: every process has a row, or is counted with others" % run.name, len(missing), gone)
    if missing:
        return gone > 0
    slack_us = ENDS_US * len(run.others) if run.name in SHORT else 0
    wrong = ["%d us, the kernel %d us" % (rows[pid]["process_run_time"] / 1000, kernel_us)
             for pid, kernel_us in run.others.items() if kernel_us is not None
             and abs(rows[pid]["process_run_time"] / 1000 - kernel_us) > kernel_us / 100 + ENDS_US]
    # Where a hypervisor takes the CPU away during a switch, the kernel counts that time for the task that comes.
    tap.ok(len(wrong) <= len(run.others) / 10, "%s: of nearly each process too" % run.name, len(wrong), *wrong[:10])
    tap.ok(all(row["has_ended"] for row in rows.values()), "%s: that they have ended is known" % run.name)
    slack_us += run.us / 100
    return run.name in UNTIMED or -slack_us <= us - run.us <= slack_us + run.stolen_us


def check_cpus(tap, costs, seconds, idle, outer_idle):
    wall_ns = sum(cpu["wall_ns"] for cpu in costs["cpus"])
    parts = [costs[key]["process_run_time"] for key in ("idle", "unfitted", "dropped")]
    parts += [row["process_run_time"] for row in costs["processes"]]
    tap.ok(len(costs["cpus"]) == os.sysconf("SC_NPROCESSORS_ONLN") and all(
        abs(cpu["busy_ns"] + cpu["idle_ns"] - cpu["wall_ns"]) < cpu["wall_ns"] / 200 and cpu["wall_ns"] / NS > seconds
        for cpu in costs["cpus"]), "each CPU's busy and idle time are its wall time", costs["cpus"], seconds)
    tap.ok(abs(sum(parts) - wall_ns) < wall_ns / 200, "the times of all processes and idle are the time of the CPUs",
           sum(parts), wall_ns)
    counted = costs["idle"]["process_run_time"] / NS
    tap.ok(idle - wall_ns / NS / 100 < counted < outer_idle + wall_ns / NS / 100, "idle time is that of /proc/stat",
           "%.3f s, then %.3f s counted, then %.3f s" % (idle, counted, outer_idle))
    # A cgroup keeps the time of processes that were dropped.
    tap.ok(sum(row["process_run_time"] for row in costs["cgroups"]) + sum(parts[:2]) == sum(parts),
           "the times of the cgroups are those of their processes")


def check_softirqs(tap, costs, least, most):
    host = costs["host"]["vec_nr"]
    wrong = [(name, least[name], host[name], most[name]) for name in host
             if not least[name] * 0.99 <= host[name] <= most[name] * 1.01]
    tap.ok(set(host) == set(least) and not wrong, "softirqs of the host are those of /proc/softirqs, by kind", wrong)
    rows = [costs["idle"], costs["unfitted"], costs["dropped"], *costs["processes"]]
    tap.ok(all(sum(row["vec_nr"][name] for row in rows) == host[name] for name in host), "and the sums of all processes")


def check_files(tap, costs, runs, log):
    """Known numbers of pages; or none, and the log says why."""
    for name, key, text in (("write", "page_cache_writes", "pages written"), ("read", "page_cache_reads", "pages read")):
        row = runs[name].rows(costs["processes"])[runs[name].pid]
        if key in row:
            tap.ok(abs(row[key] - FILE_PAGES) <= FILE_PAGES / 100, "%s are counted" % text, row)
        else:
            tap.ok(re.search("does not count .*%s.*: " % text, log), "%s cannot be counted, and the log says so" % text, log)


def check_counters(tap, costs, log):
    """The CPU's own where there are any: programs of the same kind have about the same instructions for their time."""
    if "cpu_cycles" in costs["host"]:
        tap.ok(costs["host"]["cpu_cycles"] > 0, "cycles are counted", costs["host"])
    else:
        tap.ok(re.search("-accounting does not count .*CPU cycles.*: ", log) and "average_frequency" not in costs["host"],
               "without hardware counters the log says so", log)


def nothing_without_it(tap):
    """No program and no map of -accounting is loaded."""
    with Agent("-pid", os.getpid()) as agent:
        agent.wait_started()
        mine = bpf_objects_of(agent.pid)
        names = [one.get("name", "") for kind in ("prog", "map") for one in list_bpf(kind) if (kind, one["id"]) in mine]
        tap.ok("sample_entry" in names and not any(name.startswith("cost_") for name in names),
               "without -accounting nothing of it is loaded", names)


def main():
    tap = Tap()
    need_root(tap, "costs are those of the kernel")
    build_targets.build(["cost_target"])
    target = TARGETS["cost_target"].path
    folder = tempfile.mkdtemp(prefix="allframes-costs-")
    path = os.path.join(folder, "pages")
    try:
        outer, outer_idle, outer_stolen = softirqs(), idle_seconds(), stolen_seconds()
        with Agent("-accounting", "-report", "-json", outputs=[]) as agent:
            if not tap.ok(agent.wait_started(), "the agent starts", agent.log_text()):
                tap.finish()
            begin, inner, inner_idle = time.monotonic(), softirqs(), idle_seconds()
            runs = [Run(target, *arguments) for arguments in (
                *REPEATED * REPEATS, ("fork", 100), ("write", FILE_PAGES, path), ("read", FILE_PAGES, path),
                ("spawn", SHORT_COUNT))]
            spinner = subprocess.Popen([target, "spin", "100000"], preexec_fn=die_with_parent)
            memory = [rss_anon_bytes(agent.pid) >> 10]
            runs.append(Run(target, "true", SHORT_COUNT))
            memory.append(rss_anon_bytes(agent.pid) >> 10)
            spinner_time = os.path.join("/proc", str(spinner.pid), "schedstat")
            with open(spinner_time, encoding="ascii") as file:
                least_ns = int(file.read().split()[0])
            least = {name: count - inner[name] for name, count in softirqs().items()}
            seconds, idle = time.monotonic() - begin, idle_seconds() - inner_idle
            result = agent.stop()
            with open(spinner_time, encoding="ascii") as file:
                most_ns = int(file.read().split()[0])
            spinner.kill()
            spinner.wait()
        most = {name: count - outer[name] for name, count in softirqs().items()}
        outer_idle, stolen_ns = idle_seconds() - outer_idle, NS * (stolen_seconds() - outer_stolen)
    finally:
        shutil.rmtree(folder)
    tap.ok(result.status == 0, "the agent ends", result.log)
    costs = json.loads(result.output)["costs"]
    by_name = {run.name: run for run in runs}
    are_equal = collections.defaultdict(list)
    for run in runs:
        gone = costs["dropped_processes"] + costs["unfitted"]["runs"]
        are_equal[run.name].append(check_run_time(tap, run, costs["processes"], gone))
    for name, results in are_equal.items():
        tap.ok(any(results), "%s: run time within 1 %%" % name, results)
    running = [row for row in costs["processes"] if row["pid"] == spinner.pid]
    tap.ok(len(running) == 1 and least_ns * 0.99 < running[0]["process_run_time"] < most_ns * 1.01 + stolen_ns and not running[0]["has_ended"],
           "a program that still runs has its time so far", least_ns, running, most_ns)
    check_cpus(tap, costs, seconds, idle, outer_idle)
    check_softirqs(tap, costs, least, most)
    sender = by_name["send"].rows(costs["processes"])[by_name["send"].pid]
    tap.ok(sender["vec_nr"]["NET_RX"] > DATAGRAMS * 0.9, "softirqs count for the process that they interrupt", sender)
    check_files(tap, costs, by_name, result.log)
    check_counters(tap, costs, result.log)
    # Thousands of processes a second may be too many for a table that is read five times a second.
    tap.never(costs["unfitted"]["runs"] > IS_LONG * SHORT_COUNT / 1000, "every process had room in the kernel's tables", costs["unfitted"])
    tap.ok(len(costs["processes"]) <= TABLE_PROCESSES and memory[1] - memory[0] < TABLE_KB,
           "memory is bounded: %d KB, and after %d more processes %d KB" % (memory[0], SHORT_COUNT, memory[1]))
    nothing_without_it(tap)
    tap.finish()


main()
