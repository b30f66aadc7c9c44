#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the Pythons that the long tests profile, beside those of the machine.

usage: fetch_pythons.py [NAME...]

Below ~/.cache/allframes/pythons there will be one folder for each NAME (all without one):

	bullseye bookworm trixie sid	root file systems with what the suite has: its Pythons, their
					debug builds, programs that embed one. Made by unpacking the
					packages, without running any of their scripts.
	bullseye-arm64 ...		the same of arm64, to run under qemu-user.
	3.13t 3.13-musl			built here from source packages: without the GIL, and over musl.

What is there already stays. A build takes some ten minutes.
"""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fetch_packages

PYTHONS = pathlib.Path.home() / ".cache/allframes/pythons"

# What the packages of fetch_python_packages.py ask of the system.
FOR_PACKAGES = ["libstdc++6"]
ROOTS = {
    "bullseye": ["python3.9", "python3.9-dbg", *FOR_PACKAGES],
    "bookworm": ["python3.11", "python3.11-dbg", "gdb", "vim-nox", "uwsgi-core",
                 "uwsgi-plugin-python3", *FOR_PACKAGES],
    "trixie": ["python3.13", "python3.13-dbg", *FOR_PACKAGES],
    "sid": ["python3.14", "python3.14-dbg", "python3.15", "python3.15-dbg", *FOR_PACKAGES],
}
# Suite, then packages. Their Pythons do not run here by themselves.
ROOTS_ARM64 = {
    "bullseye-arm64": ["bullseye", "python3.9"],
    "bookworm-arm64": ["bookworm", "python3.11"],
    "trixie-arm64": ["trixie", "python3.13"],
    "sid-arm64": ["sid", "python3.14"],
}
# Suite and source package, then arguments of configure. Sources in sid come and go with each
# upload, so that 3.14's can often not be had.
BUILDS = {
    "3.13t": ("trixie", "python3.13", "--disable-gil", "--enable-shared"),
    "3.13-musl": ("trixie", "python3.13", "CC=musl-gcc", "--enable-shared"),
}
# What a package has where older suites have folders and newer ones links to folders.
_LINKS = ["bin", "sbin", "lib", "lib64"]


def _run(*command, **more):
    subprocess.run(list(map(str, command)), check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, **more)


def _unpack(archive, root):
    """Unpacks a package over others; a link to a folder stays one."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)],
                          stdout=subprocess.PIPE) as reader:
        subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", str(root)],
                       stdin=reader.stdout, check=True)


def make_root(architecture, suite, packages, root):
    """A folder to chroot to, with @packages of a suite of Debian and what they depend on."""
    for name in _LINKS:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to("usr/" + name)
    for name in ("proc", "dev", "tmp"):
        (root / name).mkdir()
    with fetch_packages.Apt(root / ".apt", architecture, suite) as apt:
        for archive in apt.download(packages):
            _unpack(archive, root)


def _source_directory(suite, package, root):
    with fetch_packages.Apt(root / ".apt", "amd64", suite) as apt:
        archive = apt.download_source(package)
        source = root / "source"
        source.mkdir()
        _run("tar", "-xf", archive, "--strip-components=1", "-C", source)
    return source


def build(suite, package, arguments, root):
    """Builds Python from the suite's source package; installs it below @root/usr."""
    source = _source_directory(suite, package, root)
    prefix = PYTHONS / root.name.partition(".new")[0] / "usr"
    log = open(root / "build.log", "wb")
    library = "LDFLAGS=-Wl,-rpath,%s/lib" % prefix
    # Without debug information, which the compiler takes long for.
    for command in (["./configure", "--prefix=%s" % prefix, "--without-ensurepip", library,
                     "OPT=-O3 -DNDEBUG -Wall", *arguments],
                    ["nice", "-n", "19", "make", "-j2"],
                    # Bytecode of the modules that are no part of a package, and not of the tests.
                    ["make", "install", "COMPILEALL_OPTS=-l", "DESTDIR=%s" % (root / "image")]):
        subprocess.run(command, cwd=source, check=True, stdin=subprocess.DEVNULL, stdout=log,
                       stderr=log)
    os.rename(str(root / "image") + str(prefix), root / "usr")
    for folder in ("image", "source"):
        shutil.rmtree(root / folder)


def fetch(name):
    """The folder of @name, made if it is not there."""
    root = PYTHONS / name
    if root.exists():
        return root
    new = PYTHONS / (name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    if name in ROOTS:
        make_root("amd64", name, ROOTS[name], new)
    elif name in ROOTS_ARM64:
        suite, *packages = ROOTS_ARM64[name]
        make_root("arm64", suite, packages, new)
    else:
        suite, package, *arguments = BUILDS[name]
        build(suite, package, arguments, new)
    new.rename(root)
    return root


if __name__ == "__main__":
    for wanted in sys.argv[1:] or [*ROOTS, *ROOTS_ARM64, *BUILDS]:
        print(fetch(wanted))
