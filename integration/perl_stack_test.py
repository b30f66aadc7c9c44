#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 900 s
"""Every sample of a Perl program has a stack that caller() has seen, taken at the same calls in another run: each sub, eval and
file, with file and line. Where a frame has not come to that call any line is allowed of the innermost one, and of no
other. Native frames stand where they belong: a sub that C code calls has Perl_runops_standard() between, and a sub that
Perl calls has none.

usage: perl_stack_test.py [PERL...] [static] [library]
"""
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perls
from chain_samples import judge_chains, profile
from harness import HANG_SECONDS, IS_LONG, Tap, need_root

SECONDS = 10 if IS_LONG else 1
SAMPLES_PER_SECOND = 4000
TARGET = os.path.join(perls.TARGETS, "chains.pl")
LOOP = "Perl_runops_standard"
MAIN = "(main)"
# Names of code without a sub.
EVAL, FILE = "(eval)", "(require)"
# Subs on the way that call nothing that works.
SHORT = {"Chains::dies", "Object::new", "Object::__ANON__", "Tied::TIESCALAR", "Tied::TIEHASH", "Tied::NEXTKEY",
         "Chains::BEGIN", "Included::BEGIN", "Chains::AUTOLOAD", "Chains::by_number"}
# Packages whose subs `use` calls.
PRAGMAS = ("strict::", "warnings::")
# Subs that only C code calls, and subs that only Perl calls, and not from an eval in a sub that C code has called.
FROM_C = {"Object::DESTROY", "Object::add", "Tied::FETCH", "Tied::STORE", "Tied::FIRSTKEY", "Chains::by_number",
          "Chains::BEGIN"}
FROM_PERL = {"Chains::everything", "Chains::outer", "Chains::inner", "Chains::recurse", "Chains::evals", "Chains::files",
             "Chains::lists", "Chains::magic", "Chains::deep_die", "Chains::sub_in_pattern"}
# A block that List::Util::first() calls, and the sub that is called for what it gave.
BLOCK, FROM_RESULT = "Chains::__ANON__", "Object::__ANON__"
# Its function in C: by the sub's name in a stripped module, else by the compiler's. Such names are no frames of Perl.
FIRST = ("List::Util::first", "XS_List__Util_first")
PACKAGES_IN_C = ("List::Util::", "Cwd::")
# At least so many of the samples come to the end of their chain.
WORK_SHARE = 0.3
NAMELESS = "[perl: no name]"
# Files are loaded all the time, and BEGIN is freed when it has run.
NAMELESS_SHARE = 0.08
# While an exception leaves a block that C code calls, its contexts are not told from others (interpreters/perl/NOTES.md).
ERROR_SHARE = 0.03
SHOWN_WRONG = 3
ANY_FILE = "(eval 1)"

_FRAME = re.compile(r"(?P<name>[^;]*?) \((?P<file>[^()]*\.p[lm]|\(eval \d+\)):(?P<line>\d+)\)|"
                    r"(?P<bare>\((?:eval|main|require)\)|[\w:]+::[\w]+)", re.S)

Frame = collections.namedtuple("Frame", "name file line")


def same_file(file):
    """Texts of eval are numbered, and counted on."""
    return ANY_FILE if file.startswith("(eval ") else file


def parse_frame(text):
    """The Frame that @text is; None for a native one."""
    match = _FRAME.fullmatch(text)
    if text == NAMELESS:
        return Frame(text, None, 0)
    if not match or (match["bare"] and text.startswith(PACKAGES_IN_C)):
        return None
    return Frame(match["name"] or match["bare"], same_file(match["file"] or ""), int(match["line"] or 0))


def read_chains(output):
    """The stacks that the target printed, outermost frame first."""
    chains = set()
    for text in output.split("\n\n"):
        frames = [Frame(name, same_file(file), int(line)) for name, file, line in
                  (line.split("\t") for line in text.splitlines() if line)]
        if frames:
            chains.add(tuple(reversed(frames)))
    return chains


def is_equal(frame, seen):
    """Names of texts, and closures, are often freed before they are read; then there is no file."""
    return frame == seen or (frame.name in (seen.name, NAMELESS) and not frame.file)


