#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 3000 s
"""Stacks of Node.js are right at each instruction: build/step_javascript steps through a program that calls functions in
many ways, and unwinds at each instruction; javascript_steps.py judges the stacks. Also, the judge finds faults.

usage: javascript_steps_test.py [NODE|MODE...]
"""
import collections
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
import javascript_steps
import nodes
from harness import HANG_SECONDS, IS_LONG, ROOT, Tap, die_with_parent, need_root, share

TOOL = os.path.join(ROOT, "build", "step_javascript")
TARGET = os.path.join(nodes.TARGETS, "steps", "calls.js")
MODES = {
    "plain": [],
    "interpreted": ["--no-opt", "--no-sparkplug"],
    "sparkplug": ["--always-sparkplug", "--no-opt"],
    "maglev": ["--maglev", "--no-turbofan"],
}
MAGLEV_FROM = 24
# Versions of the short tier, and steps for each of their modes.
VERSIONS = (18, 24)
STEPS = 130000 if IS_LONG else 4000
SECONDS = 1500 if IS_LONG else HANG_SECONDS
# An instruction of 100 that has a wrong stack.
FAULT_RATE = 0.01
SHOWN = 12


def options_of(mode, version):
    return MODES[mode] + ["--no-maglev"] * (mode in ("interpreted", "sparkplug") and version >= MAGLEV_FROM)


def run_steps(node, mode):
    """The judge of a run of @node."""
    with subprocess.Popen(node.command(*options_of(mode, node.version[0]), TARGET), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, preexec_fn=die_with_parent) as process:
        try:
            process.stdout.readline()
            result = subprocess.run([TOOL, str(process.pid), str(STEPS)], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, text=True, check=True, timeout=SECONDS)
        finally:
            process.kill()
    judge = javascript_steps.Judge()
    judge.read(result.stdout.splitlines())
    return judge


def describe_faults(judge):
    counts = collections.Counter((fault.code, fault.why) for fault in judge.faults)
    examples = {(fault.code, fault.why): fault for fault in judge.faults}
    for (code, why), count in counts.most_common(SHOWN):
        fault = examples[code, why]
        yield "%d of %d in %s: %s, at %#x\nexpected: %s\nfound: %s" % (
            count, judge.checked[code], code, why, judge.builtins.get(fault.pc, (None, fault.pc))[1],
            judge.describe(fault.expected[:6]), judge.describe(fault.found[:6]))


def check_node(tap, run, node, mode):
    title = "%s, %s" % (node, mode)
    judge = run_steps(node, mode)
    checked = sum(judge.checked.values())
    tap.ok(checked > 0.8 * STEPS, title + ": %d stacks are judged, in %d kinds of code" % (checked, len(judge.checked)),
           judge.unchecked)
    wrong = len(judge.wrong())
    run.check(tap, title + ": the stacks are right", "wrong, " + mode, *judge.count_instructions(), FAULT_RATE,
              "wrong: %s, leaves without their function: %s" % (
                  share(wrong, checked), share(len(judge.faults) - wrong, checked)), *describe_faults(judge))


# A function calls another one, which returns.
SOUND = ["name 1 outer", "callers 0 n10", "callers 1 i1 n10", "burst", "step call5 100 80 i1 0", "step - 200 78 n 1",
         "step return 202 78 n 1", "step - 105 80 i1 0"]
FAULTY = {
    "a caller is left out": {5: "step - 200 78 n 0"},
    "a caller is a guess": {2: "callers 1 i1? n10"},
    "another leaf": {7: "step - 105 80 i2 0"},
    "an error": {2: "callers 1 e7"},
}
# A function that is judged by the wrong stack of its caller at the call.
SPOILED_CALLEE = ["callers 2 i2 n10", "step - 200 78 n 2", "step - 201 78 n 2", "step return 202 78 n 2", "step - 105 80 i1 0"]


def check_judge(tap):
    for title, lines in {"sound": {}, **FAULTY}.items():
        judge = javascript_steps.Judge()
        judge.read(lines.get(index, line) for index, line in enumerate(SOUND))
        tap.ok(judge.count_instructions()[0] == bool(lines), "the judge: " + title, judge.faults)
    judge = javascript_steps.Judge()
    judge.read(SOUND[:5] + SPOILED_CALLEE)
    tap.ok(judge.count_instructions() == (1, 5) and len(judge.wrong()) == 3, "the judge: one fault spoils a callee", judge.faults)


def main():
    tap = Tap()
    check_judge(tap)
    need_root(tap, "steps through programs in JavaScript")
    run = bad_events.Run("javascript_steps_test")
    modes = [name for name in sys.argv[1:] if name in MODES] or list(MODES)
    chosen = nodes.chosen([name for name in sys.argv[1:] if name not in MODES], IS_LONG)
    for node in chosen.runtimes or chosen.every.values():
        if not chosen.runtimes and node.version[0] not in VERSIONS:
            continue
        for mode in modes:
            if mode != "maglev" or node.version[0] >= MAGLEV_FROM:
                check_node(tap, run, node, mode)
    run.finish(tap)
    tap.finish()


if __name__ == "__main__":
    main()
