#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the PHPs that the tests run: root file systems with those of Debian's suites, made by unpacking packages, without
running any of their scripts; and two built from a source package (some minutes each), one of them with threads (ZTS), which
Debian has not.

usage: fetch_phps.py [--short|ROOT...]

Below ~/.cache/allframes/phps there will be a folder for each ROOT, a suite or one of LOAD_ROOTS, LIBRARY_ROOTS and BUILT (all without one, or
with --short what the short tier runs: if these cannot be had, it says so, and the tests do without). What is there already stays.
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
# Roots with libphp, once for programs that embed it and once as a module of Apache: their suites.
LIBRARY_ROOTS = {suite + "-library": suite for suite in ROOTS}
# Roots with the programs of real loads (integration/php_loads_test.py): their suites.
LOAD_ROOTS = {"bookworm-loads": "bookworm", "trixie-loads": "trixie"}
# Names of built ones, with the suite and what is asked for. With threads there is libphp as well.
BUILT = {"bookworm-nts": ("bookworm", []), "bookworm-zts": ("bookworm", ["--enable-zts", "--enable-embed"])}
# The compiler's options are those of PHP's images on Docker Hub. Code of these programs names variables, and Debian's does not.
CONFIGURE = ["sh", "configure", "--disable-all", "--enable-opcache", "--disable-cgi", "--disable-phpdbg",
             "CFLAGS=-fstack-protector-strong -fpic -fpie -O2", "LDFLAGS=-Wl,-O1 -pie"]
STRIP = ["find", "sapi/cli/php", "modules", "libs", "-type", "f", "-perm", "/1", "-exec", "strip", "{}", "+"]
LOAD_EXTENSIONS = ["fpm", "mbstring", "opcache", "xml"]
LOAD_PACKAGES = ["dokuwiki", "nginx", "php-parser", "phpunit"]
# Servers look their users up. A package's script would make these files.
SERVER_FILES = {"etc/passwd": "root:x:0:0::/root:/bin/sh\nwww-data:x:33:33::/:/bin/sh\n",
                "etc/group": "root:x:0:\nwww-data:x:33:\n"}


def packages_of(name):
    """The suite of the root @name, and its packages."""
    suite = {**LOAD_ROOTS, **LIBRARY_ROOTS}.get(name, name)
    program = ROOTS[suite]
    # In 8.5 opcache is built in.
    opcache = [program + "-opcache"] * (suite != "experimental")
    if name in LOAD_ROOTS:
        return suite, LOAD_PACKAGES + ["%s-%s" % (program, extension) for extension in LOAD_EXTENSIONS]
    if name in LIBRARY_ROOTS:
        return suite, ["lib%s-embed" % program, "libapache2-mod-" + program, "apache2-bin", *opcache]
    return suite, [program + "-cli", *opcache]


def fetch(name):
    """The root @name, made if it is not there."""
    root = DIRECTORY / name
    if root.exists():
        return root
    new = DIRECTORY / (name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    suite, packages = packages_of(name)
    fetch_packages.make_root("amd64", suite, packages, new, also=["sid"] * (suite == "experimental"))
    if name in LIBRARY_ROOTS:
        # The name by which programs are linked to it.
        (new / "usr/lib/libphp.so").symlink_to("lib%s.so" % ROOTS[suite])
    for path, text in SERVER_FILES.items() if name not in ROOTS else ():
        (new / path).parent.mkdir(exist_ok=True)
        (new / path).write_text(text)
    new.rename(root)
    return root


def build(name):
    """The folder with the PHP @name, built in the folder of its source if it is not there. It runs from there."""
    directory = DIRECTORY / name
    suite, wanted = BUILT[name]
    if not directory.exists():
        fetch_packages.build(directory, suite, ROOTS[suite], [
            [*CONFIGURE, *wanted], ["nice", "-n", "19", "make", "-j2"], STRIP,
            ["find", ".", "-name", "*.o", "-delete"]])
    return directory


def fetch_short():
    """Fetches SHORT_SUITES and their libraries, if that is possible."""
    try:
        for suite in SHORT_SUITES:
            fetch(suite)
            fetch(suite + "-library")
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print("fetch_phps.py: PHP is not tested: %s" % error)


if __name__ == "__main__":
    if sys.argv[1:] == ["--short"]:
        fetch_short()
    else:
        for wanted in sys.argv[1:] or [*ROOTS, *LIBRARY_ROOTS, *LOAD_ROOTS, *BUILT]:
            print(build(wanted) if wanted in BUILT else fetch(wanted))
