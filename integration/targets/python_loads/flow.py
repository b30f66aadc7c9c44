# SPDX-License-Identifier: Apache-2.0
"""Generators, coroutines, exceptions, context managers, classes, in a loop."""
import asyncio
import contextlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import target


class Node:
    def __init__(self, depth):
        self.children = [Node(depth - 1) for i in range(2)] if depth else []

    def __iter__(self):
        yield self
        for child in self.children:
            yield from child


@contextlib.contextmanager
def guarded(count):
    try:
        yield count
    except ValueError:
        pass


def failing(depth):
    if depth == 0:
        raise ValueError("deep")
    with contextlib.suppress(KeyError):
        failing(depth - 1)


async def task(count):
    total = 0
    for i in range(count):
        await asyncio.sleep(0)
        total += sum(1 for node in Node(3))
    return total


async def tasks():
    await asyncio.gather(*[task(10) for i in range(5)])


loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
target.ready()
while True:
    sum(1 for node in Node(8))
    for i in range(50):
        with guarded(i):
            failing(10)
    loop.run_until_complete(tasks())
