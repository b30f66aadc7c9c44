# SPDX-License-Identifier: Apache-2.0
# Two threads print their stacks as Python has them, and wait there.
import sys
import threading
import time

has_told = threading.Semaphore(0)


def tell():
    frame = sys._getframe(1)
    while frame:
        code = frame.f_code
        print("frame", getattr(code, "co_qualname", code.co_name), frame.f_lineno, sep="\t")
        frame = frame.f_back
    print("end", flush=True)


def innermost(is_last):
    # On one line, so that it is the line of both.
    tell(); print("ready", flush=True) if is_last else has_told.release(); time.sleep(1000)


class Waiter:
    def recurse(self, left, is_last):
        if left:
            return self.recurse(left - 1, is_last)
        return sorted([3, 1], key=lambda _: innermost(is_last))


threading.Thread(target=Waiter().recurse, args=(5, False)).start()
has_told.acquire()
Waiter().recurse(3, True)
