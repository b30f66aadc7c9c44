#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What -output and the page's export write for other tools: speedscope, the Firefox profiler, flame graphs as SVG. Each has
the functions of the folded stacks, and is opened again with the same; each states where it comes from. A browser zooms and
searches the SVG. In the long tier speedscope itself and the loader of the Firefox profiler open the files. Prints TAP.
"""
import ast
import base64
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
import nodes
from browser import Browser
from harness import IS_LONG, Tap, need_root, parse_folded
from made_profiles import Row, counted, pprof
from opened_files import functions, showing, types_of
from pprof_reader import Profile
from sampled import sample_run
from viewer_pages import targets

MIB, SECOND = 1 << 20, 10 ** 9
RATE, CPU_SECONDS = 199, 1
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</title><script>alert(1)</script>&]]>\"'"
NODE_24 = nodes.fetch_nodes.program("24.21.0")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def counts_of(api, **query):
    """{name: (self, total)}, functions of one name added up."""
    found = collections.defaultdict(lambda: (0, 0))
    for row in api.get("top", root="none", limit=10000, **query)["rows"]:
        one = found[row["name"]]
        found[row["name"]] = (one[0] + row["self"], one[1] + row["total"])
    return dict(found)


def svg_functions(path):
    """{title: width} of the boxes, and the description. Raises an error for a file that is no XML."""
    root = xml.etree.ElementTree.parse(path).getroot()
    boxes = collections.Counter()
    for box in root.iter(SVG + "g"):
        title = box.find(SVG + "title")
        if title is not None:
            boxes[re.sub(r" \([^()]*\)$", "", title.text)] += float(box.find(SVG + "rect").get("width"))
    return boxes, root.find(SVG + "desc").text or "", len(list(root.iter(SVG + "script")))


def check_made(tap, directory):
    """Values of an opened file, by the unit that each format has for them."""
    types = [("objects", "count"), ("space", "bytes"), ("wait", "nanoseconds")]
    rows = [Row(("main", "leaf"), (1, 3 * MIB, 2 * SECOND)), Row(("main", HOSTILE), (3, 5, 7000)),
            Row(("main", "again", "main"), (2, 10, 1000))]
    path = write(os.path.join(directory, "made.pb.gz"), gzip.compress(pprof(types, rows, time_ns=1700000000 * SECOND)))
    exports = {}
    with showing(tap, path) as api:
        for i, (kind, _) in enumerate(types):
            for form in ("speedscope", "firefox", "svg"):
                exports[form, i] = write(os.path.join(directory, "%s%d" % (form, i)),
                                         api.fetch("api/export?format=%s&type=%s" % (form, kind)))
    for (form, i), export in exports.items():
        wanted = counted(rows, i)
        if form == "svg":
            boxes, _, scripts = svg_functions(export)
            tap.ok(scripts == 1 and ("main" in boxes) and (i or HOSTILE in boxes), "SVG of %s: its boxes" % types[i][0], boxes)
            continue
        scale = 10 ** 6 if form == "firefox" and types[i][1] == "nanoseconds" else 1
        with showing(tap, export) as api:
            found = {name: (round(one * scale), round(other * scale)) for name, (one, other) in functions(api).items()}
            tap.ok(found == wanted, "%s of %s: the values again" % (form, types[i][0]), found, wanted, types_of(api))
            unit = types_of(api)[0][1]
            tap.ok(unit == ("milliseconds" if scale > 1 else types[i][1]), "and their unit", unit)


def check_start_lines(tap, path):
    """The first lines of functions of Python, as its own parser has them."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "targets/python/calls.py"), encoding="utf-8") as file:
        wanted = {node.name: node.lineno for node in ast.walk(ast.parse(file.read()))
                  if isinstance(node, ast.FunctionDef) and not node.decorator_list}
    found = Profile(path, True, True).start_lines
    shared = [name for name in wanted if name in found]
    tap.ok("spin" in shared and all(found[name] == wanted[name] for name in ("spin", "main")),
           "pprof: functions of Python have their first lines", found, wanted)


