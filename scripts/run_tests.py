#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests, and ends with one line: N passed, N failed, N skipped.

    run_tests.py [--long] [--only TEXT | --one NAME | --part PART] [PROGRAM...]

PROGRAM are built unit tests; scripts are found (test_programs.py). Tests run side by side, those that
need the machine for themselves at the end, one after the other; before them those that only unit tests may run
beside, when all other scripts have ended. --long sets ALLFRAMES_LONG=1 for all
and runs the parts of the long tier that have not passed yet for this tree (long_parts.py), or the one
of --part.

A test that failed is run twice more, once beside others as before and once alone. If both are green it
counts as passed, is printed as unsteady, and its output is kept in build/unsteady.txt. What says for
itself that it is no accident is not tried again: a hang, a crash, a sanitizer's report, and what a
test calls final. More than RETRIED_MAX failures are not tried again, and UNSTEADY_MAX unsteady tests
fail the run.

Exit status 1 if a test failed, crashed, ran out of time or gave fewer results than it planned.
"""

import argparse
import concurrent.futures
import multiprocessing
import os
import pathlib
import sys
import time

import long_parts
import test_budgets
import test_process
import test_programs
from test_programs import PLAN, RESULT, ROOT, SKIP

WORKERS = os.cpu_count()
SHOWN_LINES = 200
LAST_LINES = 40
# The end of a run repeats so many lines about each test that failed.
FAILED_LINES = 30
SLOWEST_SHOWN = 15
RETRIED_MAX = 5
RETRY_SECONDS = 600
UNSTEADY_MAX = 2
UNSTEADY_FILE = ROOT / "build" / "unsteady.txt"


class Runner:
    """Runs tests in processes that each run one at a time."""

    def __init__(self, environment, long_tier):
        self._environment = environment
        self._long_tier = long_tier
        self._pool, self._waiting_pool = (concurrent.futures.ProcessPoolExecutor(
            count, multiprocessing.get_context("fork"), test_process.adopt_orphans) for count in (WORKERS, 1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._pool.shutdown(cancel_futures=True)
        self._waiting_pool.shutdown(cancel_futures=True)

    def start(self, test):
        """The future Outcome of @test."""
        pool = self._waiting_pool if test.is_waiting or test.is_apart else self._pool
        return pool.submit(test_programs.run_test, test, self._environment, self._long_tier)

    def run(self, tests):
        """Outcomes of @tests as they come: first of those that may run side by side."""
        runs = {self.start(test): test for test in tests if not test.is_alone and not test.is_apart}
        apart = [test for test in tests if test.is_apart]
        while runs or apart:
            if all(test.is_unit for test in runs.values()):
                runs |= {self.start(test): test for test in apart}
                apart = []
            for finished in concurrent.futures.wait(runs, return_when=concurrent.futures.FIRST_COMPLETED).done:
                del runs[finished]
                yield finished.result()
        for test in tests:
            if test.is_alone:
                yield self.start(test).result()

    def run_again(self, outcome, outcomes):
        """Outcomes of two more runs: as @outcome's was, beside tests that ran at that time, and alone."""
        beside = [other.test for other in outcomes if other is not outcome
                  and other.run.began < outcome.run.ended and outcome.run.began < other.run.ended]
        again = self.start(outcome.test)
        others = [self.start(test) for test in beside[:WORKERS - 1]]
        yield again.result()
        concurrent.futures.wait(others)
        yield self.start(outcome.test).result()


def show(outcome):
    name, run = outcome.test.name, outcome.run
    counts = f"{outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped"
    word = "FAILED" if outcome.failed else "ok"
    print(f"{word:6} {name} ({counts}, {run.seconds:.1f} s, {run.cpu_seconds:.1f} s of CPU)", flush=True)
    lines = run.output.splitlines()
    if outcome.failed:
        # Failures first: a log may be cut in its middle, and a test may have hundreds of green lines.
        for line in outcome.failed_lines[:SHOWN_LINES]:
            print(f"    {line}")
        report = test_programs.SANITIZER.search(run.output)
        last = run.output[report.start():].splitlines()[:SHOWN_LINES] if report else lines[-LAST_LINES:]
        print("    the sanitizer's report:" if report else f"    the last of its {len(lines)} lines:")
        for line in last:
            print(f"    {line}", flush=True)
    else:
        for line in lines:
            result = RESULT.match(line) or PLAN.match(line)
            if result and SKIP.search(line):
                print(f"    skipped: {line}", flush=True)


