# SPDX-License-Identifier: Apache-2.0
r"""Code objects that are made and freed all the time, at the same addresses: every name stands with
its own file and line. One in four lives long enough to be read, and most samples are of those.

chain: <module>@run > main@turn,forget
chain: <module>@run > main@make
chain: <module>@run main@execute > ~<module>@<made_\d+>:\d+;
chain: <module>@run main@call > ~made_(\d+)_(\d+)@<made_\1>:(?:\1|\2);
chain: <module>@run main@call ~made_(\d+)_(\d+)@<made_\1>:\2; spin@spin
unnamed: 30
"""
import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def main():
    number = 0  #: turn
    while True:  #: turn
        number = number % 997 + 7  #: turn
        lines = "\n" * (number - 1)  #: turn
        name = "made_%d_%d" % (number, number + 2)  #: turn
        count = 3000 if number % 4 else 400000  #: turn
        text = "%sdef %s():\n\n    spin(%d)\n" % (lines, name, count)  #: turn
        code = compile(text, "<made_%d>" % number, "exec")  #: make
        names = {"spin": spin}  #: turn
        exec(code, names)  #: execute
        made = names[name]  #: turn
        made()  #: call
        del made, names, code  #: forget


target.ready()
main()  #: run
