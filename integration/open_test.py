#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agent -open`: a run of the live agent, written in all formats, is shown again by a user without any
privileges, and what the page exports are the folded stacks of that run. Prints TAP.
"""
import collections
import contextlib
import os
import re
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
import build_targets
import pythons
from browser import Browser
from harness import (AGENT, HANG_SECONDS, OUTPUT, Agent, Program, Tap, need_root, parse_folded,
                     run_agent)
from sampled import sample_run
from viewer_pages import Api

RATE = 499
# Of each program.
CPU_SECONDS = 1
# Parts of the run's time, in each of which there must be samples.
BUCKETS = 4
PROGRAMS = ["calls", "syscalls", "recursion", "exceptions"]
SHOWING = re.compile(r"^info: showing \S+ at (http://\S+);", re.M)
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
          "--bounding-set=-all"]
SHOTS = os.path.join(OUTPUT, "open")


def record(directory):
    """A run of the agent over programs of several kinds: its files by format."""
    paths = {"pprof": "run.pb.gz", "folded": "run.folded", "otlp": "run.otlp"}
    paths = {name: os.path.join(directory, path) for name, path in paths.items()}
    programs = []
    with contextlib.ExitStack() as stack:
        for name in PROGRAMS:
            if build_targets.build([name]):
                programs.append(stack.enter_context(Program(build_targets.TARGETS[name].path)))
        for interpreter in list(pythons.of_machine().values())[-1:]:
            programs.append(stack.enter_context(Program(*interpreter.target("calls"))))
        sample_run([program.pid for program in programs], RATE, CPU_SECONDS, "-with-cpu",
                   outputs=list(paths.values()))
    for path in paths.values():
        os.chmod(path, 0o644)
    return paths


@contextlib.contextmanager
def showing(tap, path, directory):
    """The agent that shows @path, as nobody: (agent, its URL)."""
    with Agent("-open", path, "-viewer", "127.0.0.1:0", outputs=[], prefix=NOBODY,
               agent=os.path.join(directory, "agent")) as agent:
        end = time.monotonic() + HANG_SECONDS
        while not SHOWING.search(agent.log_text()) and time.monotonic() < end:
            if agent.process.poll() is not None:
                break
            time.sleep(0.02)
        found = SHOWING.search(agent.log_text())
        if not tap.ok(found, "it shows " + os.path.basename(path), agent.log_text()):
            tap.finish()
        yield agent, found[1] + "/"


def total(stacks):
    return sum(stacks.values())


def without_comms(stacks):
    """OTLP has the executable's name instead."""
    counts = collections.Counter()
    for stack, count in stacks.items():
        counts[stack.frames] += count
    return counts


def differences(one, other):
    return ["%s: %d and %d" % (key, one[key], other[key])
            for key in (one | other) if one[key] != other[key]][:6]


def check_types(tap, name, api, recorded):
    status = api.get("status")
    types = [(one["type"], one["unit"]) for one in status["types"]]
    # As in go tool pprof, the last type of a pprof file is shown first.
    wanted = [("samples", "count"), ("cpu", "nanoseconds")] if name == "pprof" else [("samples", "count")]
    tap.ok(types == wanted and (status["type"]["type"], status["type"]["unit"]) == wanted[-1],
           name + ": its types of values are those of the file", types, status["type"])
    if name == "pprof":
        period = round(1e9 / RATE)
        tap.ok(status["samples"] == total(recorded) * period, "pprof: the CPU time is that of all samples",
               status["samples"], total(recorded) * period)


def check_format(tap, name, path, recorded, directory):
    with showing(tap, path, directory) as (agent, url):
        api = Api(url)
        check_types(tap, name, api, recorded)
        status = api.get("status", type="samples")
        tap.ok(not status["is_live"] and status["source"] == os.path.basename(path)
               and status["samples"] == total(recorded),
               name + ": all samples are there", status)
        complete = sum(count for stack, count in recorded.items()
                       if not stack.errors and not stack.has_guess)
        tap.ok(status["totals"]["complete"] == complete, name + ": and as many are complete",
               status["totals"], complete)
        stacks = api.stacks(type="samples")
        if name == "otlp":
            one, other = without_comms(stacks), without_comms(recorded)
        else:
            one, other = stacks, recorded
        tap.ok(one == other, name + ": its stacks are those of the run", *differences(one, other))
        counts = api.get("timeline", buckets=BUCKETS)["counts"]
        if name == "otlp":
            tap.ok(len(counts) >= BUCKETS and all(counts[:BUCKETS]),
                   "otlp: samples lie where they were in time", counts)
            cpus = {entry["cpu"] for entry in api.get("facets")["cpus"]}
            tap.ok(len(cpus) == min(2, os.cpu_count()) or len(cpus) > 1, "otlp: and on their CPUs",
                   cpus)
        result = agent.stop()
        tap.ok(result.status == 0, name + ": Ctrl-C ends it", result.status, result.log)


def check_page(tap, path, directory):
    if not browsers.COMMAND:
        tap.skip("the page of a file", "needs chromium")
        return
    os.makedirs(SHOTS, exist_ok=True)
    with showing(tap, path, directory) as (_, url), Browser() as browser:
        browser.open(url)
        tap.ok(browser.wait("document.querySelector('.flame canvas')?.width > 0"),
               "the page draws the file's flame graph", browser.text("body"))
        text = browser.text("header")
        tap.ok(os.path.basename(path) in text and "file" in text, "and says which file it is", text)
        browser.screenshot(os.path.join(SHOTS, "file.png"))
        tap.ok(not browser.errors, "its console is quiet", *browser.errors[:10])


def check_refused(tap, directory):
    wrong = {
        "/nonexistent/run.pb.gz": "No such file",
        "/dev/zero": "no regular file",
        directory: "no regular file",
        AGENT: "a program, library or core file",
    }
    for path, why in wrong.items():
        result = run_agent("-open", path, outputs=[])
        tap.ok(result.status == 2 and why in result.log and result.log.count("\n") == 1,
               "-open %s is refused in a line" % os.path.basename(path), result.status, result.log)
    result = run_agent("-open", "a.folded", outputs=["b.folded"], seconds=20)
    tap.ok(result.status == 2 and "leave out -output" in result.log,
           "-open with -output is refused", result.status, result.log)


def main():
    tap = Tap()
    need_root(tap, "-open")
    check_refused(tap, "/tmp")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        shutil.copy(AGENT, os.path.join(directory, "agent"))
        os.chmod(os.path.join(directory, "agent"), 0o755)
        paths = record(directory)
        with open(paths["folded"], encoding="utf-8", errors="surrogateescape") as file:
            recorded = parse_folded(file.read())
        tap.ok(recorded, "a run is recorded")
        tap.note("%d samples, %d stacks" % (total(recorded), len(recorded)))
        for name, path in paths.items():
            check_format(tap, name, path, recorded, directory)
        check_page(tap, paths["otlp"], directory)
    tap.finish()


if __name__ == "__main__":
    main()
