#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The values of opened files: types and units, the functions flat and cumulative as a count by script and `go tool pprof`
have them, and the same again after a round trip through each export. Prints TAP.
"""
import contextlib
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import HANG_SECONDS, Agent, Tap, run_agent
from made_profiles import Row, counted, pprof
from pprof_reader import Profile
from viewer_pages import Api

SHOWING = re.compile(r"^info: showing .+ at (http://\S+);", re.M)
MIB, KIB, SECOND = 1 << 20, 1 << 10, 10 ** 9
CPU = [("samples", "count"), ("cpu", "nanoseconds")]
HEAP = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]
GO = shutil.which("go")


@contextlib.contextmanager
def showing(tap, *paths, stdin=None):
    """The API of the agent that shows the files."""
    options = [text for path in paths for text in ("-open", path)]
    with Agent(*options, "-viewer", "127.0.0.1:0", outputs=[], **({"stdin": stdin} if stdin else {})) as agent:
        end = time.monotonic() + HANG_SECONDS
        while not SHOWING.search(agent.log_text()) and agent.process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        found = SHOWING.search(agent.log_text())
        if not tap.ok(found, "it shows " + " and ".join(map(os.path.basename, paths)), agent.log_text()):
            tap.finish()
        yield Api(found[1] + "/")


def functions(api, **query):
    return {row["name"]: (row["self"], row["total"])
            for row in api.get("top", root="none", limit=10000, **query)["rows"]}


def types_of(api):
    return [(one["type"], one["unit"]) for one in api.get("status")["types"]]


def go_functions(path, kind):
    """{name: (flat, cum)} by `go tool pprof`, whose numbers are exact in raw units."""
    run = subprocess.run([GO, "tool", "pprof", "-symbolize=none", "-top", "-nodecount=100000", "-nodefraction=0",
                          "-unit=" + ("ns" if kind == "cpu" else "B" if kind.endswith("space") else "count"),
                          "-sample_index=" + kind, path], capture_output=True, text=True, check=False)
    rows = re.findall(r"^\s*(-?[\d.]+)\w* +\S+% +\S+% +(-?[\d.]+)\w* +\S+% +(\S+)", run.stdout, re.M)
    return {name: (float(flat), float(cum)) for flat, cum, name in rows}, run.stdout + run.stderr


FILES = {
    "heap": (HEAP, [Row(("main", "leaf"), (1, 3 * MIB, 1, 3 * MIB), [("bytes", 3 * MIB, "bytes")]),
                    Row(("main", "small"), (9, 200 * KIB, 2, 100 * KIB), [("bytes", 50 * KIB, "bytes")]),
                    Row(("main", "freed"), (5, MIB, 0, 0)),
                    Row(("main", "again", "main", "again"), (2, 10, 1, 5))],
             {"period": ("space", "bytes", 524288), "time_ns": 1700000000 * SECOND,
              "comments": ["made by a test", "second"], "build_id": "0123abcd"}),
    "cpu": (CPU, [Row(("main", "work"), (100, SECOND), [("kind", "a"), ("kind", "b"), ("thread", "t1")]),
                  Row(("main", "idle"), (1, SECOND // 100))],
            {"period": ("cpu", "nanoseconds", SECOND // 100), "duration_ns": 5 * SECOND,
             "time_ns": 1700000000 * SECOND}),
    "named": (CPU, [Row(("main", "a"), (3, 30)), Row(("main", "b"), (4, 40))], {"shown": "samples"}),
    "difference": (CPU, [Row(("main", "a"), (10, 100)), Row(("main", "b"), (-4, -40)),
                         Row(("main", "c"), (-7, -70))], {}),
    "no locks": ([("cpu", "nanoseconds"), ("lock_time", "nanoseconds")], [Row(("main", "a"), (SECOND, 0))], {}),
    "rare": ([("samples", "count")], [Row(("main", "often"), (5000000000,))] +
             [Row(("main", "rare%d" % i), (1,)) for i in range(100)], {}),
}


def shown_type(types, rows, shown):
    if shown:
        return [kind for kind, _ in types].index(shown)
    return max(i for i in range(len(types)) if any(row.values[i] for row in rows))


def check_values(tap, name, api, types, rows):
    for i, (kind, _) in enumerate(types):
        wanted, found = counted(rows, i), functions(api, type=kind)
        tap.ok(found == wanted, "%s: %s of each function" % (name, kind), found, wanted)


def check_labels(tap, name, first, second):
    """Labels of numbers, with their units, and the second value of a key: by `go tool pprof`."""
    raw = [sorted(re.findall(r"^ +\w+:\[.*$", subprocess.run(
        [GO, "tool", "pprof", "-symbolize=none", "-raw", path], capture_output=True, text=True,
        check=False).stdout, re.M)) for path in (first, second)]
    tap.ok(raw[0] == raw[1], name + ": its labels are the same", *raw)


def check_facts(tap, name, first, second):
    one, other = Profile(first, True, True), Profile(second, True, True)
    facts = [(each.sample_types, each.period_type, each.period, each.time_ns, each.duration_ns, each.comments,
              [(mapping.start, mapping.limit, each.mapping_file(mapping), each.mapping_build_id(mapping))
               for mapping in each.mappings.values()]) for each in (one, other)]
    tap.ok(facts[0] == facts[1], name + ": pprof keeps what the file says of itself", *facts)


def check_file(tap, directory, name, types, rows, facts):
    path = os.path.join(directory, name.replace(" ", "_") + ".pb.gz")
    with open(path, "wb") as file:
        file.write(gzip.compress(pprof(types, rows, **facts)))
    shown = shown_type(types, rows, facts.get("shown"))
    paths = {}
    with showing(tap, path) as api:
        status = api.get("status")
        tap.ok(types_of(api) == types and status["type"] == dict(zip(("type", "unit"), types[shown])),
               name + ": the types and the one that is shown first", status)
        tap.ok(status["totals"]["samples"] == sum(row.values[shown] for row in rows), name + ": the total", status)
        check_values(tap, name, api, types, rows)
        tap.ok(api.get("facets")["processes"] == api.get("facets")["cpus"] == [], name + ": no process is invented")
        for kind in ("pprof", "otlp", "folded"):
            paths[kind] = os.path.join(directory, "again.%s" % {"pprof": "pb.gz"}.get(kind, kind))
            with open(paths[kind], "wb") as file:
                file.write(api.fetch("api/export?format=" + kind))
    if GO:
        for i, (kind, _) in enumerate(types):
            found, text = go_functions(path, kind)
            tap.ok(found == counted(rows, i), "%s: go tool pprof has the same %s" % (name, kind), found, text)
        check_labels(tap, name, path, paths["pprof"])
    check_facts(tap, name, path, paths["pprof"])
    for kind in ("pprof", "otlp"):
        with showing(tap, paths[kind]) as api:
            used = [i for i in range(len(types)) if kind == "pprof" or any(row.values[i] for row in rows)]
            tap.ok(sorted(types_of(api)) == sorted(types[i] for i in used), "%s, %s: the types" % (name, kind),
                   types_of(api))
            for i in used:
                found = functions(api, type=types[i][0])
                tap.ok(found == counted(rows, i), "%s, %s: %s again" % (name, kind, types[i][0]), found)
    with showing(tap, paths["folded"]) as api:
        tap.ok(functions(api) == counted(rows, shown), name + ", folded: the values again", functions(api))


def check_two(tap, directory):
    """Two files are two ranges of time, in each of which are the functions of one."""
    paths, rows = [], [[Row(("main", "old"), (3,)), Row(("main", "both"), (5,))], [Row(("main", "both"), (8,))]]
    for i, each in enumerate(rows):
        paths.append(os.path.join(directory, "part%d.pb" % i))
        with open(paths[i], "wb") as file:
            file.write(pprof([("samples", "count")], each, time_ns=1700000000 * SECOND))
    with showing(tap, *paths) as api:
        parts = api.get("status")["parts"]
        tap.ok([os.path.basename(part["name"]) for part in parts] == ["part0.pb", "part1.pb"],
               "both files are parts", parts)
        for part, each in zip(parts, rows):
            found = functions(api, **{"from": part["from"], "to": part["to"]})
            tap.ok(found == counted(each, 0), "a part has the functions of its file", found)
        found = functions(api)
        tap.ok(found == counted(rows[0] + rows[1], 0), "and together they are added", found)
        row = next(row for row in api.get("top", root="none", **{
            "from": parts[1]["from"], "to": parts[1]["to"], "base_from": parts[0]["from"],
            "base_to": parts[0]["to"]})["rows"] if row["name"] == "both")
        tap.ok((row["total"], row["base_total"]) == (8, 5), "and compared", row)


def check_folded(tap, directory):
    path = os.path.join(directory, "odd.folded")
    with open(path, "wb") as file:
        file.write(b"\xef\xbb\xbf# a comment\r\nmain;b 3.5\r\n\r\nmain;c 2\r\nmain 0.5\r\nmain;d 0\r\n")
    with showing(tap, path) as api:
        tap.ok(functions(api) == {"main": (0.5, 6), "b": (3.5, 3.5), "c": (2, 2)}, "folded, as people write it",
               functions(api))
        again = os.path.join(directory, "odd.pb.gz")
        with open(again, "wb") as file:
            file.write(api.fetch("api/export?format=pprof"))
    tap.ok(Profile(again, True).sample_types == [("samples", "1/10 count")], "its export has no CPU time",
           Profile(again, True).sample_types)
    with showing(tap, again) as api:
        tap.ok(functions(api) == {"main": (0.5, 6), "b": (3.5, 3.5), "c": (2, 2)}, "and the fractions again",
               functions(api))


def check_refused(tap, directory):
    one = pprof([("samples", "count")], [Row(("main",), (1,))])
    for name, data, why in (("empty", b"", "an empty file"), ("two.pb", one + one, "stands in it twice"),
                            ("bad.folded", b"a;b 1\na;oops\n", "line 2: no number at the end: a;oops")):
        path = os.path.join(directory, name)
        with open(path, "wb") as file:
            file.write(data)
        result = run_agent("-open", path, outputs=[])
        tap.ok(result.status == 2 and why in result.log and result.log.count("\n") == 1,
               "%s is refused in a line" % name, result.status, result.log)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        for name, (types, rows, facts) in FILES.items():
            check_file(tap, directory, name, types, rows, facts)
        check_two(tap, directory)
        check_folded(tap, directory)
        check_refused(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
