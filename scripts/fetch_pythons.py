#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings the Pythons that the long tests profile, beside those of the machine.

usage: fetch_pythons.py [NAME...]

Below ~/.cache/allframes/pythons there will be one folder for each NAME (all without one):

	bullseye bookworm trixie sid	root file systems with what the suite has: its Pythons, their
					debug builds, programs that embed one. Made by unpacking the
					packages, without running any of their scripts.
	bullseye-arm64 ...		the same of arm64, to run under qemu-user.
	3.13t 3.14t 3.13-musl		built here from source packages: without the GIL, and over musl.
	3.14-tail			a root file system with a build in which each instruction of the
					loop is a function of its own, and that program stripped.

What is there already stays. A build takes some ten minutes.
"""
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fetch_packages

PYTHONS = pathlib.Path.home() / ".cache/allframes/pythons"

# System packages that those of fetch_python_packages.py need.
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
# Suites and source package, then arguments of configure.
NEWEST = ["sid", "forky"]
BUILDS = {
    "3.13t": (["trixie"], "python3.13", "--disable-gil", "--enable-shared"),
    # The packages that pkg-config knows are glibc's.
    "3.13-musl": (["trixie"], "python3.13", "CC=musl-gcc", "PKG_CONFIG=false", "--enable-shared"),
    "3.14t": (NEWEST, "python3.14", "--disable-gil"),
}
# The same in a root of a suite that has the compiler; the programs run there.
BUILDS_IN_ROOTS = {
    "3.14-tail": ("trixie", NEWEST, "python3.14", "CC=clang-19", "--with-tail-call-interp"),
}
# The packages of such a root.
TOOLS = ["binutils", "clang-19", "coreutils", "dash", "diffutils", "findutils", "gawk", "grep",
         "libc6-dev", "libffi-dev", "make", "sed", "zlib1g-dev"]
# Sources in sid come and go with each upload; of these a mirror may still have what the index of no
# suite names.
OLDER_SOURCES = {
    "python3.14": ("3.14.4", "d923c51303e38e249136fc1bdf3568d56ecb03214efdef48516176d3d7faaef8"),
}
# The real one says what gcc is for, which configure does not take.
_MUSL_GCC = """#!/bin/sh
[ "$1" = --print-multiarch ] && exec echo x86_64-linux-musl
exec %s "$@"
"""


def _run(*command, **more):
    subprocess.run(list(map(str, command)), check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, **more)


def _older_source(package, directory):
    """What OLDER_SOURCES has of @package."""
    version, digest = OLDER_SOURCES[package]
    archive = directory / ("%s_%s.orig.tar.xz" % (package, version))
    address = "%s/pool/main/p/%s/%s" % (fetch_packages.mirror(), package, archive.name)
    with urllib.request.urlopen(address, timeout=60) as answer:
        content = answer.read()
    if hashlib.sha256(content).hexdigest() != digest:
        raise RuntimeError("%s is not what it was" % address)
    archive.write_bytes(content)
    return archive


def _source_archive(suites, package, directory):
    """The archive of a source package, of the first of @suites that has it, or an older one."""
    for suite in suites:
        try:
            apt = fetch_packages.Apt(directory / suite, "amd64", suite)
            return apt.download_source(package)
        except subprocess.CalledProcessError:
            continue
    if package not in OLDER_SOURCES:
        raise RuntimeError("no source of %s in %s" % (package, " or ".join(suites)))
    try:
        return _older_source(package, directory)
    except urllib.error.URLError as error:
        raise RuntimeError("no source of %s in %s, and %s is gone, too: %s" % (
            package, " or ".join(suites), OLDER_SOURCES[package][0], error)) from error


def _unpack_source(suites, package, source):
    """Makes the folder @source with what is in a source package."""
    source.mkdir()
    directory = source.with_name("archives")
    directory.mkdir()
    _run("tar", "-xf", _source_archive(suites, package, directory), "--strip-components=1", "-C",
         source)
    shutil.rmtree(directory)


def _commands(prefix, arguments):
    """What makes Python in its source's folder, without debug information, which takes long."""
    return [["./configure", "--prefix=%s" % prefix, "--without-ensurepip",
             "OPT=-O3 -DNDEBUG -Wall", *arguments],
            ["nice", "-n", "19", "make", "-j2"],
            # Bytecode of the modules that are no part of a package, and not of the tests.
            ["make", "install", "COMPILEALL_OPTS=-l"]]


def build(suites, package, arguments, root):
    """Builds Python from a source package; installs it below @root/usr."""
    source = root / "source"
    _unpack_source(suites, package, source)
    prefix = PYTHONS / root.name.partition(".new")[0] / "usr"
    library = "LDFLAGS=-Wl,-rpath,%s/lib" % prefix
    commands = _commands(prefix, [library, *arguments])
    commands[-1].append("DESTDIR=%s" % (root / "image"))
    tools = root / "tools"
    tools.mkdir()
    (tools / "musl-gcc").write_text(_MUSL_GCC % shutil.which("musl-gcc"))
    (tools / "musl-gcc").chmod(0o755)
    path = {**os.environ, "PATH": "%s:%s" % (tools, os.environ["PATH"])}
    with open(root / "build.log", "wb") as log:
        for command in commands:
            subprocess.run(command, cwd=source, check=True, stdin=subprocess.DEVNULL, stdout=log,
                           stderr=log, env=path)
    os.rename(str(root / "image") + str(prefix), root / "usr")
    for folder in ("image", "source", "tools"):
        shutil.rmtree(root / folder)


def build_in_root(suite, sources, package, arguments, root):
    """Builds Python in a root of @suite; installs it there, with and without its symbols."""
    fetch_packages.make_root("amd64", suite, TOOLS, root)
    (root / "usr/bin/awk").symlink_to("gawk")
    _unpack_source(sources, package, root / "source")
    script = "cd /source"
    for command in _commands("/usr", arguments):
        script += " && " + shlex.join(command)
    program = "/usr/bin/" + package
    script += " && strip -o %s-stripped %s" % (program, program)
    enter = ('for d in proc dev tmp; do mount --rbind /$d "$0/$d" || exit; done;'
             'exec chroot "$0" /usr/bin/env -i PATH=/usr/bin HOME=/ sh -c "$1"')
    with open(root / "build.log", "wb") as log:
        subprocess.run(["unshare", "--mount", "sh", "-c", enter, root, script], check=True,
                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    # The compiler is most of it.
    for path in [root / "source", *(root / "usr/lib").glob("llvm-*")]:
        shutil.rmtree(path)


def fetch(name):
    """The folder of @name, made if it is not there."""
    root = PYTHONS / name
    if root.exists():
        return root
    new = PYTHONS / (name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    if name in ROOTS:
        fetch_packages.make_root("amd64", name, ROOTS[name], new)
    elif name in ROOTS_ARM64:
        suite, *packages = ROOTS_ARM64[name]
        fetch_packages.make_root("arm64", suite, packages, new)
    elif name in BUILDS_IN_ROOTS:
        suite, sources, package, *arguments = BUILDS_IN_ROOTS[name]
        build_in_root(suite, sources, package, arguments, new)
    else:
        suites, package, *arguments = BUILDS[name]
        build(suites, package, arguments, new)
    new.rename(root)
    return root


if __name__ == "__main__":
    for wanted in sys.argv[1:] or [*ROOTS, *ROOTS_ARM64, *BUILDS, *BUILDS_IN_ROOTS]:
        print(fetch(wanted))
