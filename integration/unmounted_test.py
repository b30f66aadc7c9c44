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
from sampled import run_for, stopped
from viewer_pages import Api, wait_for_page

RATE = 197
# Long enough for names to be made.
CPU_SECONDS = 2
# Functions of the target.
FUNCTIONS = ("main", "outer", "middle")
COMM = "moved_calls"
OPTIONS = ("-samples-per-second", RATE, "-comm", COMM)


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


def has_names(stacks):
    """Whether nearly all of @stacks, texts with their counts, have names only, and most have the functions of the target.

    It spends up to a tenth of its time in outer() itself, so not every stack has all of them.
    """
    total = sum(stacks.values())
    named = sum(count for stack, count in stacks.items() if "main" in str(stack) and "+0x" not in str(stack))
    whole = sum(count for stack, count in stacks.items() if all(name in str(stack) for name in FUNCTIONS))
    return named > 0.9 * total > 0 and whole > 0.5 * total


def run_program(path, agents, is_deleted):
    """Runs the program at @path to its end, sampled by all @agents."""
    with Program(path) as program, stopped([program.pid]):
        if is_deleted:
            os.unlink(path)
        for agent in agents:
            agent.wait_started()
        run_for([program.pid], CPU_SECONDS)


def check(tap, mount, is_deleted):
    what = "a program that was deleted" if is_deleted else "a program"
    path = os.path.join(mount, COMM)
    shutil.copy(TARGETS["calls"].path, path)
    with Collector() as collector, Agent(*OPTIONS, "-viewer", "127.0.0.1:0", outputs=[]) as page, \
            Agent(*OPTIONS) as output, \
            Agent(*OPTIONS, "-collection-agent", collector.address, "-disable-tls", "-symbolize",
                  "full", outputs=[]) as sender:
        run_program(path, (page, output, sender), is_deleted)
        seconds = unmount(mount)
        tap.ok(seconds is not None, what + ": its file system can be unmounted")
        tap.note("after %s s" % seconds)
        shown = Api(wait_for_page(page)).stacks(comm=COMM)
        tap.ok(has_names(shown), what + ": its functions have names on the page", shown.most_common(5))
        result = output.stop()
        tap.ok(result.status == 0 and has_names(result.stacks), what + ": its functions have names in outputs",
               result.stacks.most_common(5), result.log)
        sent = sender.stop()
        received = collector.stop()
        tap.ok(sent.status == 0 and has_names(received.stacks),
               what + ": its functions have names at the collector", received.stacks.most_common(5), sent.log)


def main():
    tap = Tap()
    need_root(tap, "file systems to be unmounted")
    build_targets.build(["calls"])
    for is_deleted in (False, True):
        with tempfile.TemporaryDirectory(prefix="allframes-unmounted-") as directory, \
                mounted(os.path.join(directory, "mount")) as mount:
            check(tap, mount, is_deleted)
    tap.finish()


if __name__ == "__main__":
    main()
