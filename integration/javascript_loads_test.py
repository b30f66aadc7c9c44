#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it loads the machine
# time limit: 7200 s
"""Real loads in JavaScript: a compiler, a bundler and a server. Their stacks are complete, with a name for every frame of
JavaScript, and the functions that take most time are those that V8's own profiler saw in the same process and seconds.

usage: javascript_loads_test.py [NODE|LOAD...]
"""
import collections
import glob
import json
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
import nodes
from attached_samples import sample_attached
from harness import IS_LONG, Program, StackEnds, Tap, die_with_parent, need_root
from load_stacks import LoadStacks

LOADS = os.path.join(nodes.TARGETS, "loads")
SECONDS = 30 if IS_LONG else 6
# The short tier has one, in the newest Node.js at hand.
SHORT_LOAD = "serve"
SAMPLES = 500
READY_SECONDS = 120
# Most of what will be compiled is ready then.
WARM_SECONDS = 5
COMPLETE_PERCENT = 99.5 if IS_LONG else 0
COMPLETE_FAULT = 0.1
# So many of the frames of JavaScript may be without a name.
NAMELESS_PERCENT = 0.1
# So many of the samples of a load have frames of JavaScript; others are of the collector's and the compiler's threads.
JAVASCRIPT_PERCENT = 25
# The functions that are compared, and by how many per cent of all samples a share may differ.
COMPARED = 10
SHARE_PERCENT = 2
# Two sound profiles of the same seconds differ by chance, too: so many standard deviations of the difference.
DEVIATIONS = 4
NAMELESS = "[javascript: no name]"
_FRAME = re.compile(r"(?P<name>.+?) \((?P<file>[^()]*?)(?::\d+)?\)(?:_\[[a-z~?]\])*$")
# Native code of the garbage collector, which V8's profiler counts apart.
_COLLECTOR = re.compile(r"v8::internal::(Heap::(CollectGarbage|PerformGarbageCollection|Scavenge|MarkCompact)|Scavenger"
                        r"|MarkCompactCollector|IncrementalMarking)|heap::base::Stack::IteratePointers")


def stay_on_cpu():
    """No other process takes the CPU of the program's threads. V8's profiler counts the time in which the main thread waits
    for one, too; and if its own thread has to wait until another process sleeps, it does not sample at random.
    A load that starts other processes gives them the usual policy (chrt), as serve.js does.
    """
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    die_with_parent()


def frame_of(text):
    """(function, file) of a frame of JavaScript in a file of the load or its packages; else None."""
    match = _FRAME.match(text)
    if not match or not match["file"].startswith(("/", "node:")):
        return None
    return re.sub("^new ", "", match["name"]), match["file"]


def is_collector(users):
    return any(map(_COLLECTOR.match, users))


def self_time_of_v8(path, first, last):
    """Samples by (function, file) of the profile that V8 wrote to @path, from @first to @last, seconds of
    CLOCK_MONOTONIC. Native code counts for the function that called it.
    """
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    by_id = {node["id"]: node for node in profile["nodes"]}
    parents = {child: node["id"] for node in profile["nodes"] for child in node.get("children", [])}

    def own(number):
        while number and not by_id[number]["callFrame"]["url"]:
            if by_id[number]["callFrame"]["functionName"] == "(garbage collector)":
                return None
            number = parents.get(number)
        if not number:
            return None
        frame = by_id[number]["callFrame"]
        return frame["functionName"] or "(anonymous)", re.sub("^file://", "", frame["url"])

    found, now = collections.Counter(), profile["startTime"]
    for number, delta in zip(profile["samples"], profile["timeDeltas"]):
        now += delta
        if first <= now / 1e6 <= last:
            found[own(number)] += 1
    del found[None]
    return found


def different(ours, theirs):
    """What differs in the functions that take most time: lines of text. Both are Counters by function."""
    total, their_total, lines = ours.total(), theirs.total(), []
    largest = {name for counter in (ours, theirs) for name, _ in counter.most_common(COMPARED)}
    for name in sorted(largest, key=lambda name: -ours[name]):
        percent, their_percent = 100 * ours[name] / total, 100 * theirs[name] / their_total
        deviation = (percent * (100 - percent) * (1 / total + 1 / their_total)) ** 0.5
        if abs(percent - their_percent) > SHARE_PERCENT + DEVIATIONS * deviation * (not IS_LONG):
            lines.append("%s: %.1f %%, by V8 %.1f %%" % (name, percent, their_percent))
    return lines


def test_load(tap, run, node, load):
    """One load, and V8's profile of it."""
    name = "%s in %s" % (load, node)
    with tempfile.TemporaryDirectory() as directory:
        end = os.path.join(directory, "end")
        with Program(*node.command("--cpu-prof", "--cpu-prof-dir", directory, "--cpu-prof-interval", "2000",
                                   os.path.join(LOADS, load + ".js"), end),
                     seconds=READY_SECONDS, preexec_fn=stay_on_cpu, env={**os.environ, "NODE_PATH": str(nodes.PACKAGES)}) as program:
            time.sleep(WARM_SECONDS)
            first = time.monotonic()
            result = sample_attached([program], SECONDS, "-with-lines")
            last = time.monotonic()
            open(end, "x", encoding="ascii").close()
            program.process.wait(READY_SECONDS)
        profiles = glob.glob(directory + "/*.cpuprofile")
        theirs = self_time_of_v8(profiles[0], first, last) if len(profiles) == 1 else collections.Counter()
    stacks = LoadStacks(result.stacks, StackEnds(node.directories), frame_of, NAMELESS, is_collector)
    stacks.check_complete(tap, run, name, result.times, SAMPLES, COMPLETE_PERCENT, COMPLETE_FAULT)
    stacks.check_names(tap, name, NAMELESS_PERCENT, JAVASCRIPT_PERCENT)
    lines = different(stacks.self_time, theirs) if theirs and stacks.self_time else ["no profile"]
    tap.ok(not lines, name + ": V8's profiler saw the same functions", *lines)
    tap.note("%s: %s" % (name, stacks))


def main():
    tap = Tap()
    need_root(tap, "loads in JavaScript")
    if not nodes.PACKAGES.exists():
        tap.skip("loads in JavaScript", "no packages are at hand: scripts/fetch_npm_packages.py")
        tap.finish()
    names = [os.path.basename(path)[:-len(".js")] for path in sorted(glob.glob(LOADS + "/*.js"))]
    chosen = nodes.chosen([word for word in sys.argv[1:] if word not in names], IS_LONG)
    run = bad_events.Run("javascript_loads_test")
    every = chosen.runtimes or (list(chosen.every.values()) if IS_LONG else
                                [max(chosen.every.values(), key=lambda node: node.version)])
    for node in every:
        for load in [name for name in names if name in sys.argv[1:]] or (names if IS_LONG else [SHORT_LOAD]):
            test_load(tap, run, node, load)
    run.finish(tap)
    tap.finish()


if __name__ == "__main__":
    main()
