#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The patches of testdata/demo apply to this tree, and change as few of its files as is claimed; what they do is asked by
tests of the long tier (integration/demo_language_test.py, demo_sample_test.py). Prints TAP.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "integration"))
from harness import Tap

FOLDER = ROOT / "testdata" / "demo"
# Files of the tree that each changes; all others are new.
CHANGES = {
    "attribute.patch": ["agent/processes/trace_handler.c", "docs/output.md", "ebpf/abi/sample.h",
                        "ebpf/kernel_types.bpf.h", "ebpf/take_sample.bpf.h", "lib/model/sample.h"],
    "origin.patch": ["docs/output.md", "ebpf/abi/origins.h"],
    "language.patch": ["ebpf/abi/languages.h", "interpreters/languages.h"],
}


def main():
    tap = Tap()
    tap.ok(sorted(CHANGES) == sorted(path.name for path in FOLDER.glob("*.patch")), "each patch is known here")
    for name, expected in CHANGES.items():
        done = subprocess.run(["git", "apply", "--check", FOLDER / name], cwd=ROOT, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        tap.ok(done.returncode == 0, name + " applies", done.stdout)
        listed = subprocess.run(["git", "apply", "--numstat", FOLDER / name], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                                text=True).stdout
        changed = sorted(path for path in (line.split("\t")[2] for line in listed.splitlines()) if (ROOT / path).exists())
        tap.ok(changed == expected, "%s changes %d files" % (name, len(expected)), changed)
    tap.finish()


if __name__ == "__main__":
    main()
