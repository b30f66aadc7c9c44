# SPDX-License-Identifier: Apache-2.0
r"""Two forks at a time that compile different functions at one address, in the same lines of a file of
the same name: in each process stand its own. The names are made in the forks, so that even they
lie at one address.

chain: <module>@run > main@turn,fork,wait,leave
chain: <module>@run > main@fork,leave > ANY@threading.py,random.py,_weakrefset.py*
chain: <module>@run > main@one,two > work@make,call
chain: <module>@run > main@one,two > work@make > ~<module>@<made>:\d+;
chain: <module>@run main@one work@call > ~made_one@<made>:\d+; > spin@spin
chain: <module>@run main@two work@call > ~made_two@<made>:\d+; > spin@spin
forks: yes
unnamed: 2
observe: no
"""
import os

import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def work(which):
    names = {"spin": spin}  #: make
    name = "made_" + which  #: make
    text = "def %s():\n    for i in range(20):\n        spin(20000)\n" % name  #: make
    exec(compile(text, "<made>", "exec"), names)  #: make
    made = names[name]  #: make
    os.write(writer, id(made.__code__).to_bytes(8, "little"))  #: make
    made()  #: call


def main():
    while True:  #: turn
        one = os.fork()  #: fork
        if one == 0:  #: turn
            work("one")  #: one
            os._exit(0)  #: leave
        two = os.fork()  #: fork
        if two == 0:  #: turn
            work("two")  #: two
            os._exit(0)  #: leave
        same = os.read(reader, 8) == os.read(reader, 8)  #: wait
        os.waitpid(one, 0)  #: wait
        os.waitpid(two, 0)  #: wait
        if not same:  #: wait
            raise SystemExit("the functions lie at different addresses")  #: wait


reader, writer = os.pipe()
target.ready()
main()  #: run
