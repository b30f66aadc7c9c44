# SPDX-License-Identifier: Apache-2.0
"""Coroutines and what they wait for: what runs is on the stack, what is suspended is not.

chain: <module>@run > main@turn
chain: <module>@run main@drive > drive@sending > root@wait_middle > middle@wait_leaf > leaf@work,pause > spin@spin
chain: <module>@run main@drive > drive@sending > root@wait_middle > middle@wait_leaf > leaf@work,pause > Pause.__await__@give
chain: <module>@run main@drive > drive@sending > root@wait_middle > middle@wait_leaf > leaf@work,pause > Pause.__init__@init
chain: <module>@run main@drive > root@wait_middle
chain: <module>@run main@aiter > iterate@each
chain: <module>@run main@manager > managed@enter
chain: <module>@run main@comprehension > comprehended@elements
chain: <module>@run main@aiter > drive@sending > iterate@each > count_up@step > spin@spin
chain: <module>@run main@manager > drive@sending > managed@enter > (Manager.__aenter__@entering|Manager.__aexit__@leaving) > spin@spin
chain: <module>@run main@comprehension > drive@sending > comprehended@elements > count_up@step > spin@spin
chain (-3.11): <module>@run main@comprehension > drive@sending > comprehended@elements > comprehended.<locals>.<listcomp>@elements > count_up@step > spin@spin
"""
import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


class Pause:
    def __init__(self):
        self.count = 1  #: init

    def __await__(self):
        yield self.count  #: give


async def leaf():
    for i in range(5):  #: work
        spin(300)  #: work
        await Pause()  #: pause


async def middle():
    await leaf()  #: wait_leaf


async def root():
    await middle()  #: wait_middle


async def count_up():
    for i in range(5):  #: step
        spin(300)  #: step
        yield i  #: step


async def iterate():
    async for i in count_up():  #: each
        pass  #: each


async def comprehended():
    return [i async for i in count_up()]  #: elements


class Manager:
    async def __aenter__(self):
        return spin(600)  #: entering

    async def __aexit__(self, *_):
        spin(600)  #: leaving


async def managed():
    async with Manager():  #: enter
        pass  #: enter


def drive(coroutine):
    try:  #: sending
        while True:  #: sending
            coroutine.send(None)  #: sending
    except StopIteration:  #: sending
        pass  #: sending


def main():
    while True:  #: turn
        drive(root())  #: drive
        drive(iterate())  #: aiter
        drive(managed())  #: manager
        drive(comprehended())  #: comprehension


target.ready()
main()  #: run
