# SPDX-License-Identifier: Apache-2.0
"""The Go toolchains at hand, and the targets as they build them: this machine's own, and what
scripts/fetch_gos.py brought.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_gos
import go_chains
from runtimes import Finder, Lacking, Runtime

TARGETS = os.path.join(ROOT, "integration", "targets", "go")
OUTPUT = os.path.join(ROOT, "build", "integration", "go")

# The last version of each header of the table, but of the last, and the newest three.
SHORT_VERSIONS = fetch_gos.SHORT_VERSIONS
LONG_VERSIONS = ["1.16.15", "1.17.13", "1.18.10", "1.19.13", "1.20.14", "1.21.13", "1.22.12",
                 "1.23.12", "1.24.0", "1.25.14", "1.26.11", "1.27.4"]
# Targets that the short tier runs in other versions than the machine's.
SHORT_TARGETS = ["calls", "callbacks", "clock", "panics", "recursion", "system_stack"]


class Mode:
    """A way to build programs: options of `go build`, flags of the linker, with cgo or without."""

    def __init__(self, *options, link="", has_cgo=False, is_inlining=True, has_symbols=True,
                 environment=()):
        self.options = list(options)
        self.link = link
        self.has_cgo = has_cgo
        self.is_inlining = is_inlining
        self.has_symbols = has_symbols
        # Of programs that run, as NAME=VALUE.
        self.environment = list(environment)

    def style(self, target):
        """How the stacks of @target look."""
        return go_chains.Style(self.is_inlining, self.has_symbols,
                               self.has_cgo or target.has_cgo, "static" in self.link,
                               "-race" in self.options)


MODES = {
    "plain": Mode(),
    "stripped": Mode(link="-s -w", has_symbols=False),
    "pie": Mode("-buildmode=pie"),
    "external": Mode(link="-linkmode=external", has_cgo=True),
    "external-pie-stripped": Mode("-buildmode=pie", link="-linkmode=external -s -w", has_cgo=True,
                                  has_symbols=False),
    "static": Mode(link="-linkmode=external -extldflags=-static", has_cgo=True),
    "not-inlined": Mode("-gcflags=all=-l", is_inlining=False),
    "not-optimized": Mode("-gcflags=all=-N -l", is_inlining=False),
    "race": Mode("-race", has_cgo=True, environment=["GORACE=report_bugs=0"]),
}
# Before, the linker of today puts the thread-local variables elsewhere than Go takes them to be.
STATIC_FROM = 21
# Before, the race detector leaves some programs 3 % of the time.
RACE_FROM = 20
# Of each target in the machine's Go, and of a few in others.
SHORT_MODES = ["plain", "external-pie-stripped"]


class Go(Runtime):
    """One toolchain. @root: its GOROOT, or None for the machine's go. @goarch, @compiler:
    for another machine; @additions: sources that each program gets beside its own.
    """

    def __init__(self, root, goarch="", compiler="gcc", additions=()):
        self._compiler = compiler
        self._additions = additions
        self._go = os.path.join(root, "bin/go") if root else fetch_gos.machines_go()
        self.environment = {**os.environ, "GOTOOLCHAIN": "local", "GO111MODULE": "on",
                            "GOENV": "off", "GOFLAGS": "", "GOPROXY": "off", "GOWORK": "off"}
        self.environment.pop("GOROOT", None)
        if goarch:
            self.environment.update(GOARCH=goarch, CC=compiler)
        if root:
            self.environment["GOROOT"] = str(root)
        found = re.search(r"go(1\.(\d+)\S*)", self._output("version"))
        self.version, self.minor = found[1], int(found[2])
        self.name = "go" + self.version
        self.folder = os.path.join(OUTPUT, goarch, self.version)
        self.environment["GOCACHE"] = str(fetch_gos.BUILD_CACHE)

    def command(self, *arguments):
        return [self._go, *arguments]

    def _output(self, *arguments):
        return subprocess.run([self._go, *arguments], env=self.environment, check=True, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout

    def root(self):
        """Its GOROOT."""
        return self._output("env", "GOROOT").strip()

    def _sources(self, target):
        """A folder with the sources of @target as a module."""
        folder = os.path.join(self.folder, "src", target.name)
        shutil.rmtree(folder, ignore_errors=True)
        if os.path.isdir(target.path):
            shutil.copytree(target.path, folder)
        else:
            os.makedirs(folder)
            shutil.copy2(target.path, folder)
        for path in self._additions:
            shutil.copy2(path, folder)
        with open(os.path.join(folder, "go.mod"), "w", encoding="ascii") as file:
            file.write("module target\n\ngo 1.%d\n" % self.minor)
        return folder

    def _compile(self, path, folder, package, mode, *options):
        """Makes @path, which is replaced when all has been written."""
        has_cgo = mode.has_cgo
        if has_cgo and not shutil.which(self._compiler):
            raise Lacking("no %s on this machine" % self._compiler)
        command = [self._go, "build", "-o", path + ".new", "-ldflags=" + mode.link, *mode.options,
                   *options, package]
        result = subprocess.run(command, cwd=folder, check=False, text=True,
                                env={**self.environment, "CGO_ENABLED": str(int(has_cgo))},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
        if result.returncode:
            raise RuntimeError("%s: %s\n%s" % (self, " ".join(command), result.stdout))
        os.replace(path + ".new", path)

    def build(self, target, mode_name, modes=None):
        """The command that runs @target, built in the mode of this name of @modes (MODES)."""
        if target.from_minor > self.minor:
            raise Lacking("from Go 1.%d on" % target.from_minor)
        mode = (modes or MODES)[mode_name]
        if "static" in mode.link and self.minor < STATIC_FROM:
            raise Lacking("older ones stop at their beginning when they are linked statically")
        if "-race" in mode.options and self.minor < RACE_FROM:
            raise Lacking("older race detectors leave programs hardly any time")
        if target.mode and (mode.options or "static" in mode.link) and mode.is_inlining:
            raise Lacking("plugins and libraries are linked in their own way")
        if target.has_cgo and not mode.has_cgo:
            mode = Mode(*mode.options, link=mode.link, has_cgo=True)
        directory = os.path.join(self.folder, mode_name)
        os.makedirs(directory, exist_ok=True)
        folder = self._sources(target)
        path = os.path.join(directory, target.comm)
        if target.mode == "c-shared":
            return self._build_shared(path, folder, mode)
        self._compile(path, folder, ".", mode)
        if target.mode == "plugin":
            self._compile(path + ".so", folder, "./plug", mode, "-buildmode=plugin")
            return [path, path + ".so"]
        return ["env", *mode.environment, path] if mode.environment else [path]

    def _build_shared(self, path, folder, mode):
        self._compile(path + ".so", folder, "./library", mode, "-buildmode=c-shared")
        subprocess.run([self._compiler, "-O2", "-fomit-frame-pointer", "-o", path,
                        os.path.join(folder, "load.c"), "-pthread", "-ldl"], check=True)
        return [path, path + ".so"]


def find_targets(names=()):
    """All targets that declare chains, or @names, by name."""
    paths = sorted(glob.glob(TARGETS + "/*.go") + [path.rstrip("/")
                                                   for path in glob.glob(TARGETS + "/*/")])
    targets = {target.name: target for target in map(go_chains.Target, paths)}
    return {name: target for name, target in targets.items()
            if (name in names if names else target.declared)}


def _of_machine():
    go = Go(None) if fetch_gos.machines_go() else None
    return {go.name: go} if go else {}


def _fetched(versions=tuple(LONG_VERSIONS)):
    return {"go" + version: Go(fetch_gos.DIRECTORY / version) for version in versions
            if fetch_gos.is_fetched(version)}


# The machine's first.
FINDER = Finder(_of_machine, _fetched, lambda machine, fetched: {**machine, **fetched(tuple(SHORT_VERSIONS))},
                r"go1\..*", MODES)
at_hand, chosen = FINDER.at_hand, FINDER.chosen


if __name__ == "__main__":
    print(*at_hand(True).values(), *find_targets(), sep="\n")
