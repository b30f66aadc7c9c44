#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The outputs of one run agree: the pprof file, read by `go tool pprof` and by a reader of our own,
has the same totals as the folded file, stack by stack, and so has the stack table.
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
from harness import Agent, Program, Tap, need_root, parse_folded, run_agent
from pprof_reader import Profile
from sampled import run_for, sample_run, stopped

RATE = 499
# Of each program.
CPU_SECONDS = 0.4
PROGRAMS = ["calls", "calls_stripped", "syscalls", "page_faults", "threads", "vdso", "recursion",
            "exceptions"]


def differences(one, other):
    return ["%r: %d and %d" % (key, one[key], other[key])
            for key in (one | other) if one[key] != other[key]][:8]


def check_profile(tap, profile, folded, threads_pid, times):
    tap.ok(profile.sample_types == [("samples", "count"), ("cpu", "nanoseconds")]
           and profile.period_type == ("cpu", "nanoseconds")
           and profile.period == round(1e9 / RATE),
           "sample types and period are right", profile.sample_types, profile.period_type,
           profile.period)
    end_ns = profile.time_ns + profile.duration_ns
    tap.ok(times.begin_ns <= profile.time_ns <= times.stop_ns
           and times.stop_ns - CLOCKS_DIFFER_NS <= end_ns <= times.end_ns + CLOCKS_DIFFER_NS, "time and duration are right", profile.time_ns, profile.duration_ns, times)
    tap.ok({"team:kernel", "env:test"} <= set(profile.comments), "the tags are comments",
           profile.comments)
    stacks = collections.Counter()
    threads = set()
    for sample in profile.samples:
        # A pprof function keeps the suffix of a guess and none of the others but the kernel's,
        # which the reader puts on by the mapping.
        stacks[(sample.labels["comm"],) + sample.frames] += sample.values[0]
        if sample.labels["pid"] == threads_pid:
            threads.add(sample.labels["tid"])
        if sample.values[1] != sample.values[0] * profile.period:
            tap.ok(False, "nanoseconds are samples times the period", sample)
    wanted = collections.Counter()
    for stack, count in folded.items():
        # Code made at run time and inlined functions.
        frames = tuple(re.sub(r"_\[[ij]\]$", "", frame) for frame in stack.frames)
        wanted[(stack.comm,) + frames] += count
    tap.ok(stacks == wanted, "our reader finds the folded file's stacks in the profile",
           *differences(stacks, wanted))
    tap.ok(len(threads) >= 3, "samples are labelled with process and thread", threads)
    files = {profile.mapping_file(one): one for one in profile.mappings.values()}
    calls = files.get(TARGETS["calls"].path)
    build_id = re.search(r"Build ID: (\w+)", subprocess.run(
        ["readelf", "-n", TARGETS["calls"].path], stdout=subprocess.PIPE, text=True,
        check=True).stdout)
    tap.ok(calls and build_id and profile.mapping_build_id(calls) == build_id[1],
           "mappings carry the build ID that readelf finds", sorted(files))
    kernel = files.get("[kernel.kallsyms]")
    tap.ok(kernel and kernel.start == 0 < kernel.limit and not [address for address in profile.addresses if address >> 63],
           "no address tells where the kernel is", kernel)


def check_go(tap, path, folded):
    go = shutil.which("go") or "/usr/local/go/bin/go"
    name = "go tool pprof finds the folded file's stacks in the profile"
    if not os.path.exists(go):
        tap.skip(name, "no go")
        return
    environment = dict(os.environ, PPROF_TMPDIR="/tmp", HOME=os.environ.get("HOME", "/root"))
    run = subprocess.run([go, "tool", "pprof", "-symbolize=none", "-raw", path],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         errors="surrogateescape", env=environment, check=False)
    if not tap.ok(run.returncode == 0, "go tool pprof opens the profile", run.stderr[-1000:]):
        return
    samples, locations = read_raw(run.stdout)
    stacks = collections.Counter()
    for comm, ids, count in samples:
        frames = [frame for one in reversed(ids) for frame in reversed(locations[one])]
        stacks[(comm, tuple(frames))] += count
    wanted = collections.Counter()
    for stack, count in folded.items():
        plain = tuple(re.sub(r"_\[[ijk]\]$", "", frame) for frame in stack.frames)
        wanted[(stack.comm, plain)] += count
    tap.ok(stacks == wanted, name, *differences(stacks, wanted))


def read_raw(text):
    """(comm, location ids, count) of each sample and the functions of each location."""
    samples, locations = [], {}
    section = None
    for line in text.split("\n"):
        if line in ("Samples:", "Locations", "Mappings"):
            section = line
            continue
        sample = re.match(r" +(\d+) +\d+: ([\d ]+)$", line)
        label = re.match(r" +.*\bcomm:\[(.*?)\](?= \w+:\[|\s*$)", line)
        location = re.match(r" +(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*)", line)
        more = re.match(r" {13,}(\S.*)", line)
        if section == "Samples:" and sample:
            samples.append(["", [int(one) for one in sample[2].split()], int(sample[1])])
        elif section == "Samples:" and label:
            samples[-1][0] = label[1]
        elif section == "Locations" and location:
            locations[int(location[1])] = [function_name(location[2])]
            last = int(location[1])
        elif section == "Locations" and more:
            locations[last].append(function_name(more[1]))
    return samples, locations


