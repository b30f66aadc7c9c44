#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# apart: an agent that reads the program's memory first keeps others from looking into it
"""A program of an unprivileged user whose functions' names lie in a mapped file that never answers costs its own frames
and nothing else: other programs are sampled and named meanwhile, those of the same user too, and the agent ends
when it is told to, by SIGTERM and by SIGKILL. So does one that holds the lock of its own memory, without which the
kernel does not show its maps; when it lets go, it is sampled as others are.
"""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import HANG_SECONDS, Agent, Program, Tap, need_root
from process_states import stuck_threads, wait_for
from sampled import paced, run_for, stopped, wait_cpu
from viewer_pages import Api

RATE = 197
USER = 65534
PYTHON = "/usr/bin/python3"
ERROR = "[error: memory does not answer]"
# Seconds of CPU time of the other programs after the hang, and what part of their samples must have names at least.
CPU_SECONDS = 0.5
NAMED_PART = 0.5
STOP_SECONDS = 5

# Every pointer to a string or bytes of the code object but its name's, which the kernel side reads, goes to the file.
# Another thread maps memory all the time, as most programs do.
HANGING = """import ctypes, mmap, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
address = libc.mmap(None, 1 << 20, 1, 2, os.open(sys.argv[1], os.O_RDONLY), 0)
def hanging_spin():
    while True:
        pass
code = hanging_spin.__code__
wanted = {id(code.co_filename), id(getattr(code, "co_linetable", b""))}
words = ctypes.cast(id(code), ctypes.POINTER(ctypes.c_uint64))
for i in range(2, 26):
    if words[i] in wanted:
        words[i] = address
def map_memory():
    while True:
        mmap.mmap(-1, 4096).close()
        time.sleep(0.01)
threading.Thread(target=map_memory, daemon=True).start()
print("ready", flush=True)
hanging_spin()
"""
SOUND = """print("ready", flush=True)
def sound_spin():
    while True:
        pass
sound_spin()
"""


def need_fuse(tap, directory):
    """Ends the script as skipped where no file that never answers can be had."""
    try:
        with hanging_program(directory):
            pass
    except RuntimeError:
        tap.skip("memory that never answers", "FUSE cannot be mounted")
        tap.finish()


@contextlib.contextmanager
def hanging_program(directory):
    """A Python program with names in a file whose reads never get an answer until the context is left. While such a
    read hangs, nobody else can look into the program, and it cannot end.
    """
    folder = tempfile.mkdtemp(dir=directory)
    os.chown(folder, USER, USER)
    try:
        with Program(TARGETS["hanging_file"].path, folder, USER) as server, \
                python(HANGING, os.path.join(folder, "file")) as program:
            try:
                yield program
            finally:
                server.process.kill()
    finally:
        subprocess.run(["umount", "--lazy", "--quiet", folder], check=False)


@contextlib.contextmanager
def holding_program(directory):
    """(program, server): the program holds the lock of its memory until the server is killed."""
    folder, source = tempfile.mkdtemp(dir=directory), tempfile.mkdtemp(dir=directory)
    with open(os.path.join(source, "file"), "wb") as file:
        file.write(bytes(1 << 14))
    try:
        with Program(TARGETS["hanging_file"].path, folder, 0, source) as server, \
                Program(TARGETS["held_memory"].path, os.path.join(folder, "file")) as program:
            try:
                yield program, server
            finally:
                server.process.kill()
    finally:
        subprocess.run(["umount", "--lazy", "--quiet", folder], check=False)


def python(text, *arguments):
    return Program(PYTHON, "-c", text, *arguments, user=USER, group=USER, extra_groups=[])


def hangs(agent, program):
    """Waits until the agent has noticed that memory of @program does not answer."""
    return wait_for(lambda: re.search(r"^warn: process %d: its memory" % program.pid, agent.log_text(), re.M))


def switches_of_second_thread(program):
    """How often the thread that maps memory has waited."""
    [tid] = [name for name in os.listdir("/proc/%d/task" % program.pid) if int(name) != program.pid]
    with open("/proc/%d/task/%s/status" % (program.pid, tid), encoding="ascii", errors="replace") as file:
        return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", file.read(), re.M)[1])


def part_named(stacks, comm, name):
    of_comm = {stack: count for stack, count in stacks.items() if stack.comm == comm}
    named = sum(count for stack, count in of_comm.items() if name in stack.frames)
    return named / max(1, sum(of_comm.values()))


