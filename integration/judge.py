# SPDX-License-Identifier: Apache-2.0
"""The judge of stacks that all languages share: samples targets until there is enough of each, counts what
is wrong and what says that it is not whole, and makes results of that.

A language brings an adapter, a Verdict of its own: judge() looks at one stack. Everything else is here.
Wrong stacks are never allowed. Of other bad samples there are kinds (FLAGGED, BETWEEN_STATES, and those that
a language adds), and of each as many events as sound agents have (bad_events.py): few of one target,
where only a fault that hits it hard shows, and fewer of all targets together.
"""
import collections
import glob
import os
import signal
import time

import bad_events
from attached_samples import ATTACHED_RATE, sample_attached, shorten, stacks_by_comm
from harness import HANG_SECONDS, IS_LONG, Program, share

SAMPLES_PER_TARGET = 200
# CPU time of a target in one round: enough for the samples that are wanted of it, and of all where there are few.
CPU_SECONDS = None if IS_LONG else 0.3
CPU_SECONDS_OF_MANY = None if IS_LONG else 0.2
# Samples a second of CPU time.
RATE = 1997
AT_ONCE = 6
# On a machine that is busy with other things the targets get little of it.
ROUNDS_MAX = 8
SHOWN_STACKS = 4
# A thread runs so long after the line "ready" before its program is stopped.
PAST_READY_NS = 2000000
# The part of all samples that a fault of unwinding spoils at least.
RUN_FAULT = 0.005

# A stack that says that it is not whole, by a guess or an error.
FLAGGED = "not whole"
# A sample that says that it was taken while the kernel changed what is unwound.
BETWEEN_STATES = "between two states"


class Limits:
    """How many bad events one target may have. @parts: the number of targets of the run."""

    def __init__(self, rates, parts):
        self.rates = rates
        self.parts = parts

    def limit(self, kind, samples):
        return self.rates.limit(kind, samples, self.parts)


def limits_of(kind, events, samples):
    """Limits of one target by a rate of @kind, @events of @samples, and of no other kind."""
    return Limits(bad_events.SoundRates("made", {"made": {kind: {"events": events, "samples": samples}}}), 1)


class NoneAllowed:
    """Limits where a bad event is a fault."""

    @staticmethod
    def limit(_kind, _samples):
        return 0


class Verdict:
    """What there is to say about the stacks of one target.

    A language's own has judge(), and may have is_left_out() and shortfalls().
    """
    samples_wanted = SAMPLES_PER_TARGET
    kernel_percent = 0
    # Kinds of bad samples, with the part of all samples that a fault spoils which the test must find.
    kinds = {FLAGGED: RUN_FAULT, BETWEEN_STATES: RUN_FAULT}

    def __init__(self, limits=NoneAllowed):
        self.limits = limits
        self.total = self.in_kernel = 0
        self.wrong = collections.Counter()
        self.bad = {kind: collections.Counter() for kind in self.kinds}
        self._events = collections.Counter()
        self._new = {kind: collections.Counter() for kind in self.kinds}

    def judge(self, stack, count):
        """Looks at one whole stack: notes what is wrong by add_wrong(), what is not whole by add_bad()."""
        raise NotImplementedError

    def is_left_out(self, stack):
        """True for a sample that is no sample of the target's program."""
        return stack.is_without_memory

    def shortfalls(self):
        """Texts of what the language finds too little or too much of."""
        return []

    def add(self, stack, count):
        """Judges one stack."""
        if self.is_left_out(stack):
            return
        self.total += count
        if BETWEEN_STATES in self.kinds and stack.is_between_states:
            self.add_bad(BETWEEN_STATES, stack, count)
            return
        if stack.frames[-1:] and stack.frames[-1].endswith("_[k]"):
            self.in_kernel += count
        self.judge(stack, count)

    def add_wrong(self, why, stack, count):
        self.wrong[(why, shorten(stack.frames))] += count

    def add_bad(self, kind, stack, count, why=""):
        self.bad[kind][(why or kind, shorten(stack.frames))] += count
        self._new[kind][stack] += count

    def end_round(self, times):
        """All stacks of one run of the agent have been added. @times: their SampleTimes."""
        for kind, stacks in self._new.items():
            self._events[kind] += times.count_events(stacks)
            stacks.clear()

    def events(self, kind):
        """Events so far; samples of a round that has not ended count one each."""
        return self._events[kind] + self._new[kind].total()

    @property
    def has_wrong(self):
        """True if a stack is wrong, which is never an accident."""
        return bool(self.wrong)

    @property
    def is_settled(self):
        """True if more samples would not make it better."""
        return self.has_wrong or not self.failures

    @property
    def failures(self):
        """Texts of what is not as it should be."""
        found = list_stacks(self.wrong, self.total, "wrong") if self.wrong else []
        for kind, stacks in self.bad.items():
            most = self.limits.limit(kind, self.total)
            if self.events(kind) > most:
                found += list_stacks(stacks, self.total, kind)
                found.append("%s: %d events, %d allowed" % (kind, self.events(kind), most))
        if self.total < self.samples_wanted:
            found.append("only %d samples" % self.total)
        if 100 * self.in_kernel < self.kernel_percent * self.total:
            found.append("in the kernel: " + share(self.in_kernel, self.total))
        return [text.encode("ascii", "backslashreplace").decode() for text in found + self.shortfalls()]

    @property
    def note(self):
        """One line of figures."""
        return "%d samples, %s" % (self.total, ", ".join(
            "%d %s" % (stacks.total(), kind) for kind, stacks in self.bad.items()))