def check_provenance(tap, paths):
    host = os.uname().nodename
    comments = Profile(paths[".pb.gz"], True, True).comments
    tap.ok("host: " + host in comments and "kernel: Linux " + os.uname().release in comments and
           "rate: %d samples per second and CPU" % RATE in comments and
           any(text.startswith("selection: -pid ") for text in comments) and
           any(re.fullmatch(r"quality: \d+ of \d+ stacks are complete", text) for text in comments),
           "pprof: host, kernel, rate, selection and quality are comments", comments)
    mapping = next(iter(Profile(paths[".pb.gz"], True, True).mappings.values()))
    tap.ok(Profile(paths[".pb.gz"], True, True).mapping_file(mapping) == host, "its first mapping is the host", mapping)
    for suffix in (".html", ".svg", ".speedscope.json", ".firefox.json", ".txt", ".afdo.txt", ".otlp"):
        with open(paths[suffix], encoding="utf-8", errors="replace") as file:
            text = file.read()
        tap.ok(host in text and os.uname().release in text and "stacks are complete" in text,
               suffix + ": where it comes from is in it")


def check_folded_lines(tap, path):
    """Readers of folded stacks take every line for a stack, so there is nothing else in the file."""
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")[:-1]
    tap.ok(lines and not [line for line in lines if not re.fullmatch(rb"[^#].* [1-9][0-9]*", line)],
           "folded stacks have no comments", lines[:3])


def check_about(tap, path, suffix):
    """The page of an opened file says where it comes from."""
    with showing(tap, path) as api:
        about = api.get("status")["about"]
    wanted = {"host": os.uname().nodename, "kernel": "Linux " + os.uname().release, "rate": "%d samples per second and CPU" % RATE}
    keys = [key for key, _ in about]
    tap.ok(wanted.items() <= dict(about).items() and {"start", "duration", "selection", "quality", "agent"} <= set(keys) and
           len(set(keys)) == len(keys), suffix + ": opened, it says where it comes from", about)


def check_svg(tap, path, folded):
    boxes, _, _ = svg_functions(path)
    totals = collections.Counter()
    for stack, count in folded.items():
        totals[stack.comm] += count
    scale = boxes["all"] / sum(folded.values())
    tap.ok(all(abs(boxes[comm] - count * scale) < 0.1 for comm, count in totals.items()), "SVG: the widths of processes",
           boxes, totals)
    if not browsers.COMMAND:
        tap.skip("zoom and search of the SVG", "needs chromium")
        return
    with Browser() as page:
        page.open("file://" + path)
        tap.ok(page.wait("document.querySelectorAll('#boxes g').length > 5"), "a browser shows the SVG", page.errors)
        page.evaluate("window.find = name => [...document.querySelectorAll('#boxes g')].find("
                      "box => box.querySelector('title').textContent.startsWith(name + ' (')); window.prompt = () => 'leaf_'")
        page.evaluate("find('middle').dispatchEvent(new Event('click'))")
        tap.ok(page.evaluate("+find('middle').querySelector('rect').getAttribute('width')") == boxes["all"] and
               page.evaluate("find('py-calls').style.display") == "none", "a click zooms", page.errors)
        page.evaluate("document.getElementById('reset').dispatchEvent(new Event('click'))")
        tap.ok(page.evaluate("find('py-calls').style.display") == "", "and goes back")
        page.evaluate("document.getElementById('search').dispatchEvent(new Event('click'))")
        wanted = 100 * sum(count for stack, count in folded.items()
                           if any("leaf_" in frame for frame in stack.frames)) / sum(folded.values())
        found = page.evaluate("document.getElementById('info').textContent")
        tap.ok(abs(float(re.search(r"[\d.]+", found)[0]) - wanted) < 0.2, "the search says how many samples match", found, wanted)
        tap.ok(not page.errors and not [one for one in page.requests if not one.startswith(("file:", "about:"))],
               "without errors or requests", page.errors, page.requests)


def check_speedscope(tap, path, directory):
    """speedscope itself, as its command line opens files: by a script that has the profile."""
    page = nodes.PACKAGES / "speedscope/dist/release/index.html"
    if not browsers.COMMAND or not page.exists():
        tap.skip("speedscope opens its file", "needs chromium and scripts/fetch_npm_packages.py")
        return
    with open(path, "rb") as file:
        data = base64.b64encode(file.read()).decode()
    script = write(os.path.join(directory, "profile.js"),
                   ("speedscope.loadFileFromBase64('profile.json', '%s')" % data).encode())
    with Browser() as browser:
        browser.open("file://%s#localProfilePath=%s" % (page, script))
        tap.ok(browser.wait("document.title.includes('stacks are complete')"), "speedscope opens its file",
               browser.evaluate("document.title"), browser.errors)


