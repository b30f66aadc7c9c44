# SPDX-License-Identifier: Apache-2.0
"""What a Java frame costs in the kernel, beside a native one."""
import os
import shutil
import subprocess
import sys

import python_side
from tools import OUTPUT, ROOT, SOURCES, path

sys.path.insert(0, os.path.join(ROOT, "integration"))
import javas

# Each method stays a frame of its own.
OPTIONS = "-XX:CompileCommand=quiet -XX:CompileCommand=dontinline,JavaDepth::*"
MODES = {"compiled": "", "interpreted": "-Xint"}


def _compile(java):
    """The folder with the bench's classes."""
    folder = os.path.join(OUTPUT, java.name)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([java.path("javac"), "-d", folder, os.path.join(SOURCES, "JavaDepth.java")],
                   check=True)
    return folder


def _program(java, mode, folder):
    """The path of a script that runs the bench's calls, with their depth."""
    script = path("java_depth_%s_%s" % (java.name, mode))
    with open(script, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nexec %s %s %s -cp %s JavaDepth "$@"\n' % (
            java.path(), OPTIONS, MODES[mode], folder))
    os.chmod(script, 0o755)
    return os.path.basename(script)


def slopes(median_of):
    """(name of the JDK, mode, ns per frame)."""
    for java in javas.of_machine().values():
        folder = _compile(java)
        for mode in MODES:
            yield java.name, mode, python_side.slope(median_of, _program(java, mode, folder))
