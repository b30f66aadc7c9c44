#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the Go toolchains that the tests compile with, beside that of the machine.

usage: fetch_gos.py [--short|VERSION...]

A VERSION is as 1.22.12; without one, all that the tests use, or with --short what those of the short
tier do: if these cannot be had, it says so, and the tests do with the machine's. They are modules (golang.org/toolchain),
which the machine's go downloads and verifies. Below ~/.cache/allframes/go there will be a folder
for each, to be used as GOROOT: the modules have no executable files before 1.21, so these are copies,
and the rest are links into the cache of modules. What is there already stays. Also, the machine's go
compiles `go tool pprof`, which it does when that is first used and which tests would wait for.
"""
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

DIRECTORY = pathlib.Path.home() / ".cache/allframes/go"
# Compiled packages, for all clones: Go finds them by the content of the sources, the version and the flags.
BUILD_CACHE = pathlib.Path.home() / ".cache/allframes/go-build"
# One for each layout of the tables, and for each way in which the runtime shows inlined functions.
VERSIONS = ["1.11.13", "1.12.17", "1.13.15", "1.15.15", "1.16.15", "1.17.13", "1.18.10", "1.19.13",
            "1.20.14", "1.21.13", "1.22.12", "1.23.12", "1.24.0", "1.25.14", "1.26.11", "1.27.4"]
SHORT_VERSIONS = ["1.20.14", "1.27.4"]
# Before, the runtime has nothing that would expand inlined functions at an address.
ORACLE_FROM = 15
EXECUTABLE = ["bin", "pkg/tool"]


def machines_go():
    """The go command of this machine; None without one."""
    return shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")


def _platform():
    return "linux-" + {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def _download(version):
    """The folder of the toolchain in the cache of modules."""
    go = machines_go()
    if not go:
        raise RuntimeError("this machine has no go that could download others")
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    module = "golang.org/toolchain@v0.0.1-go%s.%s" % (version, _platform())
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "", "GO111MODULE": "on"}
    output = subprocess.run([go, "mod", "download", "-json", module], check=True, cwd=DIRECTORY,
                            env=environment, stdout=subprocess.PIPE,
                            stdin=subprocess.DEVNULL).stdout
    return pathlib.Path(json.loads(output)["Dir"])


def _link_or_copy(source, target, name=""):
    """@source as @target: copies of what is executed, links to the rest."""
    if name in EXECUTABLE:
        shutil.copytree(source, target)
        for path in target.rglob("*"):
            path.chmod(0o755)
    elif any(path.startswith(name + "/") for path in EXECUTABLE):
        target.mkdir()
        for entry in source.iterdir():
            _link_or_copy(entry, target / entry.name, "%s/%s" % (name, entry.name))
    else:
        target.symlink_to(source)


def is_fetched(version):
    return (DIRECTORY / version / "src/runtime").exists()


def fetch(version):
    """The GOROOT of @version, made if it is not there."""
    directory = DIRECTORY / version
    if is_fetched(version):
        return directory
    source = _download(version)
    shutil.rmtree(directory, ignore_errors=True)
    new = DIRECTORY / (version + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    for entry in source.iterdir():
        _link_or_copy(entry, new / entry.name, entry.name)
    new.rename(directory)
    return directory


def fetch_short():
    """Fetches SHORT_VERSIONS, if that is possible."""
    try:
        for version in SHORT_VERSIONS:
            fetch(version)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print("fetch_gos.py: no other toolchains than this machine's are tested: %s" % error)


def compile_pprof():
    go = machines_go()
    if go:
        subprocess.run([go, "tool", "pprof", "-h"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    compile_pprof()
    if sys.argv[1:] == ["--short"]:
        fetch_short()
    else:
        for wanted in sys.argv[1:] or VERSIONS:
            print(fetch(wanted))
