#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of each format, with what people and other tools write into them: the page's API and the report have the functions, sums
and units of a count by script, and so has each export when it is opened again; `go tool pprof` has those of the pprof export.
Prints TAP.
"""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Tap, run_agent
from made_profiles import Row, counted, pprof
from opened_files import SUFFIX, functions, greatest, report_of, reported_functions, showing, types_of
from protobuf_wire import field

GO = shutil.which("go")
TIMES = {"nanoseconds": 1e-6, "microseconds": 1e-3, "milliseconds": 1, "seconds": 1e3}
EXPORTS = {"pprof": "pb.gz", "otlp": "otlp", "folded": "folded", "speedscope": "speedscope.json", "firefox": "firefox.json",
           "html": "html"}
# These have the values of all types; the others those of the selected one.
ALL_TYPES = ("pprof", "otlp")

ROWS = [Row(("main", "work", "leaf"), (70,)), Row(("main", "work"), (20,)), Row(("main", "again", "main", "again"), (7,)),
        Row(("main", "caf\u00e9 \u20ac"), (3,))]
SAMPLES = ("samples", "count")

File = collections.namedtuple("File", "name data types rows")
"""types: [(type, unit)]; rows: of all its values, in their order."""


def folded(rows, gap=" ", end="\n"):
    return "".join("%s%s%s%s" % (";".join(row.stack), gap, row.values[0], end) for row in rows)


def perf_script(rows):
    """Text of perf script: leaf first, with an address and a file."""
    blocks = []
    for row in rows:
        lines = "\n".join("\t%16x %s+0x10 (/opt/app)" % (0x400000 + len(name), name) for name in reversed(row.stack))
        blocks += ["app 100/101 [003] 12.000100: 1 cycles:\n%s\n\n" % lines] * row.values[0]
    return "".join(blocks)


def tables(rows):
    """(names, {name: index})"""
    names = list(dict.fromkeys(name for row in rows for name in row.stack))
    return names, {name: i for i, name in enumerate(names)}


def speedscope(rows, unit):
    names, index = tables(rows)
    return json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {
        "frames": [{"name": name} for name in names]}, "profiles": [{
            "type": "sampled", "name": "t", "unit": unit, "startValue": 0, "endValue": 1,
            "samples": [[index[name] for name in row.stack] for row in rows], "weights": [row.values[0] for row in rows]}]})


def cpuprofile(rows):
    """Nodes of a call tree with the number of their samples."""
    nodes = [{"id": 1, "callFrame": {"functionName": "(root)", "url": "", "lineNumber": -1}, "hitCount": 0, "children": []}]
    ids = {(): 0}
    for row in rows:
        for depth in range(1, len(row.stack) + 1):
            path = row.stack[:depth]
            if path not in ids:
                ids[path] = len(nodes)
                nodes[ids[path[:-1]]]["children"].append(len(nodes) + 1)
                nodes.append({"id": len(nodes) + 1, "hitCount": 0, "children": [], "callFrame": {
                    "functionName": path[-1], "url": "file:///a.js", "lineNumber": 1, "columnNumber": 2}})
        nodes[ids[row.stack]]["hitCount"] += row.values[0]
    return json.dumps({"nodes": nodes, "startTime": 1000, "endTime": 2000})


def otlp(types, rows):
    """A request with a profile for each type, as OpenTelemetry's profiler sends them; values of 0 are left out."""
    names, index = tables(rows)
    texts = [""] + [text for kind in types for text in kind] + names
    packed = lambda number, values: field(number, b"".join(varint(value) for value in values))
    varint = lambda value: field(0, value & (1 << 64) - 1)[1:]
    profiles = b""
    for i in range(len(types)):
        samples = b"".join(field(2, field(1, at + 1) + packed(4, [row.values[i]]))
                           for at, row in enumerate(rows) if row.values[i])
        profiles += field(2, field(1, field(1, 1 + 2 * i) + field(2, 2 + 2 * i)) + samples +
                          bytes([3 << 3 | 1]) + struct.pack("<Q", 1700000000 * 10 ** 9))
    first = 1 + 2 * len(types)
    dictionary = field(2, b"") + b"".join(field(2, field(3, field(1, i + 1))) for i in range(len(names)))
    dictionary += field(3, b"") + b"".join(field(3, field(1, first + i)) for i in range(len(names)))
    dictionary += b"".join(field(5, text.encode()) for text in texts) + field(7, b"")
    dictionary += b"".join(field(7, packed(1, [index[name] + 1 for name in reversed(row.stack)])) for row in rows)
    return field(1, field(2, profiles)) + field(2, dictionary)


