# SPDX-License-Identifier: Apache-2.0
"""Children by fork without exec go on in the same functions.

chain: <module>@run > main@turn,fork,wait
chain: <module>@run > main@fork,wait,leave > ANY@threading.py,random.py,_weakrefset.py*
chain: <module>@run > main@child > child@deeper > grandchild@spin_here > spin@spin
forks: yes
observe: no
"""
import os

import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def grandchild():
    spin(400000)  #: spin_here


def child():
    grandchild()  #: deeper


def main():
    while True:  #: turn
        pid = os.fork()  #: fork
        if pid == 0:  #: turn
            child()  #: child
            os._exit(0)  #: leave
        os.waitpid(pid, 0)  #: wait


target.ready()
main()  #: run
