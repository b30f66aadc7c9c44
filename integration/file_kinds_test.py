#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for compilers and agents by turns
"""Programs of every kind of file (file_kinds.py) have the stacks that their sources allow.

Frames have names where a file, or what lies beside it or in it, has symbols, and else say where the function
starts, if .eh_frame tells. Every sample of a kind with unwind information has an allowed chain, without guess
or error. Where there is none, frames may be flagged as guesses, and an unwind that is cut or leaves a frame out is
not wrong if it says so; 90 % have to be right all the same. usage: file_kinds_test.py [KIND...]
"""
import collections
import functools
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chains
from file_kinds import KINDS
from harness import IS_LONG, OUTPUT, Tap, need_root, share
from sampled import sample

RATE = 997
# Of each program, in a run.
CPU_SECONDS = 5 if IS_LONG else 0.22
ROUNDS_MAX = 6
# So many programs share the machine in a run.
AT_ONCE = 12
SAMPLES_PER_KIND = 200
RIGHT_PERCENT_OF_GUESSES = 90
GUESS = "_[?]"
# This error is normal in the first moments of a run, while the machine is busy.
NOT_LOADED = "[error: unwind rows not loaded]"
SHOWN = 6


def judge(tap, kind, stacks):
    allowed = chains.Chains(kind.source, kind.macros)
    symbols = chains.Symbols(kind.twin)
    wrong, flagged, unnamed = collections.Counter(), collections.Counter(), collections.Counter()
    total = right = guessed = early = 0
    addresses = set()
    for stack, count in stacks.items():
        if NOT_LOADED in stack.errors:
            early += count
            continue
        total += count
        plain = [frame.removesuffix(GUESS) for frame in stack.frames]
        addresses.update(chains.unnamed_addresses(plain, kind.file_name))
        for frame in chains.judge_names(plain, kind.file_name, symbols, not kind.has_symbols):
            unnamed[frame] += count
        frames = chains.name_frames(plain, kind.file_name, symbols)
        is_right = allowed.allow(frames)
        is_flagged = bool(stack.has_guess or stack.errors)
        guessed += count * stack.has_guess
        if is_right and (kind.may_guess or not stack.has_guess):
            right += count
        elif kind.may_guess and is_flagged:
            flagged[";".join(stack.frames)] += count
        else:
            wrong[";".join(stack.frames)] += count
    least = RIGHT_PERCENT_OF_GUESSES if kind.may_guess else 100
    shown = wrong if wrong else flagged
    tap.ok(total >= SAMPLES_PER_KIND and not wrong and 100 * right >= least * total
           and early < total,
           "stacks of %s" % kind.name,
           *["%d times %s" % (count, text) for text, count in shown.most_common(SHOWN)],
           "%d samples, %d wrong, %d right, %d before the rows were loaded"
           % (total, wrong.total(), right, early))
    if kind.has_symbols or symbols.has_starts and not kind.may_guess:
        tap.ok(not unnamed and (kind.has_symbols or addresses), "names of %s" % kind.name,
               unnamed.most_common(SHOWN))
    if kind.may_guess:
        tap.note("%s: %s right, guesses in %s of %d" % (kind.name, share(right, total),
                                                       share(guessed, total), total))


def count_judged(stacks):
    """Samples that were taken after the unwind rows were loaded."""
    return sum(count for stack, count in stacks.items() if NOT_LOADED not in stack.errors)


def profile(started):
    """Stacks of each of @started, pairs of kind and program."""
    by_kind = collections.defaultdict(collections.Counter)
    lacking = started
    for _ in range(ROUNDS_MAX):
        stacks = sample([program.pid for _, program in lacking], RATE, CPU_SECONDS)
        for stack, count in stacks.items():
            owners = [kind for kind, _ in started if kind.comm == stack.comm]
            if len(owners) != 1:
                raise RuntimeError("whose is %s?" % stack.comm)
            by_kind[owners[0].name][stack] += count
        lacking = [(kind, program) for kind, program in started
                   if count_judged(by_kind[kind.name]) < SAMPLES_PER_KIND]
        if not lacking:
            break
    return by_kind


def or_failure(tap, kind, make, directory):
    """What @make returns for the folder of @kind, or None if it cannot be made, which is a result."""
    try:
        return make(directory)
    except (RuntimeError, subprocess.CalledProcessError) as problem:
        tap.ok(False, "stacks of %s" % kind.name, problem)
        return None


def build(kind, directory):
    os.mkdir(directory)
    kind.build(directory)
    return kind


def start(kind, directory):
    """The running program."""
    program = kind.start(directory)
    with open("/proc/%d/comm" % program.pid, encoding="utf-8") as file:
        kind.comm = file.read().rstrip("\n")
    return program


def check_group(tap, group, directory):
    # Not NAME.d: make takes that for a list of dependencies, if a killed test leaves it behind.
    folders = {kind: os.path.join(directory, kind.name + ".files") for kind in group}
    # All are built before one runs, and none runs while they are judged.
    built = [kind for kind in group
             if or_failure(tap, kind, functools.partial(build, kind), folders[kind])]
    started = []
    try:
        for kind in built:
            program = or_failure(tap, kind, functools.partial(start, kind), folders[kind])
            if program:
                started.append((kind, program))
        by_kind = profile(started) if started else {}
    finally:
        for _, program in started:
            program.__exit__()
    for kind, _ in started:
        judge(tap, kind, by_kind[kind.name])


def main():
    tap = Tap()
    need_root(tap, "kinds of files")
    wanted = [kind for kind in KINDS if kind.name in sys.argv[1:]
              or not sys.argv[1:] and (IS_LONG or not kind.is_long)]
    possible = [kind for kind in wanted if kind.is_possible()]
    for kind in wanted:
        if kind not in possible:
            tap.skip("stacks of %s" % kind.name, "no %s on this machine" % kind.command[0])
    os.makedirs(OUTPUT, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kinds-", dir=OUTPUT) as directory:
        for first in range(0, len(possible), AT_ONCE):
            check_group(tap, possible[first:first + AT_ONCE], directory)
    tap.finish()


if __name__ == "__main__":
    main()
