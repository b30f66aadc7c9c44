# SPDX-License-Identifier: Apache-2.0
"""Threads that compete for the interpreter, and C code that runs without it.

chain: <module>@start > ANY@threading.py*
chain: <module>@wait ANY@threading.py*
chain: > Thread._bootstrap@threading.py ANY@threading.py{0,9}
chain: Thread._bootstrap@threading.py Thread._bootstrap_inner@threading.py Thread.run@threading.py > python_work@python_call spin@spin
chain: Thread._bootstrap@threading.py Thread._bootstrap_inner@threading.py Thread.run@threading.py > sort_work@sort_call > key@key spin@spin
chain: Thread._bootstrap@threading.py Thread._bootstrap_inner@threading.py Thread.run@threading.py > hash_work@hash_call > ANY@hashlib.py,hmac.py*
chain: Thread._bootstrap@threading.py Thread._bootstrap_inner@threading.py Thread.run@threading.py > zlib_work@zlib_call
native: yes
needs: hashlib zlib
observe: sample
"""
import hashlib
import threading
import zlib

import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def key(number):
    return spin(200)  #: key


def python_work():
    while True:  #: python_call
        spin(2000)  #: python_call


def sort_work():
    while True:  #: sort_call
        sorted([3, 2, 1], key=key)  #: sort_call


def hash_work():
    data = bytes(range(256)) * 4000  #: hash_call
    while True:  #: hash_call
        hashlib.sha256(data)  #: hash_call


def zlib_work():
    data = bytes(range(256)) * 4000  #: zlib_call
    while True:  #: zlib_call
        zlib.compress(data)  #: zlib_call


workers = [threading.Thread(target=work, daemon=True)
           for work in (python_work, sort_work, hash_work, zlib_work)]
for worker in workers:
    worker.start()  #: start
target.ready()
for worker in workers:  #: wait
    worker.join()  #: wait
