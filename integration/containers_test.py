#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose files are not where their paths say: other mount and pid namespaces, another root,
overlays, deleted and replaced files, programs in memory only; and processes that look odd in
/proc: leaders that have exited, children without exec.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
import chains
from build_targets import TARGETS
from harness import Agent, Program, Tap, need_root, run_agent

RATE = 997
SECONDS = 2
LEAST_SAMPLES = 200


def check(tap, name, source, stacks, comm, is_ended=False):
    """All of @stacks of @comm are in the chains of the target @source. @is_ended: it exited while it
    was sampled, so that a few samples show it without its memory.
    """
    target = TARGETS[source]
    allowed, symbols = chains.Chains(target.source), chains.Symbols(target.twin)
    wrong, unnamed, total, before_known = [], [], 0, 0
    for stack, count in stacks.items():
        if stack.comm != comm:
            continue
        if (allowed.forks and stack.is_before_known
                or (allowed.forks or is_ended) and stack.is_without_memory):
            before_known += count
            continue
        total += count
        unnamed += chains.judge_names(stack.frames, comm, symbols, bool(target.strip))
        if not allowed.allow(chains.name_frames(stack.frames, comm, symbols)):
            wrong.append("%d times %s" % (count, stack))
    tap.ok(total >= LEAST_SAMPLES and not wrong, name,
           "%d samples, %d from before the process was known" % (total, before_known), *wrong[:6],
           *(["seen: %s" % sorted({stack.comm for stack in stacks})] if not total else []))
    tap.ok(not unnamed, name + ": the agent has named all that has a symbol", sorted(set(unnamed)))


def profile(*selection):
    result = run_agent("-samples-per-second", RATE, "-duration", "%ds" % SECONDS, *selection)
    if result.status != 0:
        raise RuntimeError("the agent failed: " + result.log)
    return result.stacks


