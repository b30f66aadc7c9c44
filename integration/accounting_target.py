# SPDX-License-Identifier: Apache-2.0
"""The program of known costs, integration/targets/cost_target.c, built for the tests of -accounting."""
import os
import subprocess

from harness import OUTPUT, ROOT


def build_target():
    """Its path."""
    path = os.path.join(OUTPUT, "cost_target")
    os.makedirs(OUTPUT, exist_ok=True)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", path, os.path.join(ROOT, "integration/targets/cost_target.c")], check=True)
    return path
