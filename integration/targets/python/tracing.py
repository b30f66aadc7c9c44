# SPDX-License-Identifier: Apache-2.0
r"""A trace function and a profile function in Python, called for every line and every call.

chain: <module>@run main@turn,call > spin@spin
chain: <module>@run > (main@turn,call|spin@spin){0,2} > [trampoline] (trace@trace|profile@profile)
chain: <module>@set ~(?:[^;]*;){0,20}
interrupts: yes
observe: no
"""
import sys

import target


def spin(count):
    total = 0  #: spin
    for i in range(count):  #: spin
        total += i * i & 0xff  #: spin
    return total  #: spin


def trace(frame, event, argument):
    total = 0  #: trace
    for i in range(50):  #: trace
        total += i  #: trace
    return trace  #: trace


def profile(frame, event, argument):
    total = 0  #: profile
    for i in range(50):  #: profile
        total += i  #: profile


def main():
    while True:  #: turn
        spin(20)  #: call


target.ready()
sys.settrace(trace)  #: set
sys.setprofile(profile)  #: set
main()  #: run
