# SPDX-License-Identifier: Apache-2.0
"""One process is one version of Python after the other, by exec.

chain: <module>@run > main@turn > work@work > spin@spin
chain: <module>@run > main@exec > ANY@os.py,posixpath.py,_collections_abc.py*
chain: <module>@ready > ready@target.py > ANY@target.py,os.py,_collections_abc.py,codecs.py*
forks: yes
versions: several
observe: no
unnamed: 6
"""
import os
import sys
import time

import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def work():
    spin(20000)  #: work


def main():
    end = time.monotonic() + 0.5  #: turn
    while time.monotonic() < end:  #: turn
        work()  #: turn
    other = os.environ["ALLFRAMES_OTHER_PYTHON"]  #: exec
    os.environ["ALLFRAMES_OTHER_PYTHON"] = sys.executable  #: exec
    os.execv(other, [other, "-B", os.path.abspath(__file__)])  #: exec


target.ready()  #: ready
main()  #: run
