# SPDX-License-Identifier: Apache-2.0
r"""Subinterpreters: stacks of one interpreter within another's.

chain: <module>@run > main@turn
chain: <module>@run > main@enter > ~<module>@<string>:\d+; > ~inner@<string>:[23]; > ~spin@<string>:(?:[4-9]|10);
chain: <module>@run > main@enter [NewInterpreter|new_interpreter|EndInterpreter] ~(?:[^;]*;){0,200}
unnamed: 8
native: yes
needs: _testcapi
observe: no
"""
import _testcapi

import target

TEXT = target.INNER % 20


def main():
    while True:  #: turn
        _testcapi.run_in_subinterp(TEXT)  #: enter


target.ready()
main()  #: run
