#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of other tools that -open reads: text profiles of pprof, made here and by Go, whose numbers `go tool pprof` has, too,
and profiles of the Firefox profiler. Prints TAP.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Tap
from opened_files import functions, showing, types_of, write_json

GO = shutil.which("go")
MAP = ("00400000-00500000 r-xp 00000000 08:01 123  /opt/prog\n"
       "7f0000000000-7f0000100000 r-xp 00001000 08:01 124  /lib/lib a.so\n")
TEXTS = {
    "heap": "heap profile:      3:   1288 [    11:    2560] @ heap_v2/524288\n"
            "     1:   1024 [     2:   2048] @ 0x400101 0x400201\n"
            "     2:    264 [     9:    512] @ 0x7f0000000010 0x400201\n"
            "     0:      0 [     1:     16] @ 0x400301\n\nMAPPED_LIBRARIES:\n" + MAP,
    "heap of all": "heap profile: 2: 100 [ 2: 100] @ heapprofile\n  2: 100 [ 2: 100] @ 0x400101\n\n"
                   "MAPPED_LIBRARIES:\n" + MAP,
    "contention": "--- contentionz 1 ---\ncycles/second = 2000000000\nsampling period = 100\nms since reset = 5000\n"
                  "discarded samples = 0\n  19490304       27 @ 0x400101 0x400201\n  7 3 @ 0x400201\n"
                  "--- Memory map: ---\n" + MAP,
    "threads": "--- threadz 1 ---\n\n--- Thread 7eff063d9940 (name: main/25376) stack: ---\n"
               "  PC: 0x400100 0x400201\n    0x400301\n--- Thread 7eff063d9941 (name: thread/25377) stack: ---\n"
               "  [same as previous thread]\n\n--- Memory map: ---\n" + MAP,
    "counts": "goroutine profile: total 12\n10 @ 0x400101 0x400201\n# labels: {\"kind\":\"a b\"}\n"
              "#\t0x400100\tmain.work+0x21\t\t/src/a b.go:12\n#\t0x400200\tmain.main+0x10\t\t/src/a b.go:3\n\n"
              "2 @ 0x400301\n",
}
WANTED_FUNCTIONS = {
    "heap of all": {"prog+0x400100": (100, 100)},
    "threads": {"prog+0x400100": (2, 2), "prog+0x400200": (0, 2), "prog+0x400300": (0, 2)},
    "counts": {"main.work": (10, 10), "main.main": (0, 10), "[unknown]+0x400300": (2, 2)},
}
GO_PROGRAM = """package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte

//go:noinline
func allocate(n int) { kept = append(kept, make([]byte, n)) }

//go:noinline
func outer() { for i := 0; i < 64; i++ { allocate(1 << 20) } }

//go:noinline
func wait(done chan int) { <-done }

func main() {
	outer()
	kept = kept[:32]
	runtime.GC()
	done := make(chan int)
	for i := 0; i < 7; i++ { go wait(done) }
	runtime.Gosched()
	for _, name := range []string{"heap", "goroutine"} {
		file, _ := os.Create(os.Args[1] + name)
		pprof.Lookup(name).WriteTo(file, 1)
		file.Close()
	}
}
"""


def go_sums(path):
    """[(type, unit, sum)], period and the labels of `go tool pprof`."""
    text = subprocess.run([GO, "tool", "pprof", "-symbolize=none", "-raw", path], capture_output=True, text=True,
                          check=False).stdout
    types = re.findall(r"(\w+)/(\w+)", re.search(r"^Samples:\n(.*)$", text, re.M)[1])
    rows = [list(map(int, row.split()))
            for row in re.findall(r"^ +([-\d ]+): [\d ]+", text.split("\nLocations\n")[0], re.M)]
    return ([(*kind, sum(row[i] for row in rows)) for i, kind in enumerate(types)],
            int((re.search(r"^Period: (\d+)", text, re.M) or [0, 0])[1]), sorted(re.findall(r"^ +\w+:\[.*$", text, re.M)))


