#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it compares shares of CPU time
"""The shares of samples agree with the CPU time of /proc/PID/stat: within one percentage point, or
four standard deviations of a share of that many samples.

Programs of unequal weight compete for the CPUs: nice values, threads, system calls, page faults,
and one that sleeps most of the time.
"""
import math
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import Agent, Program, Tap, cpu_seconds, need_root
from sampled import stopped

SECONDS = 5
RATE = 399
NICE = {"calls": 0, "alloca": 5, "recursion": 10, "syscalls": 3, "page_faults": 3, "threads": 2}

# Busy for a fifth of the time.
SLEEPER = """
import time
open("/proc/self/comm", "w").write("sleeper")
print("ready", flush=True)
while True:
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    time.sleep(0.08)
"""


def main():
    tap = Tap()
    need_root(tap, "shares")
    build_targets.build(NICE)
    programs = {name: Program("nice", "-n", nice, TARGETS[name].path)
                for name, nice in NICE.items()}
    programs["python"] = Program(sys.executable, "-c", SLEEPER)
    try:
        # By pid: other programs of these names may be running.
        pids = [program.pid for program in programs.values()]
        with Agent("-pid", ",".join(map(str, pids)), "-samples-per-second", RATE) as agent:
            with stopped(pids):
                agent.wait_started()
                before = {name: cpu_seconds(program.pid) for name, program in programs.items()}
            time.sleep(SECONDS)
            with stopped(pids):
                after = {name: cpu_seconds(program.pid) for name, program in programs.items()}
                comms = {name: open("/proc/%d/comm" % program.pid).read().strip()
                         for name, program in programs.items()}
                result = agent.stop()
                stacks = result.stacks
    finally:
        for program in programs.values():
            program.__exit__()
    used = {name: after[name] - before[name] for name in programs}
    samples = {name: sum(count for stack, count in stacks.items() if stack.comm == comm)
               for name, comm in comms.items()}
    all_used, all_samples = sum(used.values()), sum(samples.values())
    tap.ok(result.status == 0 and all_samples > 0, "the programs were sampled", result.log)
    if not all_samples:
        tap.finish()
    for name in programs:
        wanted, share = used[name] / all_used, samples[name] / all_samples
        sigma = math.sqrt(wanted * (1 - wanted) / all_samples)
        tap.ok(abs(share - wanted) <= max(0.01, 4 * sigma),
               "the share of %s agrees with its CPU time" % name,
               "%.4f of %d samples, %.4f of %.2f s" % (share, all_samples, wanted, all_used))
        tap.note("%s: %.2f %% of the samples, %.2f %% of the CPU time" %
                 (name, 100 * share, 100 * wanted))
    tap.finish()


if __name__ == "__main__":
    main()