def list_stacks(stacks, total, what):
    """Texts of @stacks, {(reason, text): count}, of @total samples."""
    return ["%d times %s\n    %s" % (count, why[-1000:], text[-1500:])
            for (why, text), count in stacks.most_common(SHOWN_STACKS)] + [
                "%d of %d samples are %s" % (stacks.total(), total, what)]


def _run_ns(task):
    """How long a thread has run. @task: its directory in /proc."""
    with open(task + "/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


def _wants_to_run(task):
    """Whether a thread runs, or waits for a lock of the kernel: it may wait for others, or have ended."""
    with open(task + "/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0] in "RD"


def _wait_past_ready(pid):
    """Waits until each thread of a program that has said that it is ready has gone on, or leaves the work to
    others: the one that says it must not be stopped in the midst of that.
    """
    end = time.monotonic() + HANG_SECONDS
    for task in glob.glob("/proc/%d/task/*" % pid):
        try:
            before_ns = _run_ns(task)
            while (_run_ns(task) < before_ns + PAST_READY_NS and _wants_to_run(task)
                   and time.monotonic() < end):
                time.sleep(0.005)
        except (FileNotFoundError, ProcessLookupError):
            pass


class Case:
    """One target to be judged. @title: the name of its result. @comm: the name of its process, by which its
    stacks are found, and by which it is selected if it makes processes (@forks).
    """

    def __init__(self, title, comm, command, verdict, forks=False, **program_options):
        self.title = title
        self.comm = comm
        self.verdict = verdict
        self.forks = forks
        self._command = command
        self._options = program_options
        self.program = None

    def start(self):
        """Starts the program and stops it when it is ready, so that the next one gets ready as well."""
        self.program = Program(*self._command, **self._options)
        _wait_past_ready(self.program.pid)
        os.kill(self.program.pid, signal.SIGSTOP)

    def end(self):
        if self.program:
            self.program.__exit__()


def groups_of(cases, at_once=AT_ONCE):
    """@cases in groups that run side by side, of programs with different names: those that make processes alone."""
    groups = []
    for case in cases:
        fitting = [group for group in groups if not case.forks and not group[0].forks and len(group) < at_once
                   and case.comm not in {other.comm for other in group}]
        if fitting:
            fitting[0].append(case)
        else:
            groups.append([case])
    return groups


class Judge:
    """Judges the targets of one test. @seconds: of one round, which is shorter where each target has used
    @cpu_seconds before; @options: of the agent; @is_known: the agent attaches to the targets' runtime.
    @fork_seconds: instead of @seconds for targets that make processes, as their CPU time is not known.
    """

    def __init__(self, tap, test, seconds, *options, is_known=True, at_once=AT_ONCE, cpu_seconds=None, fork_seconds=None):
        self._tap = tap
        self._run = bad_events.Run(test)
        self._seconds = seconds
        self._cpu_seconds = cpu_seconds
        self._fork_seconds = fork_seconds or seconds
        self._options = options
        self._is_known = is_known
        self._at_once = at_once

    def limits(self, parts):
        """The Limits of one of @parts targets."""
        return Limits(self._run.rates, parts)

    def run(self, cases):
        """One result for each of @cases."""
        for group in groups_of(cases, self._at_once):
            try:
                for case in group:
                    case.start()
                self._sample(group)
            finally:
                for case in group:
                    case.end()
            for case in group:
                self._report(case)

    def _sample(self, group):
        """Samples the programs of @group until all verdicts are settled."""
        lacking = group
        # A target that forks spends its time in processes that are gone.
        cpu_seconds = None if group[0].forks else self._cpu_seconds
        for _ in range(ROUNDS_MAX):
            result = sample_attached(
                [case.program for case in lacking], self._fork_seconds if lacking[0].forks else self._seconds,
                *self._options,
                selection=["-comm", lacking[0].comm] if lacking[0].forks else None,
                rate=RATE if cpu_seconds else ATTACHED_RATE, is_known=self._is_known, stays_stopped=True,
                cpu_seconds=cpu_seconds)
            for line in result.log.splitlines():
                if line.startswith("warn: "):
                    self._tap.note(line)
            by_comm = stacks_by_comm(result.stacks)
            unexpected = set(by_comm) - {case.comm for case in lacking}
            if unexpected:
                raise RuntimeError("not selected, but sampled: %s" % unexpected)
            for case in lacking:
                for stack, count in by_comm[case.comm].items():
                    case.verdict.add(stack, count)
                case.verdict.end_round(result.times)
            # A program that yields gets next to nothing beside the others.
            lacking = [case for case in lacking if not case.verdict.is_settled]
            if not lacking:
                break

    def _report(self, case):
        failures = case.verdict.failures
        self._tap.ok(not failures, case.title, *failures)
        if case.verdict.has_wrong:
            self._tap.note("final: a wrong stack")
        self._tap.note("%s: %s" % (case.title, case.verdict.note))
        for kind in case.verdict.bad:
            self._run.add(kind, case.verdict.events(kind), case.verdict.total, case.verdict.kinds[kind])

    def finish(self, is_whole=True):
        """The results of all targets together."""
        self._run.finish(self._tap, is_whole)
