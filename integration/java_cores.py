# SPDX-License-Identifier: Apache-2.0
"""Stacks of core files of JVMs, as build/walk_core prints them, judged as live samples are."""
import os

from harness import Stack, allow_core
from java_chains import APPROXIMATE, INLINED
from java_test import NAMELESS, Verdict

_GUESS = "_[?]"
# Kinds of memory. Mapped files as well: the archive of classes (CDS) has methods, and is not written to.
WITH_FILES = 0x37
NOTHING = 0


def choose_memory(kinds):
    """For preexec_fn: what the kernel writes into core files."""
    allow_core()
    with open("/proc/self/coredump_filter", "w", encoding="ascii") as file:
        file.write("%#x" % kinds)


def _marks(flags):
    flags = flags.split(",")
    return (INLINED * ("inlined" in flags) + APPROXIMATE * ("approximate" in flags)
            + _GUESS * ("guess" in flags))


def _java_frame(line, file, function, flags):
    """A frame as it stands in the agent's folded files."""
    if function == "-":
        return NAMELESS
    location = file if int(line) == 0 else "%s:%s" % (file, line)
    return function + " (%s)" % location * (file != "-") + _marks(flags)


def _native_frame(address, path, function, flags):
    if function == "-":
        function = "%s+0x%x" % (os.path.basename(path),
                                int(address, 16) - ("return" in flags.split(",")))
    return function + _marks(flags)


def read_stacks(text, comm):
    """Stack by tid, from what walk_core prints with -interpreted and -inlined."""
    found = {}
    for line in text.splitlines():
        kind, *fields = line.split("\t")
        if kind == "thread":
            frames = found[int(fields[0])] = []
        elif kind in ("error", "missing"):
            frames.append("[error: %s]" % fields[1])
        elif kind == "end":
            continue
        elif fields[0] == "java":
            frames.append(_java_frame(*fields[1:]))
        else:
            frames.append(_native_frame(*fields[1:]))
    return {tid: Stack(comm, tuple(frames[::-1])) for tid, frames in found.items()}


class CoresVerdict(Verdict):
    """The same of the core files of one target, of which there are @least stacks of its own. Up to
    @guess_percent of them may have guesses, whatever these are: they say so.
    """

    def __init__(self, target, ends, least, guess_percent=0):
        super().__init__(target, ends)
        self._least = least
        self._guess_percent = guess_percent
        self.guessed = 0

    def add(self, stack, count):
        if self._guess_percent and stack.has_guess:
            self.guessed += count
            self.total += count
        else:
            super().add(stack, count)

    samples_wanted = 0

    def shortfalls(self):
        found = ["only %d stacks of its own" % self.own] if self.own < self._least else []
        if self.guessed > max(1, self.total * self._guess_percent / 100):
            found.append("%d of %d stacks have guesses" % (self.guessed, self.total))
        return found
