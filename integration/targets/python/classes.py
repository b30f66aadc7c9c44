# SPDX-License-Identifier: Apache-2.0
"""Code that runs outside functions: class bodies, metaclasses, eval, exec, descriptors.

chain: <module>@run > main@turn
chain: <module>@run main@class > make@make > [build_class] make.<locals>.Made@body > spin@spin
chain: <module>@run main@class > make@make > [type_call|tp_call|build_class] Meta.__new__@new > spin@spin
chain: <module>@run main@class > make@make > [type_new|build_class] Meta.__new__@new [set_name|type_new] Named.__set_name__@named > spin@spin
chain: <module>@run main@class > make@make make.<locals>.Made@body Named.__init__@init
chain: <module>@run main@eval > [Eval] ~<module>@<string>:[01]; > spin@spin
chain: <module>@run main@exec > [Eval] ~<module>@made.py:[04]; > spin@spin
chain: <module>@run main@exec > [Eval] ~<module>@made.py:[014]; > ~inner@made.py:[12]; > spin@spin
chain: <module>@run main@descriptor > [slot_tp_descr_get|_] Named.__get__@get > spin@spin
chain: <module>@run main@getattr > [slot_tp_getattr|getattr] Lazy.__getattr__@getattr > spin@spin
"""
import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


class Meta(type):
    def __new__(cls, name, bases, namespace):
        spin(500)  #: new
        return type.__new__(cls, name, bases, namespace)  #: new


class Named:
    def __init__(self):
        self.name = None  #: init

    def __set_name__(self, owner, name):
        spin(500)  #: named

    def __get__(self, instance, owner):
        return spin(500)  #: get


class Lazy:
    def __getattr__(self, name):
        return spin(500)  #: getattr


def make():
    class Made(metaclass=Meta):  #: make body
        field = Named()  #: body
        value = spin(500)  #: body
    return Made  #: make


class Holder:
    field = Named()


def main():
    evaluated = compile("spin(500)", "<string>", "eval")  #: turn
    executed = compile("def inner():\n    spin(500)\n\ninner()\n", "made.py", "exec")  #: turn
    holder, lazy = Holder(), Lazy()  #: turn
    while True:  #: turn
        make()  #: class
        eval(evaluated)  #: eval
        exec(executed, {"spin": spin})  #: exec
        holder.field  #: descriptor
        lazy.missing  #: getattr


target.ready()
main()  #: run
