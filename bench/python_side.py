# SPDX-License-Identifier: Apache-2.0
"""What a Python frame costs in the kernel, beside a native one."""
import os
import sys

import kernel_side
from tools import ROOT, SOURCES, path

sys.path.insert(0, os.path.join(ROOT, "integration"))
import pythons

DEPTHS = (20, 100)
# As many as the native program of the bench has.
FUNCTIONS = 8
# From here on calls from Python to Python stay in one loop.
ONE_LOOP = (3, 11)


def program(python, source="python_depth"):
    """The path of a script that runs the bench's calls in @python, with their arguments."""
    script = path("%s_%d.%d" % (source, *python.version))
    with open(script, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nexec %s -B %s/%s.py "$@"\n' % (python.path, SOURCES, source))
    os.chmod(script, 0o755)
    return script


def paths_programs():
    """[(name, the path of a script in which nearly every stack is a new one)] of the newest version."""
    newest = max(_of_bench(), key=lambda python: python.version, default=None)
    return [("Python %s" % newest.full_version, program(newest, "python_paths"))] if newest else []


def _of_bench():
    return [python for python in pythons.of_machine().values()
            if python.version >= ONE_LOOP and not python.is_debug and "pyenv" in python.name]


def slope(median_of, name, *arguments):
    """ns per level of calls."""
    times = [median_of(kernel_side.agent_ns, [name, depth, *arguments]) for depth in DEPTHS]
    return (times[1] - times[0]) / (DEPTHS[1] - DEPTHS[0])


def native_slope(median_of):
    """ns per native frame."""
    return slope(median_of, "depth")


def different_native_slope(median_of):
    """ns per native frame, where no function comes twice."""
    return slope(median_of, "depth_different")


def slopes(median_of):
    """(version, ns per Python frame, the same where no function comes twice) for each version that
    has one loop for many.
    """
    for python in _of_bench():
        yield (python.full_version, slope(median_of, program(python), FUNCTIONS),
               slope(median_of, program(python)))
