#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it loads the machine
# time limit: 7200 s
"""Real loads in Java, on eight threads and short of memory: the stacks are complete, judged from their frames,
those with methods as well as those of collectors and compilers, all but as many as sound agents have, and
in the long tier 99.5 %; and a JVM that starts while the agent runs is known soon. The short tier runs one load
in one JDK, and starts the newest one.

usage: java_loads_test.py [JDK|MODE|LOAD|start|first...]
"""
import collections
import glob
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
import javas
from attached_samples import sample_attached, shorten
from harness import (IS_LONG, Agent, Program, StackEnds, Tap, need_root, share,
                     without_native_lines)
from java_chains import JavaFrame, split
from java_test import NAMELESS
from python_test import is_in_clone
from sampled import wait_cpu

SECONDS = 30 if IS_LONG else 6
SAMPLES = 500
# Eight compilers at once, which are interpreted at first.
READY_SECONDS = 300
# After which most of what is compiled is ready. Code that is replaced meanwhile may be freed before the agent names it, and then
# all stacks of that moment have a method without a name.
WARM_CPU_SECONDS = 40 if IS_LONG else 10
COMPLETE_PERCENT = 99.5 if IS_LONG else 0
COMPLETE_FAULT = 0.02
WITH_METHODS, WITHOUT_METHODS = "not whole, with methods", "not whole, without methods"
# Of samples with methods.
JAVA_PERCENT = 20
MODES = ["plain", "serial", "parallel", "z", "shenandoah", "comp", "wide-oops", "small-cache"]
SHORT_MODES = ["plain"]
SHORT_LOADS = ["Compile"]
# Each load fills its memory again and again.
HEAPS = {"Compile": "-Xmx160m", "Serve": "-Xmx48m"}
# As an argument: the test of what starts while the agent runs.
START = "start"
START_SECONDS = 8
# Wanted of the samples of a JVM from its first instruction on.
START_PERCENT = 90
# The name of such a JVM.
EARLY = "j-early"
# The short tier compiles so many sources beside Target.java, which all of them need.
SHORT_SOURCES = 5
# As an argument, in the long tier anyway: the test of a compiler's first half minute.
FIRST = "first"
HALF_MINUTE = 30
HALF_MINUTE_PERCENT = 99.5


def load_command(java, mode, load, *options):
    """The command that runs @load, with more @options of the JVM."""
    arguments = []
    if load == "Compile":
        shared = javas.LOAD_CLASSES + "/sources/Target.java"
        others = sorted({*glob.glob(javas.LOAD_CLASSES + "/sources/*.java")} - {shared})
        arguments = [shared, *(others if IS_LONG else others[:SHORT_SOURCES])]
    return java.command(*java.options(mode), HEAPS[load], *options, "-cp", javas.LOAD_CLASSES, load,
                        *arguments)


def judge(stack, ends):
    """Why @stack is not whole; None if it is."""
    users = stack.user_frames
    if len(users) == 1 and is_in_clone(users[0], ends):
        # A thread that begins.
        return None
    if not ends.is_complete(stack):
        return "not complete"
    if NAMELESS in users:
        return "a method has no name"
    return split(users)[1]


class Count:
    """Samples of one kind of thread."""

    def __init__(self):
        self.total = 0
        self.bad = collections.Counter()

    def add(self, why, stack, count):
        self.total += count
        if why:
            self.bad[why, stack] += count

    @property
    def keeps_promise(self):
        return 100 * self.bad.total() <= (100 - COMPLETE_PERCENT) * self.total

    def __str__(self):
        return "%s of %d are complete" % (share(self.total - self.bad.total(), self.total),
                                          self.total)


def judge_complete(tap, run, name, result, ends):
    """Results: of the stacks of @result enough are whole, in threads of both kinds."""
    with_java, others = Count(), Count()
    for stack, count in result.stacks.items():
        if stack.is_without_memory or stack.is_between_states:
            continue
        has_java = any(isinstance(item, JavaFrame) for item in split(stack.user_frames)[0])
        (with_java if has_java else others).add(judge(stack, ends), stack, count)
    total = with_java.total + others.total
    text = "with methods %s; without %s" % (with_java, others)
    for kind, part in ((WITH_METHODS, with_java), (WITHOUT_METHODS, others)):
        bad_stacks = {stack: count for (_, stack), count in part.bad.items()}
        run.check(tap, "%s: the stacks %s are complete" % (name, kind.partition(", ")[2]), kind,
                  result.times.count_events(bad_stacks), part.total, COMPLETE_FAULT, text,
                  *["%d times %s: %s" % (count, why, shorten(stack.frames)[-1200:])
                    for (why, stack), count in part.bad.most_common(4)],
                  is_good=part.keeps_promise)
    tap.ok(total >= SAMPLES and 100 * with_java.total >= JAVA_PERCENT * total,
           "%s: at least %d %% of the stacks have methods" % (name, JAVA_PERCENT), text)
    tap.note("%s: %s" % (name, text))


