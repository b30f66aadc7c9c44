# SPDX-License-Identifier: Apache-2.0
"""Tasks of asyncio, whose event loop is the standard library's own code.

chain: <module>@run > ANY@asyncio/* ANY@selectors.py,contextvars.py,_weakrefset.py*
chain: <module>@run ANY@asyncio/{3,9} [task] worker@work > inner@inner > spin@spin
chain: <module>@run ANY@asyncio/{3,9} [task] worker@pause > ANY@asyncio/,selectors.py*
chain: <module>@run ANY@asyncio/{3,9} [task] main@gather > (ANY@asyncio/,_weakrefset.py|main.<locals>.<listcomp>@gather)*
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


loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
target.ready()
loop.run_until_complete(main())  #: run
