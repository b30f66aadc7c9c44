# SPDX-License-Identifier: Apache-2.0
r"""A module whose file changes and which is loaded again: old functions keep their lines.

chain: <module>@run > main@turn
chain: <module>@run > main@again > reload@importlib/__init__.py ~(?:[^;]*;){0,90}
chain: <module>@run > main@write > write@write > ~(?:[^;]*;){1,9}
chain: <module>@run main@old,new > ~stage_(\d+)@[^;]*py_reloaded\.py:(?:\1|\d+!); > spin@spin
unnamed: 10
observe: sample
"""
import importlib
import os
import sys
import tempfile

import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def write(number):
    text = "%s\ndef stage_%d():\n    spin(20000)\n" % ("\n" * (number - 3), number)  #: write
    with open(path + ".new", "w") as file:  #: write
        file.write(text)  #: write
    os.rename(path + ".new", path)  #: write


def main():
    number = 0  #: turn
    while True:  #: turn
        old = getattr(module, "stage_%d" % (number + 4), None)  #: turn
        number = (number + 1) % 200  #: turn
        write(number + 4)  #: write
        importlib.reload(module)  #: again
        module.spin = spin  #: turn
        if old:  #: turn
            old()  #: old
        getattr(module, "stage_%d" % (number + 4))()  #: new


directory = tempfile.TemporaryDirectory()
path = os.path.join(directory.name, "py_reloaded.py")
sys.path.insert(0, directory.name)
sys.dont_write_bytecode = True
write(3)
module = importlib.import_module("py_reloaded")
target.ready()
main()  #: run