def check_firefox(tap, path, folded):
    """The Firefox profiler's own loader, in its command line."""
    tool = nodes.PACKAGES / "@firefox-devtools/profiler-cli/dist/profiler-cli.js"
    if not NODE_24.exists() or not tool.exists():
        tap.skip("the Firefox profiler opens its file", "needs Node.js 24 and scripts/fetch_npm_packages.py")
        return
    with tempfile.TemporaryDirectory() as home:
        def ask(*words):
            return subprocess.run([NODE_24, tool, *words], env={**os.environ, "HOME": home}, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
        loaded = ask("load", path)
        try:
            text = ask("thread", "list")
            handle = re.search(r"(t-\d+):? .*\bcalls\b", text)
            tap.ok("Session started" in loaded and handle, "the Firefox profiler opens its file", loaded, text)
            text = ask("thread", "functions", "--include-idle", "--thread", handle[1] if handle else "t-0")
            wanted = sum(count for stack, count in folded.items() if stack.comm == "calls" and "middle" in stack.frames)
            found = re.search(r"middle\b.*total: (\d+)", text)
            tap.ok(found and int(found[1]) == wanted, "with the samples of a function", found, wanted, text)
        finally:
            ask("stop")


def main():
    tap = Tap()
    need_root(tap, "outputs for other tools")
    with tempfile.TemporaryDirectory(prefix="allframes-exports-") as directory:
        check_made(tap, directory)
        paths = {suffix: os.path.join(directory, "run" + suffix)
                 for suffix in (".folded", ".pb.gz", ".otlp", ".html", ".txt", ".afdo.txt", ".svg", ".speedscope.json",
                                ".firefox.json")}
        with targets(["native", "python"]) as pids:
            sample_run(list(pids.values()), RATE, CPU_SECONDS, outputs=list(paths.values()))
        with open(paths[".folded"], encoding="utf-8", errors="surrogateescape") as file:
            folded = parse_folded(file.read())
        with showing(tap, paths[".folded"]) as api:
            wanted = counts_of(api)
        for suffix in (".speedscope.json", ".firefox.json", ".html"):
            with showing(tap, paths[suffix]) as api:
                found = counts_of(api)
                tap.ok(found == wanted, suffix + ": the functions of the folded stacks",
                       [(name, found.get(name), wanted.get(name)) for name in {*found, *wanted}
                        if found.get(name) != wanted.get(name)][:5])
                kinds = {row["name"]: row["kind"] for row in api.get("top", root="none", limit=10000)["rows"]}
                tap.ok(kinds.get("leaf_frame") == "native" and kinds.get("spin", "python") == "python", "and their kinds", kinds)
                rows = api.get("facets")["processes" if suffix == ".html" else "threads"]
                tap.ok(len(rows) == len(pids), "and its threads, or processes", rows)
        with showing(tap, paths[".txt"]) as api:
            found, total = counts_of(api), sum(folded.values())
            tap.ok(types_of(api) == [("share", "percent")] and found.keys() <= wanted.keys() and
                   abs(found["middle"][1] - 100 * wanted["middle"][1] / total) < 0.1 * len(folded), "the stack table",
                   found.get("middle"), wanted.get("middle"), total)
        with showing(tap, paths[".firefox.json"]) as api:
            tap.ok(api.get("status")["has_times"], "the Firefox profile has times")
        for suffix in (".pb.gz", ".otlp", ".txt", ".html", ".speedscope.json", ".firefox.json"):
            check_about(tap, paths[suffix], suffix)
        with open(paths[".speedscope.json"], encoding="utf-8") as file:
            profiles = json.load(file)["profiles"]
        tap.ok(sum(sum(profile["weights"]) for profile in profiles) == sum(folded.values()) and
               any(profile["samples"] != sorted(profile["samples"]) for profile in profiles),
               "speedscope: all samples, in the order of time")
        if "python" in pids:
            check_start_lines(tap, paths[".pb.gz"])
        check_provenance(tap, paths)
        check_folded_lines(tap, paths[".folded"])
        check_svg(tap, paths[".svg"], folded)
        if IS_LONG:
            check_speedscope(tap, paths[".speedscope.json"], directory)
            check_firefox(tap, paths[".firefox.json"], folded)
    tap.finish()


if __name__ == "__main__":
    main()
