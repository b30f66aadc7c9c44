#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""Every sample of a program in JavaScript is a stack that its source allows, with the line of each frame, in the versions
of Node.js at hand, and in all ways in which V8 runs it.

In a target each function names the one that it calls on the line where it does so. So in a right stack the line of
each frame has the name of the next one, and the innermost one's lies in its function. `depth: NAME=N` in a target says
that a function stands in a stack N times, one below the other, when another one has been called by it.

The targets are stopped while the agent starts and attaches to them, so that no sample comes before.
usage: javascript_test.py [NODE|MODE...]
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge
import nodes
from harness import IS_LONG, StackEnds, Tap, need_root, share

TARGETS = os.path.join(nodes.TARGETS, "samples")
# In the short tier it is long enough for all that run side by side to use their CPU time.
SECONDS, CPU_SECONDS = (10, None) if IS_LONG else (60, 0.5)
READY_SECONDS = 60
# The number of innermost frames shown of a wrong stack.
SHOWN_FRAMES = 10
# A mode: the options, and the first version that has them all. Where Maglev is, it has to be told, too.
MAGLEV_FROM = 24
MODES = {
    "plain": ([], 0),
    "interpreted": (["--no-opt", "--no-sparkplug"], 0),
    "jitless": (["--jitless"], 0),
    "sparkplug": (["--always-sparkplug", "--no-opt"], 18),
    "maglev": (["--maglev"], MAGLEV_FROM),
}
SHORT_MODES = ["plain", "interpreted"]
# So many of a target's samples have to have a function of its own.
OWN_PERCENT = 50
# Frames that have no line: the innermost function has just been entered.
LINELESS = "without a line"
LINELESS_FAULT = 0.05
# V8 keeps no bytecode's offset in a register while a handler does something else.
APPROXIMATE = "approximate"
APPROXIMATE_FAULT = 0.05
# Between two calls V8's table of optimized code may have the line before that of an inlined call.
NEAR = "the line near an inlined call"
NEAR_FAULT = 0.05
NAMELESS = "[javascript: no name]"
_FRAME = re.compile(r"(?P<name>.+?) \((?P<file>[^()]*?)(?::(?P<line>\d+))?\)(?P<flags>(?:_\[[a-z~?]\])*)$")
_FUNCTION = re.compile(
    r"^(?P<indent> *)(?:.*\bfunction\*? |(?:async )?function\*? |static |get |)(?P<name>#?\w+)\([^()]*\) \{$")


class Target:
    """A program, and what its source says."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().splitlines()
        text = "\n".join(self.lines)
        self.depths = {name: int(count) for name, count in re.findall(r"^// depth: (\w+)=(\d+)$", text, re.M)}
        self.functions = {}
        class_name = ""
        for number, line in enumerate(self.lines, 1):
            class_name = (re.match(r"class (\w+)", line) or [None, class_name])[1]
            match = _FUNCTION.match(line)
            if match:
                name = class_name if match["name"] == "constructor" else match["name"]
                self.functions[name] = (number, self._end_of(number, match["indent"]))

    def _end_of(self, first, indent):
        """The line with the bracket that ends what begins on line @first."""
        return next(number for number in range(first + 1, len(self.lines) + 1)
                    if re.match(re.escape(indent) + r"\}", self.lines[number - 1]))

    def is_initializer(self, frame):
        """Whether V8 has made the function, for a field: it has the class's name, or a made one."""
        line = self.lines[int(frame["line"] or 1) - 1]
        return frame["name"].startswith("<") or bool(re.fullmatch(r"  #\w+ = .*;", line))

    def find_wrong(self, frames):
        """What is wrong in @frames, the target's own ones, root first: (name, line or 0). None if nothing is."""
        for index, (name, line) in enumerate(frames):
            if name == "(anonymous)" and index == 0:
                first, last = 1, len(self.lines)
            elif name in self.functions:
                first, last = self.functions[name]
            else:
                return "no function: " + name
            if line and not first <= line <= last:
                return "%s is not at line %d" % (name, line)
            if index + 1 == len(frames):
                continue
            if not line or not re.search(r"\b%s\b" % re.escape(frames[index + 1][0].lstrip("#")), self.lines[line - 1]):
                return "%s at line %d does not call %s" % (name, line, frames[index + 1][0])
        names = [name for name, _ in frames]
        for name, count in self.depths.items():
            if names.count(name) not in (0, count) and names[-1] != name:
                return "%d times %s" % (names.count(name), name)
        return None


