#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The values of opened files: types and units, the functions flat and cumulative as a count by script and `go tool pprof`
have them, and the same again after a round trip through each export. Prints TAP.
"""
import collections
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Tap, run_agent
from made_profiles import Row, counted, pprof
from opened_files import functions, report_of, reported_functions, showing, types_of, write_json
from pprof_reader import Profile
from protobuf_wire import field

MIB, KIB, SECOND = 1 << 20, 1 << 10, 10 ** 9
CPU = [("samples", "count"), ("cpu", "nanoseconds")]
HEAP = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]
GO = shutil.which("go")


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
    tap.ok(facts[0] == facts[1], name + ": a pprof export keeps types, period, times, comments and mappings", *facts)


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


def check_nameless(tap, directory):
    """Frames without names have their file's name and an address, whatever the tool wrote, and again after exports."""
    path = os.path.join(directory, "nameless.pb")
    for file, name, wanted in (("/opt/made", "/opt/made+0x31", "made+0x31"), ("/opt/made", "made+0x31", "made+0x31"),
                               ("[kernel.ext4]", "[kernel]+0x31", "ext4+0x31"),
                               ("[kernel.kallsyms]", "[kernel.kallsyms]+0x31", "vmlinux+0x31")):
        with open(path, "wb") as out:
            out.write(pprof([("samples", "count")], [Row((name,), (1,))], file=file))
        with showing(tap, path) as api:
            tap.ok(list(functions(api)) == [wanted], "%s in %s" % (name, file), functions(api))
            exports = {kind: api.fetch("api/export?format=" + kind) for kind in ("pprof", "otlp", "folded")}
        for kind, data in exports.items():
            again = os.path.join(directory, "nameless." + kind)
            with open(again, "wb") as out:
                out.write(data)
            with showing(tap, again) as api:
                tap.ok(list(functions(api)) == [wanted], "and again by " + kind, functions(api))


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


def check_two_in_one(tap, directory):
    """Two pprof files one after the other, packed or not, are as two files."""
    rows = [[Row(("main", "old"), (3,)), Row(("main", "both"), (5,))], [Row(("main", "both"), (8,))]]
    data = [pprof([("samples", "count")], each, time_ns=1700000000 * SECOND) for each in rows]
    path = os.path.join(directory, "both.pb")
    for packed in (b"".join(data), b"".join(map(gzip.compress, data)), gzip.compress(b"".join(data))):
        with open(path, "wb") as file:
            file.write(packed)
        with showing(tap, path) as api:
            parts = api.get("status")["parts"]
            tap.ok([part["name"] for part in parts] == ["profile 1", "profile 2"] and
                   [functions(api, **{"from": part["from"], "to": part["to"]}) for part in parts] ==
                   [counted(each, 0) for each in rows] and functions(api) == counted(rows[0] + rows[1], 0),
                   "two profiles in one file", parts, functions(api))


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


def check_speedscope(tap, directory):
    frames = [{"name": "main"}, {"name": 'a "q" \u00e4\u20ac', "file": "a.py", "line": 3}, {"name": "b;c"}]
    sampled = {"type": "sampled", "name": "t1", "unit": "bytes", "startValue": 0, "endValue": 9,
               "samples": [[0, 1], [0, 2], [0], [0, 7]], "weights": [5, 2, 1, 1]}
    evented = {"type": "evented", "name": "t2", "unit": "milliseconds", "startValue": 1, "endValue": 9, "events": [
        {"type": "O", "frame": 0, "at": 1}, {"type": "O", "frame": 1, "at": 2.5}, {"type": "C", "frame": 1, "at": 4},
        {"type": "C", "frame": 0, "at": 4.25}]}
    path = write_json(directory, "profile.json", {
        "$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": [sampled, evented],
        "shared": {"frames": frames}, "name": "made"})
    with showing(tap, path) as api:
        tap.ok(types_of(api) == [("weight", "bytes"), ("weight", "milliseconds")], "speedscope: the units",
               types_of(api))
        found = functions(api, type="weight/bytes")
        tap.ok(found == {"main": (2, 9), frames[1]["name"]: (5, 5), "b;c": (2, 2)}, "speedscope, sampled", found)
        found = functions(api, type="weight/milliseconds")
        tap.ok(found == {"main": (1.75, 3.25), frames[1]["name"]: (1.5, 1.5)}, "speedscope, evented", found)
        rows = api.get("facets", type="weight/bytes")["threads"]
        tap.ok([row["name"] for row in rows] == ["t1"], "speedscope: a profile is a thread", rows)


