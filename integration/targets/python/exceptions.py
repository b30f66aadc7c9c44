# SPDX-License-Identifier: Apache-2.0
"""Exceptions: raised deep, caught above, with clean-up in between.

chain: <module>@run > main@turn
chain: <module>@run main@try > caught@try,except > (fail@fail|spin@spin){0,6}
chain: <module>@run main@try > caught@after spin@spin
chain: <module>@run main@finally > cleaned@body fail@fail{0,6}
chain: <module>@run main@finally > cleaned@body,clean > spin@spin
chain: <module>@run main@with > within@with,in_with > (Manager.__init__@init|Manager.__enter__@enter|Manager.__exit__@exit|fail@fail{1,6}) spin@spin
chain: <module>@run main@with > within@with,in_with > (Manager.__init__@init|Manager.__enter__@enter|Manager.__exit__@exit|fail@fail{1,6})
chain: <module>@run main@loop > stops@stops > spin@spin
"""
import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def fail(depth):
    if depth == 0:  #: fail
        raise ValueError("deep")  #: fail
    fail(depth - 1)  #: fail


def caught():
    try:  #: try
        fail(5)  #: try
    except (KeyError, ValueError) as error:  #: except
        del error  #: except
    spin(100)  #: after


def cleaned():
    try:  #: body
        try:  #: body
            fail(5)  #: body
        finally:  #: clean
            spin(100)  #: clean
    except ValueError:  #: body
        pass  #: body


class Manager:
    def __init__(self):
        self.count = 0  #: init

    def __enter__(self):
        return spin(100)  #: enter

    def __exit__(self, *_):
        spin(100)  #: exit
        return True  #: exit


def within():
    with Manager():  #: with
        fail(5)  #: in_with


def stops():
    numbers = iter([1, 2, 3])  #: stops
    try:  #: stops
        while True:  #: stops
            spin(100 * next(numbers))  #: stops
    except StopIteration:  #: stops
        pass  #: stops


def main():
    while True:  #: turn
        caught()  #: try
        cleaned()  #: finally
        within()  #: with
        stops()  #: loop


target.ready()
main()  #: run
