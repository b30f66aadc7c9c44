# SPDX-License-Identifier: Apache-2.0
"""What programs run that have Python within.

chain: <module>@run outer@outer > inner@inner > spin@spin
chain: <module>@ready
"""
import os
import sys


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def inner():
    spin(10000)  #: inner


def outer():
    while True:  #: outer
        inner()  #: outer


with open("/proc/self/comm", "w") as file:
    file.write("py-embedded")
# Editors and debuggers have another sys.stdout.
os.write(1, b"ready\n")  #: ready
outer()  #: run