def files():
    whole = [Row(row.stack, row.values) for row in ROWS]
    marked = [Row(("outer", "inner", "read"), (9,)), Row(("outer", "Foo$$Lambda+0x00007f00"), (7,)),
              Row(("outer", "run(int)+0x1a"), (6,)), Row(("x_[1]", "y"), (5,))]
    text = folded(marked).replace("outer;inner;read", "outer_[j];inner_[i];read_[k]").replace("outer;Foo", "outer_[j];Foo")
    text = text.replace("outer;run", "outer_[j];run")
    two = [("work", "count"), ("off_cpu", "nanoseconds")]
    mixed = [Row(("main", "on"), (3, 0)), Row(("main", "off"), (0, 3 * 10 ** 9)), Row(("main", "both"), (2, 7))]
    yield File("folded, roots are functions", folded(whole), [SAMPLES], whole)
    yield File("folded of Windows", "\ufeff# a comment\r\n" + folded(whole, " \t", "\r\n") + "\r\nmain;never 0\r\n", [SAMPLES], whole)
    yield File("folded in UTF-16", b"\xff\xfe" + folded(whole).encode("utf-16-le"), [SAMPLES], whole)
    yield File("folded in UTF-16, the other order", b"\xfe\xff" + folded(whole).encode("utf-16-be"), [SAMPLES], whole)
    fractions = [Row(("main", "a"), (2.5,)), Row(("main", "b"), (0.125,)), Row(("main",), (10,))]
    yield File("folded with fractions", folded(fractions), [SAMPLES], fractions)
    negative = [Row(("main", "a"), (10,)), Row(("main", "b"), (-4,)), Row(("main", "c"), (-7,))]
    yield File("folded with negative values", folded(negative), [SAMPLES], negative)
    yield File("marks and names with +0x", text, [SAMPLES], marked)
    yield File("text of perf script", perf_script(whole), None, whole)
    yield File("speedscope in bytes", speedscope(whole, "bytes"), [("weight", "bytes")], whole)
    yield File("speedscope in milliseconds", speedscope(whole, "milliseconds"), [("weight", "milliseconds")], whole)
    yield File(".cpuprofile", cpuprofile(whole), None, whole)
    yield File("OTLP with two types", otlp(two, mixed), two, mixed)


def close(found, wanted):
    return found.keys() == wanted.keys() and all(
        abs(one - other) <= 1e-6 * max(1, abs(other)) for name in wanted for one, other in zip(found[name], wanted[name]))


def check_greatest(tap, found, wanted, what):
    """The functions, and by self and by total the greatest ten in their order."""
    tap.ok(close(found, wanted) and all(
        [round(value, 6) for _, value in greatest(found, column)] == [round(value, 6) for _, value in greatest(wanted, column)]
        for column in (0, 1)), what, found, wanted)


def check_go(tap, name, path, kind, wanted):
    """`go tool pprof` of an export: its numbers are those of whole parts of the unit."""
    # A unit with parts stands right behind the numbers.
    run = subprocess.run([GO, "tool", "pprof", "-symbolize=none", "-top", "-nodecount=10000", "-nodefraction=0", "-unit=" + (
        "B" if kind[1] == "bytes" else "ns" if kind[1] in TIMES else kind[1]), "-sample_index=" + kind[0], path],
                         capture_output=True, text=True, check=False)
    parts = re.match(r"1/(\d+) ", kind[1])
    scale = int(parts[1]) if parts else 1e6 * TIMES[kind[1]] if kind[1] in TIMES else 1
    rows = re.findall(r"^\s*(-?[\d.]+)\D*? +\S+% +\S+% +(-?[\d.]+)\D*? +\S+% +(\S.*?)(?: \(inline\))?$", run.stdout.replace(kind[1], ""), re.M)
    found = {row: (float(flat) / scale, float(cum) / scale) for flat, cum, row in rows}
    check_greatest(tap, found, wanted, name + ": go tool pprof has the same of its export")
    if not found:
        tap.note(run.stdout + run.stderr)


def kinds_of(report):
    """{name: kinds} of the functions."""
    kinds = collections.defaultdict(set)
    for row in report["functions"]:
        kinds[SUFFIX.sub("", row["name"])].add(row["kind"])
    return kinds


def check_export(tap, name, form, path, kind, wanted, kinds):
    report = report_of(path, kind[0] if form in ALL_TYPES else None)
    found = reported_functions(report)
    # Folded stacks without files have no language.
    if form != "folded" or set().union(*kinds.values()) <= {"native", "kernel", "jit"}:
        tap.ok(kinds_of(report) == kinds, "%s: kinds of functions again by %s" % (name, form), kinds_of(report), kinds)
    if form == "firefox" and kind[1] in TIMES:
        found = {one: tuple(value / TIMES[kind[1]] for value in values) for one, values in found.items()}
        kind = (kind[0], "milliseconds")
    check_greatest(tap, found, wanted, "%s: %s again by %s" % (name, kind[0], form))
    # Folded stacks have no types, and those of speedscope and Firefox have other names.
    if form != "folded" and not (form == "firefox" and kind[1] not in (*TIMES, "bytes")):
        unit = "none" if form == "speedscope" and report["unit"] == "none" else kind[1]
        tap.ok(report["unit"] == unit, "%s: and its unit by %s" % (name, form), report["unit"], kind)


