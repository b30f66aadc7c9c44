# SPDX-License-Identifier: Apache-2.0
"""The PHPs at hand: what scripts/fetch_phps.py brought."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_phps
import pythons
from runtimes import Finder, Runtime

TARGETS = os.path.join(ROOT, "integration", "targets", "php")
# Versions whose frames are found (interpreters/php/php_layout.c).
KNOWN = [(7, 4), (8, 2), (8, 4), (8, 5)]


class Php(Runtime):
    """One interpreter, in a root file system."""

    def __init__(self, suite):
        self._root = str(fetch_phps.DIRECTORY / suite)
        self.program = fetch_phps.ROOTS[suite]
        self.version = tuple(map(int, re.findall(r"\d+", self.program)))
        self.name = "%s-%s" % (suite, self.program)

    def command(self, *arguments):
        # No settings of the suite: opcache would be on. The compiler of regular expressions makes code of which nothing tells.
        return pythons.enter(self._root, [TARGETS], "/usr/bin/" + self.program, "-n", "-d", "pcre.jit=0", *arguments)

    @property
    def directories(self):
        return pythons.directories_of(self._root, "/usr/bin/" + self.program)


def _fetched(suites=tuple(fetch_phps.ROOTS)):
    return {php.name: php for php in map(Php, filter(
        lambda suite: (fetch_phps.DIRECTORY / suite).exists(), suites))}


FINDER = Finder(dict, _fetched, lambda _, fetched: fetched(tuple(fetch_phps.SHORT_SUITES)), r".*-php\d.*")
at_hand, chosen = FINDER.at_hand, FINDER.chosen


if __name__ == "__main__":
    print(*at_hand(True).values(), sep="\n")
