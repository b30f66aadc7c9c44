# SPDX-License-Identifier: Apache-2.0
"""The Rubies at hand: what scripts/fetch_rubies.py brought."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_rubies
import pythons
from harness import OUTPUT
from runtimes import Finder, Runtime

TARGETS = os.path.join(ROOT, "integration", "targets", "ruby")


class Ruby(Runtime):
    """One interpreter, in a root file system."""

    def __init__(self, root):
        # The folders of this machine that it sees at the same paths.
        self.shared = [TARGETS]
        self._root = str(fetch_rubies.DIRECTORY / root)
        self.program = fetch_rubies.ROOTS[fetch_rubies.LOAD_ROOTS.get(root, root)]
        self.version = tuple(map(int, re.findall(r"\d+", self.program)))
        self.name = "%s-%s" % (root, self.program)

    def command(self, *arguments):
        return pythons.enter(self._root, self.shared, "/usr/bin/" + self.program, *arguments)

    def command_as(self, version, directory, *arguments):
        """The same, with its library as one of another version of equal length, which @directory gets."""
        name = "libruby-%d.%d.so.%d.%d" % (self.version * 2)
        with open(os.path.join(self._root, "usr/lib/x86_64-linux-gnu", name), "rb") as file:
            data = file.read()
        own = rb"(?<=\0)%d\.%d(?=\.\d+\0)" % self.version
        with open(os.path.join(directory, name), "wb") as file:
            file.write(re.sub(own, b"%d.%d" % version, data))
        return pythons.enter(self._root, [*self.shared, directory], "/lib64/ld-linux-x86-64.so.2", "--library-path", directory,
                             "/usr/bin/" + self.program, "--disable-gems", *arguments)

    @property
    def directories(self):
        return pythons.directories_of(self._root, "/usr/bin/" + self.program)


class BuiltRuby(Runtime):
    """One with YJIT, in the folder in which it was built."""

    def __init__(self, name):
        self._directory = str(fetch_rubies.DIRECTORY / name)
        self.program = fetch_rubies.BUILT[name][1]
        self.version = tuple(map(int, re.findall(r"\d+", self.program)))
        self.name = "%s-%s" % (name, self.program)

    def command(self, *arguments):
        folders = ["-I%s/%s" % (self._directory, folder) for folder in ("lib", ".", ".ext/x86_64-linux", ".ext/common")]
        return [self._directory + "/ruby", *folders, "--disable-gems", "--yjit", *arguments]

    @property
    def directories(self):
        return [self._directory]


def _fetched(suites=tuple(fetch_rubies.ROOTS)):
    fetched = map(Ruby, filter(lambda suite: (fetch_rubies.DIRECTORY / suite).exists(), suites))
    built = map(BuiltRuby, filter(lambda name: (fetch_rubies.DIRECTORY / name).exists(), fetch_rubies.BUILT))
    return {ruby.name: ruby for ruby in [*fetched, *(built if suites == tuple(fetch_rubies.ROOTS) else [])]}


class BuiltRubyInRoot(BuiltRuby):
    """One with YJIT, in a root with the packages of the loads, which are for the same version: it takes all from there, the
    standard library too.
    """

    def __init__(self, name):
        super().__init__(name)
        suite = fetch_rubies.BUILT[name][0]
        self._root = str(fetch_rubies.DIRECTORY / next(root for root, of in fetch_rubies.LOAD_ROOTS.items() if of == suite))
        self.name = "%s-loads-%s" % (name, self.program)

    def command(self, *arguments):
        version = "%d.%d.0" % self.version
        folders = ["-I" + folder for folder in ("/usr/lib/ruby/vendor_ruby", "/usr/lib/ruby/" + version,
                                                "/usr/lib/x86_64-linux-gnu/ruby/" + version)]
        stand_in = self._stand_in()
        return ["env", "LD_LIBRARY_PATH=" + stand_in, *pythons.enter(
            self._root, [TARGETS, self._directory, stand_in], self._directory + "/ruby", *folders, "--yjit", *arguments)]

    def _stand_in(self):
        """The folder of an empty library. Packages ask for Debian's library of Ruby, but this program has it all."""
        folder = os.path.join(OUTPUT, "ruby-stand-in")
        name = "libruby-%d.%d.so.%d.%d" % (self.version * 2)
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["cc", "-shared", "-Wl,-soname," + name, "-o", os.path.join(folder, name), "-x", "c", os.devnull],
                       check=True)
        return folder

    @property
    def directories(self):
        return [self._directory, *pythons.directories_of(self._root, "/usr/bin/ruby")]


def _fetched_for_loads():
    def is_there(name):
        return (fetch_rubies.DIRECTORY / name).exists()

    roots = list(filter(is_there, fetch_rubies.LOAD_ROOTS))
    suites = {fetch_rubies.LOAD_ROOTS[root] for root in roots}
    built = [name for name, (suite, _) in fetch_rubies.BUILT.items() if is_there(name) and suite in suites]
    return {ruby.name: ruby for ruby in [*map(Ruby, roots), *map(BuiltRubyInRoot, built)]}


FINDER = Finder(dict, _fetched, lambda _, fetched: fetched(tuple(fetch_rubies.SHORT_SUITES)), r".*-ruby\d.*")
at_hand, chosen = FINDER.at_hand, FINDER.chosen
# Roots with the packages of the loads, which only the long tier has.
LOADS_FINDER = Finder(dict, _fetched_for_loads, lambda _, fetched: fetched(), r".*-ruby\d.*")


if __name__ == "__main__":
    print(*at_hand(True).values(), sep="\n")
