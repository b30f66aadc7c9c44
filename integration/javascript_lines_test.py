#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for programs that run a fifth of the time
# time limit: 1800 s
"""The innermost frame of a program in JavaScript has the right line: ten lines of known cost have their shares of the
samples, in the versions of Node.js at hand and in all ways in which V8 runs the program. The frames of calls have V8's own
columns, in pprof and in OTLP.

usage: javascript_lines_test.py [NODE|MODE...]
"""
import collections
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nodes
from attached_samples import sample_attached
from harness import HANG_SECONDS, IS_LONG, Program, Tap, need_root
from javascript_stack_test import WITHOUT_MAGLEV_POSITIONS
from javascript_test import MODES, options_of
from line_shares import SAMPLES, SECONDS_MAX, SHARE_POINTS, costs
from otlp_resolved import resolved_lines
from pprof_reader import Profile
from runtimes import newest_or_all

TARGET = os.path.join(nodes.TARGETS, "lines", "loops.js")
SHORT_MODES = ["plain", "interpreted"]
APPROXIMATE_PERCENT = 1
# Of each program, so that it has 6,000 samples.
RATE, CPU_SECONDS = 4999, 1.2

COLUMNS_TARGET = os.path.join(nodes.TARGETS, "lines", "columns.js")
COLUMNS_SAMPLES = 1000
# A location of OTLP as resolved_lines() has it: function, file, first line of the function, line and column.
_LOCATION = re.compile(r"'([^']*)' '' '([^']*)' (\d+):(\d+):(\d+)")


def check_lines(tap, name, stacks):
    """The shares of lines."""
    found, approximate = collections.Counter(), 0
    for stack, count in stacks.items():
        frame = next((frame for frame in reversed(stack.user_frames) if TARGET in frame), "")
        match = re.search(r"^loops \(%s:(\d+)\)" % re.escape(TARGET), frame)
        if match:
            found[int(match[1])] += count
            approximate += count * ("_[~]" in frame)
    total = found.total()
    wrong = ["line %d: %.1f %%, not %.1f %%" % (line, 100 * found[line] / max(total, 1), cost)
             for line, cost in costs(TARGET, r"i < (?:(\d+) \* )?n;").items() if abs(100 * found[line] / max(total, 1) - cost) > SHARE_POINTS]
    tap.ok(total >= SAMPLES and not wrong and 100 * approximate <= APPROXIMATE_PERCENT * total,
           name + ": lines have their shares", "%d samples, %d approximate" % (total, approximate), *wrong)


def reference_of(node, options):
    """The stacks of leaf()'s callers as V8 has them, innermost first: tuples of (function, line, column)."""
    result = subprocess.run(node.command(*options, COLUMNS_TARGET, "reference"), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, check=True, timeout=HANG_SECONDS)
    return {tuple((name or "(anonymous)", line, column) for name, line, column in chain)
            for chain in json.loads(result.stdout)}


def chain_of(frames):
    """Of @frames (function, file, line, column), innermost first, those of leaf()'s callers; None without a leaf(), or if the
    stack is not complete.
    """
    frames = list(frames)
    if any(name.startswith("[error: ") for name, *_ in frames):
        return None
    own = [(re.sub(r"^new |_\[~\]$", "", name), line, column) for name, file, line, column in frames
           if file == COLUMNS_TARGET]
    return tuple(own[1:]) if own and own[0][0] == "leaf" else None


def pprof_chains(path):
    """The chains in a pprof file, with their samples."""
    chains = collections.Counter()
    for sample in Profile(path).samples:
        frames = [(name, *position) for name, position in zip(sample.frames, sample.lines)]
        chains[chain_of(reversed(frames))] += sample.values[0]
    return chains


def check_start_lines(tap, name, path):
    """The first lines of functions are those of the source, at their parameters."""
    with open(COLUMNS_TARGET, encoding="utf-8") as file:
        source = file.read().split("\n")
    wanted = {function: number for number, line in enumerate(source, 1)
              for function in re.findall(r"(?:function |\b(?=\w+ = \())(\w+)", line)}
    found = {function: line for function, line in Profile(path).start_lines.items() if function in wanted}
    tap.ok({"leaf", "outer", "main", "middle"} <= found.keys() and all(line == wanted[function] for function, line in found.items()),
           name + ": functions have their first lines", found, wanted)


def otlp_chains(path):
    """The chains in an OTLP file, with their samples."""
    chains = collections.Counter()
    with open(path, "rb") as file:
        lines = resolved_lines(file.read())
    for line in lines:
        stack, times = line.rpartition(" | ")[2], re.search(r"\| times \[([^]]*)\] \|", line)
        frames = [(name, file, int(number), int(column)) for name, file, _, number, column in _LOCATION.findall(stack)]
        chains[chain_of(frames)] += times[1].count(",") + 1
    return chains


def check_columns(tap, name, chains, reference):
    """The callers' positions are all those, and only those, that V8 has."""
    chains.pop(None, None)
    wrong = {chain: count for chain, count in chains.items() if chain not in reference}
    missing = reference - set(chains)
    tap.ok(chains.total() >= COLUMNS_SAMPLES and not wrong and not missing, name,
           "%d samples, %d wrong" % (chains.total(), sum(wrong.values())), *list(wrong)[:3], "missing:", *list(missing)[:3])


def test(tap, node, mode):
    """Both programs in one version and mode."""
    name, options = "%s, %s" % (node, mode), options_of(mode, node.version[0])
    # Maglev does not know there that leaf() is inlined.
    has_columns = node.version != WITHOUT_MAGLEV_POSITIONS or mode not in ("plain", "maglev")
    with tempfile.TemporaryDirectory(prefix="allframes-columns-") as directory, contextlib.ExitStack() as running:
        pprof, otlp = os.path.join(directory, "columns.pb.gz"), os.path.join(directory, "columns.otlp")
        programs = [running.enter_context(Program(*node.command(*options, path), ready=False))
                    for path in [TARGET] + [COLUMNS_TARGET] * has_columns]
        if not all(program.wait_ready() for program in programs):
            raise RuntimeError(name + ": a program did not get ready")
        result = sample_attached(programs, SECONDS_MAX, "-with-lines", "-output", pprof, "-output", otlp, rate=RATE,
                                 stays_stopped=True, cpu_seconds=CPU_SECONDS)
        check_lines(tap, name, result.stacks)
        if has_columns:
            reference = reference_of(node, options)
            check_start_lines(tap, name, pprof)
            check_columns(tap, name + ": calls have V8's columns in pprof", pprof_chains(pprof), reference)
            check_columns(tap, name + ": calls have V8's columns in OTLP", otlp_chains(otlp), reference)


def main():
    tap = Tap()
    need_root(tap, "lines of programs in JavaScript")
    chosen, modes = nodes.chosen_with_modes(sys.argv[1:], MODES, SHORT_MODES, IS_LONG)
    for node in chosen.runtimes or newest_or_all(chosen.every.values(), IS_LONG):
        for mode in modes:
            if node.version[0] >= MODES[mode][1]:
                test(tap, node, mode)
    tap.finish()


if __name__ == "__main__":
    main()
