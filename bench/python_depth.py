# SPDX-License-Identifier: Apache-2.0
"""python_depth.py N: N calls deep in Python, by calls that later versions run in one loop; then
busy for ever.
"""
import sys

sys.setrecursionlimit(10000)


def leaf():
    print("ready")
    sys.stdout.flush()
    while True:
        pass


def one(depth):
    return other(depth - 1) if depth > 1 else leaf()


def other(depth):
    return one(depth - 1) if depth > 1 else leaf()


one(int(sys.argv[1]))
