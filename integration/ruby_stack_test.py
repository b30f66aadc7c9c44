#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 900 s
"""Every sample of a Ruby program has a stack that caller_locations has seen, taken at the same lines in another run: each
method and block, methods in C among them, with file and line. Where a frame has not come to that line the line is
that of the call that it makes, or any for the innermost one. Native frames stand where they belong: behind a method in C those
of its function, and between methods that Ruby calls itself none. A version that is not known shows native frames alone.

usage: ruby_stack_test.py [RUBY...]
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rubies
from chain_samples import judge_chains, profile
from harness import HANG_SECONDS, IS_LONG, Tap, need_root

SECONDS = 10 if IS_LONG else 1
SAMPLES_PER_SECOND = 4000
TARGET = os.path.join(rubies.TARGETS, "chains.rb")
C_FILE = "<cfunc>"
# The least share of samples that come to the end of their chain.
WORK_SHARE = 0.3
# Code of eval() is often freed before it is named.
NAMELESS = "[ruby: no name]"
NAMELESS_SHARE = 0.05
# The limit of samples at an instruction of native code that has no unwind data.
NATIVE_ERROR_SHARE = 0.001
INTERPRETED_ERROR = "[error: interpret"
# The limit of frames that the runtime adds between the lines of the target.
MAX_EXTRA = 3
# Exported functions of methods in C.
NATIVE = {"each": "rb_ary_each"}
SHOWN_WRONG = 3
# One that says that it is of another version, which is not known.
SAYS_UNKNOWN, UNKNOWN = (3, 4), (3, 2)
# The first version whose names have classes.
OWNED = (3, 4)

_FRAME = re.compile(r"(?P<name>.*) \((?P<file>[^()]*\.rb|<[^()]*>)(?::(?P<line>\d+))?\)(?:_\[~\])?", re.S)

# Names have the class of the method from 3.4 on.
_OWNER = re.compile(r"(?:[A-Z]\w*::)*[A-Z]\w*[#.](?=[^#.]+$)")

Frame = collections.namedtuple("Frame", "name file line")


def parse_frame(text):
    """The Frame that @text is; None for a native one."""
    match = _FRAME.fullmatch(text)
    if text == NAMELESS:
        return Frame(text, None, 0)
    return Frame(match["name"], match["file"], int(match["line"] or 0)) if match else None


def bare(name):
    """@name without a class."""
    return _OWNER.sub("", name)


def read_chains(output):
    """The stacks that the target printed, outermost frame first."""
    chains = set()
    for text in output.split("\n\n"):
        frames = [Frame(name, file, int(line)) for name, file, line in
                  (line.split("\t") for line in text.splitlines() if line)]
        if frames:
            chains.add(tuple(reversed(frames)))
    return chains


def from_all(frames):
    """@frames from all() on, and the names of those before; None if all() is not there."""
    for i, frame in enumerate(frames):
        if bare(frame.name) == "all":
            return tuple(frames[i:]), tuple(bare(one.name) for one in frames[:i])
    return None, tuple(bare(one.name) for one in frames)


def is_equal(frame, seen):
    return frame == seen or frame.name == NAMELESS


class Known:
    """What is allowed, by what caller_locations said."""

    # The frames before all(), in the main program and in its threads.
    HEADS = [("<main>", "loop", "block in <main>"),
             ("block (2 levels) in in_threads", "loop", "block (3 levels) in in_threads")]
    # The main program, while its threads run.
    WAITING = ("<main>", "in_threads", "each", "join")

    def __init__(self, chains):
        self._chains = {from_all(chain)[0] for chain in chains if from_all(chain)[0]}

    def _is_prefix(self, frames):
        """True if all frames but the innermost are those of a chain, and that is of the method that comes next."""
        for chain in self._chains:
            if len(frames) <= len(chain) and all(map(is_equal, frames[:-1], chain)) and (
                    frames[-1][:2] == chain[len(frames) - 1][:2] or frames[-1].name == NAMELESS):
                return True
        return False

    def allows(self, frames):
        """Whether Ruby may have these frames, outermost first."""
        inner, head = from_all(frames)
        if inner is None:
            return any(head == one[:len(head)] for one in [*self.HEADS, self.WAITING])
        if head not in self.HEADS:
            return False
        for extra in range(MAX_EXTRA + 1):
            if extra and inner[-extra].file != C_FILE:
                return False
            rest = inner[:len(inner) - extra]
            if rest and self._is_prefix(rest):
                return True
        return False


def wrong_natives(texts, named=NATIVE, parse=parse_frame):
    """How native frames of a stack, outermost first, stand where they must not; None. @named: those of methods in C. @parse: as
    parse_frame().
    """
    previous, natives = None, []
    for text in texts:
        frame = parse(text)
        if not frame:
            natives.append(text)
            continue
        if previous and frame.file != C_FILE and previous.file == C_FILE:
            wanted = named.get(bare(previous.name))
            if not natives or (wanted and wanted not in natives):
                return "%s is not called by %s's function" % (text, previous.name)
        if previous and previous.file != C_FILE and frame.file == C_FILE and natives:
            return "%s calls %s by %s" % (previous.name, text, natives)
        previous, natives = frame, []
    return None


def judge(stacks, known):
    """As judge_chains(), of Ruby's frames."""
    return judge_chains(stacks, known, parse_frame, wrong_natives, {
        "work": lambda texts, frames: any(bare(frame.name) == "work" for frame in frames),
        "owned": lambda texts, frames: any(bare(frame.name) != frame.name for frame in frames),
        "nameless": lambda texts, frames: any(frame.name == NAMELESS for frame in frames)})


