#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 300 s
"""What -weight shares out: of each process the values in pprof (read by `go tool pprof` too), in OTLP, in folded stacks and in the report
add up to its row in the table of costs, exactly; page faults, runs and run times lie on the functions that a program had them in. Without
it nothing changes.
"""
import collections
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import IS_LONG, Agent, Program, Tap, need_root, parse_folded, run_agent
from otlp_collector import Collector, read_requests
from otlp_resolved import resolved_lines
from pprof_reader import Profile
from sampled import run_for, stopped
from viewer_pages import ADDRESS, Api

NO_SAMPLE = "[no sample]"
SHORT_PROGRAMS = 30
PAGES = 6000
RUNS = 500
PART_MS = 400
RATE = 197
# Page faults of the start of a program. They come before its first sample, whose function gets them.
START_FAULTS = 400

# By the weight: its key in the table of costs, its unit, and the target's arguments.
CASES = {
    "page-faults": ("page_faults", "count", ("faults", PAGES)),
    "runs": ("runs", "count", ("runs", RUNS)),
    "run-time": ("process_run_time", "nanoseconds", ("time", PART_MS)),
}
# In the short tier one run samples the whole machine.
WHOLE = "page-faults"


class Run:
    """An agent that samples the whole machine with a weight while the target of the weight runs, and short programs; or the
    target alone.
    """

    def __init__(self, target, weight, is_whole):
        self.weight, self.is_whole = weight, is_whole
        self.key, self.unit, arguments = CASES[weight]
        self.directory = tempfile.mkdtemp(prefix="allframes-weight-")
        self.paths = {name: os.path.join(self.directory, "all." + name) for name in ("pb.gz", "otlp", "folded", "svg", "html")}
        with Collector() as collector, Program(target, *arguments) as program, stopped([program.pid]), Agent(
                "-weight", weight, "-report", "-json", "-samples-per-second", RATE, "-viewer", "127.0.0.1:0", "-log-level", "debug",
                "-collection-agent", collector.address, "-disable-tls", "-reporter-interval", "1s",
                *([] if is_whole else ["-pid", program.pid]),
                outputs=self.paths.values()) as agent:
            if not agent.wait_started():
                raise RuntimeError(agent.log_text())
            self.pid = program.pid
            os.kill(self.pid, signal.SIGCONT)
            for _ in range(SHORT_PROGRAMS):
                subprocess.run(["true"], check=True)
            self.status = program.process.wait()
            # The interval of the target's end is shared out by then.
            time.sleep(5)
            page = Api(ADDRESS.search(agent.log_text()).group(1))
            self.page_status = page.get("status")
            self.page_flames = {name: page.get("flame", pid=self.pid, type=name) for name in ("samples", weight)}
            self.page_folded = page.fetch("api/export?format=folded&pid=%d&type=%s" % (self.pid, weight)).decode()
            self.page_pprof = os.path.join(self.directory, "page.pb.gz")
            with open(self.page_pprof, "wb") as file:
                file.write(page.fetch("api/export?format=pprof&pid=%d" % self.pid))
            self.result = agent.stop()
            self.received = collector.stop()
            self.requests = []
            for path in collector.saved_files():
                with open(path, "rb") as file:
                    self.requests += resolved_lines(file.read())
        self.report = json.loads(self.result.output)
        self.costs = self.report["costs"]
        self.rows = collections.Counter()
        for row in self.costs["processes"]:
            if row["pid"] == self.pid or is_whole and row["pid"]:
                self.rows[row["pid"]] += row[self.key]
        self.rows += collections.Counter()
        self.profile = Profile(self.paths["pb.gz"])

    def remove(self):
        shutil.rmtree(self.directory)

    def by_function(self, *names):
        """The weight of the target below each of the functions, and of all others."""
        found = collections.Counter()
        for sample in self.profile.samples:
            if sample.labels["pid"] == self.pid:
                name = next((name for name in names if name in sample.frames), "")
                found[name] += sample.values[-1]
        return found


def differing(rows, found):
    return ["pid %d: %d in the table, %d" % (pid, rows[pid], found[pid]) for pid in sorted(set(rows) | set(found)) if rows[pid] != found[pid]]


def otlp_sums(weight, unit, lines):
    """Values by pid, and whether each sample has as many as times."""
    sums, are_whole = collections.Counter(), True
    for line in lines:
        if "'%s' in '%s'" % (weight, unit) not in line:
            continue
        values, times = re.search(r"\| values \[([\d, ]*)\] \| times \[([\d, ]*)\]", line).groups()
        pid = int(re.search(r"'process\.pid'=(\d+)", line).group(1))
        values = [int(value) for value in values.split(", ")]
        are_whole &= len(values) == len(times.split(", "))
        sums[pid] += sum(values)
    return sums, are_whole


def check_go(tap, run, total):
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.path.exists(go):
        tap.note("there is no go")
        return
    raw = subprocess.run([go, "tool", "pprof", "-symbolize=none", "-raw", run.paths["pb.gz"]], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=False)
    rows = re.findall(r"^ +(\d+) +(\d+) +(\d+): [\d ]+$", raw.stdout, re.M)
    tap.ok(raw.returncode == 0 and "samples/count cpu/nanoseconds %s/%s" % (run.weight, run.unit) in raw.stdout and
           sum(int(row[2]) for row in rows) == total, "%s: go tool pprof finds the same sum" % run.weight, raw.stderr[-500:],
           sum(int(row[2]) for row in rows), total)