def without_paused(chain):
    """@chain as samples have it: caller() shows a block of first() while that looks at what the block gave, too."""
    return tuple(frame for frame, inner in zip(chain, chain[1:] + (None,)) if not (
        frame.name == BLOCK and inner and inner.name == FROM_RESULT))


class Known:
    """What is allowed, by what caller() said."""

    def __init__(self, chains):
        self._beginnings = collections.defaultdict(set)
        for chain in {*chains, *map(without_paused, chains)}:
            for count in range(len(chain)):
                self._beginnings[chain[:count]].add(chain[count])

    def _following(self, frames):
        """The frames that may come behind @frames."""
        if all(frame.file for frame in frames):
            return self._beginnings.get(frames, set())
        return {frame for seen, following in self._beginnings.items()
                if len(seen) == len(frames) and all(map(is_equal, frames, seen)) for frame in following}

    def _follows(self, frames, inner):
        """True if @inner may come behind @frames."""
        following = self._following(frames)
        # An eval, before its first statement, is where it was called; and there are some that do not come to work().
        return following and (
            inner.name in SHORT or inner.name in (EVAL, FILE, NAMELESS) or inner.name.startswith(PRAGMAS) or
            any(seen.name == inner.name and inner.file in (seen.file, "") for seen in following))

    def allows(self, frames):
        """Whether Perl may have these frames, outermost first."""
        if frames[0].name != MAIN:
            return False
        for count in range(len(frames)):
            rest = frames[count:]
            if self._follows(frames[:count], rest[0]) and all(
                    frame.name in SHORT or frame.name in (EVAL, FILE, NAMELESS) or frame.name.startswith(PRAGMAS)
                    for frame in rest[1:]):
                return True
        return False


def wrong_natives(texts):
    """How native frames of a stack, outermost first, stand where they must not; None."""
    natives, previous = [], None
    for text in texts:
        frame = parse_frame(text)
        if not frame:
            natives.append(text.partition(" ")[0].partition("+")[0])
            continue
        if natives and natives[-1] != LOOP:
            return "%s is called by %s" % (text, natives)
        if frame.name in FROM_PERL and natives:
            return "%s is called by %s" % (text, natives)
        if frame.name in FROM_C and not natives and previous and previous.name != EVAL:
            return "%s is called by %s" % (text, previous)
        previous, natives = frame, []
    return None


def check_known(tap, perl, mode):
    name = "%s %s: " % (perl, mode)
    output = subprocess.run(perl.mode_command(mode, TARGET, "reference"), check=True, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=HANG_SECONDS).stdout
    result = profile(perl.mode_command(mode, TARGET, "run"), SECONDS, SAMPLES_PER_SECOND)
    counts, wrong, missing = judge_chains(result.stacks, Known(read_chains(output)), parse_frame, wrong_natives, {
        "work": lambda texts, frames: any(frame.name == "Chains::work" for frame in frames),
        "first": lambda texts, frames: any(text in FIRST and following == LOOP
                                           for text, following in zip(texts, texts[1:])),
        "nameless": lambda texts, frames: any(frame.name == NAMELESS for frame in frames)})
    tap.note("%s%s" % (name, dict(counts)))
    tap.ok(counts["all"] >= SECONDS * SAMPLES_PER_SECOND / 10, name + "there are samples", result.log)
    tap.never(wrong, name + "every stack is one that Perl has", *["%d %s" % (count, text) for text, count in
                                                                  wrong.most_common(SHOWN_WRONG)])
    tap.ok(counts["work"] >= WORK_SHARE * counts["all"], name + "chains are there to their end", dict(counts))
    tap.ok(counts["first"], name + "first() has its name, and calls its block", dict(counts))
    tap.ok(counts["nameless"] <= NAMELESS_SHARE * counts["all"], name + "few frames have no name", dict(counts))
    tap.ok(counts["errors"] <= ERROR_SHARE * counts["all"], name + "few frames are missing", *missing[:SHOWN_WRONG])


def main():
    tap = Tap()
    need_root(tap, "Perl")
    chosen = perls.chosen(sys.argv[1:], IS_LONG)
    if not chosen.every:
        tap.skip("Perl", "no Perl is at hand: scripts/fetch_perls.py")
    for perl in chosen.runtimes or chosen.every.values():
        for mode in chosen.modes or perls.MODES:
            check_known(tap, perl, mode)
    tap.finish()


if __name__ == "__main__":
    main()
