# SPDX-License-Identifier: Apache-2.0
"""The long tier in named parts of at most an hour, and which of them have passed for this tree.

What passed is kept in build/long/TREE/PART, TREE being git's hash of the files as they are, those not
committed too. A changed file makes another tree, and nothing has passed for that.
"""

import copy
import datetime
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIRECTORY = ROOT / "build" / "long"
PART_SECONDS = 3600

# A part is a list of tests: of those whose path begins so, or one script with arguments. What is in no
# part is in the part `rest`.
PARTS = {
    "units": ["lib/", "agent/", "ebpf/", "interpreters/", "reporter/", "viewer/", "docker/",
              "integration/collector/"],
    "stackdeltas": ["stackdeltas/"],
    "symbols": ["symbols/", "integration/symbolize", "integration/debuginfod"],
    "kernels": ["scripts/tests/qemu_test.py"],
    "kernels-arm64": ["scripts/tests/qemu_arm64_test.py", "scripts/tests/qemu_java_arm64_test.py"],
    "go": ["integration/go_"],
    "go-linked": ["integration/go_test.py plain stripped pie external"],
    "go-compiled": ["integration/go_test.py external-pie-stripped static not-inlined not-optimized race"],
    "python": ["integration/python_"],
    "javascript": ["integration/javascript_"],
    "perl": ["integration/perl_"],
    "php": ["integration/php_"],
    "java": ["integration/java_"],
    "java-8": ["integration/java_test.py sid-8"],
    "java-11": ["integration/java_test.py bullseye-11"],
    "java-17": ["integration/java_test.py bookworm-17"],
    "java-21": ["integration/java_test.py trixie-21"],
    "java-25": ["integration/java_test.py trixie-25"],
    "java-27": ["integration/java_test.py sid-27"],
    "viewer": ["integration/viewer", "integration/flame_page", "integration/open"],
    "sending": ["integration/otlp", "integration/receive"],
}
REST = "rest"


def tree_hash():
    """git's hash of the working tree, files that are not ignored included."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GIT_INDEX_FILE": os.path.join(folder, "index")}

        def git(*arguments):
            return subprocess.run(["git", *arguments], cwd=ROOT, env=environment, check=True,
                                  stdout=subprocess.PIPE, text=True).stdout.strip()

        git("read-tree", "HEAD")
        git("add", "--all")
        return git("write-tree")


def tests_of_parts(tests):
    """{part: its tests}. Each of @tests is in one part, or in some with arguments."""
    found = {part: [] for part in [*PARTS, REST]}
    for test in tests:
        parts = [(part, selector) for part, selectors in PARTS.items() for selector in selectors
                 if test.name.startswith(selector.split()[0])]
        # If a path begins with two of them, the longer one counts.
        longest = max((len(selector.split()[0]) for _, selector in parts), default=0)
        for part, selector in parts:
            prefix, *arguments = selector.split()
            if len(prefix) == longest:
                chosen = copy.copy(test)
                chosen.command = [*test.command, *arguments]
                found[part].append(chosen)
        if not parts:
            found[REST].append(test)
    return found


def run(tests, wanted, run_tests):
    """Runs part @wanted, or "" for all that have not passed yet, and prints what is left then. @run_tests
    runs and reports a list of tests. Returns the exit status.
    """
    parts = tests_of_parts(tests)
    if wanted and wanted not in parts:
        sys.exit(f"{wanted} is no part of the long tier: there are {' '.join(parts)}")
    tree = tree_hash()
    passed_directory = DIRECTORY / tree
    totals = [0, 0, 0]
    for part in [wanted] if wanted else parts:
        if not wanted and (passed_directory / part).exists():
            print(f"part {part} has passed: {(passed_directory / part).read_text().strip()}")
            continue
        print(f"part {part}:", flush=True)
        began = time.monotonic()
        counts = run_tests(parts[part], True)
        seconds = time.monotonic() - began
        totals = [total + count for total, count in zip(totals, counts)]
        line = "%d passed, %d failed, %d skipped in %d s, %s" % (
            *counts, seconds, datetime.datetime.now().strftime("%Y-%m-%d %H:%M"))
        print(f"part {part}: {line}")
        if seconds > PART_SECONDS:
            print(f"part {part} takes more than {PART_SECONDS} s: cut it in {__file__}")
        # Of files that changed meanwhile nothing is known.
        if not counts[1] and tree_hash() == tree:
            passed_directory.mkdir(parents=True, exist_ok=True)
            (passed_directory / part).write_text(line + "\n", encoding="utf-8")
    left = [part for part in parts if not (passed_directory / part).exists()]
    print(f"tree {tree[:12]}: " + (f"left are {' '.join(left)}" if left else "all parts have passed"))
    print("%d passed, %d failed, %d skipped" % tuple(totals))
    return 1 if totals[1] else 0
