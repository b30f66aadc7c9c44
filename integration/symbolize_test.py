#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Native frames have function, inlined callers, file and line, as the source has them: in every local
output and, with -symbolize full, at the collector; also of a deleted file, of a process that is gone, and
of a stripped program in a root of its own, whose debug file is found there by build id. File and address are
sent whatever -symbolize says. A second run finds all in the disk cache.
"""
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from go_names_test import Request
from harness import (HANG_SECONDS, OUTPUT, ROOT, STOP_SECONDS, Agent, Program, Tap, die_with_parent,
                     need_root)
from otlp_collector import Collector
from pprof_reader import Profile
from sampled import paced, run_for, wait_cpu

SOURCES = os.path.join(ROOT, "integration", "targets")
# Of each program, once its names are there.
CPU_SECONDS = 0.1
RATE = 997
WHOLE_CHAIN_MIN = 0.7


class Source:
    """What is allowed at the leaf of a program: functions, from `outer` on, with files and lines."""

    def __init__(self, name, outer, namespace):
        self.path = os.path.join(SOURCES, name)
        with open(self.path, encoding="ascii") as file:
            lines = file.read().split("\n")
        marks = {match[1]: number for number, line in enumerate(lines, 1)
                 if (match := re.search("// line of (.*)$", line))}
        path = re.escape(self.path)

        def frame(name, *numbers):
            return r"%s \(%s:(?:%s)\)" % (name, path, "|".join(map(str, numbers)))

        # The head of a loop belongs to it as well.
        outer = frame(outer, marks["outer"])
        middle = frame(r"(?:%s)?middle(?:\([^)]*\))?" % namespace, marks["middle"]) + r"_\[i\]"
        inner = frame(r"(?:%s)?inner(?:\([^)]*\))?" % namespace,
                      marks["inner"] - 1, marks["inner"]) + r"_\[i\]"
        self.whole = re.compile(r"(?:.*;)?%s;%s;%s(?:;[^;]*_\[i\])*" % (outer, middle, inner))
        self.file = self.path
        self.lines = marks


CXX = Source("inlined.cpp", r"shop::Basket::outer\(unsigned int\)", "shop::")
RUST = Source("inlined.rs", r"inlined::outer", "inlined::")


def run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def build_cxx(path, *flags):
    run("g++", "-O2", "-g", *flags, "-o", path, CXX.path)
    return path


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    return re.search("Build ID: ([0-9a-f]+)", text)[1]


def make_root(directory):
    """A root with a stripped program, and its debug file where a distribution puts it."""
    program = build_cxx(os.path.join(directory, "inl_root"), "-static", "-Wl,--build-id=sha1")
    identity = build_id(program)
    debug = os.path.join(directory, "usr/lib/debug/.build-id", identity[:2])
    os.makedirs(debug)
    run("objcopy", "--only-keep-debug", program, os.path.join(debug, identity[2:] + ".debug"))
    run("strip", "--strip-all", program)
    return "/inl_root"


def make_linked(path):
    """A stripped program without a build id, which has the name and the sum of its debug file, beside it."""
    build_cxx(path, "-Wl,--build-id=none")
    run("objcopy", "--only-keep-debug", path, path + ".debug")
    run("objcopy", "--strip-all", "--add-gnu-debuglink=" + path + ".debug", path)
    return path


class Running:
    """The programs under profile, by comm, each with the source that it is of."""

    def __init__(self, directory):
        self.directory = directory
        self.sources = {}
        self.programs = []

    def start(self, name, source, *command, **more):
        """Starts a program, which is stopped until an agent samples it."""
        self.sources[name] = source
        self.programs.append(Program(*command, **more))
        # Past what it does to say that it is ready.
        wait_cpu([self.programs[-1].pid], 0.02)
        self.programs[-1].process.send_signal(signal.SIGSTOP)

    def start_all(self):
        path = os.path.join(self.directory, "inl_cxx")
        self.start("inl_cxx", CXX, build_cxx(path))
        for name in ("inl_deleted", "inl_gone"):
            shutil.copy(path, os.path.join(self.directory, name))
        deleted = os.path.join(self.directory, "inl_deleted")
        self.start("inl_deleted", CXX, deleted)
        os.unlink(deleted)
        self.start("inl_linked", CXX, make_linked(os.path.join(self.directory, "inl_linked")))
        root = os.path.join(self.directory, "root")
        os.mkdir(root)
        program = make_root(root)

        def enter_root():
            die_with_parent()
            os.chroot(root)
            os.chdir("/")

        self.start("inl_root", CXX, program, preexec_fn=enter_root)
        if shutil.which("rustc"):
            rust = os.path.join(self.directory, "inl_rust")
            run("rustc", "-C", "opt-level=2", "-g", "--edition", "2021", "-o", rust, RUST.path)
            self.start("inl_rust", RUST, rust)

    def start_gone(self):
        self.start("inl_gone", CXX, os.path.join(self.directory, "inl_gone"))

    def end_gone(self):
        self.programs.pop().__exit__()

    @property
    def pids(self):
        return [program.pid for program in self.programs]

    @property
    def selection(self):
        """Options of the agent."""
        return ["-pid", ",".join(map(str, self.pids))]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.__exit__()


def judge_folded(tap, stacks, sources):
    for comm, source in sources.items():
        total = whole = 0
        others = collections.Counter()
        for stack, count in stacks.items():
            if stack.comm != comm:
                continue
            text = ";".join(stack.user_frames)
            total += count
            if source.whole.fullmatch(text):
                whole += count
            else:
                others[text[-300:]] += count
        tap.ok(total > 20 and whole > WHOLE_CHAIN_MIN * total,
               "folded: %s has the inlined functions with their lines" % comm,
               "%d of %d" % (whole, total), others.most_common(5))
        if comm == "inl_cxx":
            main = r"main \(%s:%d\)" % (re.escape(source.file), source.lines["main"])
            tap.ok(any(re.search(";" + main + ";", str(stack)) for stack in stacks),
                   "folded: main has the line of its call")


IN_EACH_OTHER = [re.compile(r"(\S*::)?%s(\(.*\))?" % name) for name in ("outer", "middle", "inner")]


def chain_lines(sample):
    """Files and lines of outer, middle and inner in each other; None if they are not there."""
    for i in range(len(sample.frames) - 2):
        if all(name.fullmatch(frame) for name, frame in zip(IN_EACH_OTHER, sample.frames[i:])):
            return sample.lines[i:i + 3]
    return None


def judge_profile(tap, path, sources):
    """pprof's functions stand in each other, with their lines."""
    found, right, others = collections.Counter(), collections.Counter(), collections.Counter()
    for sample in Profile(path).samples:
        comm, chain = sample.labels["comm"], chain_lines(sample)
        if not chain or comm not in sources:
            continue
        source = sources[comm]
        found[comm] += sample.values[0]
        wanted = [(source.lines["outer"],), (source.lines["middle"],),
                  (source.lines["inner"] - 1, source.lines["inner"])]
        if all(file == source.file and line in lines for (file, line, _), lines in zip(chain, wanted)):
            right[comm] += sample.values[0]
        else:
            others[chain] += sample.values[0]
    for comm in sources:
        tap.ok(found[comm] > 20, "pprof: %s has the inlined functions" % comm, found)
        tap.ok(right[comm] > WHOLE_CHAIN_MIN * found[comm], "pprof: %s has their files and lines" % comm,
               "%d of %d" % (right[comm], found[comm]), others.most_common(5))


