#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1200 s
"""Every sample of a program with WebAssembly is a stack that its source allows: functions of JavaScript that call some of
two modules, which call JavaScript. The functions of the module with a section of names have these, and those of the
other one their numbers, in both of V8's compilers for WebAssembly.

usage: javascript_wasm_test.py [NODE|MODE...]
"""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nodes
from attached_samples import sample_attached, shorten
from harness import IS_LONG, Program, Tap, need_root
from runtimes import newest_or_all

TARGET = os.path.join(nodes.TARGETS, "wasm", "chain.js")
# A mode: its options, and from a version of Node.js on others. TurboFan's inlining is switched off, since functions that are
# inlined in WebAssembly have no frames.
MODES = {
    "both compilers": {0: []},
    "liftoff": {0: ["--no-wasm-tier-up"], 18: ["--liftoff-only"]},
    "turbofan": {0: ["--no-liftoff"], 24: ["--no-liftoff", "--no-wasm-inlining"]},
}
SHORT_MODES = ["both compilers"]
CPU_SECONDS = 2
MAX_SECONDS = 120
SAMPLES = 1000
# The share of samples in both leaves of each module, at the least; they have nearly all of them.
LEAF_PERCENT = 2
WRONG_PERCENT = 0.5
# The agent had not read node's file yet: no fault of a stack.
NOT_LOADED = "[error: unwind rows not loaded]"
_FRAME = re.compile(r"(?P<name>.+?) \((?P<file>[^()]*?)(?::\d+)?\)(?:_\[[a-z~]\])*$")
NAMED = ["outer", "middle::<u8>", "spin"]


def options_of(mode, version):
    return MODES[mode][max(first for first in MODES[mode] if version >= first)]


def own_frames(stack):
    """The names of the target's functions, root first, with what is WebAssembly's, and whether a frame is a guess or an
    error.
    """
    own, is_bad = [], False
    for frame in stack.user_frames:
        match = _FRAME.match(frame)
        is_bad |= frame.endswith("_[?]") or frame.startswith("[")
        if match and (match["file"] == TARGET or match["file"].startswith("wasm://wasm/")):
            own.append((match["name"], match["file"]))
    return own, is_bad


def expected_chain(own):
    """The chain that @own, root first, is to be the beginning of; each time what stands last may be one of two."""
    modules = [file for _, file in own if file != TARGET]
    module = modules[0] if modules else ""
    name = module.removeprefix("wasm://wasm/")
    if module.startswith("wasm://wasm/known-"):
        return "callNamed", [(function, module) for function in NAMED]
    return "callNameless", [("wasm function %d in %s" % (number, name), module) for number in (3, 2, 1)]


def is_right(own):
    """Whether the target's source allows @own."""
    if own[:1] == [("(anonymous)", TARGET)]:
        own = own[1:]
    if not own or own[0] != ("main", TARGET):
        return not own
    if len(own) == 1:
        return True
    caller, (outer, middle, spin) = expected_chain(own)
    if len(own) == 2:
        return own[1] in (("callNamed", TARGET), ("callNameless", TARGET))
    chain = [("main", TARGET), (caller, TARGET), outer, middle]
    return own[:4] == chain[:len(own)] and own[4:] in ([], [spin], [("back", TARGET)])


def test_wasm(tap, node, mode):
    title = "%s, %s" % (node, mode)
    with Program(*node.command(*options_of(mode, node.version[0]), TARGET)) as program:
        result = sample_attached([program], MAX_SECONDS, "-with-lines", cpu_seconds=CPU_SECONDS)
    leaves, wrong, total = collections.Counter(), collections.Counter(), 0
    for stack, count in result.stacks.items():
        if NOT_LOADED in stack.user_frames:
            continue
        own, is_bad = own_frames(stack)
        total += count
        if is_bad or not is_right(own):
            wrong[shorten(stack.user_frames)] += count
        elif len(own) > 4:
            leaves[own[-2][0].split()[0], own[-1][0].split()[0]] += count
    tap.ok(total >= SAMPLES, title + ": has samples", total)
    tap.ok(100 * wrong.total() <= WRONG_PERCENT * total, title + ": stacks are those of the source",
           "%d of %d are not" % (wrong.total(), total), *["%d %s" % pair[::-1] for pair in wrong.most_common(5)])
    wanted = {("middle::<u8>", "spin"), ("middle::<u8>", "back"), ("wasm", "wasm"), ("wasm", "back")}
    few = {leaf for leaf in wanted if 100 * leaves[leaf] < LEAF_PERCENT * total}
    tap.ok(not few, title + ": each function of both modules has samples", few, leaves)


def main():
    tap = Tap()
    need_root(tap, "WebAssembly in Node.js")
    chosen, modes = nodes.chosen_with_modes(sys.argv[1:], MODES, SHORT_MODES, IS_LONG)
    for node in chosen.runtimes or newest_or_all(chosen.every.values(), IS_LONG):
        for mode in modes:
            test_wasm(tap, node, mode)
    tap.finish()


if __name__ == "__main__":
    main()