def retry(runner, outcomes):
    """Runs failed tests again. Returns @outcomes with green ones for those that are unsteady, and these
    as they were before."""
    failed = [outcome for outcome in outcomes if outcome.failed]
    candidates = [outcome for outcome in failed if not outcome.final]
    for outcome in failed:
        if outcome.final:
            print(f"not tried again: {outcome.test.name}: {outcome.final}")
    if len(candidates) > RETRIED_MAX:
        print(f"not tried again: {len(candidates)} tests failed, and at most {RETRIED_MAX} are")
        return outcomes, []
    deadline = time.monotonic() + RETRY_SECONDS
    green, unsteady = {}, []
    for outcome in candidates:
        for again in runner.run_again(outcome, outcomes):
            if time.monotonic() > deadline:
                print(f"not tried again: {outcome.test.name}: all tries took {RETRY_SECONDS} s")
                break
            if again.failed:
                show(again)
                break
        else:
            green[outcome.test.name] = again
            unsteady.append(outcome)
    return [green.get(outcome.test.name, outcome) for outcome in outcomes], unsteady


def show_failed_lines(outcome):
    """Prints only the failed results of @outcome: a log whose middle was cut out still has its end."""
    print(f"what failed in {outcome.test.name}:")
    for line in outcome.failed_lines[:FAILED_LINES]:
        print(f"    {line}")


def keep_unsteady(unsteady):
    """Prints the unsteady tests, and writes them with their outputs to UNSTEADY_FILE."""
    UNSTEADY_FILE.unlink(missing_ok=True)
    for outcome in unsteady:
        show_failed_lines(outcome)
        line = f"unsteady: {outcome.test.name}: {outcome.what_failed}"
        print(line)
        UNSTEADY_FILE.parent.mkdir(exist_ok=True)
        with UNSTEADY_FILE.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n{outcome.run.output}\n")


def show_times(outcomes, seconds):
    """Prints the slowest tests, folders over their budgets, and the total."""
    print(f"the {SLOWEST_SHOWN} slowest tests, in seconds and CPU seconds:")
    slowest = sorted(outcomes, key=lambda outcome: -outcome.run.seconds)[:SLOWEST_SHOWN]
    for outcome in slowest:
        print(f"  {outcome.run.seconds:7.1f} {outcome.run.cpu_seconds:7.1f}  {outcome.test.name}")
    for line in test_budgets.overruns({outcome.test.name: outcome.run.seconds
                                       for outcome in outcomes}):
        print(line)
    cpu_seconds = sum(outcome.run.cpu_seconds for outcome in outcomes)
    print(f"all tests took {seconds:.0f} s, and {cpu_seconds:.0f} s of CPU")


def test_environment(long_tier):
    """Options of the agent in the user's environment must not reach the agents under test."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("ALLFRAMES_")}
    environment.update(CMOCKA_MESSAGE_OUTPUT="TAP", UBSAN_OPTIONS="print_stacktrace=1",
                       PYTHONUNBUFFERED="1")
    if long_tier:
        environment["ALLFRAMES_LONG"] = "1"
    return environment


def choose(tests, arguments):
    """Those of @tests that are to run."""
    if arguments.one:
        found = ([test for test in tests if test.is_called(arguments.one)]
                 or test_programs.find_fuzzer(arguments.one))
        if not found:
            sys.exit(f"no test is called {arguments.one}: give the name of its file")
        return found
    tests = [test for test in tests if arguments.only in test.name]
    return tests if arguments.long else [test for test in tests if not test.is_long]


def run_tests(tests, long_tier):
    """Runs and reports @tests; (passed, failed, skipped)."""
    began = time.monotonic()
    outcomes = []
    with Runner(test_environment(long_tier), long_tier) as runner:
        for outcome in runner.run(tests):
            outcomes.append(outcome)
            show(outcome)
        outcomes, unsteady = retry(runner, outcomes)
    show_times(outcomes, time.monotonic() - began)
    keep_unsteady(unsteady)
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    skipped = sum(outcome.skipped for outcome in outcomes)
    broken = [outcome for outcome in outcomes if outcome.failed]
    for outcome in broken:
        show_failed_lines(outcome)
    if broken:
        print("failed: " + " ".join(sorted(outcome.test.name for outcome in broken)))
    if len(unsteady) > UNSTEADY_MAX:
        print(f"{len(unsteady)} tests are unsteady: that is a failure")
        failed += 1
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--only", default="", help="run tests whose path contains this")
    parser.add_argument("--one", default="", help="run the test of this name, of any tier")
    parser.add_argument("--part", default="", help="run this part of the long tier")
    parser.add_argument("programs", nargs="*", type=pathlib.PurePath)
    arguments = parser.parse_args()

    # Scripts first: some take long, and at the end one of them would run with no other beside it.
    tests = test_programs.find_scripts()
    tests += [test_programs.unit_test(program) for program in arguments.programs]
    is_whole = not arguments.one and not arguments.only
    if arguments.long and is_whole:
        return long_parts.run(tests, arguments.part, run_tests)
    tests = choose(tests, arguments)
    if not tests:
        sys.exit(f"no test has {arguments.only} in its path")
    long_tier = arguments.long or bool(arguments.one and tests[0].is_long)
    passed, failed, skipped = run_tests(tests, long_tier)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