def check_sums(tap, run):
    weight, unit = run.weight, run.unit
    total = sum(run.rows.values())
    tap.ok(run.status == 0 and run.result.status == 0 and run.rows[run.pid], "%s: agent and target run" % weight, run.result.log)
    tap.never(run.costs["dropped_processes"], "%s: the table has all processes" % weight)
    pprof = collections.Counter()
    for sample in run.profile.samples:
        pprof[sample.labels["pid"]] += sample.values[-1]
    pprof += collections.Counter()
    tap.ok(run.profile.sample_types == [("samples", "count"), ("cpu", "nanoseconds"), (weight, unit)],
           "%s: pprof has it after the samples" % weight, run.profile.sample_types)
    tap.ok(not differing(run.rows, pprof), "%s: pprof's sums are the table's rows" % weight, *differing(run.rows, pprof)[:10])
    if IS_LONG or weight == WHOLE:
        check_go(tap, run, total)
    with open(run.paths["otlp"], "rb") as file:
        lines = resolved_lines(file.read())
    for name, found in (("OTLP file", lines), ("collector", run.requests)):
        sums, are_whole = otlp_sums(weight, unit, found)
        tap.ok(not differing(run.rows, sums) and are_whole, "%s: the sums in the %s are the table's rows" % (weight, name),
               *differing(run.rows, sums)[:10], run.result.last_line)
    local = read_requests([run.paths["otlp"]])
    tap.ok(not run.received.broken() and not local.broken(), "%s: no rule of OTLP is broken" % weight, run.received.broken(),
           local.broken())
    clock = sum(sample.values[0] for sample in run.profile.samples)
    tap.ok(run.result.metrics["otlp_samples_sent"] == clock, "%s: a weight is no further sample" % weight,
           run.result.metrics["otlp_samples_sent"], clock)
    report = collections.Counter()
    for row in run.report["processes"]:
        report[row["pid"]] += row["value"]
    tap.ok((run.report["type"], run.report["unit"], run.report["value"]) == (weight, unit, total) and not differing(run.rows, report),
           "%s: the report's processes are the table's rows" % weight, *differing(run.rows, report)[:10])
    with open(run.paths["folded"], encoding="utf-8", errors="replace") as file:
        folded = file.read()
    tap.ok(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == total, "%s: so is the sum of folded stacks" % weight)
    with open(run.paths["html"], encoding="utf-8") as file:
        tap.ok('"type":{"type":"%s","unit":"%s"}' % (weight, unit) in file.read(), "%s: the exported page names it" % weight)


def check_no_sample(tap, run):
    """Short programs have no sample, and a stack that says so. Where a program is selected they are left out."""
    found = collections.Counter()
    stacks = [sample for sample in run.profile.samples if NO_SAMPLE in sample.frames]
    for sample in stacks:
        found[sample.labels["comm"]] += sample.values[-1]
    tap.ok((found["true"] > 0) == run.is_whole and not any(sample.values[0] or sample.frames != (NO_SAMPLE,) for sample in stacks),
           "%s: what has no sample stands apart" % run.weight, found)


def check_page(tap, run):
    weight, unit = run.weight, run.unit
    types = [{"type": "samples", "unit": "count"}, {"type": weight, "unit": unit}]
    tap.ok(run.page_status["types"] == types and run.page_status["type"] == types[1], "%s: the page can choose" % weight, run.page_status)
    samples = sum(sample.values[0] for sample in run.profile.samples if sample.labels["pid"] == run.pid)
    tap.ok(run.page_flames["samples"]["total"] == samples and run.page_flames[weight]["total"] == run.rows[run.pid],
           "%s: its flame graphs have the samples and the table's row" % weight, run.page_flames["samples"]["total"], samples,
           run.page_flames[weight]["total"], run.rows[run.pid])
    tap.ok(sum(int(line.rsplit(" ", 1)[1]) for line in run.page_folded.splitlines()) == run.rows[run.pid],
           "%s: exported folded stacks have the row" % weight)
    profile = Profile(run.page_pprof)
    sums = [sum(sample.values[i] for sample in profile.samples) for i in range(3)]
    tap.ok(sums[0] == samples and sums[2] == run.rows[run.pid], "%s: exported pprof has both" % weight, sums, profile.sample_types)


def check_functions(tap, run):
    row = run.rows[run.pid]
    if run.weight == "page-faults":
        found = run.by_function("touch_pages", "only_compute")
        tap.ok(PAGES <= row < PAGES + START_FAULTS and found["touch_pages"] >= PAGES * 0.97 and
               found["only_compute"] < PAGES * 0.03 + START_FAULTS, "page faults lie on the function that has them", row, found)
    elif run.weight == "runs":
        found = run.by_function("give_way", "only_compute")
        tap.ok(row >= RUNS and found["give_way"] >= RUNS * 0.97, "runs lie on the function that gives the CPU away", row, found)
    else:
        found = run.by_function("first_part", "second_part")
        tap.ok(abs(found["first_part"] - PART_MS * 1e6) < PART_MS * 5e4 and
               abs(found["second_part"] - 3 * PART_MS * 1e6) < PART_MS * 15e4, "run time lies on the functions that ran", row, found)


