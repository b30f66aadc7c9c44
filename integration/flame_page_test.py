#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""-output profile.html: one file with the samples of the run as a flame graph. Its tree is the folded stacks of the
same run, and a headless Chromium draws it, zooms and searches, and asks nobody for anything.
"""
import collections
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
from browser import Browser
from harness import OUTPUT, Tap, need_root, parse_folded
from sampled import sample_run
from viewer_pages import KNOWN_FUNCTIONS, Geometry, targets

RATE = 199
# Of each program.
CPU_SECONDS = 1
SHOTS = os.path.join(OUTPUT, "viewer")
# The mark behind a name in folded stacks; the page has the kind and flags instead.
MARK = re.compile(r"_\[[kij?~]\]$")


def profile_of(path):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    return json.loads(re.search(r'<script type="application/json" id="profile">(.*?)</script>', page)[1])


def stacks_of(tree):
    """{names from the process on: samples} of a page's tree."""
    paths, stacks = [()], collections.Counter()
    for node in range(1, len(tree["parent"])):
        paths.append(paths[tree["parent"][node]] + (tree["names"][tree["name"][node]],))
        if tree["self"][node]:
            stacks[paths[node]] += tree["self"][node]
    return stacks


def kinds_of(tree):
    """{name: kinds} of a page's tree."""
    kinds = collections.defaultdict(set)
    for name, kind in zip(tree["name"], tree["kind"]):
        kinds[tree["names"][name]].add(tree["kinds"][kind])
    return kinds


def check_tree(tap, profile, folded, pids):
    tree = profile["tree"]
    expected = collections.Counter()
    for stack, count in folded.items():
        expected[(stack.comm, *(MARK.sub("", frame) for frame in stack.frames))] += count
    found = stacks_of(tree)
    tap.ok(found == expected, "the page's tree has the folded stacks of the run",
           [item for item in (found - expected).items()][:2], [item for item in (expected - found).items()][:2])
    tap.ok(profile["total"] == tree["total"][0] == sum(expected.values()), "its total is theirs", profile["total"])
    totals = collections.Counter()
    for node, parent in enumerate(tree["parent"]):
        totals[node] += tree["self"][node]
        if node:
            totals[parent] += tree["total"][node]
    tap.ok(all(totals[node] == total for node, total in enumerate(tree["total"])),
           "what is called adds up to the callers' totals")
    kinds = kinds_of(tree)
    for language in pids:
        function = KNOWN_FUNCTIONS[language]
        tap.ok(kinds[function] == {language}, "%s is of %s" % (function, language), kinds[function])


def check_functions(tap, browser, folded):
    """The table of functions has the sums of the folded stacks, and About has where they come from."""
    flat, totals = collections.Counter(), collections.Counter()
    for stack, count in folded.items():
        names = [MARK.sub("", frame) for frame in stack.frames]
        flat[names[-1] if names else ""] += count
        for name in set(names):
            totals[name] += count
    browser.type("input[type=search]", "")
    browser.evaluate("[...document.querySelectorAll('.tabs button')].find(one => one.textContent === 'Functions').click()")
    browser.wait("document.querySelectorAll('table.top tbody tr').length > 5")
    rows = browser.evaluate("[...document.querySelectorAll('table.top tbody tr')].map(row => [row.querySelector('.function').textContent,"
                            "...[...row.querySelectorAll('td.number')].map(cell => cell.textContent)])")
    shown = [(name.removesuffix(" ?"), int(own.replace(",", "")), int(whole.replace(",", ""))) for name, own, _, whole, _ in rows]
    known = [row for row in shown if [name for name, *_ in shown].count(row[0]) == 1]
    wrong = [row for row in known if row[1:] != (flat[row[0]], totals[row[0]])]
    tap.ok(len(known) > 5 and not wrong and [own for _, own, _ in shown] == sorted((own for _, own, _ in shown), reverse=True),
           "a table of functions has their samples", *wrong[:5])
    text = browser.evaluate("document.querySelector('.about').textContent")
    tap.ok(os.uname().nodename in text and os.uname().release in text and "stacks are complete" in text,
           "About says where the samples come from", text)
    browser.screenshot(os.path.join(SHOTS, "profile-functions.png"))


def check_page(tap, path, profile, folded):
    with Browser() as browser:
        def says(text):
            return browser.wait("document.querySelector('.flame .bar')?.innerText.includes(%s)" % json.dumps(text))

        browser.open("file://" + path)
        tap.ok(browser.wait("document.querySelector('.flame canvas')?.width > 0")
               and says("{:,} samples".format(profile["total"])), "a browser draws it, with the number of samples",
               browser.text("body")[:300])
        geometry = Geometry(profile)
        node = geometry.parent(geometry.greatest(KNOWN_FUNCTIONS["native"]))
        browser.click(".flame canvas", geometry.middle(node, browser.box(".flame canvas")[2]))
        tap.ok(says("{:,} samples".format(geometry.samples(node))), "a click zooms", browser.text(".flame .bar"))
        browser.key("Escape")
        says("{:,} samples".format(profile["total"]))
        browser.type("input[type=search]", "main")
        matching = sum(count for stack, count in folded.items()
                       if any("main" in MARK.sub("", text).lower() for text in (stack.comm, *stack.frames)))
        tap.ok(says("{:,} samples match".format(matching)), "a search says which part matches",
               browser.text(".flame .bar"), matching)
        browser.screenshot(os.path.join(SHOTS, "profile.png"))
        check_functions(tap, browser, folded)
        tap.ok(not browser.errors, "the console is quiet", *browser.errors[:5])
        strange = [url for url in browser.requests if not url.startswith(("file:", "about:", "data:"))]
        tap.ok(not strange, "nothing is asked of anybody", *strange[:5])


def main():
    tap = Tap()
    need_root(tap, "a profile as a page")
    os.makedirs(SHOTS, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="allframes-page-") as directory:
        outputs = [os.path.join(directory, "a" + suffix) for suffix in (".folded", ".html")]
        with targets(KNOWN_FUNCTIONS) as pids:
            sample_run(list(pids.values()), RATE, CPU_SECONDS, outputs=outputs)
        with open(outputs[0], encoding="utf-8", errors="surrogateescape") as file:
            folded = parse_folded(file.read())
        profile = profile_of(outputs[1])
        check_tree(tap, profile, folded, pids)
        if browsers.COMMAND:
            check_page(tap, outputs[1], profile, folded)
        else:
            tap.skip("the page in a browser", "needs chromium")
    tap.finish()


if __name__ == "__main__":
    main()