def check_text(tap, directory, name, path):
    with showing(tap, path) as api:
        sums = [(*kind, api.get("status", type=kind[0])["samples"]) for kind in types_of(api)]
        again = os.path.join(directory, "again.pb.gz")
        with open(again, "wb") as file:
            file.write(api.fetch("api/export?format=pprof"))
        if GO:
            tap.ok(go_sums(path)[0] == sums and sums, name + ": the types and sums of go tool pprof", sums, go_sums(path))
            # pprof does not read the names of threads and Go's labels.
            compared = 3 if "heap" in name else 2
            tap.ok(go_sums(again)[:compared] == go_sums(path)[:compared],
                   name + ": and in the export, with period and labels", go_sums(again), go_sums(path))
        if name in WANTED_FUNCTIONS:
            tap.ok(functions(api) == WANTED_FUNCTIONS[name], name + ": its functions", functions(api))


def check_texts(tap, directory):
    for name, text in TEXTS.items():
        path = os.path.join(directory, name.replace(" ", "_") + ".txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        check_text(tap, directory, name, path)
    path = os.path.join(directory, "jemalloc.heap")
    with open(path, "w", encoding="utf-8") as file:
        file.write("heap_v2/1\n  t*: 3: 300 [0: 0]\n  t0: 3: 300 [0: 0]\n@ 0x400101 0x400201\n  t*: 1: 100 [0: 0]\n"
                   "  t0: 1: 100 [0: 0]\n@ 0x400301\n  t*: 2: 200 [0: 0]\n\nMAPPED_LIBRARIES:\n" + MAP)
    with showing(tap, path) as api:
        tap.ok(functions(api, type="inuse_space") == {"prog+0x400100": (100, 100), "prog+0x400200": (0, 100),
                                                      "prog+0x400300": (200, 200)}, "jemalloc", functions(api))


def check_go(tap, directory):
    """Profiles that Go's runtime writes as text."""
    if not GO:
        tap.skip("text profiles of Go", "needs go")
        return
    source, program = os.path.join(directory, "main.go"), os.path.join(directory, "prog")
    with open(source, "w", encoding="utf-8") as file:
        file.write(GO_PROGRAM)
    subprocess.run([GO, "build", "-o", program, source], check=True)
    subprocess.run([program, os.path.join(directory, "go_")], check=True)
    # Go sometimes writes a location whose samples are not published yet: pprof shows it, an export has no samples of nothing.
    heap = pathlib.Path(directory, "go_heap")
    heap.write_text(re.sub(r"^0: 0 \[0: 0\] @.*\n(#\t.*\n)*", "", heap.read_text(encoding="utf-8"), flags=re.M),
                    encoding="utf-8")
    for name in ("heap", "goroutine"):
        check_text(tap, directory, "Go's " + name, os.path.join(directory, "go_" + name))
    with showing(tap, os.path.join(directory, "go_heap")) as api:
        found = functions(api, type="inuse_space")
        sums = {kind: total for kind, _, total in go_sums(os.path.join(directory, "go_heap"))[0]}
        tap.ok(found["main.allocate"][1] == found["main.outer"][1] >= 32 << 20 and
               found["main.allocate"][1] <= sums["inuse_space"], "Go's heap: its functions", found, sums)
        row = next(row for row in api.get("top", root="none", lines=1)["rows"] if row["name"] == "main.allocate")
        tap.ok(row["file"].endswith("main.go") and row["line"] == 12, "with their lines", row)
    with showing(tap, os.path.join(directory, "go_goroutine")) as api:
        tap.ok(functions(api)["main.wait"][1] == 7, "Go's goroutines: those that wait", functions(api))


FIREFOX_FRAMES = {"address": [-1, 0x31, 0x41, -1, 0x51], "inlineDepth": [0, 0, 1, 0, 0], "category": [0, 0, 0, 1, 2],
                  "func": [0, 1, 2, 3, 4], "line": [None, 7, None, 3, None], "column": [None, None, None, 5, None],
                  "length": 5}
FIREFOX_STACKS = {"frame": [0, 1, 2, 3, 4], "prefix": [None, 0, 1, 0, 1], "length": 5}
FIREFOX_RESOURCES = {"length": 1, "lib": [0], "name": [5], "host": [None], "type": [1]}
FIREFOX_TEXTS = ["main", "0x31", "inlined", "work", "sys_read", "prog", "a.py"]
FIREFOX_SAMPLES = {"stack": [2, 3, None, 3, 4], "time": [0, 1, 2, 3.5, 4], "weight": None, "weightType": "samples",
                   "threadCPUDelta": [99, 1000, 0, 500, 20], "length": 5}
FIREFOX_META = {"interval": 1, "startTime": 1700000000000, "product": "made", "preprocessedProfileVersion": 48,
                "profilingStartTime": 0, "profilingEndTime": 5, "sampleUnits": {"threadCPUDelta": "\u00b5s"},
                "categories": [{"name": "Other"}, {"name": "Python"}, {"name": "Kernel"}]}


def firefox_functions(is_shared):
    table = {"name": [0, 1, 2, 3, 4], "resource": [-1, 0, 0, -1, -1], "length": 5}
    table.update({"source": [None, None, None, 0, None]} if is_shared else {"fileName": [None, None, None, 6, None]})
    return table


def firefox(is_shared):
    """Two threads with the same tables, of their own or shared."""
    tables = {"frameTable": FIREFOX_FRAMES, "stackTable": FIREFOX_STACKS, "resourceTable": FIREFOX_RESOURCES,
              "funcTable": firefox_functions(is_shared)}
    texts = {"stringArray": FIREFOX_TEXTS}
    sources = {"sources": {"length": 1, "filename": [6], "uuid": [None]}}
    threads = [{"name": "t%d" % i, "processName": "made", "pid": "100", "tid": 100 + i, "samples": FIREFOX_SAMPLES,
                **({} if is_shared else {**tables, **texts})} for i in range(2)]
    return {"meta": FIREFOX_META, "libs": [{"name": "prog", "path": "/opt/prog"}], "threads": threads,
            "shared": {**tables, **texts, **sources} if is_shared else {}}


def check_firefox(tap, directory):
    for is_shared in (False, True):
        name = "Firefox, tables of all threads" if is_shared else "Firefox, tables of each thread"
        with showing(tap, write_json(directory, "firefox.json", firefox(is_shared))) as api:
            tap.ok(types_of(api) == [("samples", "count"), ("cpu", "nanoseconds")], name + ": samples and CPU time",
                   types_of(api))
            tap.ok(functions(api, type="samples") == {"main": (0, 8), "prog+0x31": (0, 4), "inlined": (2, 2), "work": (4, 4),
                                                      "sys_read": (2, 2)}, name + ": its functions", functions(api))
            tap.ok(functions(api, type="cpu")["work"] == (3000000, 3000000), name + ": CPU time", functions(api, type="cpu"))
            rows = {row["name"]: (row["kind"], row["file"], row.get("line"), row.get("column"), row["flags"])
                    for row in api.get("top", root="none", lines=1)["rows"]}
            tap.ok(rows["work"] == ("python", "a.py", 3, 5, 0) and rows["sys_read"][0] == "kernel" and
                   rows["inlined"][4] == 1, name + ": kinds, lines and inlining", rows)
            tap.ok([row["name"] for row in api.get("facets")["threads"]] == ["t0", "t1"] and
                   api.get("facets")["processes"][0]["comm"] == "made", name + ": threads and process", api.get("facets"))
            status = api.get("status")
            tap.ok(status["epoch_ms"] == FIREFOX_META["startTime"] and status["samples_per_second"] == 1000,
                   name + ": its time and rate", status)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        check_texts(tap, directory)
        check_go(tap, directory)
        check_firefox(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