class Verdict(judge.Verdict):
    """What there is to say about the stacks of one target."""
    kinds = {**judge.Verdict.kinds, LINELESS: LINELESS_FAULT, APPROXIMATE: APPROXIMATE_FAULT, NEAR: NEAR_FAULT}

    def __init__(self, target, ends, limits=judge.NoneAllowed):
        super().__init__(limits)
        self._target = target
        self._ends = ends
        self.own = self.unnamed = self.inlined = 0
        self._unseen = set(target.functions)

    def judge(self, stack, count):
        users, shown = stack.user_frames, stack._replace(frames=stack.frames[-SHOWN_FRAMES:])
        if stack.errors or stack.has_guess or not users or not self._ends.is_entry(users[0]):
            self.add_bad(judge.FLAGGED, shown, count)
            return
        if any(frame.startswith(NAMELESS) for frame in users):
            self.unnamed += count
        own, flags = [], ""
        for frame in users:
            match = _FRAME.match(frame)
            if match and match["file"] == self._target.path and not self._target.is_initializer(match):
                own.append((re.sub("^(?:new|get|set) ", "", match["name"]), int(match["line"] or 0)))
                flags = match["flags"]
                self.inlined += count * ("_[i]" in flags)
        if not own:
            return
        self.own += count
        self._unseen -= {name for name, _ in own}
        why = self._target.find_wrong(own)
        if why and "_[i]" in flags and "does not call" in why:
            self.add_bad(NEAR, shown, count, why)
        elif why:
            self.add_wrong(why, shown, count)
        elif not own[-1][1]:
            self.add_bad(LINELESS, shown, count)
        elif "_[~]" in flags:
            self.add_bad(APPROXIMATE, shown, count)

    def shortfalls(self):
        found = []
        if 100 * self.own < OWN_PERCENT * self.total:
            found.append("of the target's own: " + share(self.own, self.total))
        if self.unnamed:
            found.append("without names: " + share(self.unnamed, self.total))
        if self._unseen:
            found.append("never seen: " + " ".join(sorted(self._unseen)))
        return found

    @property
    def note(self):
        return "%d samples, %d of the target's own, %d inlined frames" % (self.total, self.own, self.inlined)


def options_of(mode, version):
    """The options of @mode for a Node.js of the major @version."""
    options = MODES[mode][0]
    return options + ["--no-maglev"] * ("--no-opt" in options and version >= MAGLEV_FROM)


def cases_of(judging, chosen_nodes, modes):
    """The target in each node and mode, by a name of its own."""
    target = Target(os.path.join(TARGETS, "chains.js"))
    pairs = [(node, mode) for node in chosen_nodes for mode in modes if node.version[0] >= MODES[mode][1]]
    ends = {node: StackEnds(node.directories) for node in chosen_nodes}
    return [judge.Case("%s, %s, %s" % (node, mode, target.name), "chains-%d" % number,
                       node.command(*options_of(mode, node.version[0]), target.path, "chains-%d" % number),
                       Verdict(target, ends[node], judging.limits(len(pairs))),
                       seconds=READY_SECONDS) for number, (node, mode) in enumerate(pairs)]


def main():
    tap = Tap()
    need_root(tap, "samples of programs in JavaScript")
    arguments = sys.argv[1:]
    chosen, modes = nodes.chosen_with_modes(arguments, MODES, SHORT_MODES, IS_LONG)
    chosen_nodes = list((chosen.runtimes or chosen.every.values()))
    judging = judge.Judge(tap, "javascript_test", SECONDS, "-with-lines", cpu_seconds=CPU_SECONDS)
    judging.run(cases_of(judging, chosen_nodes, modes))
    judging.finish(not arguments)
    tap.finish()


if __name__ == "__main__":
    main()
