#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it loads the machine
"""Never a wrong frame, where processes and files change under the agent.

The targets (targets/baited.h) have functions named after their file, which call each other in one
order only, in frames full of bait; so a stack unwound by another file's rules, or named by another
file's symbols, holds a call that no source has. Unwinds may end early, with an error that says so,
but most have to reach the end. Short runs here, ten minutes each with ALLFRAMES_LONG=1.
"""
import collections
import hashlib
import os
import re
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
import chains
from build_targets import COLOURS, FILLED, OUTPUT, TARGETS, TWINS
from harness import IS_LONG, Program, StackEnds, Tap, need_root, run_agent, share

SECONDS = 600 if IS_LONG else 3
RATE = 997
# The least share of samples, without those from before the process was known, so that the run could have shown
# a wrong frame: a quiet machine has 94 to 99.7 (88 with fresh files), and what the host's other work leaves
# of it is no fault.
LEAST_COMPLETE_PERCENT = 50
# With a file every 25 ms that was never seen before, whose rows have to be made first.
LEAST_COMPLETE_PERCENT_FRESH = 25

COLOURED = re.compile(r"(red|blue|one|two|fill\d\d)_(run|outer|middle|leaf|bait)|filler_(.*)")

# Who may be called by whom; "system" is everything that is not the target's own.
CALLS = {
    "run": {"outer", "system"},
    "outer": {"middle"},
    "middle": {"leaf"},
    "leaf": set(),
    "main": {"run", "swap", "system"},
    "swap": {"run"},
    "system": {"system", "main"},
}


class Judge:
    """Finds stacks that no source allows. @files: the targets whose frames may be seen."""

    def __init__(self, files, comm_is_colour):
        self._ends = StackEnds()
        self._symbols = {name: chains.Symbols(TARGETS[name].twin) for name in files}
        self._comm_is_colour = comm_is_colour

    def _named(self, frames):
        for name, symbols in self._symbols.items():
            frames = chains.name_frames(frames, name, symbols)
        return frames

    def reason(self, stack):
        """Why @stack is wrong; None if it is not."""
        frames = [frame for frame in self._named(stack.user_frames) if frame not in stack.errors]
        if not (stack.errors or stack.is_kernel_thread or stack.is_without_memory):
            if not frames or not self._ends.is_entry(frames[0]):
                return "the outermost frame is not an entry, and there is no error"
        caller, colours = None, set()
        for frame in frames:
            match = COLOURED.fullmatch(frame)
            if match:
                colours.add(match[1])
                callee = match[2] or "filler"
            else:
                callee = frame if frame in ("main", "swap") else "system"
                name = frame.rpartition("+0x")[0]
                if name in self._symbols:
                    return "%s is in no function" % frame
            if caller is not None and callee not in CALLS.get(caller, ()):
                return "%s is called by %s" % (frame, caller)
            caller = callee
        if len(colours) > 1:
            return "functions of several files"
        if self._comm_is_colour and colours and colours != {stack.comm}:
            return "functions of another program"
        return None


def count_wrong(tap, name, judge, result, least_percent=LEAST_COMPLETE_PERCENT):
    """Results for one run: no wrong stack, and that the run could have shown one."""
    wrong = collections.Counter()
    errors = collections.Counter()
    total = before_known = complete = 0
    for stack, count in result.stacks.items():
        total += count
        if stack.is_before_known:
            before_known += count
            continue
        for error in stack.errors:
            errors[error] += count
        complete += 0 if stack.errors else count
        reason = judge.reason(stack)
        if reason:
            wrong["%s: %s" % (reason, stack)] += count
    known = total - before_known
    tap.ok(result.status == 0 and not wrong, "no wrong frame: " + name,
           *["%d times %s" % (count, text) for text, count in wrong.most_common(8)],
           "%d samples of %d are wrong" % (sum(wrong.values()), total), result.log[-2000:])
    tap.ok(known >= 20 * SECONDS and 100 * complete >= least_percent * known,
           "%d %% of the unwinds end at the entry: %s" % (least_percent, name),
           "%d samples, %d from before the process was known, %d complete" %
           (total, before_known, complete))
    tap.note("%s: %d samples, before known %s, of the rest complete %s; %s" % (
        name, total, share(before_known, total), share(complete, known),
        ", ".join("%s %d" % item for item in errors.most_common())))


