# SPDX-License-Identifier: Apache-2.0
r"""Threads that run an interpreter each: one that the main thread made, or the thread itself.

chain: ANY@threading.py* work@work > ~<module>@<(?:string|script)>:\d+; > ~inner@<(?:string|script)>:[23]; > ~spin@<(?:string|script)>:(?:[4-9]|10);
chain: ANY@threading.py* work@work [NewInterpreter|new_interpreter|EndInterpreter] ~(?:[^;]*;){0,200}
chain: <module>@run > main@main > ANY@threading.py*
chain: ANY@threading.py{1,12}
native: yes
unnamed: 8
unread: 5 -3.9
observe: no
"""
import threading

import target

try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        import _testcapi
        interpreters = None

THREADS = 3
TEXT = target.INNER % 50


def work(identity):
    while True:  #: work
        if interpreters:  #: work
            interpreters.run_string(identity, TEXT)  #: work
        else:
            _testcapi.run_in_subinterp(TEXT)  #: work


def main():
    for thread in threads:  #: main
        thread.start()  #: main
    for thread in threads:  #: main
        thread.join()  #: main


threads = [threading.Thread(target=work, args=(interpreters and interpreters.create(),))
           for number in range(THREADS)]
target.ready()
main()  #: run
