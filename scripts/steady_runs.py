#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows how steady the tests are: runs the short tier again and again, and prints a table.

    steady_runs.py [--runs 12] [--busy 2] [--hours H] [--show]

Each run is .ci/run in a fresh clone of the committed tree. The last --busy of the --runs have 8 busy
processes beside them. What is done is kept for each tree in ~/.cache/allframes/steady/, so that the next
call goes on where this one stopped. No run begins after --hours; --show only prints the table. The bad
events of the quiet runs are in events.jsonl there, for sound_rates.py.

The table has a line for each run: when, the tree, seconds, the runner's last line, the tests that are red,
and those that are unsteady. Exit status 1 if a test was red.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIRECTORY = pathlib.Path.home() / ".cache" / "allframes" / "steady"
BUSY_PROCESSES = 8
LAST_LINE = re.compile(r"^\d+ passed, \d+ failed, \d+ skipped$", re.MULTILINE)


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


@contextlib.contextmanager
def busy_processes(count):
    """@count processes that take all the CPU time that they get."""
    processes = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def keep_events(clone, directory):
    """Appends the bad events that the tests in @clone have counted to those of the runs before."""
    counted = pathlib.Path(clone) / "build" / "integration" / "events.jsonl"
    if counted.exists():
        with (directory / "events.jsonl").open("a", encoding="utf-8") as file:
            file.write(counted.read_text(encoding="utf-8"))


def run_once(is_busy, directory, number):
    """One run: its line of the table, as a dictionary. What it printed is kept in @directory."""
    log = directory / f"run{number}.log"
    with tempfile.TemporaryDirectory(prefix="allframes-steady-") as folder:
        clone = os.path.join(folder, "clone")
        git("clone", "--quiet", str(ROOT), clone)
        began = datetime.datetime.now()
        start = time.monotonic()
        with log.open("w", encoding="utf-8") as file, busy_processes(BUSY_PROCESSES * is_busy):
            status = subprocess.run(["bash", ".ci/run"], cwd=clone, check=False, stdout=file,
                                    stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode
        seconds = round(time.monotonic() - start)
        if not is_busy:
            keep_events(clone, directory)
    text = log.read_text(encoding="utf-8", errors="replace")
    red = re.findall(r"^failed: (.*)$", text, re.MULTILINE)
    return {"began": began.strftime("%Y-%m-%d %H:%M"), "busy": is_busy, "status": status,
            "seconds": seconds, "last": (LAST_LINE.findall(text) or ["none"])[-1],
            "red": red[-1].split() if red else ["the run itself"] * bool(status),
            "unsteady": re.findall(r"^unsteady: (.*)$", text, re.MULTILINE)}


def show(tree, runs):
    for number, run in enumerate(runs, 1):
        print(f"{number:2} {run['began']} {tree[:12]} {run['seconds']:5} s"
              f"{' busy' if run['busy'] else '     '} {run['last']}; "
              f"red: {' '.join(run['red']) or 'none'}; "
              f"unsteady: {', '.join(run['unsteady']) or 'none'}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--busy", type=int, default=2)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()

    tree = git("rev-parse", "HEAD^{tree}")
    directory = DIRECTORY / tree
    directory.mkdir(parents=True, exist_ok=True)
    kept = directory / "runs.jsonl"
    runs = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    deadline = time.monotonic() + 3600 * arguments.hours
    while not arguments.show and len(runs) < arguments.runs and time.monotonic() < deadline:
        is_busy = len(runs) >= arguments.runs - arguments.busy
        run = run_once(is_busy, directory, len(runs) + 1)
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")
        runs.append(run)
        show(tree, [run])
    print(f"{len(runs)} of {arguments.runs} runs:")
    show(tree, runs)
    return 1 if any(run["red"] for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
