# SPDX-License-Identifier: Apache-2.0
"""The Pythons at hand, each with the command that runs it: this machine's own, those of pyenv, and
what scripts/fetch_pythons.py brought.
"""
import functools
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_python_packages
import fetch_pythons
from runtimes import Finder, Runtime

TARGETS = os.path.join(ROOT, "integration", "targets", "python")
# The short tier's: a slice of each kind.
SHORT_TARGETS = ["alternating", "c_between", "calls", "coroutines", "exec_loop", "names",
                 "only_python", "recursion", "signals", "threads"]
LOADS = os.path.join(ROOT, "integration", "targets", "python_loads")
PYENV = os.path.expanduser("~/.pyenv/versions")

# The last versions of each way in which frames hang together (enum python_chain), but of the last.
LAST_OF_CHAINS = [(3, 9), (3, 10), (3, 12)]

_DESCRIBE = """
import sys, sysconfig
get = sysconfig.get_config_var
print("%d.%d.%d" % sys.version_info[:3], int(bool(get("Py_DEBUG"))),
      int(bool(get("Py_GIL_DISABLED"))),
      int(getattr(sys, "_jit", None) is not None and sys._jit.is_available()),
      get("HOST_GNU_TYPE") or "")
"""

# Mounts of the outer root that a changed root needs.
_ENTER = ('for d in proc dev tmp; do mount --rbind /$d "$0/$d" || exit; done;'
          'for d in %(shared)s; do mkdir -p "$0$d" && mount --bind $d "$0$d" || exit; done;'
          'exec unshare --root "$0" --wd "${ROOT_DIRECTORY:-/}" "$@"')


class Python(Runtime):
    """One interpreter. @root: the file system that it lives in; "/" is the machine's own."""

    def __init__(self, name, path, root="/", environment=None):
        self.name = name
        self.path = path
        self.root = root
        self._settings = ["%s=%s" % pair for pair in (environment or {}).items()]
        # This build compiles functions while it runs, with a compiler that needs a large stack.
        self.is_compiling = (environment or {}).get("PYTHON_JIT") == "1"

    @functools.cached_property
    def _description(self):
        """Asked for when it is needed: there are many Pythons, and tests of one."""
        return subprocess.run(self.command("-c", _DESCRIBE), stdout=subprocess.PIPE, check=True,
                              text=True).stdout.split()

    @property
    def full_version(self):
        return self._description[0]

    @property
    def version(self):
        return tuple(map(int, self.full_version.split(".")))[:2]

    @property
    def is_debug(self):
        return self._description[1] == "1"

    @property
    def is_free_threaded(self):
        return self._description[2] == "1"

    @property
    def has_jit(self):
        return self._description[3] == "1"

    @property
    def entries(self):
        """Frames that are a thread's entry here alone: musl's clone() has no symbol, and the symbol
        in front of it has no size. Nothing shows that what a thread runs comes back, so that when it
        has, the caller is a guess.
        """
        return ["memset", "memset_[?]"] if "-musl" in "".join(self._description[4:]) else []

    def command(self, *arguments):
        """The command to run it with @arguments."""
        return self._command([], arguments)

    def _command(self, settings, arguments):
        """With more settings of the environment; roots of other suites have no env of their own."""
        return ["env", *settings, *self._settings, *in_root(self.root, self.path, *arguments)]

    def target(self, name):
        """The command that runs a target. Nothing is written beside the sources."""
        return self.command("-B", os.path.join(TARGETS, name + ".py"))

    def load_command(self, *arguments):
        """The command to run it with @arguments and what fetch_python_packages.py brought."""
        version = "%d.%d" % self.version + "t" * self.is_free_threaded
        packages = fetch_python_packages.directory_of(version)
        settings = ["PYTHONPATH=%s" % packages] if packages.exists() else []
        return self._command(settings, arguments)

    def load(self, name):
        """The command that runs a load."""
        return self.load_command("-B", os.path.join(LOADS, name + ".py"))

    @property
    def directories(self):
        """Where its files lie, for those that look at them by name."""
        return directories_of(self.root, self.path)


