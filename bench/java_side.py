# SPDX-License-Identifier: Apache-2.0
"""What a Java frame costs in the kernel, beside a native one."""
import glob
import os
import shutil
import subprocess

import python_side
from tools import OUTPUT, SOURCES, path

# Each method stays a frame of its own.
OPTIONS = "-XX:CompileCommand=quiet -XX:CompileCommand=dontinline,JavaDepth::*"
MODES = {"compiled": "", "interpreted": "-Xint"}


def machines_javas():
    """java of each JDK of the machine."""
    found = {os.path.realpath(java) for java in glob.glob("/usr/lib/jvm/*/bin/java")
             if os.path.exists(os.path.join(os.path.dirname(java), "javac"))}
    return sorted(found)


def _program(java, mode):
    """The path of a script that runs the bench's calls, with their depth."""
    home = os.path.basename(os.path.dirname(os.path.dirname(java)))
    script = path("java_depth_%s_%s" % (home, mode))
    with open(script, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nexec %s %s %s -cp %s/%s JavaDepth "$@"\n' % (
            java, OPTIONS, MODES[mode], OUTPUT, home))
    os.chmod(script, 0o755)
    folder = os.path.join(OUTPUT, home)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([java + "c", "-d", folder, os.path.join(SOURCES, "JavaDepth.java")], check=True)
    return os.path.basename(script)


def slopes(median_of):
    """(name of the JDK, mode, ns per frame)."""
    for java in machines_javas():
        for mode in MODES:
            name = os.path.basename(os.path.dirname(os.path.dirname(java)))
            yield name, mode, python_side.slope(median_of, _program(java, mode))