def is_whole(location, source):
    """Whether a Location of OTLP has the whole chain: innermost first."""
    wanted = [("inner", (source.lines["inner"] - 1, source.lines["inner"])),
              ("middle", (source.lines["middle"],)), ("outer", (source.lines["outer"],))]
    lines = location.lines[-3:]
    return (len(lines) == 3 and location.mapping and location.type == "native"
            and all(re.search(r"(^|::)%s\b" % name, function) and file == source.file
                    and line in numbers
                    for (function, file, line), (name, numbers) in zip(lines, wanted)))


def compiled_sources():
    return (CXX, RUST) if shutil.which("rustc") else (CXX,)


def count_whole(leaves, source):
    return sum(count for location, count in leaves.items() if is_whole(location, source))


def judge_leaves(tap, leaves, where):
    total = sum(leaves.values())
    for source in compiled_sources():
        whole = count_whole(leaves, source)
        tap.ok(whole > (0.3 if source is CXX else 0.05) * total > 10,
               "%s: functions, files and lines of %s" % (where, os.path.basename(source.file)),
               "%d of %d" % (whole, total), *leaves.most_common(8))


def leaves_of(files):
    leaves = collections.Counter()
    for path in files:
        leaves += Request(path).leaves
    return leaves


def has_names(leaves):
    return all(location.lines for location in leaves if location.type == "native")


def wait_for_names(collector, is_enough=has_names, sources=()):
    """Waits until @is_enough of what is sent last, and the whole chain of each of @sources has been sent;
    the number of requests up to then.
    """
    missing = list(sources)
    seen = 0
    end = time.monotonic() + HANG_SECONDS
    while True:
        # The last one may still be written.
        files = collector.saved_files()[:-1]
        for path in files[seen:]:
            leaves = Request(path).leaves
            missing = [source for source in missing if not count_whole(leaves, source)]
            seen += 1
            if leaves and is_enough(leaves) and not missing:
                return seen
        if time.monotonic() > end:
            return seen
        time.sleep(0.2)


