# SPDX-License-Identifier: Apache-2.0
"""What the targets in Python share.

A target says at its top which stacks it can have (see python_chains.py), and is a program that runs
for ever once it has called ready(). They run with every version from 3.6 on.
"""
import os
import sys


def ready():
    """The name is by which the test finds the samples, whatever the interpreter is called."""
    name = "py-" + os.path.basename(sys.argv[0])[:-len(".py")]
    with open("/proc/self/comm", "w") as file:
        file.write(name[:15])
    if os.environ.get("ALLFRAMES_READY") != "no":
        os.environ["ALLFRAMES_READY"] = "no"
        print("ready")
        sys.stdout.flush()
