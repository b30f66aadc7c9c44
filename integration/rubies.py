# SPDX-License-Identifier: Apache-2.0
"""The Rubies at hand: what scripts/fetch_rubies.py brought."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_rubies
import pythons
from runtimes import Finder, Runtime

TARGETS = os.path.join(ROOT, "integration", "targets", "ruby")
# Versions whose frames are found (interpreters/ruby/ruby_layout.c).
KNOWN = [(3, 1), (3, 3), (3, 4)]


class Ruby(Runtime):
    """One interpreter, in a root file system."""

    def __init__(self, suite):
        self._root = str(fetch_rubies.DIRECTORY / suite)
        self.program = fetch_rubies.ROOTS[suite]
        self.version = tuple(map(int, re.findall(r"\d+", self.program)))
        self.name = "%s-%s" % (suite, self.program)

    def command(self, *arguments):
        return pythons.enter(self._root, [TARGETS], "/usr/bin/" + self.program, *arguments)

    @property
    def directories(self):
        return pythons.directories_of(self._root, "/usr/bin/" + self.program)


def _fetched(suites=tuple(fetch_rubies.ROOTS)):
    return {ruby.name: ruby for ruby in map(Ruby, filter(
        lambda suite: (fetch_rubies.DIRECTORY / suite).exists(), suites))}


FINDER = Finder(dict, _fetched, lambda _, fetched: fetched(tuple(fetch_rubies.SHORT_SUITES)), r".*-ruby\d.*")
at_hand, chosen = FINDER.at_hand, FINDER.chosen


if __name__ == "__main__":
    print(*at_hand(True).values(), sep="\n")