def check_all(tap, running, directory):
    """All outputs and the collector at once, twice: the second time from the disk cache."""
    cache = os.path.join(directory, "cache")
    outputs = [os.path.join(directory, name) for name in ("a.folded", "a.pb.gz", "a.otlp")]
    with Collector() as collector, \
            Agent("-collection-agent", collector.address, "-disable-tls", "-samples-per-second",
                  RATE, "-reporter-interval", "500ms", "-symbolize", "full", "-with-lines",
                  "-cache-dir", cache, "-log-level", "debug", *running.selection,
                  outputs=outputs) as agent:
        agent.folded_path = outputs[0]
        agent.wait_started()
        run_for(running.pids, CPU_SECONDS)
        running.end_gone()
        with paced(running.pids):
            before = wait_for_names(collector, sources=compiled_sources())
        run_for(running.pids, CPU_SECONDS)
        result = agent.stop()
        tap.ok(result.stop_seconds < STOP_SECONDS, "the stop takes less than %d s" % STOP_SECONDS,
               result.stop_seconds)
        received = collector.stop()
        if not tap.ok(result.status == 0, "the agent ends well", result.log[-3000:]):
            return
        judge_folded(tap, result.stacks, running.sources)
        judge_profile(tap, outputs[1], running.sources)
        judge_leaves(tap, Request(outputs[2]).leaves, ".otlp")
        judge_leaves(tap, leaves_of(collector.saved_files()[before:]), "sent")
        tap.ok(received.status == 0, "no rule is broken", received.broken(), received.log)
        check_ids(tap, received)
        made = result.metrics["symbol_caches_made"]
        tap.ok(made >= 4 and not result.metrics["symbol_caches_failed"], "symbol caches were made",
               result.metrics)
    with Collector() as collector, \
            Agent("-collection-agent", collector.address, "-disable-tls", "-samples-per-second", RATE,
                  "-reporter-interval", "500ms", "-symbolize", "full", "-with-lines", "-cache-dir", cache,
                  "-log-level", "debug", *running.selection, outputs=outputs[:1]) as agent:
        agent.folded_path = outputs[0]
        agent.wait_started()
        with paced(running.pids):
            wait_for_names(collector, sources=compiled_sources())
        run_for(running.pids, CPU_SECONDS)
        result = agent.stop()
        del running.sources["inl_gone"]
        judge_folded(tap, result.stacks, running.sources)
        tap.ok(result.metrics["symbol_caches_cached"] >= 4, "the second run finds them in the cache",
               result.metrics)


def check_ids(tap, received):
    ids = received.values("mapping", "process.executable.build_id.htlhash")
    tap.ok(ids, "file ids are sent", ids)


def check_first(tap, leaves):
    """A stack with a name and the same without are two to a collector: none goes before its names are there."""
    nameless = {location: count for location, count in leaves.items()
                if location.type == "native" and location.mapping and not location.lines}
    tap.ok(not nameless, "-symbolize symtab: no native leaf goes without a name, from the first request on",
           *list(nameless.items())[:8])


def check_less(tap, running, how):
    """-symbolize none and symtab."""
    with Collector() as collector, \
            Agent("-collection-agent", collector.address, "-disable-tls", "-samples-per-second",
                  RATE, "-reporter-interval", "500ms", "-symbolize", how,
                  "-pid", running.pids[0], outputs=[]) as agent:
        agent.wait_started()
        with paced(running.pids[:1]):
            before = wait_for_names(collector, has_names if how == "symtab" else bool)
        run_for(running.pids[:1], CPU_SECONDS)
        result = agent.stop()
        received = collector.stop()
        leaves = leaves_of(collector.saved_files()[before:])
        if how == "symtab":
            check_first(tap, leaves_of(collector.saved_files()))
    native = {location: count for location, count in leaves.items() if location.type == "native"}
    tap.ok(result.status == 0 and sum(native.values()) > 20, "-symbolize %s: samples come" % how,
           result.log[-2000:], leaves)
    if how == "none":
        wrong = [location for location in native if location.lines or not location.mapping]
    else:
        wrong = [location for location in native if not location.mapping
                 or len(location.lines) != 1 or location.lines[0][1:] != ("", 0)]
        names = {location.lines[0][0] for location in native if location.lines}
        tap.ok("shop::Basket::outer(unsigned int)" in names, "-symbolize symtab: functions", names)
    tap.ok(not wrong, "-symbolize %s: not more than that" % how, wrong[:8])
    check_ids(tap, received)


def main():
    tap = Tap()
    need_root(tap, "names of native code")
    os.makedirs(OUTPUT, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="allframes-names-") as directory, \
            Running(directory) as running:
        running.start_all()
        running.start_gone()
        check_all(tap, running, directory)
        check_less(tap, running, "symtab")
        check_less(tap, running, "none")
    tap.finish()


if __name__ == "__main__":
    main()