def check_decimals(tap, directory):
    """Values with and without fractions in one unit are of one type, in one file and in several."""
    frames = {"frames": [{"name": "main"}, {"name": "leaf"}]}
    whole = {"type": "sampled", "name": "t1", "unit": "milliseconds", "samples": [[0], [0, 1]], "weights": [4, 6]}
    parts = {"type": "sampled", "name": "t2", "unit": "milliseconds", "samples": [[0], [0, 1]], "weights": [0.5, 2.25]}
    events = {"type": "evented", "name": "t3", "unit": "milliseconds", "startValue": 0, "endValue": 5, "events": [
        {"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 1, "at": 1}, {"type": "C", "frame": 1, "at": 4},
        {"type": "C", "frame": 0, "at": 5}]}
    wanted = {"main": (6.5, 17.75), "leaf": (11.25, 11.25)}
    for profiles in ([whole, parts, events], [parts, events, whole], [events, whole, parts]):
        path = write_json(directory, "mixed.json", {
            "$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": profiles, "shared": frames})
        report = report_of(path)
        tap.ok(report["unit"] == "milliseconds" and reported_functions(report) == wanted and report["value"] == 17.75,
               "speedscope: profiles with and without fractions", report)
    texts = {"one": "main;leaf 4\nmain 6\n", "two": "main;leaf 0.5\nmain 2.25\n"}
    paths = {name: os.path.join(directory, name + ".folded") for name in texts}
    for name, text in texts.items():
        with open(paths[name], "w", encoding="utf-8") as file:
            file.write(text)
    for order in ("one", "two"), ("two", "one"):
        result = run_agent(*[option for name in order for option in ("-open", paths[name])], "-report", "-json", outputs=[])
        tap.ok(result.status == 0 and reported_functions(json.loads(result.output)) == {"main": (8.25, 12.75), "leaf": (4.5, 4.5)},
               "two folded files, %s with fractions" % order[0], result.output, result.log)


def check_odd(tap, directory):
    """Files as they come from other systems, cut off, or with numbers at the limits."""
    one = pprof([("samples", "count")], [Row(("main", "leaf"), (3,)), Row(("main",), (2,))])
    wanted = {"main": (2, 5), "leaf": (3, 3)}
    text = "main;leaf 3\nmain 2\n"
    good = {"mac.folded": text.replace("\n", "\r").encode(), "members.pb.gz": gzip.compress(one[:40]) + gzip.compress(one[40:]),
            "table.txt": b"\xef\xbb\xbf# host: box\r\n\r\n3.0% main;leaf\r\n2.0% main;\r\n",
            "great.folded": b"main;leaf %d\nmain 2\n" % (2 ** 63 - 3)}
    for name, data in good.items():
        path = os.path.join(directory, name)
        with open(path, "wb") as file:
            file.write(data)
        result = run_agent("-open", path, "-report", "-json", outputs=[])
        found = reported_functions(json.loads(result.output)) if result.status == 0 else result.log
        leaf = 2 ** 63 - 3 if name == "great.folded" else 3
        expected = {"main": (2, leaf + 2), "leaf": (leaf, leaf)} if name != "table.txt" else {
            "main": (0, 5), "leaf": (3, 3), "[unknown]": (2, 2)}
        tap.ok(found == expected, name + ": its functions", found, wanted)
    great = pprof([("space", "bytes")], [Row(("main", str(i)), (2 ** 62,)) for i in range(3)])
    for name, data, why in (("sum.pb", great, "the sum of its values has more than 63 bits"),
                            ("sum.folded", b"main 5000000000000000000\n" * 2, "the sum of its values has more than 63 bits"),
                            ("great.folded", b"main 9223372036854775808\n", "line 1: the number is too large: main"),
                            ("mark", b"\xef\xbb\xbf", "it is an empty file"), ("blank", b"\r\n \n", "it is an empty file"),
                            ("behind.pb.gz", gzip.compress(one) + b"more", "damaged")):
        path = os.path.join(directory, name)
        with open(path, "wb") as file:
            file.write(data)
        result = run_agent("-open", path, "-report", outputs=[])
        tap.ok(result.status == 2 and why in result.log and result.log.count("\n") == 1, name + " is refused", result.status,
               result.log)


def v8_counts(profile):
    """{function: (self, total)} of the samples, by another way than the agent's: each sample's ids upwards."""
    nodes = {node["id"]: node for node in profile["nodes"]}
    parents = {child: node["id"] for node in profile["nodes"] for child in node.get("children", [])}
    flat, cumulative = collections.Counter(), collections.Counter()
    name_of = lambda node: nodes[node]["callFrame"]["functionName"] or "(anonymous)"
    for leaf in profile["samples"]:
        names, node = [], leaf
        while node in parents:
            names.append(name_of(node))
            node = parents[node]
        if names:
            flat[names[0]] += 1
        cumulative.update(set(names))
    return {name: (flat[name], cumulative[name]) for name in cumulative}


def check_cpuprofile(tap, directory):
    node = shutil.which("node")
    if not node:
        tap.skip("a .cpuprofile of Node", "needs node")
        return
    code = "function spin(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s; }" \
           "function outer() { return spin(3e7); } for (let i = 0; i < 8; i++) outer();"
    subprocess.run([node, "--cpu-prof", "--cpu-prof-dir", directory, "-e", code], check=True)
    path = glob.glob(os.path.join(directory, "*.cpuprofile"))[0]
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    with showing(tap, path) as api:
        wanted, found = v8_counts(profile), {}
        for row in api.get("top", root="none", limit=10000, type="samples")["rows"]:
            one = found.get(row["name"], (0, 0))
            found[row["name"]] = (one[0] + row["self"], one[1] + row["total"])
        names = ("spin", "outer", "(program)")
        tap.ok(all(found.get(name, (0, 0)) == wanted.get(name, (0, 0)) for name in names) and wanted["spin"][0] > 10,
               ".cpuprofile of Node: the samples of its functions", found, wanted)
        kinds = {row["name"]: row["kind"] for row in api.get("top", root="none", limit=10000)["rows"]}
        tap.ok(kinds["spin"] == "javascript", "they are JavaScript", kinds)
        status = api.get("status")
        lasted = profile["endTime"] - profile["startTime"]
        tap.ok(status["type"] == {"type": "time", "unit": "microseconds"} and
               0.9 * lasted <= status["samples"] <= lasted, "with their time", status["samples"], lasted)


def check_perf(tap, directory):
    perf = shutil.which("perf")
    data = os.path.join(directory, "perf.data")
    code = "def spin(n):\n while n: n -= 1\nspin(20000000)"
    if not perf or subprocess.run([perf, "record", "-q", "-e", "cpu-clock", "-F", "499", "-g", "-o", data, sys.executable,
                                   "-c", code], capture_output=True, check=False).returncode:
        tap.skip("text of perf script", "perf cannot record here")
        return
    text = subprocess.run([perf, "script", "-i", data], capture_output=True, text=True, check=True).stdout
    path = os.path.join(directory, "perf.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    blocks = [block.splitlines() for block in text.split("\n\n") if block.strip()]
    leaves = collections.Counter()
    for block in blocks:
        found = re.match(r"\s+[0-9a-f]+ (.*?)(\+0x[0-9a-f]+)? \(", block[1]) if len(block) > 1 else None
        if found and found[1] != "[unknown]":
            leaves[found[1]] += 1
    with showing(tap, path) as api:
        status = api.get("status")
        tap.ok(status["samples"] == len(blocks) > 100, "perf script: all samples", status["samples"], len(blocks))
        found = functions(api)
        wrong = {name: (count, found.get(name)) for name, count in leaves.most_common(10)
                 if found.get(name, (0, 0))[0] != count}
        tap.ok(not wrong, "perf script: the ten greatest functions", wrong)
        clock = api.get("status", type="cpu-clock")
        periods = sum(int(re.search(r":\s+(\d+) cpu-clock", block[0])[1]) for block in blocks)
        tap.ok(clock["samples"] == periods and clock["type"]["unit"] == "nanoseconds", "perf script: the CPU time",
               clock["samples"], periods)


def old_otlp(sample, more=b"", tables=b""):
    """An OTLP request with one sample, @more being fields of its profile, @tables of its dictionary."""
    return field(1, field(2, field(2, field(1, field(1, 1)) + field(2, sample) + more))) + field(2, field(5, b"") + tables)


TIME = (1700000000 * 10 ** 9).to_bytes(8, "little")
# Two attributes; a location has the first one.
ATTRIBUTES = (field(6, b"") + 2 * field(6, field(1, 1) + field(2, field(3, 7))) + field(2, b"") + field(2, field(4, b"\1")) +
              field(5, b"thread.id"))


def check_unclear_otlp(tap, directory):
    """The second field of a sample, and timestamps: values of 1.9 or attributes of 1.10."""
    old = [("a value that is no attribute", field(2, b"\5") + field(5, TIME), ATTRIBUTES),
           ("without a table", field(2, b"\1") + field(5, TIME), b""),
           ("the value 0", field(2, b"\0\2") + field(5, 2 * TIME), ATTRIBUTES),
           ("a value like an attribute of a location", field(2, b"\1") + field(5, TIME), ATTRIBUTES),
           ("a link", field(2, b"\1") + field(4, 1) + field(5, TIME), ATTRIBUTES)]
    new = [("an attribute of the sample", field(2, b"\2") + field(5, TIME), 1),
           ("more timestamps than attributes", field(2, b"\1") + field(5, 3 * TIME), 3),
           ("values, too", field(2, b"\1") + field(4, b"\7") + field(5, TIME), 7)]
    for name, sample, tables in old:
        path = os.path.join(directory, "old.otlp")
        with open(path, "wb") as file:
            file.write(old_otlp(field(1, 1) + sample, tables=tables))
        result = run_agent("-open", path, "-report", outputs=[])
        tap.ok(result.status == 2 and "OTLP profiles of version 1.9" in result.log, "OTLP 1.9: " + name, result.status, result.log)
    for name, sample, total in new:
        path = os.path.join(directory, "new.otlp")
        with open(path, "wb") as file:
            file.write(old_otlp(field(1, 1) + sample, tables=ATTRIBUTES + field(7, b"") + field(7, field(1, b"\1"))))
        result = run_agent("-open", path, "-report", "-json", outputs=[])
        tap.ok(result.status == 0 and json.loads(result.output)["value"] == total, "OTLP 1.10: " + name, result.status, result.log,
               result.output)


def check_refused(tap, directory):
    one = pprof([("samples", "count")], [Row(("main",), (1,))])
    for name, data, why in (("empty", b"", "an empty file"), ("two.pb", one + field(5, field(1, 1)), "stands in it twice"),
                            ("bad.folded", b"a;b 1\na;oops\n", "line 2: no number at the end: a;oops"),
                            ("run.jfr", b"FLR\0\0\2\0\0", "a JFR recording; `jfrconv -o pprof`"),
                            ("perf.data", b"PERFILE2" + b"\0" * 96, "a perf.data file; `perf script`"),
                            ("a.zst", b"\x28\xb5\x2f\xfd\0\0", "compressed by zstd; `zstd -d`"),
                            ("a.xz", b"\xfd7zXZ\0\0", "compressed by xz; `xz -d`"),
                            ("a.svg", b"<svg xmlns='x'/>\n", "open the profile that it was made of"),
                            ("1.9.otlp", old_otlp(field(1, 1) + field(2, b"\5") + field(3, b"\1")), "OTLP profiles of version 1.9"),
                            ("1.9 a.otlp", old_otlp(field(1, 1) + field(2, b"\5")), "OTLP profiles of version 1.9"),
                            ("1.8.otlp", old_otlp(field(2, 1) + field(3, b"\5"), field(3, b"\1")),
                             "OTLP profiles of a version before 1.9"),
                            ("cut.pb.gz", gzip.compress(one)[:-9], "damaged"),
                            ("trace.json", b'{"traceEvents": []}', "ui.perfetto.dev"),
                            ("x.afdo.txt", b"main:7:1\n 2: 7\n", "a profile for compilers"),
                            ("y.afdo.txt", b"# host: box\n# rate: 19\n\nmain:7:1\n 2: 7\n", "a profile for compilers")):
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
        check_nameless(tap, directory)
        check_two(tap, directory)
        check_two_in_one(tap, directory)
        check_folded(tap, directory)
        check_speedscope(tap, directory)
        check_decimals(tap, directory)
        check_odd(tap, directory)
        check_cpuprofile(tap, directory)
        check_perf(tap, directory)
        check_refused(tap, directory)
        check_unclear_otlp(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