def function_name(text):
    """The name in `NAME FILE:LINE:COLUMN s=START`; names may hold spaces, and so do Python's <frozen ...>."""
    return re.sub(r" (?:<[^<>]*>|[^ ]*):\d+(?::\d+)? s=\d+.*$", "", text)


def check_processes(tap, folded):
    """-with-processes: pprof's graphs begin with the processes. Opened again, they are no functions. @folded: the stacks of a
    run before, for the names of the processes.
    """
    name = "-with-processes puts the processes on top"
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.path.exists(go):
        tap.skip(name, "no go")
        return
    with tempfile.TemporaryDirectory() as directory, Program(TARGETS["calls"].path) as one, \
            Program(TARGETS["threads"].path) as other:
        paths = [os.path.join(directory, "profile" + end) for end in (".pb.gz", ".folded")]
        sample_run([one.pid, other.pid], RATE, 1, "-with-processes", outputs=paths)
        with open(paths[1], encoding="utf-8", errors="surrogateescape") as file:
            stacks = parse_folded(file.read())
        run = subprocess.run([go, "tool", "pprof", "-symbolize=none", "-sample_index=samples", "-traces", paths[0]],
                             capture_output=True, text=True, check=False)
        reports = [json.loads(run_agent("-open", path, "-report", "-json", "-type", "samples", outputs=[]).output)
                   for path in paths]
    # A stack ends before a line of dashes.
    roots = collections.Counter()
    for part in run.stdout.split("-----------+-----")[1:]:
        frames = [line.strip() for line in part.splitlines()[1:] if line.strip() and not re.match(r" +\w+:", line)]
        count = re.match(r"(\d+) ", frames[0]) if frames else None
        if count:
            roots[re.sub(r"^\d+ +", "", frames[-1])] += int(count[1])
    wanted = collections.Counter()
    for stack, count in stacks.items():
        wanted[stack.comm] += count
    tap.ok(roots == wanted and wanted.keys() <= {stack.comm for stack in folded}, name, roots, wanted, run.stdout[:800], run.stderr)
    found = [sorted((row["name"], row["self"], row["total"]) for row in report["functions"]) for report in reports]
    tap.ok(found[0] == found[1] and found[0], "opened again, a process is no function", *found)


def check_table(tap, path, folded):
    total = sum(folded.values())
    with open(path, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        lines = file.read().split("\n")
    rows = [re.fullmatch(r" *([0-9.]+)% (.*)", line) for line in lines]
    rows = [(float(match[1]), match[2]) for match in rows if match]
    wanted = {str(stack): 100 * count / total for stack, count in folded.items()}
    wrong = [row for row in rows if abs(wanted.get(row[1], -1) - row[0]) > 0.06]
    tap.ok(len(rows) == len(wanted) and not wrong
           and [row[0] for row in rows] == sorted((row[0] for row in rows), reverse=True),
           "the stack table has the same stacks, most frequent first",
           "%d rows, %d stacks" % (len(rows), len(wanted)), *wrong[:5])


# When the agent was started, was told to stop, and had ended.
Times = collections.namedtuple("Times", "begin_ns stop_ns end_ns")
# The file's duration is of another clock than its time.
CLOCKS_DIFFER_NS = 20000000


def profile_programs(pids, paths):
    """The agent's result of a run over the processes @pids with these outputs, and its Times."""
    begin_ns = time.time_ns()
    with stopped(pids), Agent("-samples-per-second", RATE, "-pid", ",".join(map(str, pids)), "-tags",
               "team:kernel,env:test", outputs=paths) as agent:
        agent.wait_started()
        run_for(pids, CPU_SECONDS)
        stop_ns = time.time_ns()
        return agent.stop(), Times(begin_ns, stop_ns, time.time_ns())


def main():
    tap = Tap()
    need_root(tap, "pprof")
    names = [name for name in PROGRAMS if name in build_targets.build(PROGRAMS)]
    with tempfile.TemporaryDirectory() as directory:
        paths = [os.path.join(directory, "profile" + end) for end in (".folded", ".pb.gz", ".txt")]
        programs = [Program(TARGETS[name].path) for name in names]
        try:
            result, times = profile_programs([program.pid for program in programs], paths)
        finally:
            for program in programs:
                program.__exit__()
        if not tap.ok(result.status == 0, "the agent writes three outputs", result.log):
            tap.finish()
        with open(paths[0], encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            folded = parse_folded(file.read())
        tap.ok(set(names) <= {stack.comm for stack in folded}, "all programs were sampled")
        threads_pid = programs[names.index("threads")].pid
        check_profile(tap, Profile(paths[1]), folded, threads_pid, times)
        check_go(tap, paths[1], folded)
        check_table(tap, paths[2], folded)
        check_processes(tap, folded)
    tap.finish()


if __name__ == "__main__":
    main()
