#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the JVMs that the long tests profile, beside those of the machine.

usage: fetch_javas.py [NAME...]

Below ~/.cache/allframes/javas there will be one folder for each NAME (all without one):

	bullseye bookworm trixie sid	root file systems with the JDKs of a suite. Made by unpacking the
					packages; of their scripts only what makes the archive of classes
					(CDS) is done, too.
	bullseye-arm64 ...		the same of arm64, to run under qemu-user.

and in the folder bin, for each JDK that runs here, a program such as sid-21 that runs its java, with
/tmp, /proc and /dev of this machine. That takes root, for it changes its root directory.

What is there already stays.
"""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fetch_packages

JAVAS = pathlib.Path.home() / ".cache/allframes/javas"
RUNNERS = JAVAS / "bin"

# Architecture, suite, versions. sid has all of them; the others what was compiled another way.
ROOTS = {
    "bullseye": ("amd64", "bullseye", [11]),
    "bookworm": ("amd64", "bookworm", [17]),
    "trixie": ("amd64", "trixie", [21, 25]),
    "sid": ("amd64", "sid", [8, 11, 17, 21, 25, 26, 27]),
    "bookworm-arm64": ("arm64", "bookworm", [17]),
    "trixie-arm64": ("arm64", "trixie", [21, 25]),
    "sid-arm64": ("arm64", "sid", [8, 11, 27]),
}

_RUNNER = """#!/bin/sh
# Runs java of %(root)s, in that root, with arguments as given.
exec unshare --mount sh -c '
for d in proc dev tmp; do mount --rbind /$d "$0/$d" || exit; done
exec chroot "$0" "$@"' %(root)s %(java)s "$@"
"""


def java_path(architecture, version, program="java"):
    """A program of a JDK in its root."""
    folder = "jre/bin" if version == 8 and program == "java" else "bin"
    return "/usr/lib/jvm/java-%d-openjdk-%s/%s/%s" % (version, architecture, folder, program)


def runner(name, version):
    """The program that runs java of @version in the root @name."""
    return RUNNERS / ("%s-%d" % (name, version))


def _write_runner(name, version, program="java"):
    path = runner(name, version)
    RUNNERS.mkdir(exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(_RUNNER % {"root": JAVAS / name, "java": java_path("amd64", version, program)})
    new.chmod(0o755)
    new.rename(path)
    return path


def _packages(architecture, version):
    """With what asks a JVM about itself, where that runs; to the JRE of arm64 only core files do."""
    kind = "jdk" if architecture == "amd64" else "jre"
    return "openjdk-%d-%s-headless" % (version, kind)


def fetch(name):
    """The folder of @name, made if it is not there."""
    architecture, suite, versions = ROOTS[name]
    root = JAVAS / name
    if not root.exists():
        new = JAVAS / (name + ".new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        fetch_packages.make_root(architecture, suite,
                                 [_packages(architecture, version) for version in versions], new)
        new.rename(root)
    for version in versions if architecture == "amd64" else []:
        if not runner(name, version).exists():
            program = _write_runner(name, version)
            # Debian's packages do so when they are installed.
            subprocess.run([program, "-Xshare:dump"], check=False, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return root


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ROOTS:
        print(fetch(wanted), flush=True)