def in_root(root, *command):
    """@command in a root file system, with this machine's /proc and the targets at their paths."""
    if root == "/":
        return list(map(str, command))
    return enter(root, [TARGETS, LOADS, *filter(os.path.exists,
                                                [str(fetch_python_packages.DIRECTORY)])], *command)


def enter(root, shared, *command):
    """@command in a root file system, with this machine's /proc and the folders @shared. It begins in the
    folder that the variable ROOT_DIRECTORY says.
    """
    return ["unshare", "--mount", "sh", "-c", _ENTER % {"shared": " ".join(shared)}, root,
            *map(str, command)]


def directories_of(root, path):
    """The folders of a program and of the libraries beside it, below @root."""
    found = [os.path.dirname(path), os.path.join(os.path.dirname(os.path.dirname(path)), "lib"),
             "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu"]
    return [root.rstrip("/") + directory for directory in found]


def _version_key(path):
    return [int(number) for number in re.findall(r"\d+", os.path.basename(path))]


def _of_machine():
    """pyenv's versions from 3.6 on, and the machine's own."""
    found = {}
    for directory in sorted(glob.glob(PYENV + "/3.*"), key=_version_key):
        path = os.path.join(directory, "bin", "python3")
        if os.access(path, os.X_OK):
            found["pyenv-" + os.path.basename(directory)] = Python(
                "pyenv-" + os.path.basename(directory), path)
    for path in sorted(glob.glob("/usr/bin/python3.*"), key=_version_key):
        if re.fullmatch(r"python3\.\d+d?", os.path.basename(path)):
            name = "machine-" + os.path.basename(path)
            found[name] = Python(name, path)
    return found


def _fetched():
    """What fetch_pythons.py brought: of other suites, and built here."""
    found = {}
    for suite in fetch_pythons.ROOTS:
        root = str(fetch_pythons.PYTHONS / suite)
        for path in sorted(glob.glob(root + "/usr/bin/python3.*"), key=_version_key):
            program = os.path.basename(path)
            if re.fullmatch(r"python3\.\d+d?", program):
                name = "%s-%s" % (suite, program)
                found[name] = Python(name, "/usr/bin/" + program, root)
                if found[name].has_jit and not found[name].is_debug:
                    found[name + "-jit"] = Python(name + "-jit", "/usr/bin/" + program, root,
                                                  {"PYTHON_JIT": "1"})
    for build in fetch_pythons.BUILDS:
        path = str(fetch_pythons.PYTHONS / build / "usr/bin/python3")
        if os.path.exists(path):
            found["built-" + build] = Python("built-" + build, path)
    for build in fetch_pythons.BUILDS_IN_ROOTS:
        root = str(fetch_pythons.PYTHONS / build)
        for path in sorted(glob.glob(root + "/usr/bin/python3.*")):
            program = re.fullmatch(r"python3\.\d+(-stripped)?", os.path.basename(path))
            if program:
                name = "built-%s%s" % (build, program[1] or "")
                found[name] = Python(name, "/usr/bin/" + program[0], root)
    return found


def _newest_of_chains(found):
    """The newest of @found (ascending) for each way in which frames hang together."""
    return {name: python for name, python in
            {sum(python.version > last for last in LAST_OF_CHAINS): (name, python)
             for name, python in found.items()}.values()}


def _short(machine, _):
    """Some of this machine's, and its own."""
    return {**_newest_of_chains({name: python for name, python in machine.items()
                                 if name.startswith("pyenv-")}),
            **{name: python for name, python in machine.items() if name.startswith("machine-")}}


FINDER = Finder(_of_machine, _fetched, _short, r".*-.*")
of_machine, fetched, at_hand, chosen = FINDER.of_machine, FINDER.fetched, FINDER.at_hand, FINDER.chosen


if __name__ == "__main__":
    for one in at_hand(True).values():
        print(one, one.full_version, "debug" * one.is_debug, "free-threaded" * one.is_free_threaded)
