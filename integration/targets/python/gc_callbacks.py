# SPDX-License-Identifier: Apache-2.0
"""Code that runs when objects go: __del__, weak references, callbacks of the garbage collector.

chain: <module>@run > main@turn,plain,weak,cycle spin@spin
chain: <module>@run > main@plain > [dealloc] Plain.__del__@del > spin@spin
chain: <module>@run > main@weak > [dealloc] gone@gone > spin@spin
chain: <module>@run > main@cycle > Cycle.__init__@init
chain: <module>@run > (main@turn,plain,weak,cycle|spin@spin|Plain.__del__@del|gone@gone|Cycle.__init__@init){0,3} > [gc_collect|collect|invoke] callback@callback spin@spin
chain: <module>@run > (main@turn,plain,weak,cycle|spin@spin|Plain.__del__@del|gone@gone|Cycle.__init__@init){0,3} > [finalize|collect] Cycle.__del__@cycle_del spin@spin
interrupts: yes
"""
import gc
import weakref

import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


class Plain:
    def __del__(self):
        spin(300)  #: del


class Cycle:
    def __init__(self):
        self.me = self  #: init

    def __del__(self):
        spin(300)  #: cycle_del


def gone(reference):
    spin(300)  #: gone


def callback(phase, information):
    spin(300)  #: callback


class Empty:
    pass


def main():
    gc.callbacks.append(callback)  #: turn
    gc.set_threshold(50)  #: turn
    while True:  #: turn
        one = Plain()  #: plain
        one = None  #: plain
        two = Empty()  #: weak
        reference = weakref.ref(two, gone)  #: weak
        two = None  #: weak
        reference = None  #: weak
        Cycle()  #: cycle


target.ready()
main()  #: run
