# SPDX-License-Identifier: Apache-2.0
"""Functions, methods of all kinds, closures, lambdas, decorators, operators.

chain: <module>@run > main@turn
chain: <module>@run main@made_shape > Shape.__init__@init
chain: <module>@run main@plain > outer@outer middle@middle spin@spin
chain: <module>@run main@method > Shape.method@method spin@spin
chain: <module>@run main@class_method > Shape.made@made > (Shape.__init__@init|Shape.method@method) spin@spin
chain: <module>@run main@static > Shape.still@still spin@spin
chain: <module>@run main@property > Shape.area@area spin@spin
chain: <module>@run main@call > Shape.__call__@call_method spin@spin
chain: <module>@run main@operator > [slot_nb_add] Shape.__add__@add spin@spin
chain: <module>@run main@index > Shape.__getitem__@getitem spin@spin
chain: <module>@run main@closure > close.<locals>.inner@inner spin@spin
chain: <module>@run main@make_closure > close@close
chain: <module>@run main@lambda > <lambda>@lambda_body spin@spin
chain: <module>@run main@inner_lambda > main.<locals>.<lambda>@inner_lambda spin@spin
chain: <module>@run main@decorated > decorate.<locals>.wrapper@wrapper decorated@decorated spin@spin
chain: <module>@run main@keywords > keywords@keywords spin@spin
chain: <module>@run main@stars > keywords@keywords spin@spin
chain: <module>@run main@long_line > long_line@call_first,long_test,call_second,long_end spin@spin
"""
import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def middle(count):
    return spin(count)  #: middle


def outer(count):
    return middle(count)  #: outer


class Shape:
    def __init__(self, size):
        self.size = size  #: init

    def method(self):
        return spin(self.size)  #: method

    @classmethod
    def made(cls):
        return cls(2000).method()  #: made

    @staticmethod
    def still():
        return spin(2000)  #: still

    @property
    def area(self):
        return spin(self.size)  #: area

    def __call__(self):
        return spin(self.size)  #: call_method

    def __add__(self, other):
        return spin(self.size + other)  #: add

    def __getitem__(self, key):
        return spin(key)  #: getitem


def close(count):
    def inner():  #: close
        return spin(count)  #: inner
    return inner  #: close


short = lambda count: spin(count)  #: lambda_body


def decorate(function):
    def wrapper(*arguments, **keywords):
        return function(*arguments, **keywords)  #: wrapper
    return wrapper


@decorate
def decorated(count):
    return spin(count)  #: decorated


def keywords(first, *rest, count=1, **others):
    return spin(count + first)  #: keywords


# The tables of lines have steps of limited size: a function with more lines than one step.
def long_line(count):
    spin(count)  #: call_first
    if count < 0:  #: long_test
        return [
































































































































            0,
        ]
    total = spin(count)  #: call_second
    return total  #: long_end


def main():
    shape = Shape(2000)  #: made_shape
    while True:  #: turn
        outer(2000)  #: plain
        shape.method()  #: method
        Shape.made()  #: class_method
        Shape.still()  #: static
        shape.area  #: property
        shape()  #: call
        shape + 1000  #: operator
        shape[2000]  #: index
        inner = close(2000)  #: make_closure
        inner()  #: closure
        short(2000)  #: lambda
        (lambda count: spin(count))(2000)  #: inner_lambda
        decorated(2000)  #: decorated
        keywords(1, 2, 3, count=2000, other=4)  #: keywords
        keywords(*[1, 2], **{"count": 2000})  #: stars
        long_line(1000)  #: long_line


target.ready()
main()  #: run
