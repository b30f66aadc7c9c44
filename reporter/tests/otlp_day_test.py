#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reporter's memory over a simulated day (build/otlp_day), through all moods of a collector: in
the last twelve hours it is no larger than in the twelve before, neither without anything to send nor
with a full queue. That is asked of the bytes in use, which are nearly the same in each day, and of
the pages that hold them, which depend on how the heap is cut up. The short tier has a quarter of the
stacks, and of the queue.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
IS_LONG = os.environ.get("ALLFRAMES_LONG") == "1"
PART = 1 if IS_LONG else 4
HOUR = re.compile(r"hour (\d+): collector (.*), (\d+) kB, (\d+) kB used, (\d+) samples sent, "
                  r"(\d+) dropped")
# Columns of an hour.
PAGES, USED = 2, 3
# Moods at the end of whose hours nothing waits to be sent.
EMPTYING = ("takes all", "refuses")
# With nothing to send (True) and with a full queue: the second half of the day may have so many times the memory of
# the first, and this many kB more. How the heap is cut up is chance: in 48 days of the short tier it had 550 to
# 960 kB with nothing to send, and up to 1.14 times as much in the second half with a full queue.
ALLOWED = {PAGES: {True: (1, 512), False: (1.1, 512)}, USED: {True: (1, 32), False: (1.02, 0)}}


def most(hours, column, is_empty):
    """The most memory at the end of those of @hours at which nothing waits, or the queue may be full."""
    return max(int(hour[column]) for hour in hours if (hour[1] in EMPTYING) == is_empty)


def is_flat(hours, column):
    first, last = hours[:12], hours[12:]
    return all(most(last, column, is_empty) <= times * most(first, column, is_empty) + more_kb
               for is_empty, (times, more_kb) in ALLOWED[column].items())


def result(number, is_good, name, *lines):
    print("%s %d - %s" % ("ok" if is_good else "not ok", number, name))
    for line in lines if not is_good else ():
        print("# " + str(line))
    return is_good


def main():
    print("1..3")
    run = subprocess.run([ROOT / "build" / "otlp_day", str(PART)], stdout=subprocess.PIPE, text=True,
                         check=False)
    hours = [match.groups() for match in map(HOUR.fullmatch, run.stdout.splitlines()) if match]
    good = result(1, run.returncode == 0 and len(hours) == 24, "a day is simulated", run.stdout)
    if not good:
        return 1
    memory = [int(hour[PAGES]) for hour in hours]
    good &= result(2, all(is_flat(hours, column) for column in ALLOWED),
                   "the memory of the reporter is flat over the day", run.stdout)
    sent = [int(hour[4]) for hour in hours]
    dropped = [int(hour[5]) for hour in hours]
    good &= result(3, sent[0] and not dropped[0] and dropped[-1] and
                   all(sent[i] > sent[i - 1] for i in range(1, 24)
                       if hours[i][1] in ("takes all", "flickers")),
                   "what the collector takes is sent, and what does not fit the queue dropped",
                   run.stdout)
    print("# anonymous memory: %d to %d kB" % (min(memory), max(memory)))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
