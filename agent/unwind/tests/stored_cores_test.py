#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stored core files of programs in all languages (testdata/unwinds), with the parts of the files that they ran: the
unwinders (build/walk_core) unwind them as they did when they were recorded, word for word. Prints TAP.

    stored_cores_test.py [-write] [CASE...]

-write takes what is unwound now for what is expected: for a change that is wanted, and in a tree in which the test was
green before. The commit says which lines changed, and why.
"""
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
sys.path[:0] = [str(ROOT / "integration"), str(ROOT / "testdata")]
import pages
from harness import Tap

FOLDER = ROOT / "testdata" / "unwinds"
UNWIND = ROOT / "build" / "walk_core"
LINES_SHOWN = 10
UNWIND_SECONDS = 120


def unwind(root, core):
    """What is printed, and what is warned of."""
    return subprocess.run([UNWIND, "-without-names", "-interpreted", "-inlined", "-root", root, core], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="surrogateescape",
                          timeout=UNWIND_SECONDS)


def differences(expected, found):
    lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), "expected", "unwound", n=2, lineterm="")
    return [line.encode("ascii", "backslashreplace").decode() for line, _ in zip(lines, range(LINES_SHOWN * 2))]


def check(tap, case, folder, is_writing):
    name = case.name[:-len(".txt")]
    pages.unpack(FOLDER / (name + ".pages.xz"), folder)
    core = os.path.join(folder, "core")
    done = unwind(os.path.join(folder, "files"), core)
    os.unlink(core)
    if is_writing:
        case.write_text(done.stdout, errors="surrogateescape")
    expected = case.read_text(errors="surrogateescape")
    tap.ok(done.returncode == 0 and expected and done.stdout == expected,
           "%s: %d lines are what they were" % (name, expected.count("\n")), *differences(expected, done.stdout),
           done.stderr)
    # Files of JVMs that were gone when the others were kept.
    warnings = [line for line in done.stderr.splitlines() if "/tmp/hsperfdata_" not in line]
    tap.ok(not warnings, name + ": nothing is warned of", *warnings)


def main():
    is_writing = "-write" in sys.argv[1:]
    names = [name for name in sys.argv[1:] if name != "-write"]
    tap = Tap()
    cases = [case for case in sorted(FOLDER.glob("*.txt")) if not names or case.name[:-len(".txt")] in names]
    tap.ok(cases, "unwinds are recorded")
    with tempfile.TemporaryDirectory() as folder:
        pages.unpack(FOLDER / "files.pages.xz", os.path.join(folder, "files"))
        for case in cases:
            check(tap, case, folder, is_writing)
    tap.finish()


if __name__ == "__main__":
    main()
