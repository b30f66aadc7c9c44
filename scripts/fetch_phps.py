#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the PHPs that the tests run: root file systems with those of Debian's suites, made by unpacking packages, without
running any of their scripts.

usage: fetch_phps.py [--short|ROOT...]

Below ~/.cache/allframes/phps there will be a folder for each ROOT, a suite or one of LOAD_ROOTS (all without one, or with
--short what the short tier runs: if these cannot be had, it says so, and the tests do without). What is there already stays.
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
# Roots with the programs of real loads (integration/php_loads_test.py): their suites.
LOAD_ROOTS = {"bookworm-loads": "bookworm", "trixie-loads": "trixie"}
LOAD_EXTENSIONS = ["fpm", "mbstring", "opcache", "xml"]
LOAD_PACKAGES = ["dokuwiki", "nginx", "php-parser", "phpunit"]
# Servers look their users up. A package's script would make these files.
LOAD_FILES = {"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n"}


def packages_of(suite, is_load):
    """The packages of a root."""
    if is_load:
        return LOAD_PACKAGES + ["%s-%s" % (ROOTS[suite], extension) for extension in LOAD_EXTENSIONS]
    # In 8.5 opcache is built in.
    return [ROOTS[suite] + "-cli"] + [ROOTS[suite] + "-opcache"] * (suite != "experimental")


def fetch(name):
    """The root @name, made if it is not there."""
    root = DIRECTORY / name
    if root.exists():
        return root
    new = DIRECTORY / (name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    suite = LOAD_ROOTS.get(name, name)
    fetch_packages.make_root("amd64", suite, packages_of(suite, name in LOAD_ROOTS), new,
                             also=["sid"] * (suite == "experimental"))
    for path, text in LOAD_FILES.items() if name in LOAD_ROOTS else ():
        (new / path).parent.mkdir(exist_ok=True)
        (new / path).write_text(text)
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
        for wanted in sys.argv[1:] or [*ROOTS, *LOAD_ROOTS]:
            print(fetch(wanted))
