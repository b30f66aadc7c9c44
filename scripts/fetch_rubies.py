#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the Rubies that the tests run: root file systems with those of Debian's suites, made by unpacking packages, without
running any of their scripts; and one with YJIT, which Debian's have not, built from a source package (some minutes; it needs
rustc).

usage: fetch_rubies.py [--short|NAME...]

Below ~/.cache/allframes/rubies there will be a folder for each NAME: a suite, trixie-yjit, or a suite with the packages of a
server, as trixie-loads (all without one, or with --short what the short tier runs: if these cannot be had, it says so, and
the tests do without). What is there already stays.
"""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fetch_packages

DIRECTORY = pathlib.Path.home() / ".cache/allframes/rubies"
ROOTS = {"bullseye": "ruby2.7", "bookworm": "ruby3.1", "trixie": "ruby3.3", "experimental": "ruby3.4"}
SHORT_SUITES = ["bookworm", "experimental"]
# Names of built ones, with the suite and the source package.
BUILT = {"trixie-yjit": ("trixie", "ruby3.3")}
# Extensions that no test needs, and what they would need.
LEFT_OUT = "openssl,psych,readline,fiddle,dbm,gdbm"
# A suite that is no whole one: another that has what the packages depend on, what of that is needed, the packages.
PARTIAL = {"experimental": ("trixie", ["libffi8", "libgmp10", "libssl3t64", "libyaml-0-2", "zlib1g"],
                            ["ruby3.4", "libruby3.4"])}
# Roots with the packages of the loads as well: their suites.
LOAD_ROOTS = {"bookworm-loads": "bookworm", "trixie-loads": "trixie"}
LOAD_PACKAGES = ["puma", "ruby-sinatra", "ruby-json"]


def packages_of(name):
    """What the root @name is made of: a suite, packages with what they depend on, packages of the suite @name alone."""
    if name in LOAD_ROOTS:
        return LOAD_ROOTS[name], [ROOTS[LOAD_ROOTS[name]], *LOAD_PACKAGES], []
    return PARTIAL.get(name, (name, [ROOTS[name]], []))


def fetch(name):
    """The root @name, made if it is not there."""
    root = DIRECTORY / name
    if root.exists():
        return root
    new = DIRECTORY / (name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    base, packages, alone = packages_of(name)
    fetch_packages.make_root("amd64", base, packages, new)
    if alone:
        with fetch_packages.Apt(new / ".apt", "amd64", name) as apt:
            for package in alone:
                fetch_packages.unpack(apt.download_alone(package), new)
    new.rename(root)
    return root


def build(name):
    """The folder with the Ruby @name, built in the folder of its source if it is not there. It runs from there."""
    directory = DIRECTORY / name
    if not directory.exists():
        suite, package = BUILT[name]
        fetch_packages.build(directory, suite, package, [
            ["./configure", "--enable-yjit", "--disable-install-doc", "--with-out-ext=" + LEFT_OUT],
            ["nice", "-n", "19", "make", "-j2"],
            # As Debian's: with symbols, without debug information.
            ["strip", "--strip-debug", "ruby"]])
    return directory


def fetch_short():
    """Fetches SHORT_SUITES, if that is possible."""
    try:
        for suite in SHORT_SUITES:
            fetch(suite)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print("fetch_rubies.py: Ruby is not tested: %s" % error)


if __name__ == "__main__":
    if sys.argv[1:] == ["--short"]:
        fetch_short()
    else:
        for wanted in sys.argv[1:] or [*ROOTS, *BUILT, *LOAD_ROOTS]:
            print(build(wanted) if wanted in BUILT else fetch(wanted))
