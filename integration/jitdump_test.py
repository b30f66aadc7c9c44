#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names, files and lines of code made at run time, from the jitdump files of real runtimes.

V8 and CPython keep up to 2 MB of records before they write them: the programs here make enough code
for the records of what they then spend their time in to be in the file.
"""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Program, Tap, need_root
from pprof_reader import Profile
from sampled import sample_run

RATE = 499
CPU_SECONDS = 1
LEAST_SAMPLES = 100
# The inner loop has a line of its own, in which nearly all time goes.
NODE_SCRIPT = """
function hotInner(x) {
  let s = 0;
  for (let i = 0; i < 20000; i++)
    s += Math.sqrt(i * x) % 7;
  return s;
}
function hotOuter(n) {
  let t = 0;
  for (let i = 0; i < n; i++) t += hotInner(i);
  return t;
}
let q = 0;
for (let i = 0; i < 300; i++) q += hotOuter(10);
for (let i = 0; i < 6000; i++) q += new Function("x", "return x * " + i)(i);
console.log("ready");
for (;;) q += hotOuter(100);
"""
PYTHON_SCRIPT = """
def hot_inner(n):
    total = 0
    for i in range(n):
        total += i
    return total
def hot_outer(n):
    return hot_inner(n)
hot_outer(1)
for number in range(12000):
    exec("def other():\\n    return %d\\nother()" % number)
print("ready", flush=True)
while True:
    hot_outer(10000)
"""


def folded(directory, pid, *options):
    """Lines of the folded stacks, with their counts, and the frames of the pprof file."""
    outputs = [os.path.join(directory, "out." + kind) for kind in ("folded", "pb.gz")]
    sample_run([pid], RATE, CPU_SECONDS, *options, outputs=outputs)
    with open(outputs[0], encoding="utf-8", errors="replace") as file:
        lines = [line.rsplit(" ", 1) for line in file.read().splitlines()]
    frames = str([sample.frames for sample in Profile(outputs[1]).samples])
    return {stack: int(count) for stack, count in lines}, frames


def check_node(tap):
    name = "functions of node with --perf-prof have their names, files and lines"
    if not shutil.which("node"):
        tap.skip(name, "no node on this machine")
        return
    # Of names of files with a longer path than 16 bytes the agent can make up for what V8 spoils.
    with tempfile.TemporaryDirectory(prefix="allframes-jitdump-") as directory:
        script = os.path.join(directory, "hot.js")
        with open(script, "w", encoding="ascii") as file:
            file.write(NODE_SCRIPT)
        with Program("node", "--perf-prof", "--interpreted-frames-native-stack", script,
                     cwd=directory) as program:
            # Else the agent knows V8's code by itself.
            stacks, frames = folded(directory, program.pid, "-with-lines", "-tracers", "native")
            has_map = os.path.exists("/tmp/perf-%d.map" % program.pid)
    named = sum(count for stack, count in stacks.items()
                if re.search(r";JS:\*hot(Inner|Outer) \S*/hot.js:\d+:\d+ "
                             r"\(\S*/hot.js:[3-6]\)_\[[j?]\]$", stack))
    tap.ok(not has_map and named >= LEAST_SAMPLES and "hot.js" in frames, name,
           "%d of %d samples" % (named, sum(stacks.values())), stacks)


def jitdump_python():
    """A Python that writes jitdump files, or None."""
    versions = os.path.expanduser("~/.pyenv/versions")
    for version in sorted(os.listdir(versions) if os.path.isdir(versions) else []):
        path = os.path.join(versions, version, "bin", "python3")
        match = re.match(r"3\.(\d+)", version)
        if not match or int(match[1]) < 13 or not os.path.exists(path):
            continue
        with subprocess.Popen([path, "-X", "perf_jit", "-c", "import sys; "
                               "sys.exit(not sys.is_stack_trampoline_active())"]) as process:
            process.wait()
        remove_dump(process.pid)
        if process.returncode == 0:
            return path
    return None


def remove_dump(pid):
    """Python's file, which it leaves behind."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink("/tmp/jit-%d.dump" % pid)


def check_python(tap):
    name = "calls of Python with -X perf_jit have their names"
    path = jitdump_python()
    if not path:
        tap.skip(name, "no Python here that writes jitdump files")
        return
    with tempfile.TemporaryDirectory() as directory:
        script = os.path.join(directory, "hot.py")
        with open(script, "w", encoding="ascii") as file:
            file.write(PYTHON_SCRIPT)
        with Program(path, "-X", "perf_jit", script) as program:
            stacks, _ = folded(directory, program.pid)
        remove_dump(program.pid)
    named = sum(count for stack, count in stacks.items()
                if re.search(r";py::hot_inner:\S*/hot.py_\[[j?]\];", stack))
    tap.ok(named >= LEAST_SAMPLES, name, "%d of %d samples" % (named, sum(stacks.values())), stacks)


def main():
    tap = Tap()
    need_root(tap, "jitdump files")
    check_node(tap)
    check_python(tap)
    tap.finish()


if __name__ == "__main__":
    main()
