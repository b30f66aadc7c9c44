# SPDX-License-Identifier: Apache-2.0
"""Python calling Python 150 deep, in two functions by turns, by calls of two kinds.

chain: <module>@run (even@even,even_end|odd@odd){0,151}
chain: <module>@run (even@even odd@odd){75} even@even_end spin@spin
"""
import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def even(depth):
    if depth == 0:  #: even even_end
        return spin(100000)  #: even_end
    return odd(depth - 1)  #: even


def odd(depth):
    return even(*[depth - 1])  #: odd


target.ready()
while True:  #: run
    even(150)  #: run
