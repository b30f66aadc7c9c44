# SPDX-License-Identifier: Apache-2.0
"""What a Python frame costs in the kernel, beside a native one."""
import os
import sys

import kernel_side
from tools import ROOT, SOURCES, path

sys.path.insert(0, os.path.join(ROOT, "integration"))
import pythons

DEPTHS = (20, 100)
# From here on calls from Python to Python stay in one loop.
ONE_LOOP = (3, 11)


def _program(python):
    """The path of a script that runs the bench's calls in @python, whose argument is the depth."""
    script = path("python_depth_%d.%d" % python.version)
    with open(script, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nexec %s -B %s/python_depth.py "$1"\n' % (python.path, SOURCES))
    os.chmod(script, 0o755)
    return script


def slope(median_of, *command):
    """ns per level of calls."""
    times = [median_of(kernel_side.agent_ns, [*command, depth]) for depth in DEPTHS]
    return (times[1] - times[0]) / (DEPTHS[1] - DEPTHS[0])


def slopes(median_of):
    """(version, ns per Python frame) for each version that has one loop for many."""
    for python in pythons.of_machine().values():
        if python.version >= ONE_LOOP and not python.is_debug and "pyenv" in python.name:
            yield python.full_version, slope(median_of, _program(python))