def make_root(directory, target):
    """A root directory with @target as /app/program and the libraries it needs."""
    os.makedirs(os.path.join(directory, "app"))
    shutil.copy(target.path, os.path.join(directory, "app", "program"))
    text = subprocess.run(["ldd", target.path], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    for word in text.split():
        if word.startswith("/"):
            there = directory + word
            os.makedirs(os.path.dirname(there), exist_ok=True)
            shutil.copy(word, there)


def check_namespaces(tap, directory):
    name = "another mount and pid namespace, another root, a path that the host has as well"
    # In a chroot "/" is no mount point, so its propagation cannot be changed; nothing is mounted.
    command = ["unshare", "--mount", "--propagation", "unchanged", "--pid", "--fork",
               "--kill-child", "chroot"]
    if not shutil.which("unshare"):
        tap.skip(name, "no unshare")
        return
    root = os.path.join(directory, "root")
    make_root(root, TARGETS["calls"])
    # The same path on the host is another program: its symbols would be wrong here.
    host_made = not os.path.exists("/app")
    if host_made:
        os.mkdir("/app")
        shutil.copy(TARGETS["alloca"].path, "/app/program")
    try:
        with Program(*command, root, "/app/program"):
            check(tap, name, "calls", profile("-comm", "program"), "program")
    finally:
        if host_made:
            shutil.rmtree("/app")


def check_private_mount(tap, directory):
    """The file lies on a file system that only its own mount namespace has."""
    name = "a file on a mount that the agent does not see"
    # What is mounted below a private mount stays in its namespace; "/" need not be a mount point.
    private = os.path.join(directory, "private")
    place = os.path.join(private, "mount")
    os.mkdir(private)
    subprocess.run(["mount", "-t", "tmpfs", "none", private], check=True)
    try:
        subprocess.run(["mount", "--make-private", private], check=True)
        os.mkdir(place)
        script = 'mount -t tmpfs none "$1" && cp "$2" "$1/program" && exec "$1/program"'
        with Program("unshare", "--mount", "--propagation", "unchanged", "sh", "-c", script, "sh",
                     place, TARGETS["calls"].path):
            check(tap, name, "calls", profile("-comm", "program"), "program")
    finally:
        subprocess.run(["umount", private], check=True)


def check_overlay(tap, directory):
    name = "a file on an overlay, whose device is not the one in /proc/PID/maps"
    parts = {part: os.path.join(directory, "overlay", part)
             for part in ("lower", "upper", "work", "merged")}
    for part in parts.values():
        os.makedirs(part)
    shutil.copy(TARGETS["calls"].path, os.path.join(parts["lower"], "program"))
    options = "lowerdir=%(lower)s,upperdir=%(upper)s,workdir=%(work)s" % parts
    mounted = None
    for extra in "", ",xino=off":
        mount = ["mount", "-t", "overlay", "-o", options + extra, "none", parts["merged"]]
        if subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            mounted = parts["merged"]
            break
    if not mounted:
        tap.skip(name, "cannot mount an overlay here")
        return
    try:
        with Program(os.path.join(mounted, "program")):
            check(tap, name, "calls", profile("-comm", "program"), "program")
    finally:
        # Another agent may hold the program open; then the mount goes when that ends.
        subprocess.run(["umount", "--lazy", mounted], check=True)


def check_deleted(tap, directory):
    path = os.path.join(directory, "deleted")
    shutil.copy(TARGETS["calls"].path, path)
    with Program(path) as program:
        os.unlink(path)
        check(tap, "a deleted file", "calls", profile("-pid", program.pid), "deleted")


def check_replaced(tap, directory):
    path = os.path.join(directory, "replaced")
    shutil.copy(TARGETS["calls"].path, path)
    with Program(path) as program:
        shutil.copy(TARGETS["alloca"].path, path + ".new")
        os.rename(path + ".new", path)
        check(tap, "a file replaced by another program", "calls", profile("-pid", program.pid),
              "replaced")


def check_funny_names(tap, directory):
    for name in "a b", "new\nline", "semi;colon", "x (deleted)", "käse":
        path = os.path.join(directory, name)
        shutil.copy(TARGETS["calls_stripped"].path, path)
        with Program(path) as program:
            stacks = profile("-pid", program.pid)
        total = sum(stacks.values())
        complete = sum(count for stack, count in stacks.items()
                       if not stack.errors and len(stack.user_frames) >= 4)
        tap.ok(total >= LEAST_SAMPLES and complete == total,
               "a file with a name that is hard to read: %s" % ascii(name),
               "%d of %d samples complete" % (complete, total),
               *[str(stack) for stack in list(stacks)[:3]])
        # What looks like the kernel's mark of a file that is gone is taken off.
        shown = name.replace("\n", " ").replace(";", ":").removesuffix(" (deleted)")
        check_starts(tap, ascii(name), shown, stacks)


def check_starts(tap, name, file_name, stacks):
    """Frames of a stripped program are where its functions start."""
    symbols = chains.Symbols(TARGETS["calls_stripped"].twin)
    found = {address for stack in stacks for address in chains.unnamed_addresses(stack.frames, file_name)}
    tap.ok(len(found) >= 4 and all(map(symbols.is_start, found)),
           "frames of a stripped file are where its functions start: " + name, sorted(map(hex, found)))


def check_memory_only(tap):
    """A program that was never in a file system: memfd_create and exec."""
    memory = os.memfd_create("in-memory", 0)
    with open(TARGETS["calls"].path, "rb") as file:
        os.write(memory, file.read())
    with Program("/proc/self/fd/%d" % memory, pass_fds=[memory]) as program:
        with open("/proc/%d/comm" % program.pid, encoding="utf-8") as file:
            comm = file.read().strip()
        check(tap, "a program in memory only (memfd)", "calls", profile("-pid", program.pid), comm)
    os.close(memory)


def check_exited_leader(tap):
    with Program(TARGETS["exited_leader"].path) as program:
        check(tap, "a process whose leader has exited", "exited_leader",
              profile("-pid", program.pid), "exited_leader")


def check_fork(tap):
    with Program(TARGETS["fork_child"].path):
        check(tap, "children without exec", "fork_child", profile("-comm", "fork_child"),
              "fork_child")


def check_exited_process(tap, directory):
    """Names are put on at the end, when the process and its file are gone."""
    path = os.path.join(directory, "gone")
    shutil.copy(TARGETS["calls"].path, path)
    with Program(path) as program:
        with Agent("-pid", program.pid, "-samples-per-second", RATE) as agent:
            agent.wait_started()
            time.sleep(SECONDS)
            program.process.kill()
            os.unlink(path)
            time.sleep(0.5)
            stacks = agent.stop().stacks
    check(tap, "a process and a file that are gone before the output is written", "calls", stacks,
          "gone", is_ended=True)


def main():
    tap = Tap()
    need_root(tap, "containers")
    build_targets.build(["calls", "calls_stripped", "alloca", "exited_leader", "fork_child"])
    with tempfile.TemporaryDirectory(prefix="allframes-files-") as directory:
        check_namespaces(tap, directory)
        check_private_mount(tap, directory)
        check_overlay(tap, directory)
        check_deleted(tap, directory)
        check_replaced(tap, directory)
        check_funny_names(tap, directory)
        check_memory_only(tap)
        check_exited_leader(tap)
        check_fork(tap)
        check_exited_process(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