def check_known(tap, ruby, mode):
    name = "%s %s: " % (ruby, mode)
    output = subprocess.run(ruby.command(TARGET, "reference"), check=True, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, timeout=HANG_SECONDS).stdout
    result = profile(ruby.command(TARGET, mode), SECONDS, SAMPLES_PER_SECOND)
    counts, wrong, missing = judge(result.stacks, Known(read_chains(output)))
    tap.note("%s%s" % (name, dict(counts)))
    tap.ok(counts["all"] >= SECONDS * SAMPLES_PER_SECOND / 10, name + "there are samples", result.log)
    tap.never(wrong, name + "every stack is one that Ruby has", *["%d %s" % (count, text) for text, count in
                                                                 wrong.most_common(SHOWN_WRONG)])
    tap.ok(counts["work"] >= WORK_SHARE * counts["all"], name + "chains are there to their end", dict(counts))
    tap.ok(bool(counts["owned"]) == (ruby.version >= OWNED), name + "names have classes as the version shows them",
           dict(counts))
    tap.ok(counts["nameless"] <= NAMELESS_SHARE * counts["all"], name + "few frames have no name", dict(counts))
    tap.ok(not any(INTERPRETED_ERROR in text for text in missing)
           and counts["errors"] <= NATIVE_ERROR_SHARE * counts["all"], name + "no frames are missing",
           *missing[:SHOWN_WRONG])


def check_unknown(tap, ruby):
    """@ruby says that it is of a version that is not known."""
    name = "%s as %d.%d: " % (ruby, *UNKNOWN)
    with tempfile.TemporaryDirectory() as directory:
        result = profile(ruby.command_as(UNKNOWN, directory, TARGET, "run"), SECONDS, SAMPLES_PER_SECOND)
    counts, _, _ = judge(result.stacks, Known(set()))
    tap.ok(counts["all"] and counts["native"] == counts["all"], name + "native frames alone", dict(counts))
    tap.ok("Ruby %d.%d" % UNKNOWN in result.log, name + "a line says so", result.log)


def main():
    tap = Tap()
    need_root(tap, "Ruby")
    chosen = rubies.chosen(sys.argv[1:], IS_LONG)
    if not chosen.every:
        tap.skip("Ruby", "no Ruby is at hand: scripts/fetch_rubies.py")
    for ruby in chosen.runtimes or chosen.every.values():
        if ruby.version == SAYS_UNKNOWN:
            check_unknown(tap, ruby)
        for mode in ("run", "threads"):
            check_known(tap, ruby, mode)
    tap.finish()


if __name__ == "__main__":
    main()
