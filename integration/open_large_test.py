#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 1800 s
"""-open of files of 200 MB: each opens with bounded memory and has its samples, or is refused in one line. Prints TAP.

usage: open_large_test.py [FILE...]
"""
import os
import random
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Agent, Tap
from opened_files import SHOWING
from protobuf_wire import field
from viewer_pages import Api

FILE_BYTES = 200 << 20
# The file, what is made of it (1 GiB at most), and the history (1 GiB at most).
RSS_MAX_BYTES = 3 << 30
OPEN_SECONDS_MAX = 300
FUNCTIONS = 20000


def stacks(seed):
    """Endless stacks of some 30 functions that share their beginnings."""
    numbers = random.Random(seed)
    while True:
        yield ["f%d" % (level * 500 + int(numbers.expovariate(0.3 + level / 20)) % 500) for level in range(30)]


def folded():
    for stack in stacks(1):
        yield ("app;" + ";".join(stack) + " 3\n").encode()


def perf_script():
    for i, stack in enumerate(stacks(2)):
        yield ("app 100/101 [003] %d.%06d: 250000 cpu-clock:\n%s\n\n" % (
            i // 1000, i % 1000 * 1000,
            "\n".join("\t%x %s+0x10 (/opt/app)" % (0x400000 + hash(name) % 100000, name) for name in reversed(stack)))).encode()


def speedscope():
    yield b'{"shared":{"frames":[' + b",".join(b'{"name":"f%d"}' % i for i in range(FUNCTIONS)) + \
        b']},"profiles":[{"type":"sampled","name":"t","unit":"none","samples":['
    first = True
    for stack in stacks(3):
        yield (b"" if first else b",") + ("[" + ",".join(name[1:] for name in stack) + "]").encode()
        first = False


def pprof():
    names = ["f%d" % i for i in range(FUNCTIONS)]
    yield field(1, field(1, 1) + field(2, 2)) + b"".join(
        field(6, text.encode()) for text in ["", "samples", "count", *names])
    for i in range(FUNCTIONS):
        yield field(5, field(1, i + 1) + field(2, i + 3)) + field(4, field(1, i + 1) + field(4, field(1, i + 1)))
    for stack in stacks(4):
        yield field(2, b"".join(field(1, int(name[1:]) + 1) for name in reversed(stack)) + field(2, 3))


# Each format's parts, its end, and the value of each sample.
KINDS = {"big.folded": (folded, b"", 3), "perf.txt": (perf_script, b"", 1), "big.json": (speedscope, b"]}]}", 1),
         "big.pb": (pprof, b"", 3)}


def write(path, parts, end):
    """Writes at least FILE_BYTES; the number of parts."""
    count = written = 0
    with open(path, "wb", buffering=1 << 20) as file:
        for part in parts:
            file.write(part)
            count, written = count + 1, written + len(part)
            if written >= FILE_BYTES:
                break
        file.write(end)
    return count


def peak_bytes(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM:"))


def check_file(tap, path, count, value):
    """@count samples were written to the file, each of @value, less those that are tables."""
    name = os.path.basename(path)
    with Agent("-open", path, "-viewer", "127.0.0.1:0", outputs=[]) as agent:
        end = time.monotonic() + OPEN_SECONDS_MAX
        while not SHOWING.search(agent.log_text()) and agent.process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        log, found = agent.log_text(), SHOWING.search(agent.log_text())
        if not found:
            tap.ok(agent.process.poll() == 2 and log.count("\n") == 1 and "cannot open" in log, name + " is refused in a line", log)
            tap.note(log.strip())
            return
        samples = Api(found[1] + "/").get("status")["samples"]
        tap.ok(0.5 * count * value < samples <= count * value, name + ": its samples", samples, count * value)
        peak = peak_bytes(agent.pid)
        tap.ok(peak < RSS_MAX_BYTES, "%s: at most %d MiB of memory" % (name, RSS_MAX_BYTES >> 20), peak >> 20)
        tap.note("%s: %d MiB at most%s" % (name, peak >> 20, "; " + log.strip().partition("\n")[0] if "warning" in log else ""))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="allframes-large-") as directory:
        for name in sys.argv[1:] or KINDS:
            parts, end, value = KINDS[name]
            path = os.path.join(directory, name)
            check_file(tap, path, write(path, parts(), end), value)
            os.unlink(path)
    tap.finish()


if __name__ == "__main__":
    main()
