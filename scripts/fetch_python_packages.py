#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings packages of PyPI for the Pythons that the long tests profile: a server and numbers.

usage: fetch_python_packages.py [VERSION...]

Below ~/.cache/allframes/python-packages there will be one folder for each VERSION (3.9, 3.13t; all
without one), to be named in PYTHONPATH. Only wheels are taken: nothing is built, and no script of a
package runs. What is there already stays.
"""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys

DIRECTORY = pathlib.Path.home() / ".cache/allframes/python-packages"
PYENV = os.path.expanduser("~/.pyenv/versions")

PACKAGES = ["numpy", "flask"]
VERSIONS = ["3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.13t"]
PLATFORMS = ["manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64",
             "manylinux_2_17_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64"]


def _pips():
    """Pythons of this machine that have pip, by version: (3, 9) and so on."""
    found = {}
    for path in sorted(glob.glob(PYENV + "/3.*/bin/python3")) or [sys.executable]:
        version = re.search(r"/(\d+)\.(\d+)\.\d+/", path)
        found[tuple(map(int, version.groups())) if version else sys.version_info[:2]] = path
    return found


def _install_command(version):
    """pip of the same version if there is one, since packages ask for others by version."""
    pips = _pips()
    plain = version.rstrip("t")
    own = pips.get(tuple(map(int, plain.split("."))))
    command = [own or pips[max(pips)], "-m", "pip", "install", "--quiet", "--only-binary=:all:"]
    if not own or plain != version:
        command += ["--python-version", plain, "--implementation", "cp",
                    "--abi", "cp" + version.replace(".", "")]
        for platform in PLATFORMS:
            command += ["--platform", platform]
    return command


def directory_of(version):
    return DIRECTORY / version


def fetch(version):
    """The folder for @version, made if it is not there."""
    directory = directory_of(version)
    if directory.exists():
        return directory
    new = DIRECTORY / (version + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    subprocess.run([*_install_command(version), "--target", str(new), *PACKAGES], check=True,
                   stdin=subprocess.DEVNULL, env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"})
    new.rename(directory)
    return directory


if __name__ == "__main__":
    for wanted in sys.argv[1:] or VERSIONS:
        print(fetch(wanted))
