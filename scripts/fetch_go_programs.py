#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings programs in Go of Debian that the tests profile under load.

usage: fetch_go_programs.py [NAME...]

Below ~/.cache/allframes/go-programs there will be a folder for each NAME, SUITE-PACKAGE (all
without one), with what is in that package. Nothing is installed, and they need the C library alone.
"""
import pathlib
import shutil
import subprocess
import sys

import fetch_packages

DIRECTORY = pathlib.Path.home() / ".cache/allframes/go-programs"
# Go 1.19, and 1.24 in trixie.
PROGRAMS = ["bookworm-prometheus", "bookworm-caddy", "bookworm-etcd-server", "trixie-prometheus"]


def is_fetched(name):
    return (DIRECTORY / name).exists()


def fetch(name):
    """The folder of @name, made if it is not there."""
    directory = DIRECTORY / name
    if is_fetched(name):
        return directory
    suite, _, package = name.partition("-")
    new = DIRECTORY / (name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    with fetch_packages.Apt(new / ".apt", "amd64", suite) as apt:
        subprocess.run(["dpkg-deb", "-x", apt.download_alone(package), new], check=True)
    new.rename(directory)
    return directory


if __name__ == "__main__":
    for wanted in sys.argv[1:] or PROGRAMS:
        print(fetch(wanted))
