#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the Perls that the tests run: root file systems with those of Debian's suites, made by unpacking packages, without
running any of their scripts; and one without threads, which Debian has not, built from a source package (some minutes).

usage: fetch_perls.py [--short|SUITE...|SUITE-loads...|SUITE-unthreaded...]

Below ~/.cache/allframes/perls there will be a folder for each SUITE (all without one, or with --short what the short tier
runs: if these cannot be had, it says so, and the tests do without). SUITE-loads has modules and programs in Perl as well,
which the long tier profiles. What is there already stays.
"""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fetch_packages

DIRECTORY = pathlib.Path.home() / ".cache/allframes/perls"
ROOTS = {"bullseye": "perl5.32", "bookworm": "perl5.36", "trixie": "perl5.40", "sid": "perl5.42"}
SHORT_SUITES = ["bookworm", "trixie"]
# Roots with the packages of loads, and the suite of each.
LOAD_ROOTS = {"bookworm-loads": "bookworm", "trixie-loads": "trixie"}
# Names of built ones, with the suite. Their code is position-independent, so that they have a libperl as well.
BUILT = {"trixie-unthreaded": "trixie"}
LOAD_PACKAGES = ["libmojolicious-perl", "starman", "perltidy", "ack"]

# Makes libperl and the program that is linked to it.
LIBRARIES = ["-lm", "-ldl", "-lcrypt"]
LIBRARY = [["gcc", "-shared", "-o", "libperl.so", "-Wl,--whole-archive", "libperl.a",
            "-Wl,--no-whole-archive", *LIBRARIES],
           ["gcc", "-o", "perl-library", "perlmain.o", "-L.", "-l:libperl.so", "-Wl,-rpath,$ORIGIN", *LIBRARIES]]


def fetch(name):
    """The root @name of ROOTS or LOAD_ROOTS, made if it is not there."""
    root = DIRECTORY / name
    if root.exists():
        return root
    new = DIRECTORY / (name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    suite = LOAD_ROOTS.get(name, name)
    packages = LOAD_PACKAGES if name in LOAD_ROOTS else []
    fetch_packages.make_root("amd64", suite, ["perl", "lib" + ROOTS[suite], *packages], new)
    new.rename(root)
    return root


def build(name):
    """The folder with the Perl @name, built in the folder of its source if it is not there. It runs from there."""
    directory = DIRECTORY / name
    if not directory.exists():
        fetch_packages.build(directory, BUILT[name], "perl", [
            ["sh", "Configure", "-des", "-Uusethreads", "-Accflags=-fPIC", "-Dcccdlflags=-fPIC"],
            ["nice", "-n", "19", "make", "-j2"], *LIBRARY])
    return directory


def fetch_short():
    """Fetches SHORT_SUITES, if that is possible."""
    try:
        for suite in SHORT_SUITES:
            fetch(suite)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print("fetch_perls.py: Perl is not tested: %s" % error)


if __name__ == "__main__":
    if sys.argv[1:] == ["--short"]:
        fetch_short()
    else:
        for wanted in sys.argv[1:] or [*ROOTS, *BUILT, *LOAD_ROOTS]:
            print(build(wanted) if wanted in BUILT else fetch(wanted))