def test_load(tap, run, java, mode, load):
    """One load."""
    name = "%s in %s, %s" % (load, java, mode)
    try:
        program = Program(*load_command(java, mode, load), seconds=READY_SECONDS)
    except javas.Lacking as lack:
        tap.skip("%s: the stacks are complete" % name, lack)
        return
    with program:
        wait_cpu([program.pid], WARM_CPU_SECONDS)
        result = sample_attached([program], SECONDS, "-with-lines")
    judge_complete(tap, run, name, result, StackEnds(java.directories))


def sample_early(java, command, seconds):
    """Stacks of a JVM that starts while the agent runs, from its first instruction on, by another name
    than that of other JVMs.
    """
    link = os.path.join(javas.OUTPUT, EARLY)
    if os.path.lexists(link):
        os.unlink(link)
    os.symlink(java.path(), link)
    command[command.index(java.path())] = link
    with Agent("-samples-per-second", 997, "-with-lines", "-comm", EARLY) as agent:
        if not agent.wait_started(READY_SECONDS):
            raise RuntimeError("the agent failed: " + agent.log_text())
        with Program(*command, ready=False) as program:
            time.sleep(seconds)
            os.kill(program.pid, signal.SIGSTOP)
            return without_native_lines(agent.stop().stacks)


def judge_early(tap, name, stacks, ends, percent):
    """One result: @percent of @stacks are whole."""
    bad, total = collections.Counter(), 0
    for stack, count in stacks.items():
        if stack.is_without_memory or stack.is_between_states:
            continue
        total += count
        why = judge(stack, ends)
        if why:
            bad[(stack.errors or [why])[0]] += count
    text = "%s of %d are complete; the others: %s" % (share(total - bad.total(), total), total,
                                                     dict(bad))
    tap.ok(total >= SAMPLES and 100 * bad.total() <= (100 - percent) * total, name, text)
    tap.note("%s: %s" % (name, text))


def test_start(tap, java):
    """A JVM that starts while the agent runs: it is known before its program has loaded its classes."""
    target = javas.find_targets(["Calls"])["Calls"]
    command = java.target(target, "plain", "-Dallframes.unnamed=yes")
    judge_early(tap, "%s is known soon after its start" % java,
                sample_early(java, command, START_SECONDS), StackEnds(java.directories), START_PERCENT)


def test_first_half_minute(tap, java):
    """A compiler's, in which the JVM makes most of its code, and throws much of that away."""
    command = load_command(java, "plain", "Compile", "-Dallframes.unnamed=yes")
    judge_early(tap, "%g %% of a compiler's first half minute in %s" % (HALF_MINUTE_PERCENT, java),
                sample_early(java, command, HALF_MINUTE), StackEnds(java.directories), HALF_MINUTE_PERCENT)


def main():
    tap = Tap()
    need_root(tap, "loads in Java")
    if not javas.of_machine():
        tap.skip("loads in Java", "there is no JDK on this machine")
        tap.finish()
    words = sys.argv[1:]
    every = javas.at_hand(IS_LONG or any(re.fullmatch(r"\w+-\d+", word) for word in words))
    if IS_LONG:
        javas.skip_missing(tap)
    javas.build_loads()
    javas.build()
    wanted = [every[name] for name in every if name in words] or list(every.values())
    modes = [name for name in javas.MODES if name in words] or (
        MODES if IS_LONG else SHORT_MODES)
    loads = [name for name in HEAPS if name in words or not {*HEAPS, START, FIRST} & set(words)]
    run = bad_events.Run("java_loads_test")
    # The short tier: its loads in turn over the JDKs, and the start of the last one.
    is_slice = not IS_LONG and not words
    for number, java in enumerate(wanted):
        for mode in modes:
            for load in SHORT_LOADS[number::len(wanted)] if is_slice else loads:
                test_load(tap, run, java, mode, load)
        is_started = java == wanted[-1] if is_slice else START in words or len(loads) == len(HEAPS)
        if java.root == "/" and is_started:
            test_start(tap, java)
        if java.root == "/" and (FIRST in words or (IS_LONG and len(loads) == len(HEAPS))):
            test_first_half_minute(tap, java)
    run.finish(tap)
    tap.finish()


if __name__ == "__main__":
    main()
