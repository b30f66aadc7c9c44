# SPDX-License-Identifier: Apache-2.0
r"""C calls Python: by libffi's closures, in this thread and in threads that Python did not make.

chain: <module>@run > main@turn > ANY@ctypes/*
chain: <module>@run > main@sort > ANY@ctypes/*
chain: <module>@run > main@sort > [qsort|\?] compare@compare > spin@spin
chain: <module>@run > main@thread > ANY@ctypes/*
chain: in_thread@in_thread > spin@spin
native: yes
bare: libffi.so [anonymous]
needs: ctypes
observe: no
"""
import ctypes

import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def compare(one, other):
    spin(200)  #: compare
    return 0  #: compare


def in_thread(argument):
    spin(40000)  #: in_thread
    return None  #: in_thread


libc = ctypes.CDLL(None)
Compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
Start = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
compared, started = Compare(compare), Start(in_thread)


def main():
    numbers = (ctypes.c_int * 20)()  #: turn
    thread = ctypes.c_ulong()  #: turn
    while True:  #: turn
        libc.qsort(numbers, 20, 4, compared)  #: sort
        libc.pthread_create(ctypes.byref(thread), None, started, None)  #: thread
        libc.pthread_join(thread, None)  #: thread


target.ready()
main()  #: run
