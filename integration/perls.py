# SPDX-License-Identifier: Apache-2.0
"""The Perls at hand: what scripts/fetch_perls.py brought and built, each as a program and as one with libperl."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_perls
import pythons
from runtimes import Finder, Runtime

TARGETS = os.path.join(ROOT, "integration", "targets", "perl")
# `static`: /usr/bin/perl has the interpreter in it. `library`: it is in libperl.
MODES = ["static", "library"]


class Perl(Runtime):
    """One interpreter, in a root file system: the one of its suite, or the one of the name @root."""

    def __init__(self, suite, root=None):
        # The folders of this machine that it sees at the same paths.
        self.shared = [TARGETS]
        self._root = str(fetch_perls.DIRECTORY / (root or suite))
        self.program = fetch_perls.ROOTS[suite]
        self.version = tuple(map(int, re.findall(r"\d+", self.program)))
        self.name = "%s-%s" % (suite, self.program)

    def command(self, *arguments):
        return self.mode_command("static", *arguments)

    def mode_command(self, mode, *arguments):
        """The command to run it in one of MODES."""
        program = self.program + "-x86_64-linux-gnu" if mode == "library" else "perl"
        # There are no locales, of which it would warn.
        return ["env", "PERL_BADLANG=0", *pythons.enter(self._root, self.shared, "/usr/bin/" + program, *arguments)]

    @property
    def directories(self):
        return pythons.directories_of(self._root, "/usr/bin/perl")


class BuiltPerl(Perl):
    """One without threads, in the folder of its source."""

    def __init__(self, name):
        suite = fetch_perls.BUILT[name]
        super().__init__(suite)
        self._directory = fetch_perls.DIRECTORY / name
        self.name = "%s-unthreaded-%s" % (suite, self.program)

    def mode_command(self, mode, *arguments):
        program = self._directory / ("perl-library" if mode == "library" else "perl")
        return ["env", "LC_ALL=C", "PERL5LIB=%s/lib" % self._directory, str(program), *arguments]

    @property
    def directories(self):
        return [str(self._directory)]


def _built():
    return {perl.name: perl for perl in (BuiltPerl(name) for name in fetch_perls.BUILT
                                         if (fetch_perls.DIRECTORY / name).exists())}


def _fetched(suites=tuple(fetch_perls.ROOTS)):
    return {perl.name: perl for perl in map(Perl, filter(
        lambda suite: (fetch_perls.DIRECTORY / suite).exists(), suites))}


def _with_loads():
    return {perl.name: perl for perl in (Perl(suite, root) for root, suite in fetch_perls.LOAD_ROOTS.items()
                                         if (fetch_perls.DIRECTORY / root).exists())}


FINDER = Finder(_built, _fetched, lambda _, fetched: fetched(tuple(fetch_perls.SHORT_SUITES)), r".*-perl\d.*", MODES)
at_hand, chosen = FINDER.at_hand, FINDER.chosen
# Perls in roots with the modules and programs of loads.
LOADS_FINDER = Finder(dict, _with_loads, lambda *_: {}, r".*-perl\d.*", MODES)


if __name__ == "__main__":
    print(*at_hand(True).values(), sep="\n")
