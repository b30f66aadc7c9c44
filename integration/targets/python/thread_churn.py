# SPDX-License-Identifier: Apache-2.0
"""Threads that begin and end all the time, while others run.

chain: <module>@round > ANY@threading.py,_weakrefset.py*
chain: <module>@round > start_later@made > ANY@threading.py,_weakrefset.py*
chain: > Thread._bootstrap@threading.py ANY@threading.py,_weakrefset.py{0,9}
chain: Thread._bootstrap@threading.py Thread._bootstrap_inner@threading.py Thread.run@threading.py > short@short spin@spin
native: yes
observe: sample
"""
import threading

import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def short():
    spin(50000)  #: short


def start_later(function):
    return threading.Thread(target=function)  #: made


target.ready()
while True:  #: round
    threads = list(map(start_later, [short] * 3))  #: round
    for one in threads:  #: round
        one.start()  #: round
    for one in threads:  #: round
        one.join()  #: round
    del threads, one  #: round
