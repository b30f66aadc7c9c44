#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test programs that print TAP, and ends with one line: N passed, N failed, N skipped.

    run_tests.py [--long] [--only TEXT] [PROGRAM...]

PROGRAM are built unit tests. Scripts are found: FOLDER/tests/*_test.py and .sh, and
integration/*_test.py and .sh. A script with a line `# long` near its top, or in a directory called
long, runs only with --long, which also sets ALLFRAMES_LONG=1 for all. `# time limit: 900 s` there
moves the time limit. Unit tests and scripts run side by side; those that load the machine or
measure it (integration/, agent/tracing/) run alone, one after the other, but for scripts with a line
`# beside others`.

Exit status 1 if a test failed, crashed, ran out of time or gave fewer results than it planned.
"""

import argparse
import concurrent.futures
import contextlib
import ctypes
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT_LIMIT_S = 180
SCRIPT_LIMIT_S = 900
LONG_LIMIT_S = 4 * 3600
# Of a unit test, for what it does with all that was fetched.
LONG_UNIT_LIMIT_S = 3600
HEAD_LINES = 30
SHOWN_LINES = 400

RESULT = re.compile(r"^(not )?ok\b(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)(\s*#\s*skip\b.*)?\s*$", re.IGNORECASE)
SKIP = re.compile(r"#\s*skip\b", re.IGNORECASE)
TIME_LIMIT = re.compile(r"^#\s*time limit:\s*(\d+)\s*s\s*$")
LONG = re.compile(r"^#\s*long\s*$")
BESIDE_OTHERS = re.compile(r"^#\s*beside others\s*$")


@dataclasses.dataclass
class Test:
    path: pathlib.Path
    limit_s: int
    is_long: bool
    is_alone: bool


@dataclasses.dataclass
class Outcome:
    test: Test
    passed: int
    failed: int
    skipped: int
    # Why the program as a whole failed beside its results; "" if it did not.
    trouble: str
    seconds: float
    output: str


class Family:
    """The programs that run now, and what they leave behind: that is ended with them.

    Orphans come to the runner (PR_SET_CHILD_SUBREAPER), also those with a session of their own.
    """

    PR_SET_CHILD_SUBREAPER = 36

    def __init__(self):
        self.lock = threading.Lock()
        self.running = set()

    def adopt_orphans(self):
        ctypes.CDLL(None).prctl(self.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def start(self, command, environment, output):
        with self.lock:
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True)
            self.running.add(process.pid)
        return process

    def wait(self, process, limit_s):
        """The exit status of @process, None if it still runs after @limit_s. Buries orphans."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(timeout=0.5)
            with self.lock:
                for pid in self.children() - self.running:
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(pid, os.WNOHANG)
        return None

    def end(self, process):
        """Ends @process, if it still runs, its process group, and orphans."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with self.lock:
            self.running.discard(process.pid)
            while orphans := self.children() - self.running:
                for pid in orphans:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(pid, 0)

    @staticmethod
    def children():
        own = os.getpid()
        found = set()
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                # The name in parentheses may hold anything.
                parent = path.read_bytes().rsplit(b")", 1)[1].split()[1]
                if int(parent) == own:
                    found.add(int(path.parent.name))
        return found


FAMILY = Family()


def name_of(path):
    try:
        return str(path.relative_to(ROOT))
    except ValueError:
        return str(path)


def make_test(path):
    """What the first lines of a script, and the place of a program, say about how to run it."""
    name = name_of(path)
    is_alone = name.startswith("integration/") or "agent/tracing/" in name
    if path.suffix not in (".py", ".sh"):
        return Test(path, UNIT_LIMIT_S, False, is_alone)
    head = path.read_text(encoding="utf-8", errors="replace").splitlines()[:HEAD_LINES]
    is_long = "long" in path.parts or any(LONG.match(line) for line in head)
    if any(BESIDE_OTHERS.match(line) for line in head):
        is_alone = False
    limits = [int(match.group(1)) for line in head if (match := TIME_LIMIT.match(line))]
    return Test(path, limits[0] if limits else SCRIPT_LIMIT_S, is_long, is_alone)


def find_scripts():
    """The test scripts of the project: executable ones beside its sources, none of build/."""
    found = []
    for suffix in ("py", "sh"):
        for pattern in ("*/tests", "*/*/tests", "integration", "integration/long"):
            found += ROOT.glob(f"{pattern}/*_test.{suffix}")
    found = sorted(path for path in set(found) if path.relative_to(ROOT).parts[0] != "build")
    for path in found:
        if not os.access(path, os.X_OK):
            sys.exit(f"{name_of(path)} is not executable: chmod +x it")
    return found


def judge(output, status, limit_s):
    """Counts the results in @output: (passed, failed, skipped, trouble)."""
    passed = failed = skipped = planned = 0
    for line in output.splitlines():
        plan = PLAN.match(line)
        if plan:
            planned += int(plan.group(1))
            if plan.group(2):
                skipped += 1
            continue
        result = RESULT.match(line)
        if not result:
            continue
        # cmocka writes "not ok N # SKIP name" for a skipped test.
        if SKIP.search(result.group(2)):
            skipped += 1
        elif result.group(1):
            failed += 1
        else:
            passed += 1
    results = passed + failed + skipped
    if status is None:
        trouble = f"still ran after {limit_s} s"
    elif status < 0:
        trouble = f"killed by signal {signal.Signals(-status).name}"
    elif results == 0:
        trouble = f"gave no result (exit status {status})"
    elif results < planned:
        trouble = f"gave {results} of {planned} results (exit status {status})"
    elif status != 0 and failed == 0:
        trouble = f"all results were good, but the exit status is {status}"
    else:
        trouble = ""
    return passed, failed, skipped, trouble


def limit_of(test, long_tier):
    """Seconds that @test may take."""
    if not long_tier:
        return test.limit_s
    return max(test.limit_s, LONG_LIMIT_S if test.path.suffix else LONG_UNIT_LIMIT_S)


def run(test, environment, long_tier):
    limit_s = limit_of(test, long_tier)
    start = time.monotonic()
    # A file and not a pipe: a process that a test left behind must not keep the runner waiting.
    with tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace") as file:
        process = FAMILY.start([str(test.path)], environment, file)
        status = FAMILY.wait(process, limit_s)
        FAMILY.end(process)
        file.seek(0)
        output = file.read()
    passed, failed, skipped, trouble = judge(output, status, limit_s)
    return Outcome(test, passed, failed + bool(trouble), skipped, trouble,
                   time.monotonic() - start, output)


def show(outcome):
    name = name_of(outcome.test.path)
    counts = f"{outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped"
    word = "FAILED" if outcome.failed else "ok"
    print(f"{word:6} {name} ({counts}, {outcome.seconds:.1f} s)", flush=True)
    lines = outcome.output.splitlines()
    if outcome.failed:
        if len(lines) > SHOWN_LINES:
            print(f"    [{len(lines) - SHOWN_LINES} lines left out]")
        for line in lines[-SHOWN_LINES:]:
            print(f"    {line}")
        if outcome.trouble:
            print(f"    {name}: {outcome.trouble}", flush=True)
    else:
        for line in lines:
            result = RESULT.match(line) or PLAN.match(line)
            if result and SKIP.search(line):
                print(f"    skipped: {line}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", default="", help="run tests whose path contains this")
    parser.add_argument("programs", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()

    # Scripts first: some take minutes, and at the end one of them would run with no other beside it.
    tests = [make_test(path) for path in find_scripts()]
    tests += [make_test(ROOT / path) for path in arguments.programs]
    tests = [test for test in tests
             if arguments.only in name_of(test.path) and (arguments.long or not test.is_long)]
    # Options of the agent in the user's environment must not reach the agents under test.
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("ALLFRAMES_")}
    environment.update(CMOCKA_MESSAGE_OUTPUT="TAP", UBSAN_OPTIONS="print_stacktrace=1",
                       PYTHONUNBUFFERED="1")
    if arguments.long:
        environment["ALLFRAMES_LONG"] = "1"

    FAMILY.adopt_orphans()
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(run, test, environment, arguments.long)
                for test in tests if not test.is_alone]
        for finished in concurrent.futures.as_completed(runs):
            outcomes.append(finished.result())
            show(outcomes[-1])
    for test in tests:
        if test.is_alone:
            outcomes.append(run(test, environment, arguments.long))
            show(outcomes[-1])

    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    skipped = sum(outcome.skipped for outcome in outcomes)
    broken = [name_of(outcome.test.path) for outcome in outcomes if outcome.failed]
    if broken:
        print("failed: " + " ".join(sorted(broken)))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
