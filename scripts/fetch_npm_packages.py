#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings packages of npm for the long tests: programs in JavaScript to profile (a compiler, a bundler, a server), tools that open
what the agent writes (speedscope, the Firefox profiler), and rules of accessibility for the viewer's page.

usage: fetch_npm_packages.py

The programs are in ~/.cache/allframes/npm-packages/node_modules afterwards, to be named in NODE_PATH, the rules in
~/.cache/allframes/npm-rules/node_modules. No script of a package runs. A folder that is there already stays, unless it was made
for another list of packages.
"""
import json
import os
import pathlib
import shutil
import subprocess

CACHE = pathlib.Path.home() / ".cache/allframes"
MODULES = CACHE / "npm-packages/node_modules"
RULES = CACHE / "npm-rules/node_modules"
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
RULE_PACKAGES = {"axe-core": "4.11.0"}


def _is_there(directory, description):
    try:
        return (directory / "package.json").read_text(encoding="utf-8") == description
    except FileNotFoundError:
        return False


def fetch(modules, packages):
    """Makes the folder @modules, if it is not there."""
    directory = modules.parent
    description = json.dumps({"private": True, "dependencies": packages})
    if _is_there(directory, description):
        return
    npm = shutil.which("npm")
    if not npm:
        raise RuntimeError("this machine has no npm")
    new = directory.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    (new / "package.json").write_text(description, encoding="utf-8")
    subprocess.run([npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], check=True, cwd=new,
                   stdin=subprocess.DEVNULL, env={**os.environ, "NO_UPDATE_NOTIFIER": "1"})
    shutil.rmtree(directory, ignore_errors=True)
    new.rename(directory)


if __name__ == "__main__":
    try:
        fetch(MODULES, PACKAGES)
        fetch(RULES, RULE_PACKAGES)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print("fetch_npm_packages.py: no loads in JavaScript are tested: %s" % error)
