# SPDX-License-Identifier: Apache-2.0
"""Copies of the tree into which a patch of testdata/demo is put, and which are built and run."""
import contextlib
import os
import re
import shutil
import subprocess
import tempfile

from harness import ROOT

DEMO = os.path.join(ROOT, "testdata", "demo")
BUILD_SECONDS = 1800


def _copy(folder):
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    for name in filter(None, names.decode().split("\0")):
        if os.path.isfile(os.path.join(ROOT, name)):
            target = os.path.join(folder, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), target)


def run(folder, *command, **more):
    return subprocess.run(command, cwd=folder, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=BUILD_SECONDS, **more)


@contextlib.contextmanager
def demo_tree():
    """The folder of a copy, which goes at the end."""
    with tempfile.TemporaryDirectory(prefix="allframes-demo-") as folder:
        _copy(folder)
        # Without a repository of its own git takes the paths for those of one above.
        run(folder, "git", "init", "-q")
        yield folder


def apply(tap, folder, patch, programs):
    """Puts the patch in and builds the programs. Returns the files that the patch changes and adds; None: it failed."""
    path = os.path.join(DEMO, patch)
    changed = [line.split("\t")[2] for line in run(folder, "git", "apply", "--numstat", path).stdout.splitlines()]
    existing = [name for name in changed if os.path.exists(os.path.join(folder, name))]
    done = run(folder, "git", "apply", path)
    if not tap.ok(done.returncode == 0, "%s is put in" % patch, done.stdout):
        return None
    run(folder, "git", "add", "-A")
    done = run(folder, "scripts/check_boundaries.py")
    tap.ok(done.returncode == 0, "it keeps the boundaries", done.stdout)
    done = run(folder, "make", "-j%d" % os.cpu_count(), *programs)
    if not tap.ok(done.returncode == 0, "the tree with it is built", done.stdout[-3000:]):
        return None
    return existing, sorted(set(changed) - set(existing))


def build_target(folder):
    """A program in the language Demo, which spins."""
    target = os.path.join(folder, "demo-target")
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-rdynamic", "-o", target, os.path.join(DEMO, "target.c")],
                   check=True)
    return target


@contextlib.contextmanager
def opened_page(tap, folder, path):
    """A function that asks the page of the file at @path, which the tree's agent opens: it returns the answer's bytes."""
    with subprocess.Popen([os.path.join(folder, "build", "agent"), "-open", path, "-viewer", "127.0.0.1:0"], cwd=folder,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as viewer:
        try:
            line = viewer.stderr.readline()
            address = re.search(r"http://\S+?(?=[;/ ])", line)
            name = os.path.basename(path)
            if not tap.ok(address, "%s is opened again" % name, line):
                raise RuntimeError("%s cannot be opened" % name)
            yield lambda question: subprocess.run(["curl", "-s", "-m", "120", address[0] + question], check=False,
                                                  stdout=subprocess.PIPE).stdout
        finally:
            viewer.terminate()
