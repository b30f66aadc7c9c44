# SPDX-License-Identifier: Apache-2.0
"""The tests of the project: where they are, how each is run, and what its output says.

A test is a program build/asan/FOLDER/tests/NAME_test, built from FOLDER/tests/NAME_test.c, or a script
FOLDER/tests/NAME_test.py or .sh, or integration/NAME_test.py or .sh. All print TAP. The first lines of a script may say:

    # long                    it belongs to the long tier only, as do scripts in a folder called long
    # time limit: 900 s       after this time it counts as hanging
    # alone: REASON           nothing may run beside it
    # apart: REASON           no other script may run beside it, only unit tests, which start no agent
    # waits: REASON           it needs a CPU for little of its time: one such script runs beside the others
"""

import dataclasses
import os
import pathlib
import re
import signal
import sys

import test_process

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT_LIMIT_S = 400
SCRIPT_LIMIT_S = 900
LONG_LIMIT_S = 4 * 3600
# For a unit test in the long tier, where it reads all that was fetched.
LONG_UNIT_LIMIT_S = 3600
HEAD_LINES = 30

RESULT = re.compile(r"^(not )?ok\b(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)(\s*#\s*skip\b.*)?\s*$", re.IGNORECASE)
SKIP = re.compile(r"#\s*skip\b", re.IGNORECASE)
TIME_LIMIT = re.compile(r"^#\s*time limit:\s*(\d+)\s*s\s*$")
LONG = re.compile(r"^#\s*long\s*$")
ALONE = re.compile(r"^#\s*alone:\s*\S")
APART = re.compile(r"^#\s*apart:\s*\S")
WAITS = re.compile(r"^#\s*waits:\s*\S")

# A failure that is never tried again; a test marks it by the line `# final: WHY`.
FINAL = re.compile(r"^#\s*final:\s*(.*)$", re.MULTILINE)
SANITIZER = re.compile(r"^.*(?:ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|: runtime error: ).*$",
                       re.MULTILINE)


@dataclasses.dataclass
class Test:
    name: str
    command: list
    limit_s: int
    is_long: bool = False
    is_alone: bool = False
    is_apart: bool = False
    is_waiting: bool = False
    is_unit: bool = False

    def limit_of(self, long_tier):
        """Seconds that it may take."""
        if not long_tier:
            return self.limit_s
        return max(self.limit_s, LONG_UNIT_LIMIT_S if self.is_unit else LONG_LIMIT_S)

    def is_called(self, name):
        """True if a user may mean this test by @name: its path, or its file with or without _test."""
        stem = self.name.rpartition("/")[2].partition(".")[0]
        return name in (self.name, self.name.rpartition("/")[2], stem, stem.removesuffix("_test"))


def is_failure(line):
    """True if @line of a test's output is a result that failed."""
    result = RESULT.match(line)
    return bool(result and result.group(1) and not SKIP.search(line))


@dataclasses.dataclass
class Outcome:
    test: Test
    passed: int
    failed: int
    skipped: int
    # Why the program as a whole failed beside its results; "" if it did not.
    trouble: str
    # Why it is not tried again, although it failed; "" if it may be.
    final: str
    run: test_process.Run

    @property
    def what_failed(self):
        """One line about the failure."""
        names = [RESULT.match(line).group(2).strip(" -") for line in self.run.output.splitlines()
                 if is_failure(line)]
        return "; ".join(names + [self.trouble] * bool(self.trouble))

    @property
    def failed_lines(self):
        """The result lines that failed, each followed by its own "#" lines, and the trouble if there was one."""
        lines, is_failed = [], False
        for line in self.run.output.splitlines():
            is_failed = is_failure(line) or is_failed and line.startswith("#")
            if is_failed:
                lines.append(line)
        return lines + [self.trouble] * bool(self.trouble)


def script_test(path):
    """The test that script @path is."""
    try:
        name = str(path.relative_to(ROOT))
    except ValueError:
        name = str(path)
    head = path.read_text(encoding="utf-8", errors="replace").splitlines()[:HEAD_LINES]
    limits = [int(match.group(1)) for line in head if (match := TIME_LIMIT.match(line))]
    return Test(name, [str(path)], limits[0] if limits else SCRIPT_LIMIT_S,
                is_long="long" in path.parts or any(map(LONG.match, head)),
                is_alone=any(map(ALONE.match, head)), is_apart=any(map(APART.match, head)),
                is_waiting=any(map(WAITS.match, head)))


def find_scripts():
    """The test scripts of the project: executable ones beside its sources, none of build/."""
    found = []
    for suffix in ("py", "sh"):
        for pattern in ("*/tests", "*/*/tests", "integration", "integration/long"):
            found += ROOT.glob(f"{pattern}/*_test.{suffix}")
    found = sorted(path for path in set(found) if path.relative_to(ROOT).parts[0] != "build")
    for path in found:
        if not os.access(path, os.X_OK):
            sys.exit(f"{path.relative_to(ROOT)} is not executable: chmod +x it")
    return [script_test(path) for path in found]


def unit_test(program):
    """The test that @program is, a path below the root."""
    return Test(str(pathlib.PurePath(*program.parts[2:])), [str(ROOT / program)], UNIT_LIMIT_S,
                is_unit=True)


def find_fuzzer(name):
    """A minute of the fuzzer of this name as a test, in a list; empty if there is none."""
    return [Test(name, [str(ROOT / "scripts/run_fuzzers.py"), "--seconds", "60",
                        str("build/fuzz" / path.relative_to(ROOT).with_suffix(""))], SCRIPT_LIMIT_S)
            for pattern in ("*/fuzz", "*/*/fuzz") for path in ROOT.glob(f"{pattern}/{name}.c")]


def count_results(output, status, limit_s):
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


def find_final(output, status):
    """Why a failure with this @output and exit @status is not tried again; "" if it may be."""
    if status is None:
        return "it hangs"
    if status < 0:
        return "it crashed"
    for pattern, group in ((SANITIZER, 0), (FINAL, 1)):
        if match := pattern.search(output):
            return match.group(group)
    return ""


def run_test(test, environment, long_tier):
    """Runs @test in this process's care (test_process.py)."""
    limit_s = test.limit_of(long_tier)
    run = test_process.run_program(test.command, ROOT, environment, limit_s)
    passed, failed, skipped, trouble = count_results(run.output, run.status, limit_s)
    failed += bool(trouble)
    final = find_final(run.output, run.status) if failed else ""
    return Outcome(test, passed, failed, skipped, trouble, final, run)
