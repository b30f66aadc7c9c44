#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unpacks Debian packages of any architecture and suite, with all that they depend on.

usage: fetch_packages.py DIRECTORY ARCHITECTURE SUITE PACKAGE...

Below DIRECTORY there will be one folder for each package, named after it. Nothing is installed: the
packages come by an apt with lists and a state of its own, from the first mirror that the machine's
apt knows, and none of their scripts runs. What is unpacked already stays.
"""
import pathlib
import re
import shutil
import subprocess
import sys

# Packages of older suites have folders here, and those of newer ones links to folders.
_LINKS = ["bin", "sbin", "lib", "lib64"]


def mirror():
    """The first mirror of Debian that this machine's apt knows."""
    sources = [pathlib.Path("/etc/apt/sources.list")]
    sources += sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))
    for path in filter(pathlib.Path.is_file, sources):
        for line in path.read_text(errors="replace").splitlines():
            match = re.match(r"(?:URIs:\s*|deb\s+(?:\[[^]]*\]\s*)?)(\S+)", line)
            if match and "security" not in match.group(1):
                return match.group(1)
    raise RuntimeError("this machine's apt has no source of packages")


def _run(*command, **more):
    subprocess.run(list(map(str, command)), check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, **more)


class Apt:
    """An apt with lists and a state of its own, below @directory, which goes with the context."""

    def __init__(self, directory, architecture, *suites):
        self._directory = pathlib.Path(directory).absolute()
        apt = self._directory
        for folder in ("lists/partial", "archives/partial", "state"):
            (apt / folder).mkdir(parents=True, exist_ok=True)
        (apt / "sources.list").write_text("".join("%s %s %s main\n" % (kind, mirror(), suite) for suite in suites
                                                  for kind in ("deb", "deb-src")))
        self._options = []
        for option in ("Dir::State=%s/state" % apt, "Dir::State::lists=%s/lists" % apt,
                       "Dir::Cache=%s" % apt, "Dir::State::status=/dev/null",
                       "Dir::Etc::sourcelist=%s/sources.list" % apt,
                       "Dir::Etc::sourceparts=/dev/null", "APT::Architecture=" + architecture,
                       "APT::Architectures=" + architecture, "APT::Sandbox::User=root",
                       "APT::Keep-Downloaded-Packages=true", "Acquire::Check-Valid-Until=false",
                       "Acquire::Languages=none"):
            self._options += ["-o", option]
        _run("apt-get", "-q", *self._options, "update")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Only the files are needed again, neither the archives nor the index.
        shutil.rmtree(self._directory)

    def download(self, packages):
        """The archives of @packages and of what they depend on."""
        _run("apt-get", "-q", *self._options, "install", "--download-only", "--yes",
             "--no-install-recommends", *packages)
        return sorted((self._directory / "archives").glob("*.deb"))

    def download_alone(self, package):
        """The archive of @package, without what it depends on."""
        _run("apt-get", "-q", *self._options, "download", package, cwd=self._directory)
        return next(self._directory.glob(package + "_*.deb"))

    def download_source(self, package):
        """The archive of a package's upstream source."""
        _run("apt-get", "-q", *self._options, "source", "--download-only", "--tar-only", package,
             cwd=self._directory)
        return next(self._directory.glob("*.orig.tar.[gx]z"))


def fetch(directory, architecture, suite, packages):
    """Returns the folders of @packages and of what they depend on."""
    directory = pathlib.Path(directory).absolute()
    with Apt(directory / ".apt", architecture, suite) as apt:
        for archive in apt.download(packages):
            folder = directory / archive.name.partition("_")[0]
            new = directory / (folder.name + ".new")
            shutil.rmtree(new, ignore_errors=True)
            _run("dpkg-deb", "-x", archive, new)
            shutil.rmtree(folder, ignore_errors=True)
            new.rename(folder)
    return unpacked(directory)


def unpacked(directory):
    """The folders of the packages that are there already."""
    directory = pathlib.Path(directory)
    return [path for path in sorted(directory.glob("*"))
            if path.is_dir() and path.suffix != ".new"]


def unpack(archive, root):
    """Unpacks a package over others; a link to a folder stays one."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)],
                          stdout=subprocess.PIPE) as reader:
        subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", str(root)],
                       stdin=reader.stdout, check=True)


def make_root(architecture, suite, packages, root, also=()):
    """A folder to chroot to, with @packages of a suite of Debian and what they depend on, which may be of the suites @also."""
    for name in _LINKS:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to("usr/" + name)
    for name in ("proc", "dev", "tmp"):
        (root / name).mkdir()
    with Apt(root / ".apt", architecture, suite, *also) as apt:
        for archive in apt.download(packages):
            unpack(archive, root)


def build(directory, suite, package, commands):
    """Builds the source package @package of a suite of Debian in its folder, which will be @directory, by @commands. Both
    programs that @commands make and what they load at run time stay in that folder.
    """
    new = directory.with_name(directory.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    with Apt(new / ".apt", "amd64", suite) as apt:
        _run("tar", "-xf", apt.download_source(package), "--strip-components=1", "-C", new)
    for command in commands:
        with open(new / "build.log", "a", encoding="ascii") as log:
            subprocess.run(command, cwd=new, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    new.rename(directory)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    print("\n".join(map(str, fetch(*sys.argv[1:4], sys.argv[4:]))))
