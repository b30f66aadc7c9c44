# SPDX-License-Identifier: Apache-2.0
"""Threads that Python did not make: each begins, calls Python, C and Python again, and ends.

native: 40
needs: ctypes
"""
import ctypes
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import target

THREADS = 4
numbers = {"numbers": list(range(2000))}


def work(argument):
    text = json.dumps(sorted(numbers["numbers"], key=lambda number: -number), indent=1)
    json.loads(text, parse_int=lambda digits: int(digits) + 1)
    return None


libc = ctypes.CDLL(None)
Start = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
started = Start(work)


def turn():
    threads = [ctypes.c_ulong() for i in range(THREADS)]
    for thread in threads:
        libc.pthread_create(ctypes.byref(thread), None, started, None)
    for thread in threads:
        libc.pthread_join(thread, None)


target.ready()
while True:
    turn()
