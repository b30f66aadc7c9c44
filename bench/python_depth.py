# SPDX-License-Identifier: Apache-2.0
"""python_depth.py N [COUNT]: N calls deep in Python, by calls that later versions run in one loop,
in turns of COUNT functions (as many as calls, if there is none); then busy for ever.
"""
import sys

sys.setrecursionlimit(10000)

CALL = """
def call_{this}(depth):
    return call_{next}(depth - 1) if depth > 1 else leaf()
"""


def leaf():
    print("ready")
    sys.stdout.flush()
    while True:
        pass


depth = int(sys.argv[1])
count = int(sys.argv[2]) if len(sys.argv) > 2 else depth
for i in range(count):
    exec(CALL.format(this=i, next=(i + 1) % count))
call_0(depth)
