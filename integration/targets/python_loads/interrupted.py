# SPDX-License-Identifier: Apache-2.0
"""What comes in between: signal handlers, the garbage collector, finalizers, its callbacks."""
import gc
import os
import signal
import sys
import weakref

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import target

SECONDS_BETWEEN = 0.002


class Node:
    ended = 0

    def __init__(self, next_one):
        self.next_one = next_one
        self.itself = self

    def __del__(self):
        Node.ended += len([i for i in range(5)])


def make_garbage(count):
    node = None
    for i in range(count):
        node = Node(node)
    return weakref.ref(node, lambda reference: sum(range(20)))


def handle(number, frame):
    return sorted(range(200), key=lambda one: -one)


def look(phase, information):
    return sum(i for i in range(20))


gc.callbacks.append(look)
target.ready()
signal.signal(signal.SIGPROF, handle)
signal.setitimer(signal.ITIMER_PROF, SECONDS_BETWEEN, SECONDS_BETWEEN)
while True:
    references = [make_garbage(100) for i in range(20)]
    gc.collect()
    sorted(str(i) for i in range(2000))
