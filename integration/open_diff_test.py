#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""-diff BEFORE AFTER: the functions of two profiles by change, with their significance, and -fail-above as a gate. Prints
TAP.
"""
import gzip
import math
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Tap, run_agent
from made_profiles import Row, pprof

CPU = [("samples", "count"), ("cpu", "nanoseconds")]
HEAP = [("inuse_objects", "count"), ("inuse_space", "bytes")]
MS = 10 ** 6
REGRESSION = 4


def cpu_rows(counts):
    return [Row(("main", "caller", name), (count, count * 10 * MS)) for name, count in counts.items()]


def write(directory, name, data):
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def rows_of(output):
    """{function: (self before, after, change, z, total before, after, change, z)}; z is None where there is none."""
    found = {}
    for line in output.splitlines():
        row = re.match(r" *([\d.-]+) +([\d.-]+) +([+-][\d.]+) +([\d.-]+|-) +([\d.-]+) +([\d.-]+) +([+-][\d.]+) +([\d.-]+|-) +(\S.*)$",
                       line)
        if row:
            found[row[9]] = tuple(None if text == "-" else float(text) for text in row.groups()[:8])
    return found


def z_of(count, total, base_count, base_total):
    pooled = (count + base_count) / (total + base_total)
    return (count / total - base_count / base_total) / math.sqrt(pooled * (1 - pooled) * (1 / total + 1 / base_total))


def diff(*options):
    return run_agent(*options, outputs=[])


def check_cpu(tap, directory):
    before = write(directory, "before.pb.gz", gzip.compress(pprof(CPU, cpu_rows({"a": 500, "b": 400, "c": 100}))))
    after = write(directory, "after.pb.gz", gzip.compress(pprof(CPU, cpu_rows({"a": 1000, "b": 1000, "new": 500}))))
    result = diff("-diff", before, after)
    rows = rows_of(result.output)
    tap.ok(result.status == 0 and list(rows)[:1] == ["new"] and sorted(rows) == ["a", "c", "new"], "functions by change; what is the same is left out",
           result.output, result.log)
    # Of 1000 before and 2500 after.
    tap.ok(rows.get("a", [])[:3] == (50.0, 40.0, -10.0) and abs(rows["a"][3] - z_of(1000, 2500, 500, 1000)) < 0.06,
           "shares and significance of CPU time, by the numbers of samples", rows)
    tap.ok(rows.get("new", [])[:3] == (0.0, 20.0, 20.0) and abs(rows["new"][3] - z_of(500, 2500, 0, 1000)) < 0.06,
           "a function that is new", rows)
    for limit, status in (("19.9%", REGRESSION), ("20.1%", 0)):
        result = diff("-diff", before, after, "-fail-above", limit)
        tap.ok(result.status == status and ("new grew by 20.00 %" in result.log) == (status == REGRESSION),
               "-fail-above %s ends with %d" % (limit, status), result.status, result.log)
    same = write(directory, "same.pb.gz", gzip.compress(pprof(CPU, cpu_rows({"a": 500, "b": 400, "c": 100}))))
    result = diff("-diff", before, same, "-fail-above", "0%")
    tap.ok(result.status == 0 and "no function has changed" in result.output, "equal profiles", result.output, result.log)


def check_chance(tap, directory):
    """The same shares from few samples are no regression."""
    before = write(directory, "few.pb", pprof(CPU, cpu_rows({"a": 6, "b": 4})))
    after = write(directory, "fewer.pb", pprof(CPU, cpu_rows({"a": 4, "b": 6})))
    result = diff("-diff", before, after, "-fail-above", "5%")
    tap.ok(result.status == 0 and rows_of(result.output)["b"][:3] == (40.0, 60.0, 20.0), "by chance a function may grow",
           result.status, result.output, result.log)


def check_heap(tap, directory):
    rows = [[Row(("main", "keep"), (1, 1000)), Row(("main", "leak"), (1, more))] for more in (1000, 1500)]
    paths = [write(directory, "heap%d.pb" % i, pprof(HEAP, each)) for i, each in enumerate(rows)]
    result = diff("-diff", *paths, "-fail-above", "20%")
    found = rows_of(result.output)
    # 500 bytes more, of 2000 before.
    tap.ok(result.status == REGRESSION and found.get("leak", [])[:4] == (50.0, 75.0, 25.0, None),
           "bytes are compared as they are, without significance", result.status, result.output, result.log)
    tap.ok(found.get("main", [0] * 8)[6] == 25.0 and "keep" not in found, "callers grew, too", found)
    result = diff("-diff", *paths, "-fail-above", "20%", "-type", "inuse_objects")
    tap.ok(result.status == 0 and "no function has changed" in result.output, "-type chooses what is compared", result.output, result.log)
    result = diff("-diff", *paths, "-type", "cpu")
    tap.ok(result.status == 2 and "there are inuse_objects/count, inuse_space/bytes" in result.log, "a type that is not there", result.log)


def check_kinds(tap, directory):
    before = write(directory, "a.folded", b"app;main;a 500\napp;main;b 500\n")
    after = write(directory, "b.pb", pprof([("samples", "count")], [Row(("main", "a"), (900,)), Row(("main", "b"), (100,))]))
    result = diff("-diff", before, after, "-fail-above", "30%")
    tap.ok(result.status == REGRESSION and rows_of(result.output).get("a", [])[:3] == (50.0, 90.0, 40.0),
           "folded stacks and pprof", result.status, result.output, result.log)
    heap = write(directory, "heap.pb", pprof(HEAP, [Row(("main",), (1, 5))]))
    result = diff("-diff", before, heap)
    tap.ok(result.status == 2 and "no values of samples in count" in result.log and result.log.count("\n") == 1,
           "other values are refused", result.status, result.log)
    for options, why in ((("-diff", before), "needs two values"), (("-fail-above", "5%"), "nothing is compared"),
                         (("-diff", before, after, "-fail-above", "5"), "give a percentage"),
                         (("-diff", before, after, "-output", "x.svg"), "leave out -output")):
        result = diff(*options)
        tap.ok(result.status == 2 and why in result.log, "%s is refused" % " ".join(map(os.path.basename, options)), result.log)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        check_cpu(tap, directory)
        check_chance(tap, directory)
        check_heap(tap, directory)
        check_kinds(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
