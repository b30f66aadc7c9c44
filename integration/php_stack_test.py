#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 900 s
"""Every sample of a PHP program has a stack that debug_backtrace() has seen, taken at the same lines in another run: each
function and method, those in C among them, with file and line. Where a frame has not come to that line any line is allowed
of the innermost one, and of no other. Native frames stand where they belong: what a function in C calls has execute_ex()
between, and a function in PHP calls another one, or one in C, without any.

usage: php_stack_test.py [PHP...] [MODE...]

A MODE is one of phps.MODES.
"""
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import phps
from chain_samples import judge_chains, profile
from harness import HANG_SECONDS, IS_LONG, Tap, need_root

SECONDS = 10 if IS_LONG else 1
SAMPLES_PER_SECOND = 4000
TARGET = os.path.join(phps.TARGETS, "chains.php")
IN_C = "<internal>"
LOOP = "execute_ex"
# A function without a name between one of these and a function in PHP is the loop's cold part.
CALLERS = "zend_execute", "zend_call_function", "zend_generator_resume"
# Generators that wait for the one that they delegate to: nothing calls them.
DELEGATING = ("delegated", "delegated_once", "delegated_to_iterator")
# Functions that are called and make a generator.
MAKING = (*DELEGATING, "counted")
# A destructor runs when a function is left and its variables are freed: the loop has no function any more.
DESTRUCTOR = "::__destruct"
# At least so many of the samples come to the end of their chain.
WORK_SHARE = 0.3
# Code of eval() and closures are often freed before they are named: of 3,600 samples 0.8 to 2.9 % on a quiet machine, 5.3 % on
# one that is busy with other things.
NAMELESS = "[php: no name]"
NAMELESS_SHARE = 0.1
# At most so many of the samples have an innermost line that may be another instruction's.
APPROXIMATE_SHARE = 0.05
APPROXIMATE = "_[~]"
ANY_LINE = -1
# At most so many of the samples end in native code that has no rows for an instruction.
NATIVE_ERROR_SHARE = 0.001
INTERPRETED_ERROR = "[error: interpret"
# A few instructions at which the engine's list is not whole (interpreters/php/NOTES.md): 1 sample of 40,000.
INTERPRETED_ERROR_SHARE, INTERPRETED_ERRORS = 0.0002, 1
# The end of code of the JIT that C has called (interpreters/php/NOTES.md): 3 and 2 samples of 8,000.
JIT_ERROR_SHARE = 0.002
SHOWN_WRONG = 3

_FRAME = re.compile(r"(?P<name>.*?) \((?P<file>/[^()]*\.php(?:\(\d+\) : eval\(\)'d code)*|<[^()]*>)(?::(?P<line>\d+))?\)"
                    r"(?:_\[~\])?", re.S)

Frame = collections.namedtuple("Frame", "name file line")


def parse_frame(text):
    """The Frame that @text is; None for a native one."""
    match = _FRAME.fullmatch(text)
    if text == NAMELESS:
        return Frame(text, None, 0)
    line = ANY_LINE if text.endswith(APPROXIMATE) else int(match["line"] or 0) if match else 0
    return Frame(match["name"], match["file"], line) if match else None


def read_chains(output):
    """The stacks that the target printed, outermost frame first."""
    chains = set()
    for text in output.split("\n\n"):
        frames = [Frame(name, file, int(line)) for name, file, line in
                  (line.split("\t") for line in text.splitlines() if line)]
        if frames:
            chains.add(tuple(reversed(frames)))
    return chains


def is_equal(frame, seen):
    return frame == seen or frame.name == NAMELESS or (frame.line == ANY_LINE and frame[:2] == seen[:2])


