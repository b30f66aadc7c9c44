#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of virtual threads say so, and no others do: the target Virtual in the newest JDK at hand, as
a pprof file has it.

usage: java_virtual_test.py [JDK]
"""
import collections
import contextlib
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import javas
from attached_samples import sample_attached
from harness import Program, Tap, need_root
from pprof_reader import Profile

# Each JVM is stopped when it has used the CPU time, and on a busy machine after SECONDS_MAX.
SECONDS_MAX, CPU_SECONDS = 60, 0.6
RATE = 1597
SAMPLES = 200
MODES = ["plain", "int"]
OWN = "Virtual.lambda$main$0"


def samples_of(programs):
    """The samples of a pprof file, by process."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "all.pb.gz")
        sample_attached(programs, SECONDS_MAX, "-output", path, rate=RATE, cpu_seconds=CPU_SECONDS)
        samples = collections.defaultdict(list)
        for sample in Profile(path).samples:
            samples[sample.labels["pid"]].append(sample)
    return samples


def test_mode(tap, java, mode, samples):
    name = "%s, %s" % (java, mode)
    virtual = [sample for sample in samples if OWN in sample.frames]
    count = sum(sample.values[0] for sample in virtual)
    silent = [sample for sample in virtual if sample.labels.get("virtual_thread") != "true"]
    tap.ok(count >= SAMPLES and not silent, "samples of virtual threads say so: " + name,
           "%d samples" % count, *[";".join(sample.frames) for sample in silent[:4]])
    wrong = [sample for sample in samples if "virtual_thread" in sample.labels
             and not any(frame.startswith((OWN, "java.lang.VirtualThread"))
                         for frame in sample.frames)]
    tap.ok(not wrong, "and no others: " + name, *[";".join(sample.frames) for sample in wrong[:4]])


def main():
    tap = Tap()
    need_root(tap, "virtual threads")
    every = javas.at_hand(bool(sys.argv[1:]))
    java = every.get(sys.argv[1]) if sys.argv[1:] else next(reversed(every.values()), None)
    targets = {target.name: target for target in javas.build(["Virtual"])} if java else {}
    if "Virtual" not in targets or java.version < targets["Virtual"].release:
        tap.skip("virtual threads", "there is no JDK that has them")
        tap.finish()
    with contextlib.ExitStack() as running:
        programs = [running.enter_context(Program(*java.target(targets["Virtual"], mode))) for mode in MODES]
        samples = samples_of(programs)
    for mode, program in zip(MODES, programs):
        test_mode(tap, java, mode, samples[program.pid])
    tap.finish()


if __name__ == "__main__":
    main()
