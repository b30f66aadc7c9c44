#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings packages of npm for the programs in JavaScript that the long tests profile: a compiler, a bundler, a server. And tools
that open what the agent writes: speedscope, the Firefox profiler.

usage: fetch_npm_packages.py

The packages are in ~/.cache/allframes/npm-packages/node_modules afterwards, to be named in NODE_PATH. No script of a package
runs. A folder that is there already stays, unless it was made for another list of packages.
"""
import json
import os
import pathlib
import shutil
import subprocess

DIRECTORY = pathlib.Path.home() / ".cache/allframes/npm-packages"
MODULES = DIRECTORY / "node_modules"
# All programs run in Node.js 16 too; profiler-cli needs 24. rxjs and lodash-es are there for their sources.
PACKAGES = {
    "typescript": "5.4.5",
    "rollup": "3.29.5",
    "rxjs": "7.8.1",
    "lodash-es": "4.17.21",
    "express": "4.21.2",
    "ejs": "3.1.10",
    "speedscope": "1.25.0",
    "@firefox-devtools/profiler-cli": "0.10.0",
}


def _is_there(description):
    try:
        return (DIRECTORY / "package.json").read_text(encoding="utf-8") == description
    except FileNotFoundError:
        return False


def fetch():
    """MODULES, made if it is not there."""
    description = json.dumps({"private": True, "dependencies": PACKAGES})
    if _is_there(description):
        return MODULES
    npm = shutil.which("npm")
    if not npm:
        raise RuntimeError("this machine has no npm")
    new = DIRECTORY.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    (new / "package.json").write_text(description, encoding="utf-8")
    subprocess.run([npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], check=True, cwd=new,
                   stdin=subprocess.DEVNULL, env={**os.environ, "NO_UPDATE_NOTIFIER": "1"})
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    new.rename(DIRECTORY)
    return MODULES


if __name__ == "__main__":
    try:
        fetch()
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print("fetch_npm_packages.py: no loads in JavaScript are tested: %s" % error)