def check_samples_shown(tap):
    """-type samples shows samples in outputs with one value; selected processes without a sample are left out."""
    directory = tempfile.mkdtemp(prefix="allframes-weight-")
    try:
        folded, path = (os.path.join(directory, name) for name in ("all.folded", "all.pb.gz"))
        with Program("sh", "-c", "echo ready; while :; do :; done") as program, stopped([program.pid]), \
                Agent("-weight", "run-time", "-type", "samples", "-report", "-json", "-pid", program.pid,
                      outputs=[folded, path]) as agent:
            agent.wait_started()
            run_for([program.pid], 1)
            report = json.loads(agent.stop().output)
        with open(folded, encoding="utf-8") as file:
            stacks = parse_folded(file.read())
        tap.ok((report["type"], report["unit"]) == ("samples", "count") and report["value"] == sum(stacks.values()) < 10000,
               "-type samples shows samples", report["value"])
        rows = {row["pid"]: row["process_run_time"] for row in report["costs"]["processes"]}
        profile = Profile(path)
        found = sum(sample.values[2] for sample in profile.samples)
        tap.ok({sample.labels["pid"] for sample in profile.samples} == {program.pid} and found == rows[program.pid],
               "of selected processes alone costs are shared out", found, rows[program.pid])
    finally:
        shutil.rmtree(directory)


def check_off(tap):
    directory = tempfile.mkdtemp(prefix="allframes-weight-")
    try:
        path = os.path.join(directory, "all.pb.gz")
        with Agent("-accounting", "-report", "-json", outputs=[path]) as agent:
            agent.wait_started()
            time.sleep(1)
            report = json.loads(agent.stop().output)
        profile = Profile(path)
        tap.ok(profile.sample_types == [("samples", "count"), ("cpu", "nanoseconds")] and report["type"] == "samples" and
               "page_faults" not in report["costs"]["host"] and not any(NO_SAMPLE in sample.frames for sample in profile.samples),
               "without -weight there is none of it", profile.sample_types, report["type"])
    finally:
        shutil.rmtree(directory)


def check_joules(tap):
    """Energy by RAPL, or as a file estimates it."""
    with tempfile.TemporaryDirectory() as directory, \
            Program(sys.executable, "-c", "print('ready', flush=True)\nwhile True: pass") as program, stopped([program.pid]):
        path, watts = os.path.join(directory, "all.pb.gz"), os.path.join(directory, "watts.txt")
        with open(watts, "w", encoding="ascii") as file:
            file.write("idle 40\nfull 180\n")
        with Agent("-weight", "joules", "-energy-file", watts, "-report", "-json", "-pid", program.pid, outputs=[path]) as agent:
            agent.wait_started()
            run_for([program.pid], 1)
            report = json.loads(agent.stop().output)
        profile = Profile(path)
        row = next((row for row in report["costs"]["processes"] if row["pid"] == program.pid), {})
        joules = sum(row.get("joules", {}).get(kind, 0) for kind in ("package", "dram", "host"))
        found = sum(sample.values[2] for sample in profile.samples if sample.labels["pid"] == program.pid)
        tap.ok(profile.sample_types[2] == ("joules", "microjoules") and joules > 10 and abs(found - 1e6 * joules) < 1000,
               "the energy of a process is in its samples", found, row, profile.sample_types)


def check_refused(tap, has_cycles):
    result = run_agent("-weight", "watts", outputs=[])
    tap.ok(result.status == 2 and re.fullmatch(r"error: -weight watts: give run-time, .* or joules\n", result.log),
           "a weight that there is not is refused", result.status, result.log)
    if has_cycles:
        tap.note("this machine counts cycles")
        return
    result = run_agent("-weight", "cycles", outputs=[])
    tap.ok(result.status == 2 and re.fullmatch(r"error: -weight cycles: cannot be counted on this machine: .*\n", result.log),
           "so is one that the machine cannot count", result.status, result.log)


def main():
    tap = Tap()
    need_root(tap, "the sums of weighed samples are the costs")
    build_targets.build(["weight_target"])
    target = TARGETS["weight_target"].path
    # Side by side, since each waits for its intervals; agents that all sample the whole machine run one after the other.
    with concurrent.futures.ThreadPoolExecutor(1 if IS_LONG else len(CASES)) as pool:
        runs = list(pool.map(lambda weight: Run(target, weight, IS_LONG or weight == WHOLE), CASES))
    for run in runs:
        check_sums(tap, run)
        check_no_sample(tap, run)
        check_page(tap, run)
        check_functions(tap, run)
        run.remove()
    check_samples_shown(tap)
    check_off(tap)
    check_joules(tap)
    check_refused(tap, "cpu_cycles" in run.costs["host"])
    tap.finish()


main()
