# SPDX-License-Identifier: Apache-2.0
"""C functions between Python functions: each stands where it was called.

chain: <module>@run > main@turn
chain: <module>@run main@sorted > [sort] key@key > spin@spin
chain: <module>@run main@method > [sort] key@key > spin@spin
chain: <module>@run main@lambda > [sort] main.<locals>.<lambda>@lambda > spin@spin
chain: <module>@run main@max > [max] key@key > spin@spin
chain: <module>@run main@reduce > [reduce] add@add > spin@spin
chain: <module>@run main@map > [map_next] key@key > spin@spin
chain: <module>@run main@filter > [filter_next] key@key > spin@spin
chain: <module>@run main@sub > ANY@re.py,re/,sre_compile.py,sre_parse.py,enum.py* [pattern_sub] replaced@replaced > spin@spin
chain: <module>@run main@partial > [partial] key@key > spin@spin
chain: <module>@run main@cached > [lru_cache] cached@cached > spin@spin
chain: <module>@run main@iterator > (Numbers.__init__@init|Numbers.__iter__@iter)
chain: <module>@run main@iterator > [slot_tp_iternext|call_method] Numbers.__next__@next > spin@spin
chain: <module>@run main@hashed > [slot_tp_hash] Hashed.__hash__@hash > spin@spin
chain: <module>@run main@equal > [richcompare] Hashed.__eq__@equal_method > spin@spin
chain: <module>@run main@equal > [slot_tp_hash] Hashed.__hash__@hash > spin@spin
chain: <module>@run main@written > [PyFile_Write] Sink.write@write > spin@spin
chain: <module>@run main@text > [str] Hashed.__str__@str > spin@spin
"""
import functools
import re

import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def key(number):
    return spin(200) + number  #: key


def add(one, other):
    return spin(200) + one  #: add


def replaced(match):
    spin(200)  #: replaced
    return "x"  #: replaced


@functools.lru_cache(maxsize=2)
def cached(number):
    return spin(200)  #: cached


class Numbers:
    def __init__(self):
        self.left = 10  #: init

    def __iter__(self):
        return self  #: iter

    def __next__(self):
        spin(200)  #: next
        self.left -= 1  #: next
        if self.left < 0:  #: next
            raise StopIteration  #: next
        return self.left  #: next


class Hashed:
    def __hash__(self):
        return spin(200)  #: hash

    def __eq__(self, other):
        return spin(200) < 0  #: equal_method

    def __str__(self):
        spin(200)  #: str
        return "text"  #: str


class Sink:
    def write(self, text):
        spin(200)  #: write


def main():
    while True:  #: turn
        sorted(numbers, key=key)  #: sorted
        numbers.sort(key=key)  #: method
        sorted(numbers, key=lambda number: spin(200))  #: lambda
        max(numbers, key=key)  #: max
        functools.reduce(add, numbers)  #: reduce
        list(map(key, numbers))  #: map
        list(filter(key, numbers))  #: filter
        pattern.sub(replaced, text)  #: sub
        partial()  #: partial
        for number in numbers:  #: turn
            cached(number)  #: cached
        hash(one)  #: hashed
        one == other  #: equal
        print("text", file=sink)  #: written
        str(one)  #: text
        list(Numbers())  #: iterator


numbers = list(range(10))
text = "a-" * 10
pattern = re.compile("a")
partial = functools.partial(key, 3)
sink = Sink()
one, other = Hashed(), Hashed()
target.ready()
main()  #: run
