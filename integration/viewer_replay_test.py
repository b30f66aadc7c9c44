#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# alone: it measures the CPU time of answers
"""The page's answers for half an hour of a machine of 64 busy CPUs (viewer/tools/replay_history.c): 2.2 million samples with
200,000 distinct stacks. And what an open page takes each time that it asks again, of a machine of 4 busy CPUs whose history is full,
with all that its server does. Times are CPU time of the thread that answers. Prints TAP.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Tap

SAMPLES = 64 * 19 * 1800
DEFAULT_MEBIBYTES = 128
FIRST_MS, NEXT_MS = 2000, 300
# 138,000 samples: CPUs, seconds, and distinct stacks, of which a build of C++ has some 12,000.
REFRESHED = (4, 1816, 40000)
REFRESH_MS = 100
# Samples are added while nobody looks, too: these CPUs may take 0.1 % of one for that.
MAX_ADD_US = 0.001 * 1e6 / (REFRESHED[0] * 19)


def replay(mebibytes, *machine):
    found = subprocess.run([os.path.join(ROOT, "build", "replay_history"), *map(str, (mebibytes, *machine))],
                           capture_output=True, text=True, check=False)
    return {name: float(number) for name, number in (line.split() for line in found.stdout.splitlines())}, found.stderr


def main():
    tap = Tap()
    # 61 MiB are 64 MB.
    for mebibytes, is_whole in ((32, False), (61, True), (DEFAULT_MEBIBYTES, True)):
        found, errors = replay(mebibytes)
        if not tap.ok(found.get("samples") == SAMPLES, "a history of %d MiB is filled" % mebibytes, errors):
            continue
        tap.note(", ".join("%s %g" % pair for pair in found.items()))
        tap.ok(found["history_mib"] <= mebibytes, "its memory is within the limit", found["history_mib"])
        tap.ok((found["kept"] == SAMPLES) == is_whole, "it has all samples where there is room", found["kept"])
        # Times are promised for the limit that users have.
        if mebibytes != DEFAULT_MEBIBYTES:
            continue
        tap.ok(found["first_graph_ms"] < FIRST_MS, "the first graph takes less than %d ms" % FIRST_MS, found["first_graph_ms"])
        for name in ("zoom_ms", "search_ms"):
            tap.ok(found[name] < NEXT_MS, "%s is less than %d" % (name, NEXT_MS), found[name])
    found, errors = replay(128, *REFRESHED)
    if tap.ok(found.get("kept") == REFRESHED[0] * 19 * REFRESHED[1], "a history of half an hour is full", errors):
        tap.note(", ".join("%s %g" % pair for pair in found.items()))
        tap.ok(found["add_us"] < MAX_ADD_US, "a sample is added in less than %.1f us" % MAX_ADD_US, found["add_us"])
        tap.ok(found["refresh_ms"] < REFRESH_MS, "an open page takes less than %d ms each time" % REFRESH_MS,
               found["refresh_ms"])
    tap.finish()


if __name__ == "__main__":
    main()
