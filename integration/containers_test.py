#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose files are not where their paths say: other mount and pid namespaces, another root,
overlays, deleted and replaced files, programs in memory only; and processes that look odd in
/proc: leaders that have exited, children without exec.
"""
import collections
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
import chains
from build_targets import TARGETS
from harness import Agent, Program, Tap, children_of, need_root, run_agent
from sampled import WAIT_SECONDS, sample, wait_cpu

RATE = 997
# CPU time that a target has while it is sampled.
CPU_SECONDS = 0.3
LEAST_SAMPLES = 200
ROUNDS_MAX = 8
FUNNY_NAMES = "a b", "new\nline", "semi;colon", "x (deleted)", "käse"


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


class Running(contextlib.ExitStack):
    """Programs that one agent samples together, until the context is left; @checks are functions that
    judge its stacks, in the order in which the programs were started.
    """

    def __init__(self, tap, directory):
        super().__init__()
        self.tap = tap
        self.directory = directory
        self.pids = []
        self.checks = []

    def start(self, *command, **more):
        """Starts a program of which no other one has started before it was ready; it is stopped until it is sampled."""
        program = self.enter_context(Program(*command, **more))
        self.pids.append(innermost_child(program.pid))
        # Past what it does to say that it is ready.
        wait_cpu(self.pids[-1:], 0.02)
        os.kill(self.pids[-1], signal.SIGSTOP)
        return program

    def expect(self, name, source, comm):
        self.checks.append(lambda stacks: check(self.tap, name, source, stacks, comm))

    def judge(self):
        stacks = sample(self.pids, RATE, CPU_SECONDS)
        for check_stacks in self.checks:
            check_stacks(stacks)


def innermost_child(pid):
    """The process that is at work: @pid, or what was forked by it, as unshare does."""
    children = children_of(pid)
    return innermost_child(children[0]) if children else pid


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


def start_namespaces(running):
    name = "another mount and pid namespace, another root, a path that the host has as well"
    # In a chroot "/" is no mount point, so its propagation cannot be changed; nothing is mounted.
    command = ["unshare", "--mount", "--propagation", "unchanged", "--pid", "--fork",
               "--kill-child", "chroot"]
    if not shutil.which("unshare"):
        running.tap.skip(name, "no unshare")
        return
    root = os.path.join(running.directory, "root")
    make_root(root, TARGETS["calls"])
    # The same path on the host is another program: its symbols would be wrong here.
    host_path = "/app/program"
    if os.path.exists("/app"):
        raise RuntimeError("this machine has an /app, where the test puts a program")
    os.mkdir("/app")
    running.callback(shutil.rmtree, "/app")
    shutil.copy(TARGETS["alloca"].path, host_path)
    running.start(*command, root, host_path)
    running.expect(name, "calls", "program")


def start_private_mount(running):
    """The file lies on a file system that only its own mount namespace has."""
    # A mount below a private mount stays in its namespace; "/" need not be a mount point.
    private = os.path.join(running.directory, "private")
    mount = os.path.join(private, "mount")
    os.mkdir(private)
    subprocess.run(["mount", "-t", "tmpfs", "none", private], check=True)
    running.callback(subprocess.run, ["umount", private], check=True)
    subprocess.run(["mount", "--make-private", private], check=True)
    os.mkdir(mount)
    script = 'mount -t tmpfs none "$1" && cp "$2" "$1/on_mount" && exec "$1/on_mount"'
    running.start("unshare", "--mount", "--propagation", "unchanged", "sh", "-c", script, "sh",
                  mount, TARGETS["calls"].path)
    running.expect("a file on a mount that the agent does not see", "calls", "on_mount")


def start_overlay(running):
    name = "a file on an overlay, whose device is not the one in /proc/PID/maps"
    parts = {part: os.path.join(running.directory, "overlay", part)
             for part in ("lower", "upper", "work", "merged")}
    for part in parts.values():
        os.makedirs(part)
    shutil.copy(TARGETS["calls"].path, os.path.join(parts["lower"], "on_overlay"))
    options = "lowerdir=%(lower)s,upperdir=%(upper)s,workdir=%(work)s" % parts
    mounted = None
    for extra in "", ",xino=off":
        mount = ["mount", "-t", "overlay", "-o", options + extra, "none", parts["merged"]]
        if subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            mounted = parts["merged"]
            break
    if not mounted:
        running.tap.skip(name, "cannot mount an overlay here")
        return
    # Another agent may hold the program open; then the mount goes when that ends.
    running.callback(subprocess.run, ["umount", "--lazy", mounted], check=True)
    running.start(os.path.join(mounted, "on_overlay"))
    running.expect(name, "calls", "on_overlay")


def start_deleted(running):
    path = os.path.join(running.directory, "deleted")
    shutil.copy(TARGETS["calls"].path, path)
    running.start(path)
    os.unlink(path)
    running.expect("a deleted file", "calls", "deleted")


def start_replaced(running):
    path = os.path.join(running.directory, "replaced")
    shutil.copy(TARGETS["calls"].path, path)
    running.start(path)
    shutil.copy(TARGETS["alloca"].path, path + ".new")
    os.rename(path + ".new", path)
    running.expect("a file replaced by another program", "calls", "replaced")


def start_funny_names(running):
    for name in FUNNY_NAMES:
        path = os.path.join(running.directory, name)
        shutil.copy(TARGETS["calls_stripped"].path, path)
        running.start(path)
    running.checks.append(lambda stacks: check_funny_names(running.tap, stacks))


def check_funny_names(tap, stacks):
    for name in FUNNY_NAMES:
        # The agent takes off a suffix that looks like the kernel's mark of a deleted file.
        file_name = name.replace("\n", " ").replace(";", ":").removesuffix(" (deleted)")
        comm = name.replace("\n", " ").replace(";", ":")
        own = {stack: count for stack, count in stacks.items() if stack.comm == comm}
        total = sum(own.values())
        complete = sum(count for stack, count in own.items()
                       if not stack.errors and len(stack.user_frames) >= 4)
        tap.ok(total >= LEAST_SAMPLES and complete == total,
               "a file with a name that is hard to read: %s" % ascii(name),
               "%d of %d samples complete" % (complete, total),
               *[str(stack) for stack in list(own)[:3]], sorted({stack.comm for stack in stacks}))
        check_starts(tap, ascii(name), file_name, own)


def check_starts(tap, name, file_name, stacks):
    """Frames of a stripped program are where its functions start."""
    symbols = chains.Symbols(TARGETS["calls_stripped"].twin)
    found = {address for stack in stacks for address in chains.unnamed_addresses(stack.frames, file_name)}
    tap.ok(len(found) >= 4 and all(map(symbols.is_start, found)),
           "frames of a stripped file are where its functions start: " + name, sorted(map(hex, found)))


def start_memory_only(running):
    """A program that was never in a file system: memfd_create and exec."""
    memory = os.memfd_create("in-memory", 0)
    running.callback(os.close, memory)
    with open(TARGETS["calls"].path, "rb") as file:
        os.write(memory, file.read())
    program = running.start("/proc/self/fd/%d" % memory, pass_fds=[memory])
    with open("/proc/%d/comm" % program.pid, encoding="utf-8") as file:
        comm = file.read().strip()
    running.expect("a program in memory only (memfd)", "calls", comm)


def start_exited_leader(running):
    running.start(TARGETS["exited_leader"].path)
    running.expect("a process whose leader has exited", "exited_leader", "exited_leader")


def check_fork(tap):
    stacks = collections.Counter()
    with Program(TARGETS["fork_child"].path):
        # On a busy machine one run may be too short.
        for _ in range(ROUNDS_MAX):
            result = run_agent("-samples-per-second", RATE, "-duration", "1s", "-comm", "fork_child")
            if result.status != 0:
                raise RuntimeError("the agent failed: " + result.log)
            stacks += result.stacks
            if sum(count for stack, count in stacks.items()
                   if not stack.is_before_known and not stack.is_without_memory) >= LEAST_SAMPLES:
                break
    check(tap, "children without exec", "fork_child", stacks, "fork_child")


def check_exited_process(tap, directory):
    """Names are put on at the end, when the process and its file are gone."""
    path = os.path.join(directory, "gone")
    shutil.copy(TARGETS["calls"].path, path)
    with Program(path) as program:
        with Agent("-pid", program.pid, "-samples-per-second", RATE) as agent:
            agent.wait_started(WAIT_SECONDS)
            wait_cpu([program.pid], CPU_SECONDS)
            program.process.kill()
            os.unlink(path)
            program.process.wait()
            stacks = agent.stop(seconds=WAIT_SECONDS).stacks
    check(tap, "a process and a file that are gone before the output is written", "calls", stacks,
          "gone", is_ended=True)


def main():
    tap = Tap()
    need_root(tap, "containers")
    build_targets.build(["calls", "calls_stripped", "alloca", "exited_leader", "fork_child"])
    with tempfile.TemporaryDirectory(prefix="allframes-files-") as directory:
        with Running(tap, directory) as running:
            start_namespaces(running)
            start_private_mount(running)
            start_overlay(running)
            start_deleted(running)
            start_replaced(running)
            start_funny_names(running)
            start_memory_only(running)
            start_exited_leader(running)
            running.judge()
        check_fork(tap)
        check_exited_process(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