def check_others(tap, programs):
    hanging, sound, native = programs
    pids = ",".join(str(program.pid) for program in programs)
    with paced([hanging.pid]), stopped([sound.pid, native.pid]), \
            Agent("-pid", pids, "-samples-per-second", RATE, "-viewer", "127.0.0.1:0") as agent:
        tap.ok(agent.wait_started() and hangs(agent, hanging), "memory that does not answer is noticed",
               agent.log_text())
        before = switches_of_second_thread(hanging)
        run_for([sound.pid, native.pid], CPU_SECONDS)
        tap.ok(switches_of_second_thread(hanging) > before + 2, "other threads of that program go on", before)
        tap.ok(not stuck_threads(agent.pid), "no thread of the agent hangs", stuck_threads(agent.pid))
        shown = Api(re.search(r"http://[0-9.:]+", agent.log_text())[0]).stacks()
        tap.ok(any(ERROR in str(stack) for stack in shown), "the page shows an error instead of the frames",
               shown.most_common(5))
        result = agent.stop(signal.SIGTERM)
        stacks = result.stacks
    tap.ok(result.status == 0 and result.stop_seconds < STOP_SECONDS, "SIGTERM ends the agent", result.status,
           result.stop_seconds, result.log)
    tap.ok(re.search(r"memory does not answer \d+", result.log), "the summary counts the error", result.log)
    wrong = [stack for stack in stacks if ERROR in stack.frames
             and ("hanging_spin" in stack.frames or (ERROR, ERROR) in zip(stack.frames, stack.frames[1:]))]
    tap.ok(any(ERROR in stack.frames for stack in stacks) and not wrong, "one error stands for frames that follow each other",
           *wrong[:3], *stacks.most_common(5))
    tap.ok(part_named(stacks, "calls", "outer") > NAMED_PART, "a program of somebody else is sampled and named",
           *stacks.most_common(9))
    named = sum(count for stack, count in stacks.items() if "sound_spin" in stack.frames)
    tap.ok(named > NAMED_PART * CPU_SECONDS * RATE, "frames of another program of the user have names again",
           named, *stacks.most_common(9))


def check_held(tap, directory):
    with holding_program(directory) as (holding, server), \
            Agent("-samples-per-second", RATE, "-log-level", "debug", "-viewer", "127.0.0.1:0") as agent:
        with paced([holding.pid]):
            tap.ok(agent.wait_started() and hangs(agent, holding), "a lock that is held is noticed", agent.log_text())
            with Program(TARGETS["calls"].path) as native:
                wait_cpu([native.pid], CPU_SECONDS)
        server.process.kill()
        tap.ok(wait_for(lambda: "process %d: its memory answers again" % holding.pid in agent.log_text()),
               "that it is free again is noticed", agent.log_text())
        wait_cpu([holding.pid], 4 * CPU_SECONDS)
        tap.ok(not stuck_threads(agent.pid), "no thread of the agent is left behind", stuck_threads(agent.pid))
        result = agent.stop(signal.SIGTERM)
        stacks = result.stacks
    tap.ok(part_named(stacks, "calls", "outer") > NAMED_PART, "a program that starts meanwhile is sampled and named",
           *stacks.most_common(9))
    named = sum(count for stack, count in stacks.items() if "holding_spin" in stack.frames)
    tap.ok(named > NAMED_PART * CPU_SECONDS * RATE, "after that the program itself is, too", named,
           *[stack for stack in stacks.most_common() if stack[0].comm == "held_memory"])


def check_held_end(tap, directory):
    for number, status in ((signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)):
        # Without a page the agent waits for this program before it starts.
        with holding_program(directory) as (holding, _), paced([holding.pid]), \
                Agent("-samples-per-second", RATE, "-viewer", "127.0.0.1:0") as agent:
            noticed = agent.wait_started() and hangs(agent, holding)
            agent.process.send_signal(number)
            start = time.monotonic()
            ended = agent.process.wait(HANG_SECONDS)
            seconds = time.monotonic() - start
            tap.ok(noticed and ended == status and seconds < STOP_SECONDS,
                   "%s ends the agent while the lock is held" % number.name, ended, seconds, agent.log_text())


def check_kill(tap, hanging):
    with Agent("-pid", hanging.pid, "-samples-per-second", RATE) as agent:
        noticed = agent.wait_started() and hangs(agent, hanging)
        agent.process.kill()
        start = time.monotonic()
        status = agent.process.wait(HANG_SECONDS)
        tap.ok(noticed and status == -signal.SIGKILL, "SIGKILL ends the agent", status, agent.log_text())
        tap.note("after %.1f s" % (time.monotonic() - start))


def main():
    tap = Tap()
    need_root(tap, "memory that never answers")
    if not os.path.exists(PYTHON):
        tap.skip("memory that never answers", "no " + PYTHON)
        tap.finish()
    build_targets.build(["calls", "hanging_file", "held_memory"])
    with tempfile.TemporaryDirectory(prefix="allframes-hanging-") as directory:
        os.chmod(directory, 0o755)
        need_fuse(tap, directory)
        with python(SOUND) as sound, Program(TARGETS["calls"].path) as native, \
                hanging_program(directory) as hanging:
            check_others(tap, (hanging, sound, native))
        with hanging_program(directory) as hanging, paced([hanging.pid]):
            check_kill(tap, hanging)
        check_held(tap, directory)
        check_held_end(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
