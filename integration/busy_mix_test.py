#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it loads the machine on purpose, and no sample may be lost
"""A busy machine at 99 Hz, for 6 s and in the long tier for 30 s: a compiler over 200 files, openssl,
gzip, a data base, tar, C++ with exceptions and lambdas, Rust, static programs.

User stacks are complete once their process is known, all but as many as sound agents have, and in the long
tier 99 %, judged from the frames: the outermost is the thread's entry, and there is no guess and no error. No sample is lost to a full
ring, the kernel skips less than 1 % of the runs, and busy, idle and lost samples, with those of the
time that a hypervisor took, add up to online CPUs x time x rate.
"""
import collections
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
from busy_mix import PROGRAMS, Mix
from harness import IS_LONG, Agent, StackEnds, Tap, need_root, online_cpus, share
from judge import FLAGGED

SECONDS = 30 if IS_LONG else 6
RATE = 99
COMPLETE_PERCENT = 99 if IS_LONG else 0
COMPLETE_FAULT = 0.05

# The programs of the mix, as comms show them; others on the machine are not judged.
MIX_COMMS = re.compile(r"cc1|as|ld|collect2|gcc|x86_64-linux-gn|openssl|gzip|tar|cat|sh|dash|bash|"
                       r"sqlite|python[0-9.]*|" + "|".join(PROGRAMS))


def check_complete(tap, stacks, times):
    ends = StackEnds([os.path.dirname(os.path.realpath(sys.executable)),
                      os.path.join(sys.base_prefix, "lib")])
    total = before_known = without_memory = complete = others = others_complete = 0
    incomplete, bad = collections.Counter(), collections.Counter()
    for stack, count in stacks.items():
        if stack.is_kernel_thread:
            continue
        if stack.is_without_memory:
            without_memory += count
            continue
        is_complete = ends.is_complete(stack)
        if not MIX_COMMS.fullmatch(stack.comm):
            others += count
            others_complete += is_complete * count
        elif stack.is_before_known:
            before_known += count
        else:
            total += count
            complete += is_complete * count
            if not is_complete:
                bad[stack] += count
                root = (stack.errors or ["no error"])[0]
                users = [frame for frame in stack.user_frames if frame not in stack.errors]
                incomplete["%s: %s, %s" % (stack.comm, root, "; ".join(users[:2]))] += count
    run = bad_events.Run("busy_mix_test")
    run.check(tap, "the user stacks are complete once the process is known", FLAGGED, times.count_events(bad), total,
              COMPLETE_FAULT, is_good=100 * complete >= COMPLETE_PERCENT * total)
    run.finish(tap)
    tap.note("complete: %s of %d user stacks of known processes; before known: %s" %
             (share(complete, total), total, share(before_known, total + before_known)))
    tap.note("%d samples of tasks in exec or exit, which have no memory" % without_memory)
    tap.note("of other programs on this machine: %s of %d" %
             (share(others_complete, others), others))
    for text, count in incomplete.most_common(12):
        tap.note("%d times %s" % (count, text))


def check_counts(tap, result, stacks):
    metrics = result.metrics
    busy, idle = metrics["bpf_samples"], metrics["bpf_idle"] + metrics["idle_unseen"]
    ring_full, skipped = metrics["bpf_lost_ring_full"], metrics["samples_skipped"]
    stolen = metrics["ticks_stolen"]
    total = busy + idle + metrics["bpf_unselected"] + ring_full + skipped + stolen
    wanted = len(online_cpus()) * result.times.seconds * RATE
    tap.ok(ring_full == 0, "no sample is lost to a full ring", ring_full)
    tap.ok(100 * skipped < total, "the kernel skips less than 1 % of the runs", skipped, total)
    tap.ok(abs(total - wanted) <= 0.01 * wanted,
           "busy, idle, lost and stolen samples add up to CPUs x time x rate",
           "%d busy, %d idle, %d ring full, %d skipped, %d stolen: %d of %d" %
           (busy, idle, ring_full, skipped, stolen, total, wanted))
    tap.ok(result.times.seconds >= 0.99 * SECONDS, "at least as long as the duration was sampled", result.times.seconds)
    counted = sum(stacks.values())
    tap.ok(counted == busy - metrics["samples_dropped"], "every busy sample is in the output",
           "%d of %d, %d dropped" % (counted, busy, metrics["samples_dropped"]))
    tap.note("%d busy, %d idle, %d lost to a full ring, %d skipped by the kernel (%s), %d while the "
             "hypervisor had the CPU" %
             (busy, idle, ring_full, skipped, share(skipped, total), stolen))


def main():
    tap = Tap()
    need_root(tap, "busy mix")
    with tempfile.TemporaryDirectory(prefix="allframes-mix-") as directory:
        with Mix(directory) as mix:
            with Agent("-samples-per-second", RATE, "-duration", "%ds" % SECONDS, "-log-level",
                       "debug", is_timed=True) as agent:
                result = agent.wait(SECONDS + 30)
                stacks = result.stacks
    if not tap.ok(result.status == 0, "the agent lives through " + ", ".join(mix.names),
                  result.log[-3000:]):
        tap.finish()
    check_complete(tap, stacks, result.times)
    check_counts(tap, result, stacks)
    tap.note(result.last_line)
    tap.finish()


if __name__ == "__main__":
    main()
