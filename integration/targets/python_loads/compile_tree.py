# SPDX-License-Identifier: Apache-2.0
"""Compiles the standard library, again and again."""
import glob
import os
import py_compile
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import target

files = sorted(glob.glob(os.path.dirname(os.__file__) + "/**/*.py", recursive=True))
target.ready()
with tempfile.TemporaryDirectory() as directory:
    while True:
        for path in files:
            try:
                py_compile.compile(path, os.path.join(directory, "out.pyc"), doraise=True)
            except (py_compile.PyCompileError, ValueError):
                pass
