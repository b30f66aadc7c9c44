#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 7200 s
"""Real loads in Python: the stacks are complete, judged from their frames, and so are the
Python frames in them: each frame of the interpreter's loop has its own.

And programs that embed Python, a Python without symbols, and a version that the agent does not
know. A load says in its docstring what it `needs:`, and with `native:` how many per cent of its
samples may come from threads in which no Python runs. The short tier has the loads in turn over the last three Pythons.
usage: python_loads_test.py [PYTHON|LOAD|others...]
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
import pythons
from attached_samples import ATTACHED_RATE, sample_attached, stacks_by_comm
from harness import AGENT, IS_LONG, Program, StackEnds, Tap, need_root, share
from judge import CPU_SECONDS, FLAGGED, Judge
from python_chains import PythonFrame, Target, is_loop, parse_frame, read_head, split
from python_targets_test import has_needs
from python_test import case_of, is_in_clone

# In the short tier a load is stopped when it has used CPU_SECONDS, and has so long for it on a busy machine.
SECONDS = 30
# Samples a second, and how many a load has at least on a machine that is busy with other things.
RATES = {97: 30, ATTACHED_RATE: 200} if IS_LONG else {ATTACHED_RATE: 200}
# A compile of all modules that a package of PyPI imports, without what others have left compiled.
READY_SECONDS = 120
COMPLETE_PERCENT = 99.5 if IS_LONG else 0
# A fault spoils this part of the samples of one load.
COMPLETE_FAULT = 0.1
NATIVE = "native stacks, not whole"
NATIVE_PERCENT = 10
# Targets that a Python without symbols runs: calls of all kinds, C in between, threads.
STRIPPED_TARGETS = ["calls", "c_between", "generators", "threads"]
# Functions that the loop calls with a function's frame which is no longer its thread's.
POPPING = re.compile(r"_PyEval_?FrameClearAndPop|_PyFrame_Clear|_PyThreadState_PopFrame"
                     "|clear_(thread|gen)_frame|_Py_LeaveRecursiveCall|_Py_CheckFunctionResult")
# As an argument: the tests behind the loads.
OTHERS = "others"
# A version that nobody has.
UNKNOWN_VERSION = 0x03630000


class Load:
    """A program in Python, and what is said of it."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            directives = read_head(file.read())[1]
        self.name = os.path.basename(path)[:-len(".py")]
        self.comm = ("py-" + self.name)[:15]
        self.needs = directives.get("needs", "").split()
        self.native_percent = int(directives.get("native", NATIVE_PERCENT))


def start(*command, **more):
    """The Program, stopped when it is ready, so that the next one gets ready as well."""
    program = Program(*command, seconds=READY_SECONDS, **more)
    os.kill(program.pid, signal.SIGSTOP)
    return program


def sample(programs, seconds, rate=ATTACHED_RATE, is_known=True):
    """Stacks of @programs, stopped ones, by comm, and the agent's result. They run when it has
    attached to them, or after some time if it will not, and in the short tier no longer than their samples take.
    """
    result = sample_attached(programs, seconds, "-with-lines", rate=rate, is_known=is_known,
                             stays_stopped=True, cpu_seconds=CPU_SECONDS)
    return stacks_by_comm(result.stacks), result


def lacks_python(frames, ends):
    """True if a loop in @frames should have Python frames and has none. A function that has just
    been left has none any more, as what it held is freed, or as a jump of the linker leads to what
    frees it; nor has an interrupted loop that begins or ends.
    """
    callees = [callee for frame, callee in zip(frames, [*frames[1:], None])
               if not parse_frame(frame) and is_loop(frame)]
    return any(callee and not parse_frame(callee) and not POPPING.match(callee)
               and not ends.is_plt(callee) for callee in callees)


def judge(stack, ends, version):
    """Why @stack is not whole; None if it is."""
    users = stack.user_frames
    if len(users) == 1 and is_in_clone(users[0], ends):
        # A thread that begins.
        return None
    if not ends.is_complete(stack):
        return "not complete"
    if any(frame.startswith("[python") for frame in users):
        return "a function has no name"
    if lacks_python(users, ends):
        return "a loop has no Python frames"
    return split(users, version)[2]


