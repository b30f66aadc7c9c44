# SPDX-License-Identifier: Apache-2.0
"""The runtimes of languages that are at hand, and which of them a test's arguments name: what all languages
share. A language brings one row, a Finder (gos.py, pythons.py, javas.py), and a Runtime of its own.
"""
import collections
import functools
import re

# @every: runtimes by name. @runtimes, @modes, @names: what the arguments name, lists that may be empty;
# a name is neither a runtime nor a mode.
Chosen = collections.namedtuple("Chosen", "every runtimes modes names")


class Lacking(Exception):
    """What a run or a build needs is not on this machine."""


class Runtime:
    """One runtime. A language's own has more: how it builds and runs programs.

    name          as arguments of tests have it
    version       a number or a tuple, that is compared
    command(...)  the command that runs it with arguments
    directories   where its files lie, for those that look at them by name
    """
    name = ""
    version = 0

    def __str__(self):
        return self.name

    def command(self, *arguments):
        raise NotImplementedError

    @property
    def directories(self):
        return []


def newest_or_all(runtimes, is_long):
    """All of @runtimes in the long tier, else the one with the greatest version, if there is one."""
    runtimes = sorted(runtimes, key=lambda runtime: runtime.version)
    return runtimes if is_long else runtimes[-1:]


class Finder:
    """Finds the runtimes of one language. Each of @of_machine and @fetched returns runtimes by name: the
    machine's, and what the scripts fetched. @short: those of the machine's and the fetched ones that the
    short tier takes. @pattern: arguments that name a runtime, of the long tier as well. @modes: names.
    """

    def __init__(self, of_machine, fetched, short, pattern, modes=()):
        self.of_machine = functools.lru_cache(maxsize=None)(of_machine)
        self.fetched = functools.lru_cache(maxsize=None)(fetched)
        self._short = short
        self._pattern = re.compile(pattern)
        self._modes = modes

    def at_hand(self, is_long):
        """All runtimes by name; the short tier has some."""
        if is_long:
            return {**self.of_machine(), **self.fetched()}
        return self._short(self.of_machine(), self.fetched)

    def chosen(self, arguments, is_long):
        """What @arguments name."""
        every = self.at_hand(is_long or any(map(self._pattern.fullmatch, arguments)))
        return Chosen(every, [every[name] for name in every if name in arguments],
                      [name for name in self._modes if name in arguments],
                      [word for word in arguments if word not in every and word not in self._modes])
