#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the PHPs that the tests run: root file systems with those of Debian's suites, made by unpacking packages, without
running any of their scripts.

usage: fetch_phps.py [--short|SUITE...]

Below ~/.cache/allframes/phps there will be a folder for each SUITE (all without one, or with --short what the short tier
runs: if these cannot be had, it says so, and the tests do without). What is there already stays.
"""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fetch_packages

DIRECTORY = pathlib.Path.home() / ".cache/allframes/phps"
ROOTS = {"bullseye": "php7.4", "bookworm": "php8.2", "trixie": "php8.4", "experimental": "php8.5"}
SHORT_SUITES = ["bookworm", "trixie"]


def fetch(suite):
    """The root of @suite, made if it is not there."""
    root = DIRECTORY / suite
    if root.exists():
        return root
    new = DIRECTORY / (suite + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    packages = [ROOTS[suite] + "-cli"]
    if suite == "experimental":
        fetch_packages.make_root("amd64", suite, packages, new, also=["sid"])
    else:
        fetch_packages.make_root("amd64", suite, packages + [ROOTS[suite] + "-opcache"], new)
    new.rename(root)
    return root


def fetch_short():
    """Fetches SHORT_SUITES, if that is possible."""
    try:
        for suite in SHORT_SUITES:
            fetch(suite)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print("fetch_phps.py: PHP is not tested: %s" % error)


if __name__ == "__main__":
    if sys.argv[1:] == ["--short"]:
        fetch_short()
    else:
        for wanted in sys.argv[1:] or ROOTS:
            print(fetch(wanted))
