# SPDX-License-Identifier: Apache-2.0
"""What a Java frame costs in the kernel, beside a native one."""
import functools
import os
import shutil
import subprocess
import sys

import python_side
from tools import ROOT, SOURCES, path

sys.path.insert(0, os.path.join(ROOT, "integration"))
import javas

# Each method stays a frame of its own.
OPTIONS = "-XX:CompileCommand=quiet -XX:CompileCommand=dontinline,Calls::*"
MODES = {"compiled": "", "interpreted": "-Xint"}
# As many methods as the native program of the bench has functions; and such that none comes twice.
SOME = python_side.FUNCTIONS
ALL = max(python_side.DEPTHS)

CALL = """
	static long call%d(int depth, long sum) {
		return depth > 1 ? call%d(depth - 1, sum + 1) ^ sum : JavaDepth.leaf(sum) ^ depth;
	}
"""


@functools.lru_cache(maxsize=None)
def _classes(java, methods):
    """The folder of the bench's classes, the calls in turns of so many @methods."""
    folder = path("java_depth_%s_%d" % (java, methods))
    calls = os.path.join(folder, "Calls.java")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(calls, "w", encoding="ascii") as file:
        file.write("class Calls {%s}\n" % "".join(
            CALL % (i, (i + 1) % methods) for i in range(methods)))
    subprocess.run(java.command("-d", folder, calls, os.path.join(SOURCES, "JavaDepth.java"),
                                program="javac"), check=True)
    return folder


def _program(java, mode, methods):
    """The path of a script that runs the bench's calls, with their depth."""
    script = path("java_depth_%s_%s_%d.sh" % (java, mode, methods))
    with open(script, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nexec %s %s %s -cp %s JavaDepth "$@"\n' % (
            java.path(), OPTIONS, MODES[mode], _classes(java, methods)))
    os.chmod(script, 0o755)
    return os.path.basename(script)


def paths_programs():
    """[(name, the name of a script in which nearly every stack is a new one)]."""
    return [("Java %s" % java, _paths_program(java)) for java in list(javas.of_machine().values())[:1]]


def _paths_program(java):
    """The name of a script in which nearly every stack is a new one."""
    folder, script = path("java_paths_%s" % java), path("java_paths_%s.sh" % java)
    os.makedirs(folder, exist_ok=True)
    subprocess.run(java.command("-d", folder, os.path.join(SOURCES, "JavaPaths.java"), program="javac"),
                   check=True)
    with open(script, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nexec %s -XX:CompileCommand=quiet -XX:CompileCommand=dontinline,JavaPaths::* -cp %s "
                   "JavaPaths\n" % (java.path(), folder))
    os.chmod(script, 0o755)
    return os.path.basename(script)


def slopes(median_of):
    """(JDK, mode, ns per frame, the same where no method comes twice)."""
    for java in javas.of_machine().values():
        for mode in MODES:
            yield (java, mode, *[python_side.slope(median_of, _program(java, mode, methods))
                                 for methods in (SOME, ALL)])
