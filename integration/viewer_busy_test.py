#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a busy host's recording (busy_host.py), whose flame graph has sixty times more frames than the page draws:
zooms and searches, drawn at random, against sums over the exported folded stacks, and their gestures in a headless
Chromium. The long tier has more of them, and all sizes and colours. Prints TAP; screenshots are left in build/integration/viewer/.
"""
import collections
import os
import random
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
import busy_host
from browser import Browser
from harness import IS_LONG, Agent, Tap
from viewer_busy_page import check_page
from viewer_pages import Api, Page, name_of, wait_for_file

ZOOMS = 50 if IS_LONG else 12
WORDS = 40 if IS_LONG else 10
EXPRESSIONS = ["^(m|re)?(alloc|ad)", r"_\d{3}\b", r"^std::|handle.*\(int\)$", "[xyz]+_?wait", r"\.(get|lock)$",
               "^ep_poll$", "(commit|parse){1,2}[^_]", r"^\w+#\w+$", "query|scan|^search$", "a.b.c"]
MAX_NODES = 10000
SIZES = ((1440, 900), (390, 844)) if IS_LONG else ((1440, 900),)
MIN_SAMPLES = 100_000
PROGRAMS = 12
LANGUAGES = 5


class Recording:
    """The exported stacks, as paths of names from the process on."""

    def __init__(self, stacks):
        known = {}
        self.stacks = [((stack.comm, *(known.get(frame) or known.setdefault(frame, name_of(frame))
                                       for frame in stack.frames)), count) for stack, count in stacks.items()]
        self._by_process = collections.defaultdict(list)
        for path, count in self.stacks:
            self._by_process[path[0]].append((path, count))
        self.total = sum(count for _, count in self.stacks)
        self.names = sorted({name for path, _ in self.stacks for name in path})

    def matched(self, expression):
        """Samples by process that have a name in which @expression is, in letters of either case."""
        pattern = re.compile(expression, re.I | re.A)
        found = {name for name in self.names if pattern.search(name)}
        counts = collections.Counter()
        for path, count in self.stacks:
            if not found.isdisjoint(path):
                counts[path[0]] += count
        return counts

    def sums(self, path):
        """{path: [self, total]} of all that starts with @path, and of the beginnings of @path."""
        sums = collections.defaultdict(lambda: [0, 0])
        sums[()] = [0, self.total]
        for stack, count in self._by_process[path[0]]:
            common = 0
            while common < len(path) and common < len(stack) and stack[common] == path[common]:
                common += 1
            is_below = common == len(path)
            for end in range(1, (len(stack) if is_below else common) + 1):
                sums[stack[:end]][1] += count
            if is_below or common == len(stack):
                sums[stack][0] += count
        return sums


class Ids:
    """The ids of functions by name, which no two functions of the recording share."""

    def __init__(self, api):
        self._ids = {}
        self.clashes = set()
        tree = api.get("flame")["tree"]
        for text, index in zip(tree["name"][1:], tree["id"][1:]):
            self._add(tree["names"][text], tree["ids"][index])
        for first in ("[^a-z]", "[a-f]", "[g-m]", "[n-z]"):
            answer = api.get("top", name="/^%s/" % first, limit=10000)
            for row in answer["rows"]:
                self._add(row["name"], row["id"])

    def _add(self, name, value):
        if self._ids.setdefault(name, value) != value:
            self.clashes.add(name)

    def of(self, path):
        return ".".join(self._ids[name] for name in path)


def paths_of(tree):
    """Of each node, the names from below the root on."""
    paths = []
    for parent, name in zip(tree["parent"], tree["name"]):
        paths.append((*paths[parent], tree["names"][name]) if parent >= 0 else ())
    return paths


def wrong_nodes(tree, sums):
    """Nodes whose numbers are not the sums, and what is wrong with what was left out."""
    paths = paths_of(tree)
    wrong = ["%s: %d, %d; expected %s" % (";".join(path)[-200:], own, total, sums.get(path))
             for path, own, total in zip(paths, tree["self"], tree["total"]) if [own, total] != sums.get(path)]
    if len(set(paths)) != len(paths):
        wrong.append("a node is there twice")
    return wrong


def check_zoom_paths(tap, api, recording, source):
    ids = Ids(api)
    wrong, steps, depths = [], [], []
    deepest = max((path for path, _ in recording.stacks), key=len)
    stacks = source.sample(recording.stacks, ZOOMS - 2)
    paths = [deepest, deepest[:3000], *(path[:source.randint(1, len(path))] for path, _ in stacks)]
    for path in paths:
        answer = api.get("flame", max_nodes=MAX_NODES, zoom=ids.of(path))
        tree, sums = answer["tree"], recording.sums(path)
        wrong += wrong_nodes(tree, sums)
        below = sum(1 for each in sums if len(each) >= len(path))
        drawn = len(tree["parent"]) - len(path)
        if (answer["zoom"], drawn, answer["total"]) != (len(path), min(below, MAX_NODES), recording.total):
            steps.append((len(path), answer["zoom"], drawn, below))
        if sum(tree["pruned"]) != below - drawn or tree["pruned_nodes"] != below - drawn:
            wrong.append("left out are %d, by node %d" % (below - drawn, sum(tree["pruned"])))
        depths.append(len(path))
    tap.ok(not ids.clashes, "each name of the recording is one function", sorted(ids.clashes)[:5])
    tap.ok(not wrong, "at %d zooms, the numbers of all nodes are the sums over the exported stacks" % len(paths),
           *wrong[:5])
    tap.ok(not steps, "all of each path is found, and as many nodes below it as there may be", steps[:5])
    tap.note("paths of %d to %d functions" % (min(depths), max(depths)))


def check_searches(tap, api, recording, source):
    words = ["/%s/" % expression for expression in EXPRESSIONS]
    while len(words) < WORDS + len(EXPRESSIONS):
        name = source.choice(recording.names)
        start = source.randrange(len(name))
        word = name[start:start + source.randint(2, 8)]
        if not re.fullmatch("/.+/", word):
            words.append(source.choice((word, word.upper(), word.lower())))
    wrong, sums = [], []
    for word in words:
        answer = api.get("search", text=word)
        expected = recording.matched(word[1:-1] if re.fullmatch("/.+/", word) else re.escape(word))
        counted = {row["comm"]: row["matched"] for row in answer["processes"]}
        if (answer["total"], answer["matched"], counted) != (recording.total, expected.total(), dict(expected)):
            wrong.append((word, answer["matched"], expected.total(), counted, dict(expected)))
        tree = answer["hits"]
        if sum(tree["self"]) + tree["pruned_samples"] != answer["matched"]:
            wrong.append((word, "hits", sum(tree["self"]), tree["pruned_samples"]))
        sums.append(answer["matched"])
    tap.ok(not wrong, "%d searches count as the exported stacks do, in all and by process" % len(words), *wrong[:5])
    tap.note("between %d and %d samples match" % (min(sums), max(sums)))


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "busy.folded")
        samples = busy_host.write(path)
        with Agent("-open", path, "-viewer", "127.0.0.1:0", outputs=[]) as agent:
            url = wait_for_file(agent)
            if not tap.ok(url, "the recording is shown", agent.log_text()):
                tap.finish()
            api = Api(url)
            recording = Recording(api.stacks())
            comms = {path[0] for path, _ in recording.stacks}
            kinds = {row["kind"] for row in api.get("facets")["kinds"]}
            tap.ok(recording.total == samples >= MIN_SAMPLES and len(comms) == PROGRAMS
                   and len(kinds & busy_host.LANGUAGES) >= LANGUAGES,
                   "it has %d samples of %d programs in %d languages" % (MIN_SAMPLES, PROGRAMS, LANGUAGES),
                   recording.total, sorted(comms), sorted(kinds))
            source = random.Random(busy_host.SEED)
            check_zoom_paths(tap, api, recording, source)
            check_searches(tap, api, recording, source)
            if not browsers.COMMAND:
                tap.skip("the page of a busy host", "needs chromium")
                tap.finish()
            with Browser() as browser:
                page = Page(tap, browser, url, {})
                for width, height in SIZES:
                    for is_dark in (False, True) if IS_LONG else (False,):
                        check_page(page, recording, width, height, is_dark)
    tap.finish()


if __name__ == "__main__":
    main()
