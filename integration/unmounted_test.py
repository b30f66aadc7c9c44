#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file system from which programs ran can be unmounted soon after the last of them has ended, whatever the agent
does with its samples; their functions have names all the same, also when their files are gone by then.
"""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import HANG_SECONDS, Agent, Program, Tap, need_root
from otlp_collector import Collector
from sampled import paced, stopped, wait_cpu
from viewer_pages import Api, wait_for_page

RATE = 997
# CPU time of each program; they are paced, so that names are made meanwhile.
CPU_SECONDS = 0.4
# Functions of the target.
FUNCTIONS = ("main", "outer", "middle")
# Each on a file system of its own.
PROGRAMS = {"moved_calls": "a program", "deleted_calls": "a program that was deleted"}
OPTIONS = ("-samples-per-second", RATE, "-comm", ",".join(PROGRAMS))


@contextlib.contextmanager
def mounted(path):
    """A file system at @path that is gone in the end, if need be by force."""
    os.mkdir(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", path], check=True)
    try:
        yield path
    finally:
        if os.path.ismount(path):
            subprocess.run(["umount", "--lazy", path], check=True)


def unmount(path):
    """Seconds until @path could be unmounted; None if it could not."""
    start = time.monotonic()
    while time.monotonic() < start + HANG_SECONDS:
        if subprocess.run(["umount", path], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return time.monotonic() - start
        time.sleep(0.05)
    return None


def has_names(stacks, programs=1):
    """Whether nearly all of @stacks, texts with their counts, have names only, and most have the functions of the target.

    It spends up to a tenth of its time in outer() itself, so not every stack has all of them. @programs: that they are of.
    """
    total = sum(stacks.values())
    named = sum(count for stack, count in stacks.items() if "main" in str(stack) and "+0x" not in str(stack))
    whole = sum(count for stack, count in stacks.items() if all(name in str(stack) for name in FUNCTIONS))
    return total - named < 0.1 * total / programs and total - whole < 0.5 * total / programs


def run_programs(mounts, agents):
    """Runs the programs to their end, sampled by all @agents."""
    paths = {comm: shutil.copy(TARGETS["calls"].path, os.path.join(mount, comm)) for comm, mount in mounts.items()}
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(Program(path)).pid for path in paths.values()]
        with stopped(pids):
            os.unlink(paths["deleted_calls"])
            for agent in agents:
                agent.wait_started()
        with paced(pids):
            wait_cpu(pids, CPU_SECONDS)


def check(tap, mounts):
    with Collector() as collector, Agent(*OPTIONS, "-viewer", "127.0.0.1:0", outputs=[]) as page, \
            Agent(*OPTIONS) as output, \
            Agent(*OPTIONS, "-collection-agent", collector.address, "-disable-tls", "-symbolize",
                  "full", outputs=[]) as sender:
        run_programs(mounts, (page, output, sender))
        for comm, what in PROGRAMS.items():
            seconds = unmount(mounts[comm])
            tap.ok(seconds is not None, what + ": its file system can be unmounted")
            tap.note("after %s s" % seconds)
        api = Api(wait_for_page(page))
        result = output.stop()
        for comm, what in PROGRAMS.items():
            shown = api.stacks(comm=comm)
            tap.ok(has_names(shown), what + ": its functions have names on the page", shown.most_common(5))
            stacks = {stack: count for stack, count in result.stacks.items() if stack.comm == comm}
            tap.ok(result.status == 0 and has_names(stacks), what + ": its functions have names in outputs",
                   *list(stacks.items())[:5], result.log)
        sent = sender.stop()
        received = collector.stop()
        tap.ok(sent.status == 0 and has_names(received.stacks, len(PROGRAMS)),
               "their functions have names at the collector", received.stacks.most_common(5), sent.log)


def main():
    tap = Tap()
    need_root(tap, "file systems to be unmounted")
    build_targets.build(["calls"])
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="allframes-unmounted-"))
        check(tap, {comm: stack.enter_context(mounted(os.path.join(directory, comm))) for comm in PROGRAMS})
    tap.finish()


if __name__ == "__main__":
    main()
