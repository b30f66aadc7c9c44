#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 3600 s
"""Real loads in Python: 99.5 % of the stacks are complete, judged from their frames, and so are the
Python frames in them: each frame of the interpreter's loop has its own.

And programs that embed Python, a Python without symbols, and a version that the agent does not
know.
usage: python_loads_test.py [PYTHON...]
"""
import collections
import glob
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pythons
from harness import IS_LONG, Agent, Program, StackEnds, Tap, need_root, share
from python_chains import PythonFrame, Target, parse_frame, split
from python_test import ATTACH_SECONDS, RATE, Run, test_group

LOADS = os.path.join(pythons.ROOT, "integration", "targets", "python_loads")
SECONDS = 30 if IS_LONG else 4
SAMPLES = 200
COMPLETE_PERCENT = 99.5
# Targets that a Python without symbols runs: calls of all kinds, C in between, threads.
STRIPPED_TARGETS = ["calls", "c_between", "generators", "threads"]
# A version that nobody has.
UNKNOWN_VERSION = 0x03630000


def sample(programs, seconds, **more):
    """Stacks of @programs, by comm, and the agent's log; they run when the agent knows them."""
    by_comm = collections.defaultdict(collections.Counter)
    for program in programs:
        os.kill(program.pid, signal.SIGSTOP)
    pids = ",".join(str(program.pid) for program in programs)
    with Agent("-samples-per-second", RATE, "-with-lines", "-pid", pids, **more) as agent:
        if not agent.wait_started():
            raise RuntimeError("the agent failed: " + agent.log_text())
        time.sleep(ATTACH_SECONDS)
        for program in programs:
            os.kill(program.pid, signal.SIGCONT)
        time.sleep(seconds)
        for program in programs:
            os.kill(program.pid, signal.SIGSTOP)
        result = agent.stop()
        if result.status != 0:
            raise RuntimeError("the agent failed: " + result.log)
        for stack, count in result.stacks.items():
            by_comm[stack.comm][stack] += count
    return by_comm, result.log


def judge_complete(tap, name, stacks, ends, version):
    """One result: of @stacks enough are whole, with Python frames for every loop."""
    bad, total, python = collections.Counter(), 0, 0
    for stack, count in stacks.items():
        total += count
        items, _, why = split(stack.user_frames, version)
        python += count if items else 0
        if not ends.is_complete(stack):
            bad["not complete: %s" % str(stack)[-600:]] += count
        elif why:
            bad["%s: %s" % (why, str(stack)[-600:])] += count
    complete = total - sum(bad.values())
    tap.ok(total >= SAMPLES and 100 * complete >= COMPLETE_PERCENT * total
           and python > 0.9 * total,
           "%s: %g %% of the stacks are complete" % (name, COMPLETE_PERCENT),
           "%s of %d are complete, %s have Python frames" % (share(complete, total), total,
                                                             share(python, total)),
           *[("%d times %s" % (count, why)).encode("ascii", "backslashreplace").decode()
             for why, count in bad.most_common(5)])
    tap.note("%s: %s of %d" % (name, share(complete, total), total))


def test_loads(tap, python):
    names = [os.path.basename(path)[:-len(".py")] for path in sorted(glob.glob(LOADS + "/*.py"))]
    programs = []
    try:
        for name in names:
            programs.append(Program(*python.load(name)))
        by_comm, _ = sample(programs, SECONDS)
    finally:
        for program in programs:
            program.__exit__()
    for name in names:
        judge_complete(tap, "%s in %s" % (name, python), by_comm["py-" + name],
                       StackEnds(python.directories), python.version)


def library_of(python):
    """The shared object of the interpreter; None for a static one."""
    found = glob.glob(os.path.join(os.path.dirname(python.path), "..", "lib",
                                   "libpython3.[0-9]*.so.1.0"))
    return os.path.realpath(found[0]) if found else None


def changed_python(python, directory, name, change):
    """@python with a copy of its library that @change was called with."""
    path = os.path.join(directory, os.path.basename(library_of(python)))
    shutil.copyfile(library_of(python), path)
    os.chmod(path, 0o755)
    change(path)
    return pythons.Python("%s (%s)" % (python, name), python.path,
                          environment={"LD_PRELOAD": path})


def strip(path):
    subprocess.run(["strip", "-s", path], check=True)


def test_stripped(tap, python):
    """What has no symbols shows the same stacks."""
    with tempfile.TemporaryDirectory() as directory:
        stripped = changed_python(python, directory, "stripped", strip)
        runs = [Run(stripped, Target(os.path.join(pythons.TARGETS, name + ".py"),
                                     stripped.version)) for name in STRIPPED_TARGETS]
        test_group(tap, runs, "-pid", ",".join(str(run.program.pid) for run in runs))


