# SPDX-License-Identifier: Apache-2.0
"""What the targets in Python share.

A target says at its top which stacks it can have (see python_chains.py), and is a program that runs
for ever once it has called ready(). They run with every version from 3.6 on.
"""
import os
import sys


# By which the test finds the samples, whatever the interpreter is called. From 3.14 on a thread has
# the name that it was made with, else that of the one that made it.
NAME = ("py-" + os.path.basename(sys.argv[0])[:-len(".py")])[:15]


# The text that other interpreters run, with the number of rounds put in.
INNER = """
def inner():
    spin(300000)
def spin(count):
    total = 0
    for i in range(count):
        total += i * i & 0xff
    return total
for i in range(%d):
    inner()
"""


def take_name():
    with open("/proc/self/comm", "w") as file:
        file.write(NAME)


def ready():
    take_name()
    if os.environ.get("ALLFRAMES_READY") != "no":
        os.environ["ALLFRAMES_READY"] = "no"
        print("ready")
        sys.stdout.flush()
