# SPDX-License-Identifier: Apache-2.0
"""Two stacks that differ only in their Python functions: the same code, the same native frames.

chain: <module>@run > (left@left|right@right)
even: left right
"""
import target


def left():
    sum(range(200000))  #: left


def right():
    sum(range(200000))  #: right


target.ready()
while True:  #: run
    left()  #: run
    right()  #: run