def judge_complete(tap, run, name, stacks, times, ends, version, samples=RATES[ATTACHED_RATE],
                   native_percent=NATIVE_PERCENT):
    """One result: of @stacks enough are whole, with Python frames for every loop."""
    bad, bad_stacks, total, python = collections.Counter(), collections.Counter(), 0, 0
    for stack, count in stacks.items():
        if stack.is_without_memory:
            continue
        total += count
        if any(parse_frame(frame) for frame in stack.user_frames):
            python += count
        why = judge(stack, ends, version)
        if why:
            bad["%s: %s" % (why, str(stack)[-900:])] += count
            bad_stacks[stack] += count
    incomplete = sum(bad.values())
    text = "%s of %d are complete, %s have Python frames" % (
        share(total - incomplete, total), total, share(python, total))
    run.check(tap, "%s: the stacks are complete" % name, FLAGGED, times.count_events(bad_stacks), total,
              COMPLETE_FAULT, text, *[("%d times %s" % (count, why)).encode("ascii", "backslashreplace").decode()
                                      for why, count in bad.most_common(5)],
              is_good=total >= samples and 100 * incomplete <= (100 - COMPLETE_PERCENT) * total
              and 100 * python > (100 - native_percent) * total)
    tap.note("%s: %s" % (name, text))


def load_names():
    """The names of all loads."""
    return sorted(os.path.basename(path)[:-len(".py")] for path in glob.glob(pythons.LOADS + "/*.py"))


def test_loads(tap, run, python, names):
    """Those of the loads @names that @python can run, side by side."""
    loads, programs = [], []
    for name in names:
        load = Load(os.path.join(pythons.LOADS, name + ".py"))
        if has_needs(python.load_command, load.needs):
            loads.append(load)
        else:
            tap.skip("%s in %s" % (load.name, python), "no " + " ".join(load.needs))
    try:
        for load in loads:
            programs.append(start(*python.load(load.name)))
        sampled = {rate: sample(programs, SECONDS, rate) for rate in RATES}
    finally:
        for program in programs:
            program.__exit__()
    ends = StackEnds(python.directories, python.entries)
    for rate, (by_comm, result) in sampled.items():
        for load in loads:
            judge_complete(tap, run, "%s in %s at %d Hz" % (load.name, python, rate),
                           by_comm[load.comm], result.times, ends, python.version, RATES[rate],
                           load.native_percent)


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
        Judge(tap, "python_loads_test", SECONDS, "-with-lines", cpu_seconds=CPU_SECONDS).run([
            case_of(stripped, Target(os.path.join(pythons.TARGETS, name + ".py"), stripped.version))
            for name in STRIPPED_TARGETS])


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


def test_unknown_version(tap, run, python):
    """A version that is not known: whole native stacks, and one line that says so."""
    with tempfile.TemporaryDirectory() as directory:
        forged = changed_python(python, directory, "unknown version", forge_version)
        with start(*forged.target("calls")) as first, start(*forged.target("calls")) as second:
            by_comm, result = sample([first, second], SECONDS if CPU_SECONDS else 3, is_known=False)
    stacks = by_comm["py-calls"]
    ends = StackEnds(forged.directories)
    total = sum(stacks.values())
    bad = {stack: count for stack, count in stacks.items() if not ends.is_complete(stack)}
    python_frames = sum(count for stack, count in stacks.items()
                        if any(parse_frame(frame) for frame in stack.frames))
    run.check(tap, "%s has native stacks" % forged, NATIVE, result.times.count_events(bad), total, COMPLETE_FAULT,
              "%d have Python frames" % python_frames,
              is_good=total >= RATES[ATTACHED_RATE] and not python_frames)
    lines = [line for line in result.log.splitlines() if re.search(r"python", line, re.I)
             and not line.startswith("info: sampling")]
    tap.ok(len(lines) == 1 and "3.99" in lines[0] and "libpython" in lines[0],
           "%s has one line in the log" % forged, result.log)


# A program of its own with all of Python in it.
LINKED = r"""
#include <Python.h>
int main(int count, char **words)
{
	FILE *file = fopen(words[1], "r");

	Py_Initialize();
	return !file || PyRun_SimpleFile(file, words[1]);
}
"""

# Name, path in bookworm's root or on the machine, arguments; {} is a target.
EMBEDDING = [
    ("gdb", "/usr/bin/gdb", ["-nx", "-batch", "-x", "{}"]),
    ("vim", "/usr/bin/vim.nox", ["-u", "NONE", "-i", "NONE", "-n", "-es", "-c", "py3file {}"]),
    ("uwsgi", "/usr/bin/uwsgi-core", ["--plugins-dir", "/usr/lib/uwsgi/plugins", "--need-plugin",
                                       "python311", "--pyrun", "{}"]),
]


