# SPDX-License-Identifier: Apache-2.0
"""Generators, generator expressions, comprehensions (frames of their own up to 3.11). From 3.11 on the
function of a generator runs, for an instruction, where the generator is made (RETURN_GENERATOR).

chain: <module>@run > main@turn
chain: <module>@run main@loop > consume@each > generate@give > spin@spin
chain: <module>@run main@from > consume_from@each_from > delegate@from > generate@give > spin@spin
chain: <module>@run main@send > driver@sending > receiver@receive > spin@spin
chain: <module>@run main@send > receiver@receive
chain: <module>@run main@throw > catcher@caught
chain: <module>@run main@throw > thrower@throwing > catcher@caught > spin@spin
chain: <module>@run main@expression > expression@sum > [builtin_sum] expression.<locals>.<genexpr>@sum > spin@spin
chain (3.11-): <module>@run main@expression expression@sum expression.<locals>.<genexpr>@sum
chain (-3.11): <module>@run main@list > in_list@list_body > in_list.<locals>.<listcomp>@list_body > spin@spin
chain (3.12-): <module>@run main@list > in_list@list_body > spin@spin
chain (-3.11): <module>@run main@dict > in_dict@dict_body > in_dict.<locals>.<dictcomp>@dict_body > spin@spin
chain (3.12-): <module>@run main@dict > in_dict@dict_body > spin@spin
chain (-3.11): <module>@run main@set > in_set@set_body > in_set.<locals>.<setcomp>@set_body > spin@spin
chain (3.12-): <module>@run main@set > in_set@set_body > spin@spin
chain: <module>@run main@nested > nested@nested_sum > [builtin_sum] nested.<locals>.<genexpr>@nested_sum > nested.<locals>.<genexpr>@nested_sum > spin@spin
chain (3.11-): <module>@run main@nested nested@nested_sum nested.<locals>.<genexpr>@nested_sum
chain (-3.11): <module>@run <listcomp>@top > spin@spin
chain (3.12-): <module>@top > spin@spin
"""
import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def generate(count):
    for i in range(count):  #: give
        spin(300)  #: give
        yield i  #: give


def consume():
    for one in generate(10):  #: each
        pass  #: each


def delegate():
    yield from generate(10)  #: from


def consume_from():
    for one in delegate():  #: each_from
        pass  #: each_from


def receiver():
    value = 0  #: receive
    while True:  #: receive
        value = yield spin(value or 1)  #: receive


def driver():
    made = receiver()  #: sending
    made.send(None)  #: sending
    for i in range(10):  #: sending
        made.send(300)  #: sending


def catcher():
    while True:  #: caught
        try:  #: caught
            yield 1  #: caught
        except ValueError:  #: caught
            spin(300)  #: caught


def thrower():
    made = catcher()  #: throwing
    next(made)  #: throwing
    for i in range(10):  #: throwing
        made.throw(ValueError())  #: throwing


def expression():
    return sum(spin(300) for i in range(10))  #: sum


def in_list():
    return [spin(300) for i in range(10)]  #: list_body


def in_dict():
    return {i: spin(300) for i in range(10)}  #: dict_body


def in_set():
    return {spin(300) for i in range(10)}  #: set_body


def nested():
    return sum(i for i in (spin(300) for j in range(10)))  #: nested_sum


def main():
    for i in range(20):  #: turn
        consume()  #: loop
        consume_from()  #: from
        driver()  #: send
        thrower()  #: throw
        expression()  #: expression
        in_list()  #: list
        in_dict()  #: dict
        in_set()  #: set
        nested()  #: nested


target.ready()
while True:  #: run
    main()  #: run
    [spin(300) for i in range(10)]  #: run top
