# SPDX-License-Identifier: Apache-2.0
"""Python and C in turns, 200 deep: a key function that sorts with itself.

chain: <module>@run > down@deeper{200} spin@spin
chain: <module>@run down@deeper,bottom{0,201}
alternates: 200
too deep: 3.12 3.13
"""
import target

DEPTH = 200


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def down(depth):
    if depth == 1:  #: deeper bottom
        return spin(100000)  #: deeper bottom
    return sorted([depth - 1], key=down)  #: deeper


target.ready()
while True:  #: run
    down(DEPTH)  #: run
