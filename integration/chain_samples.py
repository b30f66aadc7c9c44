# SPDX-License-Identifier: Apache-2.0
"""Samples of a program whose chains of calls are known from another run of it."""
import collections

from harness import Program
from sampled import sample_run, wait_cpu

# JITs have compiled most of the program after that.
WARM_CPU_SECONDS = 0.5


def profile_program(program, seconds, rate):
    """The result of an agent that samples @program, @rate times a second, for @seconds of its CPU time."""
    wait_cpu([program.pid], WARM_CPU_SECONDS)
    return sample_run([program.pid], rate, seconds, "-with-lines")


def profile(command, seconds, rate):
    """The same for the program of @command."""
    with Program(*command) as program:
        return profile_program(program, seconds, rate)


def judge_chains(stacks, known, parse_frame, wrong_natives, kinds):
    """Counts of samples by what they are, wrong stacks, and the texts of those with errors.

    known.allows(frames) says whether a program may have the language's @frames; parse_frame(text) makes one of a line, None
    of a native one; wrong_natives(texts) says how native frames stand where they must not, None if they do not. @kinds: more
    that is counted, by name: functions of the texts and the frames of a stack.
    """
    counts, wrong, missing = collections.Counter(), collections.Counter(), []
    for stack, count in stacks.items():
        texts = stack.user_frames
        frames = tuple(frame for frame in map(parse_frame, texts) if frame)
        counts["all"] += count
        if stack.errors:
            counts["errors"] += count
            missing.append(";".join(texts))
        elif not frames:
            counts["native"] += count
        elif not known.allows(frames):
            wrong["no such stack: " + ";".join(texts)] += count
        elif why := wrong_natives(texts):
            wrong["%s: %s" % (why, ";".join(texts))] += count
        for kind, has in kinds.items():
            counts[kind] += count * has(texts, frames)
    return counts, wrong, missing
