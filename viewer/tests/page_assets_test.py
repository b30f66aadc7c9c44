#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
"""viewer/assets/, which the agent serves, is what viewer/page/ makes."""
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "integration"))
from harness import Tap

ASSETS = os.path.join(ROOT, "viewer", "assets")
NAME = "the committed assets are what their sources make"


def main():
    tap = Tap()
    if not shutil.which("npm"):
        tap.skip(NAME, "needs npm")
        tap.finish()
    with tempfile.TemporaryDirectory() as made:
        build = subprocess.run([os.path.join(ROOT, "scripts", "build_page.sh"), made],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        names = sorted(set(os.listdir(made)) | set(os.listdir(ASSETS)))
        _, differing, missing = filecmp.cmpfiles(made, ASSETS, names, shallow=False)
        tap.ok(build.returncode == 0 and not differing and not missing, NAME,
               "differing: %s; on one side only: %s; `make page` mends it" % (differing, missing),
               build.stdout[-2000:])
    tap.finish()


main()
