# SPDX-License-Identifier: Apache-2.0
"""The PHPs at hand: what scripts/fetch_phps.py brought and built."""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_phps
import pythons
from runtimes import Finder, Runtime

TARGETS = os.path.join(ROOT, "integration", "targets", "php")
# With opcache, and with its JIT, which compiles functions or traces.
MODES = ["plain", "opcache", "function", "tracing"]
JIT_MODES = MODES[2:]
SHORT_MODES = ["plain", "opcache", "tracing"]
# The first version with a JIT.
JIT_VERSION = (8, 0)


class Php(Runtime):
    """One interpreter, in a root file system: that of a suite, or the one @root with programs of the suite."""
    has_threads = False

    def __init__(self, suite, root=None):
        # The folders of this machine that it sees at the same paths.
        self.shared = [TARGETS]
        self.root = str(fetch_phps.DIRECTORY / (root or suite))
        self.program = fetch_phps.ROOTS[suite]
        self.version = tuple(map(int, re.findall(r"\d+", self.program)))
        self.name = "%s-%s" % (suite, self.program)

    def command(self, *arguments):
        """The command to run it, without the settings of the suite."""
        return self.mode_command("plain", *arguments)

    def mode_command(self, mode, *arguments):
        """The same in one of MODES."""
        return self.in_root("/usr/bin/" + self.program, *self.options(mode), *arguments)

    def in_root(self, *command):
        """@command in the root file system."""
        return pythons.enter(self.root, self.shared, *command)

    def extensions(self):
        """The files of opcache. From 8.5 on it is built in."""
        return [path[len(self.root):] for path in glob.glob(self.root + "/usr/lib/php/*/opcache.so")]

    def settings(self, mode, *settings):
        """The settings of one of MODES, and @settings."""
        settings = list(settings)
        if mode != "plain":
            settings += ["zend_extension=" + path for path in self.extensions()]
            settings += ["opcache.enable_cli=1"]
            settings += (["opcache.jit_buffer_size=64M", "opcache.jit=" + mode] if mode in JIT_MODES
                         else ["opcache.jit_buffer_size=0"])
        return settings

    def options(self, mode, *settings):
        """The options of PHP's programs for one of MODES and for @settings, without the settings of the suite."""
        settings = self.settings(mode, *settings)
        return ["-n", *(word for setting in settings for word in ("-d", setting))]

    @property
    def modes(self):
        """Those of MODES that it has."""
        return [mode for mode in MODES if self.version >= JIT_VERSION or mode not in JIT_MODES]

    @property
    def directories(self):
        return pythons.directories_of(self.root, "/usr/bin/" + self.program)


class BuiltPhp(Php):
    """One that was built here, in the folder of its source."""

    def __init__(self, name):
        suite, wanted = fetch_phps.BUILT[name]
        self.has_threads = "--enable-zts" in wanted
        super().__init__(suite, name)
        self.name = "%s-%s" % (name, self.program)

    def mode_command(self, mode, *arguments):
        return [self.root + "/sapi/cli/php", *self.options(mode), *arguments]

    def extensions(self):
        return glob.glob(self.root + "/modules/opcache.so")

    @property
    def directories(self):
        return [self.root]


def _built():
    return {php.name: php for php in (BuiltPhp(name) for name in fetch_phps.BUILT
                                      if (fetch_phps.DIRECTORY / name).exists())}


def _fetched(suites=tuple(fetch_phps.ROOTS)):
    return {php.name: php for php in map(Php, filter(
        lambda suite: (fetch_phps.DIRECTORY / suite).exists(), suites))}


def _with_loads():
    return {php.name: php for php in (Php(suite, root) for root, suite in fetch_phps.LOAD_ROOTS.items()
                                      if (fetch_phps.DIRECTORY / root).exists())}


def _with_library(suites=tuple(fetch_phps.ROOTS)):
    return {php.name: php for php in (Php(suite, suite + "-library") for suite in suites
                                      if (fetch_phps.DIRECTORY / (suite + "-library")).exists())}


FINDER = Finder(_built, _fetched, lambda _, fetched: fetched(tuple(fetch_phps.SHORT_SUITES)), r".*-php\d.*", MODES)
at_hand, chosen = FINDER.at_hand, FINDER.chosen
# PHPs in roots with the programs of real loads.
LOADS_FINDER = Finder(dict, _with_loads, lambda *_: {}, r".*-php\d.*", MODES)
# PHPs in roots with libphp. Each of these modes is a program that has it, and one of MODES.
LIBRARY_MODES = {"embed": "plain", "apache": "plain", "apache-function": "function", "apache-tracing": "tracing"}
# The first version whose root has a C library for programs that this machine's compiler builds.
EMBED_VERSION = (8, 0)
SHORT_LIBRARY_MODES = ["embed", "apache-tracing"]
LIBRARY_FINDER = Finder(dict, _with_library, lambda _, fetched: fetched(tuple(fetch_phps.SHORT_SUITES)), r".*-php\d.*",
                        list(LIBRARY_MODES))


if __name__ == "__main__":
    print(*at_hand(True).values(), sep="\n")
