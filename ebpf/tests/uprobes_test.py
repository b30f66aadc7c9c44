#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Stacks of programs under uprobes, and of 32-bit programs, as the kernel side sees them live."""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "integration"))
import bad_events
from harness import AGENT, Tap, need_root, parse_folded

RATE = 997
SAMPLES = 200
# Runs of a second until there are SAMPLES: beside other programs a target has little of the CPU.
RUNS_MAX = 30
CHAIN = ["main", "outer"] + ["probed"] * 4 + ["leaf"]
# In the few instructions in which the kernel has taken a probe off the list and has not returned
# yet, and in those in which it has put its address on the stack and not yet on the list, nobody
# can say where the function returns to.
BETWEEN = "between probe and list, at each %s"
# An unwinder that does not find the probes would end far more than this part of the samples so.
FAULT_RATE = 0.2

PROGRAM_32 = "void _start(void) { for (;;) __asm__ volatile(\"int $0x80\" ::\"a\"(64)); }\n"


def profile(command, scratch, logs, has_line=True):
    """The stacks of @command; None if its first line, where it has one, does not say "ready". To @logs
    goes what the agents logged.
    """
    folded = os.path.join(scratch, "stacks.folded")
    stacks = collections.Counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            if not has_line or program.stdout.readline() == "ready\n":
                for _ in range(RUNS_MAX):
                    agent = subprocess.run([AGENT, "-pid", str(program.pid), "-duration", "1s",
                                            "-samples-per-second", str(RATE), "-log-level", "debug",
                                            "-output", folded],
                                           check=True, capture_output=True, timeout=300, text=True)
                    logs.append(agent.stderr)
                    with open(folded, encoding="utf-8", errors="surrogateescape") as file:
                        stacks.update(parse_folded(file.read()))
                    if sum(stacks.values()) >= SAMPLES:
                        break
                return stacks
        finally:
            program.kill()
    return None


def is_right(frames):
    """True if the user frames from main on are CHAIN as far as they go."""
    user = [frame for frame in frames if not frame.endswith("_[k]")]
    if user[0] != "_start" or "main" not in user:
        return False
    user = user[user.index("main"):]
    return user == CHAIN[:len(user)]


def is_between(frames):
    user = [frame for frame in frames if not frame.endswith("_[k]")]
    return user[0].startswith("[error: ") and (
        user[-1].startswith("[uprobes]") or
        any(re.match("uprobe_|arch_uretprobe|__\\w+_sys_uretprobe", frame) for frame in frames))


def check_probes(tap, run, scratch):
    program = os.path.join(scratch, "probed_target")
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-o", program,
                    os.path.join(ROOT, "ebpf/tests/probed_target.c")], check=True)
    for where in ("call", "return"):
        name = f"a uprobe at each {where} does not show in the stacks"
        logs = []
        stacks = profile([program, where], scratch, logs)
        if stacks is None:
            tap.skip(name, "this kernel has no uprobes for us")
            continue
        total = sum(stacks.values())
        between = sum(count for stack, count in stacks.items() if is_between(stack.frames))
        wrong = {stack: count for stack, count in stacks.items()
                 if not is_right(stack.frames) and not is_between(stack.frames)}
        run.check(tap, name, BETWEEN % where, between, total, FAULT_RATE,
                  *(f"{count} times {stack}" for stack, count in list(wrong.items())[:10]),
                  *logs,
                  is_good=total >= SAMPLES and not wrong)


def check_32_bit(tap, scratch):
    name = "a 32-bit program ends in an error frame"
    source, program = os.path.join(scratch, "small.c"), os.path.join(scratch, "small")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM_32)
    built = subprocess.run(["gcc", "-m32", "-nostdlib", "-static", "-O1", "-fno-pic", "-o", program,
                            source], capture_output=True, check=False)
    if built.returncode or subprocess.run(["timeout", "0.1", program],
                                          check=False).returncode != 124:
        tap.skip(name, "no 32-bit programs here")
        return
    logs = []
    stacks = profile([program], scratch, logs, has_line=False)
    wrong = [stack for stack in stacks if stack.user_frames != ["[error: 32-bit task]"]]
    tap.ok(sum(stacks.values()) >= SAMPLES and not wrong, name, *wrong[:10], *logs)


def main():
    tap = Tap()
    need_root(tap, "live stacks")
    if not shutil.which("gcc"):
        tap.skip("live stacks", "no gcc")
        tap.finish()
    with tempfile.TemporaryDirectory(prefix="allframes-test-") as scratch:
        run = bad_events.Run("uprobes_test")
        check_probes(tap, run, scratch)
        run.write()
        check_32_bit(tap, scratch)
    tap.finish()


main()
