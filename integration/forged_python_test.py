#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that say they are CPython and forge all that lies behind that: frames in a ring, names
without an end, huge line tables, offsets that mean nothing, memory that changes and goes away while it
is read. The agent lives and stays small and quick; names of one program never show up in another, and
stacks of an honest one beside them stay right.
"""
import collections
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
import chains
from build_targets import TARGETS
from harness import IS_LONG, Agent, Program, Tap, cpu_seconds, need_root

SECONDS = 60 if IS_LONG else 3
RATE = 97
RSS_MAX_MB = 150
# CPU time of the agent, per second. Each of the programs may cost a quarter.
CPU_MAX = 1.0
MODES = ["right", "ring", "long", "shaken", "shaken", "offsets"]
FORGED = re.compile(r"forged_(\d+) \(forged_(\d+):\d+\)")
RIGHT_FRAMES = 8
# Not the load of the machine is tested: else rows may not be there for minutes.
BEFORE_OTHERS = ["chrt", "--rr", "1"]
HONEST = "print('ready', flush=True)\nwhile True: pass"
ROUNDS_MAX = 4
SAMPLES_MIN = 10


def peak_rss_mb(pid):
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) / 1024


def has_forged(stack):
    return any(FORGED.match(frame) for frame in stack.frames)


def profile(pids, seconds):
    """What the agent left, its stacks, the CPU time it used and the most memory, in MB."""
    with Agent("-samples-per-second", RATE, "-with-lines", "-log-level", "debug", "-pid", ",".join(map(str, pids)),
               "-duration", "%ds" % seconds, prefix=BEFORE_OTHERS) as agent:
        if not agent.wait_started():
            raise RuntimeError("the agent failed: " + agent.log_text())
        before = cpu_seconds(agent.pid)
        time.sleep(seconds * 0.8)
        used = cpu_seconds(agent.pid) - before
        rss = peak_rss_mb(agent.pid)
        result = agent.wait()
        return result, result.stacks, used, rss


def main():
    tap = Tap()
    need_root(tap, "forged runtimes")
    build_targets.build(["forged_python", "alloca"])
    programs = []
    try:
        for mode in MODES:
            programs.append(Program("nice", "-n", "5", TARGETS["forged_python"].path, mode))
        programs.append(Program("nice", "-n", "-5", TARGETS["alloca"].path))
        # An honest CPython, for names of the others' to show up in.
        programs.append(Program("nice", "-n", "5", sys.executable, "-c", HONEST))
        for i in range(ROUNDS_MAX):
            seconds = SECONDS << i
            result, stacks, used, rss = profile([program.pid for program in programs], seconds)
            # On a busy machine rows are loaded late.
            if sum(count for stack, count in stacks.items()
                   if stack.comm == "right" and has_forged(stack)) >= SAMPLES_MIN:
                break
    finally:
        for program in programs:
            program.__exit__()
    tap.ok(result.status == 0, "the agent lives", "status %d" % result.status, result.log[-3000:])
    tap.ok(rss < RSS_MAX_MB, "its memory stays small", "%.0f MB at most" % rss)
    tap.ok(used < CPU_MAX * seconds, "it stays quick", "%.1f s of CPU in %d s" % (used, seconds))
    dropped = result.metrics["samples_dropped"]
    tap.ok(not dropped, "no sample waits for them until it is dropped", dropped)
    lines = [line for line in result.log.splitlines() if not line.startswith("debug:")]
    tap.ok(len(lines) < 20 + 2 * seconds, "the log is limited", *lines[:40])
    check_stacks(tap, stacks)
    tap.note("%.0f MB at most, %.2f s of CPU in %d s" % (rss, used, seconds))
    tap.finish()


def check_stacks(tap, stacks):
    by_comm = collections.defaultdict(collections.Counter)
    for stack, count in stacks.items():
        by_comm[stack.comm][stack] += count
    missing = [comm for comm in set(MODES) if not by_comm[comm]]
    tap.ok(not missing, "all of them are sampled", *missing)

    right = ["forged_%d (forged_%d:%d)" % (i, i + 1, i + 1)
             for i in reversed(range(RIGHT_FRAMES))]
    good = sum(count for stack, count in by_comm["right"].items()
               if [frame for frame in stack.frames if FORGED.fullmatch(frame)] == right)
    other = [str(stack) for stack in by_comm["right"] if has_forged(stack)
             and [frame for frame in stack.frames if FORGED.fullmatch(frame)] != right]
    tap.ok(good >= SAMPLES_MIN and not other, "frames that are as they should be are believed",
           good, *other[:3], *map(str, list(by_comm["right"])[:3]))
    named = sum(count for comm in ("long", "ring") for stack, count in by_comm[comm].items()
                if has_forged(stack))
    tap.ok(named, "those of others are looked at", *map(str, list(by_comm["ring"])[:1]))

    strange = [str(stack)[:500] for stack in stacks
               if stack.comm not in MODES and has_forged(stack)]
    tap.ok(not strange, "nobody else has frames of theirs", *strange[:5])
    wrong = [str(stack)[:500] for comm in ("right", "shaken") for stack in by_comm[comm]
             for frame in stack.frames if FORGED.match(frame) and int(FORGED.match(frame)[1]) > 4096]
    tap.ok(not wrong, "no name is made up", *wrong[:5])

    allowed = chains.Chains(TARGETS["alloca"].source)
    early = sum(count for stack, count in by_comm["alloca"].items()
                if "[error: unwind rows not loaded]" in stack.frames)
    bad = [str(stack) for stack in by_comm["alloca"]
           if "[error: unwind rows not loaded]" not in stack.frames
           and not allowed.allow([re.sub(r" \(.*\)$", "", frame) for frame in stack.frames])]
    whole = by_comm["alloca"].total() - early
    tap.ok(whole >= SAMPLES_MIN and not bad, "stacks of an honest program stay right",
           "%d samples, %d from before its rows were loaded" % (whole, early), *bad[:5])


if __name__ == "__main__":
    main()
