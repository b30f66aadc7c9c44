# SPDX-License-Identifier: Apache-2.0
"""Coroutines of greenlet. They are started from different depths of the stack, and left from within their own functions: parts
of the stack are copied away and back.
"""
import greenlet

main = greenlet.getcurrent()


def burn():
    total = 0
    for i in range(2000):
        total += i * i
    return total


def after_switch():
    return burn()


def task_inner():
    burn()
    main.switch()
    after_switch()


def recurse(depth):
    if depth:
        recurse(depth - 1)
    else:
        task_inner()


def task():
    while True:
        recurse(5)


def start(depth, coroutine):
    if depth:
        start(depth - 1, coroutine)
    else:
        coroutine.switch()


tasks = [greenlet.greenlet(task) for _ in range(5)]
print("ready", flush=True)
turn = 0
while True:
    start(turn % 7, tasks[turn % 5])
    turn += 1
