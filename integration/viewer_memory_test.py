#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 1800 s
"""The memory of the page's history per sample, all told, for two recordings that are made here: a mix of programs as on a
server, and a build of C++. Distinct stacks are what the memory is of, so each recording says how many it has. Prints TAP.
"""
import os
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import busy_mix
from harness import Agent, Tap
from viewer_pages import Api, wait_for_page

# A minute of two busy CPUs.
SAMPLES = 120_000
RATE = 997
# For hangs: on a busy machine the programs get a part of a CPU.
MAX_SECONDS = 700
MIX_COMMS = ["openssl", "gzip", "tar", "cat", os.path.basename(os.path.realpath(sys.executable)), "python3",
             "exceptions", "closures", "calls_static", "threads"]
# Name, programs, comms, bytes per sample at most, and the least distinct stacks per sample that make the limit a promise.
RECORDINGS = [
    ("a server mix", "mix", MIX_COMMS, 24, 0.03),
    ("a build of C++", "build", ["cc1plus"], 64, 0.4),
]


def programs(kind, directory):
    if kind == "build":
        return busy_mix.CppBuild(directory)
    return busy_mix.Mix(directory, without=("gcc",))


def wait_for_samples(api):
    end = time.monotonic() + MAX_SECONDS
    status = api.get("status")
    while status["samples"] < SAMPLES and time.monotonic() < end:
        time.sleep(0.5)
        status = api.get("status")
    return status


def check(tap, name, kind, comms, most_bytes, least_stacks):
    with tempfile.TemporaryDirectory() as directory, programs(kind, directory), \
         Agent("-viewer", "127.0.0.1:0", "-samples-per-second", RATE, "-comm", ",".join(comms), outputs=[]) as agent:
        url = wait_for_page(agent)
        if not tap.ok(url, "%s: there is a page" % name, agent.log_text()):
            return
        api = Api(url)
        status = wait_for_samples(api)
        stacks = api.stacks()
    samples = status["samples"]
    distinct = len(stacks) / max(sum(stacks.values()), 1)
    per_sample = status["history_bytes"] / max(samples, 1)
    tap.note("%s: %d samples, %.3f distinct stacks per sample, %.1f bytes per sample"
             % (name, samples, distinct, per_sample))
    tap.ok(samples >= SAMPLES and not status["dropped"], "%s: %d samples are recorded" % (name, SAMPLES), status)
    tap.ok(distinct >= least_stacks, "%s: it has %g distinct stacks per sample" % (name, least_stacks), distinct)
    tap.ok(per_sample <= most_bytes, "%s: a sample takes %d bytes at most" % (name, most_bytes), per_sample)


def main():
    tap = Tap()
    for recording in RECORDINGS:
        if sys.argv[1:] and recording[1] not in sys.argv[1:]:
            continue
        if recording[1] == "build" and not shutil.which("g++"):
            tap.skip(recording[0], "there is no g++")
            continue
        check(tap, *recording)
    tap.finish()


if __name__ == "__main__":
    main()
