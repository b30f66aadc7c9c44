#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the agent sends over OTLP, seen by a collector that trusts nothing: no rule is broken; stacks
and samples are those of -output x.folded and -output x.otlp of the same run; attributes stand where
the grouping wants them; headers, tags and CPUs come along.
"""
import contextlib
import os
import re
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import Agent, Program, Tap, need_root
from otlp_collector import Collector, read_requests, without_comm
from sampled import paced, sample_run, signal_all, wait_cpu

PROGRAMS = ["calls", "threads", "syscalls", "exceptions"]
RATE = 499


class Run:
    """One run of the agent over the processes @pids, which are paced, against a collector that answers well, until
    each had @seconds of CPU time; they are stopped afterwards. With an environment, that names the collector too.
    """

    def __init__(self, pids, *options, seconds=0.1, environment=None):
        with Collector() as collector, tempfile.TemporaryDirectory() as directory:
            otlp = os.path.join(directory, "all.otlp")
            folded = os.path.join(directory, "all.folded")
            where = ["-collection-agent", collector.address, "-disable-tls"]
            if environment:
                where = []
                environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + collector.address,
                               **environment}
            signal_all(pids, signal.SIGSTOP)
            with Agent(
                    *where, "-samples-per-second", RATE, "-reporter-interval", "1s", "-reporter-jitter", "0",
                    "-pid", ",".join(map(str, pids)), "-log-level", "debug", *options,
                    outputs=[folded, otlp], environment=environment) as agent:
                agent.folded_path = folded
                agent.wait_started()
                start = time.monotonic()
                with paced(pids):
                    wait_cpu(pids, seconds)
                signal_all(pids, signal.SIGSTOP)
                self.seconds = time.monotonic() - start
                self.result = agent.stop()
                self.stacks = self.result.stacks if os.path.exists(folded) else None
            self.received = collector.stop()
            self.is_whole = self.stacks is not None and os.path.exists(otlp)
            if self.is_whole:
                self.local = read_requests([otlp])
                self.named = read_requests(collector.saved_files(), "-names", otlp)


def differences(left, right):
    """Text for people: some stacks that two Counters do not have equally often."""
    return "\n".join("%d, not %d: %s" % (left[stack], right[stack], stack)
                     for stack in sorted(set(left) | set(right))
                     if left[stack] != right[stack])[:3000]


def check_run(tap, run, name):
    """What holds for every run."""
    if not tap.ok(run.result.status == 0 and run.is_whole, "the agent runs and ends well: " + name,
                  run.result.log[-3000:]):
        return False
    tap.ok(not run.received.broken_rules and run.received.status == 0,
           "no rule is broken: " + name, run.received.broken(), run.received.log)
    tap.ok(not run.local.broken_rules, "nor by -output x.otlp: " + name, run.local.broken())
    folded = without_comm(run.stacks)
    tap.ok(run.named.stacks == folded, "stacks and samples are those of the folded file: " + name,
           differences(run.named.stacks, folded))
    tap.ok(run.local.stacks == folded, "and so are those of -output x.otlp: " + name,
           differences(run.local.stacks, folded))
    total = sum(folded.values())
    metrics = run.result.metrics
    tap.ok(total > 0 and run.received.samples_taken == run.received.samples_all == total
           == metrics["otlp_samples_sent"] and not metrics["otlp_samples_dropped"],
           "every sample comes once: " + name, total, run.received.samples_all, dict(metrics))
    return True


def check_stacks(tap, pids):
    run = Run(pids, seconds=0.5)
    if not check_run(tap, run, "by container, as it is by default"):
        return
    tap.ok(run.seconds - 2 <= run.received.requests <= run.seconds + 2, "a request for each interval",
           run.received.requests, run.seconds)
    tap.ok(run.received.samples_all > 200, "of all samples", run.received.samples_all)
    unnamed = [stack for stack in run.received.stacks if "+0x" in stack]
    tap.ok(len(unnamed) > 0.5 * len(run.received.stacks),
           "native frames go without names, for the backend to find",
           "%d of %d stacks" % (len(unnamed), len(run.received.stacks)))
    saved = sum(entry["wire_bytes"] for entry in run.received.request_log)
    tap.note("%d samples, %d stacks, %d bytes by gzip, %d raw" %
             (run.received.samples_all, len(run.received.stacks), saved, run.received.raw_bytes))
    last = run.result.last_line
    tap.ok(re.search(r"sent %d samples in %d requests$" %
                     (run.received.samples_all, run.received.requests), last),
           "the summary says what was sent", last)


def check_owners(tap, run, pid, owners):
    """@owners: key -> what must have it, and nothing else."""
    for key, owner in owners.items():
        found = {one for one in ("resource", "sample", "scope", "profile")
                 if run.received.values(one, key)}
        tap.ok(found == ({owner} if owner else set()),
               "%s stands %s" % (key, "on the " + owner if owner else "nowhere"), found)
    owner = owners["process.pid"]
    tap.ok(str(pid) in run.received.values(owner, "process.pid"), "the program's pid is told",
           run.received.values(owner, "process.pid"))


COMMON = {"service.name": "resource", "host.name": "resource", "host.id": "resource",
          "host.arch": "resource", "os.type": "resource", "thread.name": "sample",
          "thread.id": "sample"}


def check_groupings(tap):
    by_sample = {"process.pid": "sample", "process.executable.name": "sample",
                 "process.executable.path": "sample", "process.owner": "sample",
                 "process.parent_pid": "sample", "process.command_line": None, "cpu.logical_number": None}
    by_resource = {"process.pid": "resource", "process.executable.name": "resource",
                   "process.executable.path": "resource", "process.owner": "resource",
                   "process.parent_pid": "resource", "process.command_line": "resource",
                   "cpu.logical_number": "sample"}
    with tempfile.NamedTemporaryFile("w", suffix=".header") as file:
        file.write("from a file\n")
        file.flush()
        with Program(TARGETS["threads"].path) as program, Program(TARGETS["calls"].path) as other:
            pids = [program.pid, other.pid]
            run = Run(pids, "-resource-grouping", "process", "-with-cpu", "-with-command-lines", "-tags",
                      "rack:b12,host.name:another", "-header", "x-scope=team one", "-header",
                      "authorization=@" + file.name)
            if check_run(tap, run, "by process, with CPUs"):
                check_owners(tap, run, program.pid, {**COMMON, **by_resource, "rack": "resource"})
            tap.ok(run.received.values("resource", "process.command_line") == {TARGETS["threads"].path,
                                                                               TARGETS["calls"].path}
                   and run.received.values("resource", "process.parent_pid") == {str(os.getpid())}
                   and run.received.values("resource", "process.owner") == {"root"},
                   "command lines, parents and users are those of the programs",
                   run.received.values("resource", "process.command_line"))
            tap.ok(run.received.values("resource", "host.name") == {"another"},
                   "a tag replaces what the agent would say",
                   run.received.values("resource", "host.name"))
            tap.ok(run.received.values("header", "x-scope") == {"team one"}
                   and run.received.values("header", "authorization") == {"from a file"},
                   "headers come along, from the command line and from a file")
            cpus = {int(cpu) for cpu in run.received.values("sample", "cpu.logical_number")}
            tap.ok(cpus and cpus <= set(range(os.cpu_count())), "the CPUs are those there are",
                   cpus)
            run = Run(pids, "-resource-grouping", "service",
                      environment={"OTEL_EXPORTER_OTLP_HEADERS": "x-from=environment"})
            if check_run(tap, run, "by service"):
                check_owners(tap, run, program.pid, {**COMMON, **by_sample})
            tap.ok(run.received.values("header", "x-from") == {"environment"},
                   "headers come from OTEL_EXPORTER_OTLP_HEADERS")
            tap.ok("unknown_service:threads" in run.received.values("resource", "service.name"),
                   "a service without a name is called by its program",
                   run.received.values("resource", "service.name"))


def check_service_name(tap):
    environment = {**os.environ, "OTEL_SERVICE_NAME": "the shop \u20ac"}
    with Program(TARGETS["calls"].path, env=environment) as program:
        run = Run([program.pid])
        if not check_run(tap, run, "one process alone"):
            return
        tap.ok(run.received.values("resource", "service.name") == {"the shop \u20ac"},
               "the service's name is the process's own",
               run.received.values("resource", "service.name"))
        tap.ok(run.received.values("sample", "process.pid") == {str(program.pid)},
               "and nobody else is in it")


def make_container(container):
    """A control group as Docker names that of a container; None where that cannot be."""
    for root in "/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/freezer":
        path = os.path.join(root, "docker", container)
        if os.path.exists(os.path.join(root, "cgroup.procs")):
            try:
                os.makedirs(path)
                return path
            except OSError:
                continue
    return None


def remove_container(path):
    # The kernel lets a group go a moment after its last process.
    for _ in range(100):
        try:
            os.rmdir(path)
            break
        except OSError:
            time.sleep(0.02)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(path))


def check_containers(tap):
    container = "0123456789abcdef" * 4
    path = make_container(container)
    if not path:
        tap.skip("containers", "no cgroup to write to")
        return
    try:
        with Program(TARGETS["calls"].path) as program:
            with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(str(program.pid))
            for grouping, owner in ("container", "resource"), ("service", "sample"):
                run = Run([program.pid], "-resource-grouping", grouping)
                tap.ok(not run.received.broken_rules
                       and container in run.received.values(owner, "container.id")
                       and not run.received.values("sample" if owner == "resource" else "resource",
                                                   "container.id"),
                       "by %s: container.id stands on the %s" % (grouping, owner),
                       run.received.values(owner, "container.id"), run.received.broken())
    finally:
        remove_container(path)


def check_compression(tap):
    """And that the rule which asks for it can be broken by an agent."""
    with Collector() as collector, Program(TARGETS["calls"].path) as program:
        result = sample_run([program.pid], RATE, 0.1, "-collection-agent", collector.address, "-disable-tls",
                            environment={"OTEL_EXPORTER_OTLP_COMPRESSION": "none"})
        received = collector.stop()
    tap.ok(result.status == 0 and set(received.broken_rules) == {"2"}
           and received.wire_bytes == received.raw_bytes,
           "with OTEL_EXPORTER_OTLP_COMPRESSION=none all but the compression is right",
           received.broken(), result.log[-1000:])


def main():
    tap = Tap()
    need_root(tap, "OTLP")
    if set(build_targets.build(PROGRAMS)) != set(PROGRAMS):
        tap.skip("OTLP", "a compiler is missing")
        tap.finish()
    programs = [Program(TARGETS[name].path) for name in PROGRAMS if name != "threads"]
    try:
        pids = [program.pid for program in programs]
        check_stacks(tap, pids)
        with paced(pids):
            # Beside them.
            check_service_name(tap)
    finally:
        for program in programs:
            program.__exit__()
    check_groupings(tap)
    check_containers(tap)
    check_compression(tap)
    tap.finish()


if __name__ == "__main__":
    main()