def forge_version(path):
    """Makes the interpreter say that it is a version nobody has, where others look for it."""
    text = subprocess.run(["readelf", "-W", "--dyn-syms", path], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    segments = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
    loads = [tuple(int(word, 16) for word in re.findall("0x([0-9a-f]+)", line))
             for line in segments.splitlines() if line.strip().startswith("LOAD")]

    def offset(symbol):
        address = int(re.search(r"([0-9a-f]{16}) .* %s$" % symbol, text, re.M)[1], 16)
        return next(address - virtual + at for at, virtual, _, size, *_ in loads
                    if virtual <= address < virtual + size)

    with open(path, "r+b") as file:
        file.seek(offset("Py_Version"))
        assert file.read(4)[3] == 3, "no version at Py_Version"
        file.seek(offset("Py_Version"))
        file.write(struct.pack("<I", UNKNOWN_VERSION))
        file.seek(offset("_PyRuntime"))
        if file.read(8) == b"xdebugpy":
            file.write(struct.pack("<Q", UNKNOWN_VERSION))


def test_unknown_version(tap, python):
    """A version that is not known: whole native stacks, and one line that says so."""
    with tempfile.TemporaryDirectory() as directory:
        forged = changed_python(python, directory, "unknown version", forge_version)
        with Program(*forged.target("calls")) as first, Program(*forged.target("calls")) as second:
            by_comm, log = sample([first, second], 3)
    stacks = by_comm["py-calls"]
    ends = StackEnds(forged.directories)
    total = sum(stacks.values())
    complete = sum(count for stack, count in stacks.items() if ends.is_complete(stack))
    python_frames = sum(count for stack, count in stacks.items()
                        if any(parse_frame(frame) for frame in stack.frames))
    tap.ok(total >= SAMPLES and 100 * complete >= COMPLETE_PERCENT * total and not python_frames,
           "%s has native stacks" % forged, "%d of %d are complete, %d have Python frames"
           % (complete, total, python_frames))
    lines = [line for line in log.splitlines() if re.search(r"python", line, re.I)
             and not line.startswith("info: sampling")]
    tap.ok(len(lines) == 1 and "3.99" in lines[0] and "libpython" in lines[0],
           "%s has one line in the log" % forged, log)


# Name, path in bookworm's root or on the machine, arguments; {} is a target.
EMBEDDING = [
    ("gdb", "/usr/bin/gdb", ["-nx", "-batch", "-x", "{}"]),
    ("vim", "/usr/bin/vim.nox", ["-u", "NONE", "-i", "NONE", "-n", "-es", "-c", "py3file {}"]),
    ("uwsgi", "/usr/bin/uwsgi-core", ["--plugin", "python311", "--need-plugin", "python311",
                                       "--pyrun", "{}"]),
]


def test_embedding(tap):
    """Programs that have Python within: their own frames outermost, then Python's."""
    root = str(pythons.fetch_pythons.PYTHONS / "bookworm")
    path = os.path.join(pythons.TARGETS, "embedded.py")
    for name, program, arguments in EMBEDDING:
        if not os.path.exists(root + program):
            tap.skip("%s has Python's frames" % name, "no %s in %s" % (program, root))
            continue
        command = pythons.in_root(root, program, *[one.format(path) for one in arguments])
        with Program(*command, stderr=subprocess.DEVNULL) as running:
            by_comm, _ = sample([running], 4)
        judge_complete(tap, name, by_comm["py-embedded"],
                       StackEnds(pythons.directories_of(root, program)), (3, 11))
        found = collections.Counter()
        for stack, count in by_comm["py-embedded"].items():
            items = split(stack.user_frames, (3, 11))[0]
            names = [item.name for item in items if isinstance(item, PythonFrame)]
            found[names[-3:] == ["outer", "inner", "spin"]] += count
        tap.ok(found[True] > 0.9 * found.total(), "%s runs outer > inner > spin" % name, found)


def main():
    tap = Tap()
    need_root(tap, "loads in Python")
    every = pythons.at_hand(IS_LONG or len(sys.argv) > 1)
    shared = [python for python in every.values() if library_of(python) and python.root == "/"]
    wanted = sys.argv[1:] or (list(every) if IS_LONG else list(every)[-3:])
    for name in wanted:
        test_loads(tap, every[name])
    for python in shared if IS_LONG else shared[-1:]:
        test_stripped(tap, python)
    for python in [python for python in shared if python.version >= (3, 11)][-1:]:
        test_unknown_version(tap, python)
    if IS_LONG:
        test_embedding(tap)
    tap.finish()


if __name__ == "__main__":
    main()