def profile_comms(comms, *options):
    """One run over all processes, cut down to those with one of @comms."""
    # At the end the names of thousands of files are read, which a loaded machine takes its time for.
    result = run_agent("-samples-per-second", RATE, "-duration", "%ds" % SECONDS, *options,
                       seconds=2 * SECONDS + 60)
    for stack in list(result.stacks):
        if stack.comm not in comms:
            del result.stacks[stack]
    return result


class Reader:
    """Keeps the last line of a program's output, so that its pipe never fills up."""

    def __init__(self, program):
        self.last_line = b""
        self._file = program.process.stdout
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            for line in self._file:
                self.last_line = line
        except ValueError:
            pass

    def numbers(self):
        return [int(word) for word in re.findall(rb"\d+", self.last_line)]


def path(name):
    return TARGETS[name].path


def check_pid_reuse(tap):
    judge = Judge(COLOURS, comm_is_colour=True)
    with Program(path("pid_reuse"), 40, *map(path, COLOURS)) as program:
        reader = Reader(program)
        result = profile_comms(COLOURS)
        runs = (reader.numbers() or [0])[0]
    count_wrong(tap, "a pid that is used again", judge, result)
    tap.ok(runs >= SECONDS, "the pid was used again and again", "%d runs" % runs)


def check_exec(tap):
    judge = Judge(COLOURS, comm_is_colour=True)
    with Program(path("red"), 40, path("blue"), ready=False):
        result = profile_comms(COLOURS)
    count_wrong(tap, "exec to another program at the same addresses", judge, result)


def check_twins(tap):
    files = [open(path(name), "rb").read() for name in TWINS]
    ids = {hashlib.sha256(data[:4096] + data[-4096:] + len(data).to_bytes(8, "big")).digest()
           for data in files}
    tap.ok(len(ids) == 1 and files[0] != files[1], "two programs have the same file id")
    judge = Judge(TWINS, comm_is_colour=True)
    with Program(path("one"), 50, path("two"), ready=False):
        with Program(path("two"), 10000000, ready=False):
            result = profile_comms(TWINS)
    count_wrong(tap, "two programs with one file id", judge, result)
    tap.ok({stack.comm for stack in result.stacks} == set(TWINS), "both programs were sampled")


def check_reload(tap, name, arguments, libraries, *options,
                 least_percent=LEAST_COMPLETE_PERCENT):
    judge = Judge([*libraries, "reload"], comm_is_colour=False)
    with Program(path("reload"), *arguments, *map(path, libraries)) as program:
        reader = Reader(program)
        result = profile_comms(["reload"], *options)
        loads, same = reader.numbers() or [0, 0]
    count_wrong(tap, name, judge, result, least_percent)
    tap.ok(same >= SECONDS, "libraries came to lie where others had been: " + name,
           "%d loads, %d at the last one's address" % (loads, same))


def main():
    tap = Tap()
    need_root(tap, "never wrong")
    libraries = [name + ".so" for name in COLOURS]
    filled = [name + ".so" for name in FILLED]
    build_targets.build([*COLOURS, *TWINS, *libraries, *filled, "reload", "pid_reuse"])
    os.makedirs(OUTPUT, exist_ok=True)
    check_pid_reuse(tap)
    check_exec(tap)
    check_twins(tap)
    check_reload(tap, "another library at the same address", [25], libraries)
    check_reload(tap, "loads and unloads with little room for tables", [25, "-copy"], filled,
                 "-max-map-memory", "16M", least_percent=LEAST_COMPLETE_PERCENT_FRESH)
    tap.finish()


if __name__ == "__main__":
    main()
