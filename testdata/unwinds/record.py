#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records core files, with the files that their processes ran, and how build/walk_core unwinds them: what
agent/unwind/tests/stored_cores_test.py compares. Kept to say where the recordings come from, and to make them anew: all
of them, since they share files.pages.xz. Needs the runtimes below on the machine, gcore and strace.

    testdata/unwinds/record.py

Only the pages are kept that the unwinds read, those of the files as well.
"""
import collections
import datetime
import glob
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "testdata" / "unwinds"
sys.path[:0] = [str(ROOT / "testdata"), str(ROOT / "integration")]
import gos
import javas
import pages
import pythons

UNWIND = [str(ROOT / "build" / "walk_core"), "-without-names", "-interpreted", "-inlined"]
# pread64(5</root/x>, ""..., 4096, 8192) = 4096
READ = re.compile(r"pread64\(\d+<(.*)>, .*, \d+, (\d+)\)\s+= (\d+)$")
OTHER_READ = re.compile(r"\bread\(\d+<(/.*)>, .*, \d+\)\s+= (\d+)$")
# Memory of the process in the core file: private pages, and the headers of files.
MEMORY = 0x11
# For a JVM also the archive of classes (CDS), which is mapped.
JVM_MEMORY = 0x37
SECONDS = 1.5
JVM_SECONDS = 8

Case = collections.namedtuple("Case", "name command memory seconds")


def python_case(version, target):
    found = glob.glob(os.path.join(pythons.PYENV, version + ".*", "bin", "python3"))
    path = os.path.join(pythons.TARGETS, target + ".py")
    return Case("python-%s-%s" % (version, target), [found[0], "-B", path], MEMORY, SECONDS)


def go_case(version, target):
    go = next(go for name, go in gos.at_hand(False).items() if name.startswith("go" + version))
    command = go.build(gos.find_targets([target])[target], "plain")
    return Case("go-%s-%s" % (version, target), command, MEMORY, SECONDS)


def java_case(version, target, *options):
    java = javas.at_hand(False)["machine-%d" % version]
    command = java.target(javas.find_targets([target])[target], "plain", "-Xmx24m", "-XX:ReservedCodeCacheSize=8m",
                          "-XX:+UseSerialGC", *options)
    return Case("java-%d-%s" % (version, "-".join([target.lower(), *options]).replace("-X", "")), command, JVM_MEMORY,
                JVM_SECONDS)


def mixed_case():
    """CPython calls a library in Go, which calls C: from one language's unwinder to another's."""
    go = list(gos.at_hand(False).values())[0]
    library = go.build(gos.find_targets(["shared"])["shared"], "plain")[1]
    found = glob.glob(os.path.join(pythons.PYENV, "3.11.*", "bin", "python3"))
    program = ("import ctypes\ndef outer(n):\n    return inner(n)\ndef inner(n):\n    return library.Work(n) & 255\n"
               "library = ctypes.CDLL(%r)\nn = 0\nwhile True:\n    n = outer(n)\n" % library)
    return Case("mixed-python-go", [found[0], "-c", program], MEMORY, SECONDS)


def cases():
    javas.build(["Calls", "Virtual"])
    yield from (python_case("3.9", "sub_turns"), python_case("3.10", "alternating"), python_case("3.11", "exec_loop"),
                python_case("3.13", "threads"))
    yield from (go_case("1.27", target) for target in ("callbacks", "system_stack", "panics"))
    yield go_case("1.20", "callbacks")
    yield from (java_case(17, "Calls"), java_case(17, "Calls", "-Xint"), java_case(25, "Virtual"))
    yield mixed_case()


def make_core(case, folder):
    """The path of a core file of the case's program."""
    with subprocess.Popen(case.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        try:
            time.sleep(case.seconds)
            with open("/proc/%d/coredump_filter" % process.pid, "w", encoding="ascii") as file:
                file.write("%#x" % case.memory)
            subprocess.run(["gcore", "-o", os.path.join(folder, "core"), str(process.pid)], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        finally:
            process.kill()
    return os.path.join(folder, "core.%d" % process.pid)


def pages_read(core, folder):
    """{path: numbers of the pages that an unwind reads}"""
    log = os.path.join(folder, "reads")
    subprocess.run(["strace", "-f", "-y", "-s0", "-e", "trace=pread64,read,mmap", "-o", log, *UNWIND, core], check=True,
                   stdout=subprocess.DEVNULL)
    found = collections.defaultdict(set)
    with open(log, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            read = READ.search(line)
            if read:
                offset, count = int(read[2]), int(read[3])
            else:
                read = OTHER_READ.search(line)
                if not read:
                    continue
                offset, count = 0, int(read[2])
            if count and not read[1].startswith(("/proc/", "/sys/", "/dev/")):
                found[read[1]].update(range(offset // pages.PAGE, (offset + count - 1) // pages.PAGE + 1))
    return found


def unwind(core, *options):
    return subprocess.run([*UNWIND, *options, core], check=True, stdout=subprocess.PIPE).stdout


def keep(read, path):
    return os.path.getsize(path), pages.pages_of(path, read[path])


def record(case, scratch, of_files):
    """Adds the pages of files to @of_files: {path: set}."""
    folder = os.path.join(scratch, case.name)
    os.mkdir(folder)
    core = make_core(case, folder)
    read = pages_read(core, folder)
    text = unwind(core)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], check=True, stdout=subprocess.PIPE,
                            text=True).stdout.strip()
    comment = "%s\nrecorded %s at %s" % (" ".join(case.command).replace("\n", "\\n"), datetime.date.today(), commit)
    pages.pack(FOLDER / (case.name + ".pages.xz"), {"core": keep(read, core)}, comment)
    (FOLDER / (case.name + ".txt")).write_bytes(text)
    os.unlink(core)
    for path, numbers in read.items():
        if path != core:
            of_files[path] |= numbers
    print("%s: %d bytes, %d frames" % (case.name, (FOLDER / (case.name + ".pages.xz")).stat().st_size,
                                       text.count(b"\n")), flush=True)


def main():
    of_files = collections.defaultdict(set)
    with tempfile.TemporaryDirectory() as scratch:
        for case in cases():
            record(case, scratch, of_files)
    files = {path: keep(of_files, path) for path in of_files if os.path.isfile(path)}
    pages.pack(FOLDER / "files.pages.xz", files)
    for path, (size, ranges) in sorted(files.items()):
        print("%s: %d of %d bytes" % (path, sum(map(len, ranges.values())), size))


if __name__ == "__main__":
    main()
