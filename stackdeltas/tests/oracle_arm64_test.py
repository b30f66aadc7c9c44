#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 7200 s
"""The oracles over the ELF files of 200 arm64 packages of Debian, and of all that they come with:
oracle_test, and code_oracle_test for the analysis of code.

The packages are unpacked into ~/.cache/allframes/packages/arm64 by scripts/fetch_packages.py, once;
the same file under several names counts once. Prints files, rows and differences by class.
usage: oracle_arm64_test.py [DIRECTORY], another tree instead
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from fetch_packages import fetch, unpacked

ORACLE = ROOT / "build/asan/stackdeltas/tests/oracle_test"
CODE_ORACLE = ROOT / "build/asan/stackdeltas/tests/code_oracle_test"
CACHE = pathlib.Path.home() / ".cache/allframes/packages/arm64"
SUITE = "bookworm"
# With all that they depend on, some 500: compilers, libraries of every kind, runtimes of languages,
# hand-written assembly for codecs and cryptography.
WANTED = """busybox musl coreutils gcc-12 openssh-server nginx postgresql-15 ffmpeg git gdb php-cli
ruby perl python3 nodejs erlang-base openjdk-17-jre-headless gimp sqlite3 qemu-user rsync vim curl
imagemagick libgtk-4-1""".split()
PACKAGES_MIN = 200
FILES_AT_ONCE = 40

count = failed = 0


def ok(condition, name, *diagnostics):
    global count, failed
    count += 1
    failed += not condition
    print("%s %d - %s" % ("ok" if condition else "not ok", count, name))
    for text in diagnostics:
        print("# " + str(text))
    sys.stdout.flush()


def elf_files(folders):
    """Files that start as ELF files do, each once."""
    seen = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    status = os.fstat(file.fileno())
                    seen.setdefault((status.st_dev, status.st_ino), path)
    return list(seen.values())


def run_oracle(files):
    """Processes side by side; returns what they print."""
    parts = [files[first:first + FILES_AT_ONCE] for first in range(0, len(files), FILES_AT_ONCE)]
    running, outputs = [], []
    while parts or running:
        while parts and len(running) < (os.cpu_count() or 1):
            running.append(subprocess.Popen([ORACLE, *parts.pop()], stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT, text=True))
        process = running.pop(0)
        outputs.append(process.communicate()[0])
        ok(process.returncode >= 0 and "\n1.." in outputs[-1], "the oracle came to its end",
           *([] if process.returncode >= 0 else outputs[-1].splitlines()[-20:]))
    return outputs


def main():
    if len(sys.argv) > 1:
        folders = [pathlib.Path(sys.argv[1])]
    else:
        folders = unpacked(CACHE)
        if len(folders) < PACKAGES_MIN:
            folders = fetch(CACHE, "arm64", SUITE, WANTED)
        with_code = sum(bool(elf_files([folder])) for folder in folders)
        ok(with_code >= PACKAGES_MIN, "%d packages have ELF files" % with_code)
    classes, totals = collections.Counter(), collections.Counter()
    notes = []
    for output in run_oracle(elf_files(folders)):
        for line in output.splitlines():
            figures = re.fullmatch(r"# (\d+) files \(.*\), (\d+) more without tables and code, "
                                   r"(\d+) rows", line)
            share = re.fullmatch(r"# +(\d+) rows +[0-9.]+ %  (.+)", line)
            if figures:
                totals.update(dict(zip(("files", "without tables and code", "rows"),
                                       map(int, figures.groups()))))
            elif share:
                classes[share[2]] += int(share[1])
            elif line.startswith(("# /", "not ok")) and "inexpressible:" not in line:
                notes.append(line)
    ok(not classes["different"] and not any(line.startswith("not ok") for line in notes),
       "every row equals libdw's", *notes[:40])
    # Code without tables is judged by code_oracle_test, below.
    declared = sum(classes.values()) - sum(classes[name] for name in (
        "equal", "different", "from code, no table"))
    ok(totals["rows"] and 1000 * declared < totals["rows"],
       "rows of declared classes are under 0.1 %",
       ", ".join("%d %s" % (number, what) for what, number in totals.items()),
       *["%12d %8.4f %%  %s" % (number, 100.0 * number / max(1, totals["rows"]), what)
         for what, number in classes.items()])
    code = subprocess.run([CODE_ORACLE, *folders], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    ok(code.returncode == 0, "the analysis of code says what tables or instructions show",
       *(line.lstrip("# ") for line in code.stdout.splitlines()))
    print("1..%d" % count)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
