# SPDX-License-Identifier: Apache-2.0
"""The versions of Node.js at hand: this machine's own, and what scripts/fetch_nodes.py and
scripts/fetch_npm_packages.py brought.
"""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_nodes
import fetch_npm_packages
from runtimes import Finder, Runtime

TARGETS = os.path.join(ROOT, "integration", "targets", "javascript")
# To be named in NODE_PATH.
PACKAGES = fetch_npm_packages.MODULES


class Node(Runtime):
    """One version. @path: its program."""

    def __init__(self, path):
        self._path = os.path.realpath(path)
        output = subprocess.run([self._path, "--version"], check=True, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout
        self.version = tuple(map(int, re.findall(r"\d+", output)))
        self.name = "node" + ".".join(map(str, self.version))

    def command(self, *arguments):
        return [self._path, *arguments]

    def has_symbols(self):
        """Whether its file names V8's builtins; Debian's does not."""
        output = subprocess.run(["readelf", "-SW", self._path], check=True, text=True,
                                stdout=subprocess.PIPE).stdout
        return " .symtab " in output


def _of_machine():
    path = shutil.which("node")
    node = Node(path) if path else None
    return {node.name: node} if node and node.has_symbols() else {}


def _fetched(versions=tuple(fetch_nodes.VERSIONS)):
    return {"node" + version: Node(fetch_nodes.program(version)) for version in versions
            if fetch_nodes.program(version).exists()}


# The machine's first.
FINDER = Finder(_of_machine, _fetched,
                lambda machine, fetched: {**machine, **fetched(tuple(fetch_nodes.SHORT_VERSIONS))},
                r"node\d+\..*")
at_hand, chosen = FINDER.at_hand, FINDER.chosen


if __name__ == "__main__":
    print(*at_hand(True).values(), sep="\n")


def chosen_with_modes(arguments, modes, short_modes, is_long):
    """(what @arguments name of Node.js, those of @modes that they name). If they name no mode: all, or @short_modes."""
    named = [name for name in arguments if name in modes]
    return (chosen([name for name in arguments if name not in modes], is_long),
            named or (list(modes) if is_long else short_modes))
