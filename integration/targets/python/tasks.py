# SPDX-License-Identifier: Apache-2.0
"""Tasks of asyncio, whose event loop is the standard library's own code.

chain: <module>@run > ANY@asyncio/* ANY@selectors.py* ANY@contextvars.py*
chain: <module>@run ANY@asyncio/{3,9} [task] worker@work > inner@inner > spin@spin
chain: <module>@run ANY@asyncio/{3,9} [task] worker@pause > ANY@asyncio/* ANY@selectors.py*
chain: <module>@run ANY@asyncio/{3,9} [task] main@gather > ANY@asyncio/*
chain: <module>@run ANY@asyncio/{3,9} callback@callback > spin@spin
"""
import asyncio

import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


async def inner():
    spin(3000)  #: inner


def callback():
    spin(3000)  #: callback


async def worker():
    while True:  #: work
        await inner()  #: work
        await asyncio.sleep(0)  #: pause
        asyncio.get_event_loop().call_soon(callback)  #: pause


async def main():
    await asyncio.gather(*[worker() for i in range(4)])  #: gather


target.ready()
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
loop.run_until_complete(main())  #: run