class Known:
    """What is allowed, by what debug_backtrace() said. The main program calls all() elsewhere."""

    def __init__(self, chains):
        self._beginnings = collections.defaultdict(set)
        for chain in chains:
            for count in range(1, len(chain)):
                self._beginnings[chain[1:count]].add(chain[count][:2])
        self._names = {frame.name for chain in chains for frame in chain}

    def _is_beginning(self, frames):
        """True if all frames but the innermost are those of a chain, and that is of the function that comes next."""
        if all(frame.name != NAMELESS and frame.line != ANY_LINE for frame in frames[:-1]):
            following = self._beginnings[frames[:-1]]
            return frames[-1][:2] in following or (following and frames[-1].name == NAMELESS) or (
                frames[-1].name in MAKING and self._is_beginning(frames[:-1]))
        return any(len(seen) == len(frames) - 1 and all(map(is_equal, frames, seen)) and
                   (frames[-1].name == NAMELESS or frames[-1][:2] in following)
                   for seen, following in list(self._beginnings.items()))

    def allows(self, frames):
        """Whether PHP may have these frames, outermost first."""
        if frames[0].name != "{main}" or frames[0].file != TARGET:
            return False
        inner = frames[1:]
        # Functions in C that the target calls on its way to work().
        if inner and inner[-1].file == IN_C and inner[-1].name not in self._names:
            inner = inner[:-1]
            return not inner or self._is_beginning(inner)
        return not inner or self._is_beginning(inner)


def wrong_natives(texts):
    """How native frames of a stack, outermost first, stand where they must not; None."""
    previous, natives = None, []
    for text in texts:
        frame = parse_frame(text)
        if not frame:
            natives.append(text.partition(" ")[0].partition("+")[0])
            continue
        if natives and natives[-1].startswith(("php", "libphp")) and natives[-2:-1] and natives[-2] in CALLERS:
            natives[-1] = LOOP
        loops = natives.count(LOOP)
        if previous and frame.file == IN_C and natives:
            return "%s calls %s by %s" % (previous.name, text, natives)
        is_called = natives or (previous and previous.file == IN_C and frame.name not in DELEGATING)
        if is_called and frame.file != IN_C and (
                not 1 <= loops <= 1 + frame.name.endswith(DESTRUCTOR) or natives[-1] != LOOP):
            return "%s is called by %s" % (text, natives)
        previous, natives = frame, []
    return None


def judge(tap, name, result, output, has_jit):
    """Checks the stacks of @result, an agent's, by what the target has printed as `reference`."""
    counts, wrong, missing = judge_chains(result.stacks, Known(read_chains(output)), parse_frame, wrong_natives, {
        "work": lambda texts, frames: any(frame.name == "work" for frame in frames),
        "nameless": lambda texts, frames: any(frame.name == NAMELESS for frame in frames),
        "approximate": lambda texts, frames: any(text.endswith(APPROXIMATE) for text in texts)})
    tap.note("%s%s" % (name, dict(counts)))
    tap.ok(counts["all"] >= SECONDS * SAMPLES_PER_SECOND / 10, name + "there are samples", result.log)
    tap.never(wrong, name + "every stack is one that PHP has", *["%d %s" % (count, text) for text, count in
                                                                wrong.most_common(SHOWN_WRONG)])
    tap.ok(counts["work"] >= WORK_SHARE * counts["all"], name + "chains are there to their end", dict(counts))
    tap.ok(counts["nameless"] <= NAMELESS_SHARE * counts["all"], name + "few frames have no name", dict(counts))
    if not has_jit:
        tap.ok(counts["approximate"] <= APPROXIMATE_SHARE * counts["all"], name + "few lines are approximate",
               dict(counts))
    interpreted = sum(INTERPRETED_ERROR in text for text in missing)
    share = JIT_ERROR_SHARE if has_jit else INTERPRETED_ERROR_SHARE
    tap.ok(interpreted <= INTERPRETED_ERRORS + share * counts["all"]
           and counts["errors"] - interpreted <= NATIVE_ERROR_SHARE * counts["all"], name + "no frames are missing",
           *missing[:SHOWN_WRONG])


def check_known(tap, php, mode):
    output = subprocess.run(php.mode_command(mode, TARGET, "reference"), check=True, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, timeout=HANG_SECONDS).stdout
    judge(tap, "%s %s: " % (php, mode), profile(php.mode_command(mode, TARGET, "run"), SECONDS, SAMPLES_PER_SECOND), output,
          mode in phps.JIT_MODES)


def main():
    tap = Tap()
    need_root(tap, "PHP")
    chosen = phps.chosen(sys.argv[1:], IS_LONG)
    if not chosen.every:
        tap.skip("PHP", "no PHP is at hand: scripts/fetch_phps.py")
    for php in chosen.runtimes or chosen.every.values():
        for mode in [mode for mode in php.modes if mode in (chosen.modes or (phps.MODES if IS_LONG else phps.SHORT_MODES))]:
            check_known(tap, php, mode)
    tap.finish()


if __name__ == "__main__":
    main()
