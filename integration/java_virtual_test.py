#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of virtual threads say so, and no others do: the target Virtual in the newest JDK at hand, as
a pprof file has it.

usage: java_virtual_test.py [JDK]
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import javas
from harness import Agent, Program, Tap, need_root
from pprof_reader import Profile
from sampled import wait_cpu

# Of CPU time of the JVM.
CPU_SECONDS = 1
RATE = 797
SAMPLES = 200
MODES = ["plain", "int"]
OWN = "Virtual.lambda$main$0"


def samples_of(program, directory):
    """The samples of a pprof file."""
    path = os.path.join(directory, "all.pb.gz")
    with Agent("-samples-per-second", RATE, "-log-level", "debug", "-pid", program.pid,
               outputs=[path]) as agent:
        if not agent.wait_started():
            raise RuntimeError("the agent failed: " + agent.log_text())
        agent.wait_attached({program.pid})
        wait_cpu([program.pid], CPU_SECONDS)
        if agent.stop().status:
            raise RuntimeError("the agent failed: " + agent.log_text())
    return Profile(path).samples


def test_mode(tap, java, mode, target):
    name = "%s, %s" % (java, mode)
    with Program(*java.target(target, mode)) as program, tempfile.TemporaryDirectory() as directory:
        samples = samples_of(program, directory)
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
    for mode in MODES:
        test_mode(tap, java, mode, targets["Virtual"])
    tap.finish()


if __name__ == "__main__":
    main()
