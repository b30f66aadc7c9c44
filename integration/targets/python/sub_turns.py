# SPDX-License-Identifier: Apache-2.0
r"""One thread, whose interpreters call each other: the first, another one, and the first again.

chain: <module>@run > main@turn
chain: <module>@run > main@inside > ~<module>@<string>:1; > ~enter@<string>:\d+; > ~leave@<string>:\d+; > ~<module>@<string>:1; > back@back > spin@spin
chain: <module>@run > main@inside > ~<module>@<string>:1; > ~enter@<string>:\d+; > ~spin@<string>:\d+;
unnamed: 2
unread: 70 -3.9
needs: ctypes
observe: no
"""
import ctypes

import target

# The text that the other interpreter runs; its functions are between two of the first one's.
TEXT = """
import ctypes
swap, run = ctypes.pythonapi.PyThreadState_Swap, ctypes.pythonapi.PyRun_SimpleString
swap.argtypes, swap.restype = [ctypes.c_void_p], ctypes.c_void_p
first, call = %d, b'back()'
def spin(count):
    total = 0
    for i in range(count):
        total += i * i & 0xff
    return total
def leave():
    own = swap(first)
    run(call)
    swap(own)
def enter():
    for i in range(500):
        spin(200000)
        leave()
"""

swap = ctypes.pythonapi.PyThreadState_Swap
swap.argtypes, swap.restype = [ctypes.c_void_p], ctypes.c_void_p
run = ctypes.pythonapi.PyRun_SimpleString
new = ctypes.pythonapi.Py_NewInterpreter
new.restype = ctypes.c_void_p


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def back():
    spin(200000)  #: back


def main():
    while True:  #: turn
        swap(other)  #: turn
        run(b"enter()")  #: inside
        swap(first)  #: turn


get = ctypes.pythonapi.PyThreadState_Get
get.restype = ctypes.c_void_p
first = get()
text = (TEXT % first).encode()
other = new()
run(text)
swap(first)
target.ready()
main()  #: run