def check_file(tap, directory, file):
    path = os.path.join(directory, "file")
    with open(path, "wb") as out:
        out.write(file.data if isinstance(file.data, bytes) else file.data.encode())
    exports = {}
    with showing(tap, path) as api:
        types = types_of(api)
        if file.types:
            tap.ok(types == file.types, file.name + ": its types", types, file.types)
        kinds = file.types or [kind for kind in types if kind == SAMPLES]
        for i, kind in enumerate(kinds):
            check_greatest(tap, functions(api, type=kind[0]), counted(file.rows, i), "%s: %s on the page" % (file.name, kind[0]))
            for form, suffix in EXPORTS.items():
                exports[form, i] = os.path.join(directory, "export%d.%s" % (i, suffix))
                with open(exports[form, i], "wb") as out:
                    out.write(api.fetch("api/export?format=%s&type=%s&root=none" % (form, kind[0])))
            if "folded" in file.name or "marks" in file.name:
                facets = api.get("facets")
                tap.ok(facets["processes"] == facets["threads"] == [], file.name + ": no process is invented", facets)
    for i, kind in enumerate(kinds):
        wanted = counted(file.rows, i)
        report = report_of(path, kind[0])
        tap.ok((report["type"], report["unit"]) == kind and report["value"] == sum(row.values[i] for row in file.rows),
               file.name + ": type, unit and sum of the report", report["type"], report["unit"], report["value"])
        check_greatest(tap, reported_functions(report), wanted, "%s: %s in the report" % (file.name, kind[0]))
        for form in EXPORTS:
            check_export(tap, file.name, form, exports[form, i], kind, wanted, kinds_of(report))
        if GO:
            decimals = max(len(str(row.values[i]).partition(".")[2]) for row in file.rows)
            unit = "1/%d %s" % (10 ** decimals, kind[1]) if decimals else kind[1]
            check_go(tap, file.name, exports["pprof", i], (kind[0], unit), wanted)


def check_two_columns(tap, directory):
    path = os.path.join(directory, "two.folded")
    with open(path, "w", encoding="utf-8") as file:
        file.write("main;both 5 8\nmain;old 3 0\nmain;new 0 2\n")
    wanted = [{"main": (0, 8), "both": (5, 5), "old": (3, 3)}, {"main": (0, 10), "both": (8, 8), "new": (2, 2)}]
    with showing(tap, path) as api:
        parts = api.get("status")["parts"]
        found = [functions(api, **{"from": part["from"], "to": part["to"]}) for part in parts]
        tap.ok(found == wanted, "two columns are two profiles to compare", parts, found)
        exports = [api.fetch("api/export?format=pprof&from=%d&to=%d" % (part["from"], part["to"])) for part in parts]
    for data, one in zip(exports, wanted):
        again = os.path.join(directory, "column.pb.gz")
        with open(again, "wb") as file:
            file.write(data)
        tap.ok(reported_functions(report_of(again)) == one, "and each by itself in an export", report_of(again))


def check_comments(tap, directory):
    """A file's own comments, and its start and duration, are in each export that has room for them."""
    comments = ["host: far", "quality: 1 of 2 stacks are complete", "made by hand", "caf\u00e9: \u20ac"]
    path = os.path.join(directory, "comments.pb")
    with open(path, "wb") as file:
        file.write(pprof([SAMPLES], ROWS, comments=comments, time_ns=1700000000 * 10 ** 9, duration_ns=2 * 10 ** 9))
    about = [["start", "2023-11-14T22:13:20Z"], ["duration", "2.000 s"], ["host", "far"],
             ["quality", "1 of 2 stacks are complete"], ["comment", "made by hand"], ["comment", "caf\u00e9: \u20ac"]]
    tap.ok(report_of(path)["about"] == about, "comments of a file, with its start and duration", report_of(path)["about"])
    with showing(tap, path) as api:
        exports = {form: api.fetch("api/export?format=" + form) for form in EXPORTS if form != "folded"}
    for form, data in exports.items():
        again = os.path.join(directory, "comments." + EXPORTS[form])
        with open(again, "wb") as file:
            file.write(data)
        found = report_of(again)["about"]
        # A Firefox profile has an interval, too.
        tap.ok(about == [fact for fact in found if fact[0] != "period"], "the same by %s" % form, found)


def check_report(tap, directory):
    """The report for people has the same figures; a type that is not there is refused by name."""
    path = os.path.join(directory, "report")
    two = [("work", "count"), ("off_cpu", "nanoseconds")]
    with open(path, "wb") as file:
        file.write(otlp(two, [Row(("main", "on"), (3, 0)), Row(("main", "off"), (1, 3 * 10 ** 9))]))
    result = run_agent("-open", path, "-report", "-type", "off_cpu", outputs=[])
    lines = result.output.splitlines()
    tap.ok(result.status == 0 and lines[0] == "report: 3000000000 nanoseconds of off_cpu" and
           any(re.match(r" 100.0%  100.0% 3000000000   off\b", line) for line in lines), "a report for people", result.output,
           result.log)
    result = run_agent("-open", path, "-report", "-type", "cpu", outputs=[])
    tap.ok(result.status == 2 and "no values of type cpu; there are work/count, off_cpu/nanoseconds" in result.log,
           "a type that is not there", result.status, result.log)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        for file in files():
            check_file(tap, directory, file)
        check_two_columns(tap, directory)
        check_comments(tap, directory)
        check_report(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
