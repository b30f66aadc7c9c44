# SPDX-License-Identifier: Apache-2.0
"""What the parts of the bench share: building its programs, running them alone on a CPU, BPF
statistics, and the table.
"""
import contextlib
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.path.join(ROOT, "bench")
OUTPUT = os.path.join(ROOT, "build", "bench")

sys.path.insert(0, os.path.join(ROOT, "integration"))
import harness

C = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fno-stack-protector",
     "-fno-optimize-sibling-calls"]
WITHOUT, WITH = ["-fomit-frame-pointer"], ["-fno-omit-frame-pointer"]
OBJECTS = 5


def _run(*command):
    subprocess.run(command, check=True, cwd=SOURCES)


def path(name):
    return os.path.join(OUTPUT, name)


def build_all():
    """Builds everything; it takes a second or two."""
    os.makedirs(OUTPUT, exist_ok=True)
    for suffix, flags in ("", WITHOUT), ("_fp", WITH):
        _run(*C, *flags, "-o", path("depth" + suffix), "depth.c")
        for i in range(OBJECTS):
            _run(*C, *flags, "-shared", "-fPIC", "-DHOP=hop_%d" % i, "-o",
                 path("libhop%d%s.so" % (i, suffix)), "hop.c")
        _run(*C, *flags, "-o", path("hops" + suffix), "hops.c", "-L" + OUTPUT,
             "-Wl,-rpath,$ORIGIN", *["-lhop%d%s" % (i, suffix) for i in range(OBJECTS)])
    _run(*C, *WITHOUT, "-DDIFFERENT", "-o", path("depth_different"), "depth.c")
    for name in "paths", "churn", "map_files", "execs", "switches":
        _run(*C, *WITHOUT, "-o", path(name), name + ".c")
    messages = ["otlp_profiles", "otlp_common", "otlp_resource"]
    _run("gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-I..", "-I../build", "-I../build/proto", "-o",
         path("otlp_bytes"), "otlp_bytes.c", *["../build/proto/%s.pb-c.c" % name for name in messages],
         "-lprotobuf-c", "-lz")
    _run(*C, *WITHOUT, "-pthread", "-o", path("works"), "works.c")
    _run(*C, *WITHOUT, "-o", path("side_band"), "side_band.c")
    _run("gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-o", path("base_unwind"), "base_unwind.c",
         "-lbpf", "-lelf", "-lz")
    _run("clang", "-g", "-O2", "-target", "bpf", "-mcpu=v3",
         "-I/usr/include/%s-linux-gnu" % os.uname().machine, "-c", "base_unwind.bpf.c", "-o",
         path("base_unwind.bpf.o"))


def bench_cpu():
    """The CPU that the program under profile has to itself."""
    return harness.online_cpus()[-1]


def start_alone(command):
    """A program of the bench on its own CPU: command is its name and its arguments. Not at a
    raised priority: that would keep the kernel's own threads, and so the agent's start, waiting.
    """
    return harness.Program(path(command[0]), *command[1:],
                           preexec_fn=lambda: os.sched_setaffinity(0, [bench_cpu()]))


@contextlib.contextmanager
def undisturbed(program):
    """Nothing else runs on the program's CPU. For the time of a measurement only: loading and
    stopping the agent wait for the kernel's own threads on that CPU.
    """
    os.sched_setscheduler(program.pid, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(program.pid, os.SCHED_OTHER, os.sched_param(0))


@contextlib.contextmanager
def quiet():
    """BPF statistics on, and everything that is started from here on away from the bench's CPU."""
    setting = "/proc/sys/kernel/bpf_stats_enabled"
    with open(setting, encoding="ascii") as file:
        old = file.read()
    others = [cpu for cpu in harness.online_cpus() if cpu != bench_cpu()]
    if others:
        os.sched_setaffinity(0, others)
    with open(setting, "w", encoding="ascii") as file:
        file.write("1")
    try:
        yield
    finally:
        with open(setting, "w", encoding="ascii") as file:
            file.write(old)


class Table:
    """Lines of: figure, value, base, ratio or limit, and whether the target is met."""

    def __init__(self):
        self._rows = []

    def _add(self, name, value, target, is_met):
        row = (name, value, target, {True: "met", False: "MISSED", None: ""}[is_met])
        self._rows.append(row)
        print("%s: %s" % (name, value), file=sys.stderr)

    def ratio(self, name, value, base, target, unit):
        self._add(name, "%.2fx (%.1f %s, base %.1f %s)" % (value / base, value, unit, base, unit),
                  "%.1fx" % target, value / base <= target)

    def limit(self, name, value, target, unit):
        self._add(name, "%.2f %s" % (value, unit), "%g %s" % (target, unit), value <= target)

    def at_least(self, name, value, target, unit):
        self._add(name, "%.0f %s" % (value, unit), "%g %s" % (target, unit), value >= target)

    def note(self, name, value):
        self._add(name, value, "", None)

    def print(self):
        heads = ("figure", "this run", "target", "")
        widths = [max(len(row[i]) for row in self._rows + [heads]) for i in range(3)]
        for row in [heads, tuple("-" * width for width in widths) + ("",)] + self._rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths)]
            print(" | ".join(cells + [row[3]]).rstrip())
