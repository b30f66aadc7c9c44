# SPDX-License-Identifier: Apache-2.0
"""Signal handlers: called between two instructions of whatever runs, also within C functions.

chain: <module>@run main@turn,plain,sorted
chain: <module>@run main@turn,plain,sorted spin@spin
chain: <module>@run main@sorted > [sort] key@key > spin@spin
chain: <module>@run (main@turn,plain,sorted|spin@spin|key@key|handler@handler|target_of_timer@target){0,90} > ANY@signal.py{0,3} handler@handler target_of_timer@target spin@spin
interrupts: yes
observe: sample
"""
import signal

import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def key(number):
    return spin(200)  #: key


def target_of_timer():
    spin(20000)  #: target


def handler(number, frame):
    global depth  # Where all is slow, handlers would interrupt each other without end.
    depth += 1  #: handler
    if depth < 20:  #: handler
        target_of_timer()  #: handler
    depth -= 1  #: handler


def main():
    signal.setitimer(signal.ITIMER_PROF, 0.004, 0.004)  #: turn
    while True:  #: turn
        spin(2000)  #: plain
        sorted([3, 2, 1], key=key)  #: sorted


depth = 0
signal.signal(signal.SIGPROF, handler)
target.ready()
main()  #: run