def test_embedding(tap, run):
    """Programs that have Python within: their own frames outermost, then Python's."""
    root = str(pythons.fetch_pythons.PYTHONS / "bookworm")
    path = os.path.join(pythons.TARGETS, "embedded.py")
    for name, program, arguments in EMBEDDING:
        if not os.path.exists(root + program):
            tap.skip("%s has Python's frames" % name, "no %s in %s" % (program, root))
            continue
        command = pythons.in_root(root, program, *[one.format(path) for one in arguments])
        with start(*command, stderr=subprocess.DEVNULL) as running:
            by_comm, result = sample([running], 4)
        judge_complete(tap, run, name, by_comm["py-embedded"], result.times,
                       StackEnds(pythons.directories_of(root, program)), (3, 11))
        found = collections.Counter()
        for stack, count in by_comm["py-embedded"].items():
            items = split(stack.user_frames, (3, 11))[0]
            names = [item.name for item in items if isinstance(item, PythonFrame)]
            found[names[-3:] == ["outer", "inner", "spin"]] += count
        tap.ok(found[True] > 0.9 * found.total(), "%s runs outer > inner > spin" % name, found)


def sysconfig_of(python):
    text = subprocess.run(python.command("-c", "import json, sysconfig; print(json.dumps(sysconfig.get_config_vars()))"),
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(text)


def archive_of(python):
    """The library that programs are linked with; it need not be there."""
    variables = sysconfig_of(python)
    return os.path.join(variables["LIBPL"], variables["LIBRARY"])


def link(python, directory):
    """The path of a stripped program with @python in it, which exports nothing of it."""
    variables = sysconfig_of(python)
    source, program = os.path.join(directory, "linked.c"), os.path.join(directory, "linked")
    with open(source, "w", encoding="utf-8") as file:
        file.write(LINKED)
    subprocess.run(["cc", "-s", "-no-pie", "-I" + variables["INCLUDEPY"], source, archive_of(python), "-o", program,
                    *variables["LIBS"].split(), *variables["SYSLIBS"].split()], check=True)
    return program


def test_linked(tap, python):
    """Who has hidden Python's symbols is told so, and has native frames."""
    name = "Python %d.%d that a program hides" % python.version
    with tempfile.TemporaryDirectory() as directory:
        with start(link(python, directory), os.path.join(pythons.TARGETS, "embedded.py"),
                   env={**os.environ, "PYTHONHOME": sysconfig_of(python)["prefix"]}) as running:
            by_comm, result = sample([running], SECONDS if CPU_SECONDS else 3, is_known=False)
            doctor = subprocess.run([AGENT, "-doctor", "-duration", "2s", "-pid", str(running.pid)], stdout=subprocess.PIPE,
                                    text=True, check=False).stdout
    said = "linked: CPython, of which it exports no symbols; "
    tap.ok(result.log.count(said + "its programs show native frames only") == 1, name + ": one line of the log says so", result.log)
    tap.ok(said + "native frames only" in doctor, name + ": -doctor says so", doctor)
    whole = [stack for stack in by_comm["py-embedded"] if not stack.errors and not any(map(parse_frame, stack.frames))]
    tap.ok(whole, name + ": there are native frames", result.log)


def test_others(tap, run, every, shared):
    """What is not about loads; of Pythons those that are @shared, and of @every those that programs are linked with."""
    for python in shared if IS_LONG else shared[-1:]:
        test_stripped(tap, python)
    for python in [python for python in shared if python.version >= (3, 11)][-1:]:
        test_unknown_version(tap, run, python)
    linked = [python for python in every if python.name.startswith("pyenv") and os.path.exists(archive_of(python))]
    if not linked:
        tap.skip("Python that a program hides", "there is no libpython.a")
    for python in linked if IS_LONG else linked[-1:]:
        test_linked(tap, python)
    if IS_LONG:
        test_embedding(tap, run)


def main():
    tap = Tap()
    need_root(tap, "loads in Python")
    every = pythons.at_hand(IS_LONG or len(sys.argv) > 1)
    shared = [python for python in every.values() if library_of(python) and python.root == "/"]
    wanted = [word for word in sys.argv[1:] if word in every]
    names = [word for word in sys.argv[1:] if word not in every and word != OTHERS] or load_names()
    run = bad_events.Run("python_loads_test")
    if sys.argv[1:] != [OTHERS]:
        chosen = wanted or (list(every) if IS_LONG else list(every)[-3:])
        is_slice = not IS_LONG and not sys.argv[1:]
        for number, name in enumerate(chosen):
            test_loads(tap, run, every[name], names[number::len(chosen)] if is_slice else names)
    if not sys.argv[1:] or OTHERS in sys.argv[1:]:
        test_others(tap, run, list(every.values()), shared)
    run.finish(tap)
    tap.finish()


if __name__ == "__main__":
    main()
