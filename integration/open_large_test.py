#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""-open of files of 200 MB: each opens with bounded memory and has its samples, or is refused in one line. Long tier. Prints
TAP.
"""
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import IS_LONG, Tap, run_agent
from opened_files import showing
from protobuf_wire import field

FILE_BYTES = 200 << 20
# The file, what is made of it (1 GiB at most), and the history (1 GiB at most).
RSS_MAX_BYTES = 3 << 30
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


def main():
    tap = Tap()
    if not IS_LONG:
        tap.skip("files of 200 MB", "is of the long tier")
        tap.finish()
    with tempfile.TemporaryDirectory(prefix="allframes-large-") as directory:
        token = os.path.join(directory, "token")
        with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write("a" * 32 + "\n")
        for name, (parts, end, value) in KINDS.items():
            path = os.path.join(directory, name)
            count = write(path, parts(), end)
            # An address that cannot be listened on ends the agent once the file is read.
            refused = run_agent("-open", path, "-viewer", "192.0.2.1:1", "-viewer-token-file", token, outputs=[])
            if "cannot open" in refused.log:
                tap.ok(refused.status == 2 and refused.log.count("\n") == 1, name + " is refused in a line", refused.log)
                continue
            with showing(tap, path) as api:
                samples = api.get("status")["samples"]
                # The tables of a file come before its samples.
                tap.ok(0 < samples <= count * value and samples > 0.5 * count * value, name + ": its samples", samples,
                       count * value)
                peak = peak_bytes(api.pid)
                tap.ok(peak < RSS_MAX_BYTES, "%s: at most %d MiB of memory" % (name, RSS_MAX_BYTES >> 20), peak >> 20)
                tap.note("%s: %d MiB at most" % (name, peak >> 20))
            os.unlink(path)
    tap.finish()


if __name__ == "__main__":
    main()
