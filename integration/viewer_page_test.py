#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 400 s
"""The viewer's page in a headless Chromium, on a live profile of programs whose stacks are known:
all of it is clicked through, and its numbers are compared with the folded stacks of the same
samples. Screenshots are left in build/integration/viewer/.
"""
import contextlib
import http.server
import json
import os
import re
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
import build_targets
import javas
import pythons
from browser import Browser
from harness import OUTPUT, ROOT, Agent, Program, Tap, need_root
from viewer_pages import Api, Geometry, count_ending, count_with, names_of, number_in

SHOTS = os.path.join(OUTPUT, "viewer")
ASSETS = os.path.join(ROOT, "viewer", "assets")
SAMPLES_PER_SECOND = 199
MIN_SAMPLES = 600
ADDRESS = re.compile(r"(http://[^\s;,]+)")
# What runs beside may be anything; these have known functions.
NATIVE_LEAF, NATIVE_MIDDLE, NATIVE_CALLER = "leaf_plain", "middle", "outer"
KNOWN_FUNCTIONS = {"native": NATIVE_LEAF, "python": "spin", "java": "Calls.turn"}


class Page:
    """The open page, its API and what is expected of both."""

    def __init__(self, tap, browser, url, pids):
        self.tap = tap
        self.browser = browser
        self.api = Api(url)
        self.url = url
        self.pids = pids

    def open(self, hash_text="", **size):
        self.browser.open(self.url + hash_text, **size)
        return self.browser.wait("document.querySelector('#content canvas, #content table,"
                                 " #content .empty') && document.querySelector('.facet')")

    def shot(self, name):
        self.browser.screenshot(os.path.join(SHOTS, name + ".png"))

    def hash(self):
        """The address's hash as a dictionary of lists."""
        return urllib.parse.parse_qs(self.browser.evaluate("location.hash.slice(1)"))

    def total(self):
        """The samples of the flame graph's root, as the page says them."""
        return number_in(self.browser.text(".flame .bar"), r"([\d,]+) samples")

    def shows(self, samples, selector=".flame .bar"):
        """Waits until the page says @samples; True if it comes to that."""
        return bool(self.browser.wait(
            "document.querySelector(%s)?.innerText.includes(%s)"
            % (json.dumps(selector), json.dumps("{:,} samples".format(samples))), seconds=10))

    def clear(self):
        """Drops filters, times and zoom, and goes to the flame graph."""
        self.browser.evaluate("document.activeElement.blur()")
        self.browser.type(".tools input[type=search]", "")
        self.browser.evaluate("document.activeElement.blur()")
        self.browser.key("c")
        self.browser.key("1")
        self.browser.wait("document.querySelector('.flame canvas')")


@contextlib.contextmanager
def targets():
    """Runs the programs; gives their pids by language."""
    with contextlib.ExitStack() as stack:
        pids = {}
        if build_targets.build(["calls"]):
            program = Program(build_targets.TARGETS["calls"].path)
            pids["native"] = stack.enter_context(program).pid
        interpreters = list(pythons.of_machine().values())
        if interpreters:
            program = Program(*interpreters[-1].target("calls"), seconds=60)
            pids["python"] = stack.enter_context(program).pid
        machines = list(javas.of_machine().values())
        if machines:
            target = {target.name: target for target in javas.build(["Calls"])}["Calls"]
            program = Program(*machines[-1].target(target, "plain"), seconds=60)
            pids["java"] = stack.enter_context(program).pid
        yield pids


def wait_for_samples(page):
    """Waits until the functions of all targets are known by name."""
    wanted = {KNOWN_FUNCTIONS[language] for language in page.pids}
    end = time.monotonic() + 60
    while time.monotonic() < end:
        names = {name for stack in page.api.stacks() for name in names_of(stack)}
        if wanted <= names and page.api.get("status")["samples"] >= MIN_SAMPLES:
            return True
        time.sleep(0.2)
    return False


def wait_for_more(page, samples):
    """Waits until the agent has @samples more than now."""
    wanted = page.api.get("status")["samples"] + samples
    end = time.monotonic() + 30
    while page.api.get("status")["samples"] < wanted:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def check_live(page):
    """While samples come: the page follows, stops when it is told to, and goes on."""
    tap, browser = page.tap, page.browser
    first = page.total()
    tap.ok(browser.wait("Number(document.querySelector('.flame .bar').innerText"
                        ".match(/([\\d,]+) samples/)[1].replaceAll(',', '')) > %d" % (first or 0)),
           "the flame graph follows the samples that come")
    browser.key(" ")
    frozen = browser.wait("document.querySelector('.state.frozen')")
    # What was on its way when the key came has come by the first of them.
    shown = [page.total() for _ in range(2) if wait_for_more(page, 400)]
    tap.ok(frozen and len(shown) == 2 and shown[0] == shown[1] > 0,
           "a paused page shows what it showed", shown)
    browser.key(" ")
    tap.ok(browser.wait("document.querySelector('.state.live')"), "and goes on")


def stop_recording(page):
    """From here on the samples are the same for the page and for us."""
    page.browser.click("header button[title^='The history']")
    is_paused = page.browser.wait(
        "document.querySelector('header button[title^=\"The history\"]').ariaPressed === 'true'")
    page.tap.ok(is_paused and page.api.get("status")["is_paused"],
                "the history stops recording by a click")
    before = None
    while before != (before := page.api.get("status")["samples"]):
        time.sleep(0.3)


def check_flame(page):
    tap, browser = page.tap, page.browser
    page.open()
    answer = page.api.get("flame", root="process", max_nodes=10000)
    stacks = page.api.stacks()
    tap.ok(page.shows(answer["total"]) and sum(stacks.values()) == answer["total"],
           "the root has all samples", "page %s, API %d, folded %d"
           % (page.total(), answer["total"], sum(stacks.values())))
    geometry = Geometry(answer)
    path = geometry.path_to(NATIVE_MIDDLE)
    node = geometry.find(path)
    width = browser.place(".flame canvas")[2]
    browser.click(".flame canvas", geometry.place(node, width))
    tap.ok(page.shows(geometry.samples(node)) and browser.text(".flame .bar b") == NATIVE_MIDDLE
           and json.loads(page.hash().get("zoom", ["[]"])[0]) == path,
           "a click zooms to the frame below it, and says its samples",
           browser.text(".flame .bar"), page.hash())
    tap.ok(browser.wait("document.querySelector('.tooltip')?.innerText.includes('%s')"
                        % NATIVE_MIDDLE), "a tooltip names it too", browser.text(".tooltip"))
    page.shot("zoom")
    browser.evaluate("document.querySelector('.flame canvas').focus()")
    browser.key("ArrowUp")
    tap.ok(browser.wait("document.querySelector('.flame .bar b').innerText === '%s'" % path[-2]),
           "an arrow goes to the caller", browser.text(".flame .bar"))
    browser.key("Escape")
    tap.ok(browser.wait("!location.hash.includes('zoom')"), "Escape zooms out")
    browser.evaluate("document.activeElement.blur()")
    browser.key("f")
    tap.ok(browser.wait("location.hash.includes('flipped')"), "f turns the graph")
    browser.click(".flame canvas", (width / 2, browser.place(".flame canvas")[3] - 5))
    tap.ok(page.shows(answer["total"]), "the root is below then")
    page.shot("flipped")
    browser.key("f")

    browser.key("/")
    # Of many frames one above the other: each sample counts once.
    browser.type(".tools input[type=search]", "main")
    matching = sum(count for stack, count in stacks.items()
                   if any("main" in name.lower() for name in [stack.comm, *names_of(stack)]))
    tap.ok(browser.wait("document.querySelector('.flame .bar').innerText.includes("
                        "'%s samples match')" % "{:,}".format(matching)), "the search says the share of matching samples",
           browser.text(".flame .bar"), matching)
    page.shot("search")
    page.clear()


def check_top(page):
    tap, browser = page.tap, page.browser
    stacks = page.api.stacks()
    browser.key("2")
    browser.type("input[aria-label='Filter functions']", NATIVE_LEAF)
    row = browser.wait("(() => { const rows = [...document.querySelectorAll('table.top tbody tr')];"
                       "const found = rows.filter(row => row.querySelector('.function').innerText"
                       " === '%s'); return found.length === 1 && rows.length < 20"
                       "&& [...found[0].cells].map(cell => cell.innerText); })()" % NATIVE_LEAF)
    expected = [count_ending(stacks, NATIVE_LEAF), count_with(stacks, NATIVE_LEAF)]
    tap.ok(row and [int(row[i].replace(",", "")) for i in (0, 2)] == expected,
           "the table has self and total of a function", row, expected)
    browser.type("input[aria-label='Filter functions']", "")
    browser.click("table.top th:nth-child(3) button")
    tap.ok(browser.wait(
        "(() => { const totals = [...document.querySelectorAll('table.top tbody tr')].map(row =>"
        "Number(row.cells[2].innerText.replaceAll(',', '')));"
        "return totals.length > 5 && totals.every((n, i) => !i || n <= totals[i - 1])"
        "&& location.hash.includes('sort=total'); })()"), "the table sorts by total")
    page.shot("top")
    browser.type("input[aria-label='Filter functions']", "leaf_saved")
    browser.wait("document.querySelector('table.top .function button')?.innerText === 'leaf_saved'")
    browser.click("table.top .function button")


def check_sandwich(page):
    """The function that check_top() has clicked, and its caller."""
    tap, browser = page.tap, page.browser
    expected = count_with(page.api.stacks(), "leaf_saved")
    tap.ok(browser.wait("document.querySelector('.sandwich h2')?.innerText === 'leaf_saved'")
           and page.shows(expected, ".sandwich > .bar"),
           "callers and callees: all samples of the function", browser.text(".sandwich > .bar"))
    # Samples from before the program was known have an error there.
    nearest = ("[...document.querySelectorAll('.nearest')].map(list =>"
               "[...list.querySelectorAll('li span')].map(name => name.innerText)"
               ".filter(name => !name.startsWith('[error: ')))")
    callers, _ = browser.evaluate(nearest)
    tap.ok(callers == [NATIVE_MIDDLE], "the caller is that of the source", callers)
    browser.click(".nearest button")
    # Python's target has functions of these names too: they are told apart by their kind.
    browser.wait("document.querySelector('.sandwich h2')?.innerText === '%s'" % NATIVE_MIDDLE)
    callers, callees = browser.evaluate(nearest)
    tap.ok(callers == [NATIVE_CALLER] and {NATIVE_LEAF, "leaf_saved"} <= set(callees)
           and "spin" not in callees, "a click goes on to it", callers, callees)
    page.shot("sandwich")
    page.clear()


def check_filters(page):
    tap, browser = page.tap, page.browser
    stacks = page.api.stacks()
    for language, pid in page.pids.items():
        of_target = page.api.stacks(pid=pid)
        browser.evaluate("[...document.querySelectorAll('.more-rows')].filter(more =>"
                         "more.innerText.endsWith('more')).forEach(more => more.click())")
        browser.click("[data-facet=pid] button[data-value='%d']" % pid)
        tap.ok(page.shows(sum(of_target.values()))
               and len({stack.comm for stack in of_target}) == 1
               and count_with(of_target, KNOWN_FUNCTIONS[language]) > 0,
               "the filter by process leaves the samples of the %s program" % language,
               page.total(), sum(of_target.values()))
        if language != list(page.pids)[-1]:
            page.clear()
    tap.ok(browser.wait("document.querySelector('.filters button')"), "the filter is shown")
    shown = page.hash()
    browser.click(".filters button")
    tap.ok(page.shows(sum(stacks.values())) and "pid" in shown, "and can be dropped")
    for facet, query in (("kind", "kind"), ("cpu", "cpu"), ("container", "container"),
                         ("tid", "tid")):
        value = browser.evaluate("(() => { const button = document.querySelector("
                                 "'[data-facet=%s] button[data-value]'); button.click();"
                                 "return button.dataset.value; })()" % facet)
        expected = page.api.get("flame", **{query: value})["total"]
        tap.ok(page.shows(expected), "the filter by %s leaves what the API says" % facet,
               page.total(), expected)
        page.clear()
        page.shows(sum(stacks.values()))
    of_python = sum(count for stack, count in page.api.stacks(kind="python").items())
    tap.ok(0 < of_python < sum(stacks.values()), "samples of Python are told apart", of_python)


def check_times(page):
    tap, browser = page.tap, page.browser
    total = page.total()

    def chosen():
        found = page.hash()
        return [int(found[name][0]) for name in ("from", "to")] if "from" in found else None

    browser.drag(".strip:nth-of-type(1) canvas", (0.3, 0.5), (0.6, 0.5))
    browser.wait("location.hash.includes('from=')")
    span = chosen()
    expected = page.api.get("flame", **{"from": span[0], "to": span[1]})["total"]
    tap.ok(0 < expected < total and page.shows(expected), "a drag in the time line chooses a range",
           span, expected, page.total())
    browser.evaluate("document.querySelector('.strip canvas').focus()")
    browser.key("ArrowRight")
    moved = browser.wait("!location.hash.includes('from=%d&')" % span[0]) and chosen()
    tap.ok(moved and moved[0] > span[0] and moved[1] - moved[0] == span[1] - span[0],
           "an arrow moves it", span, moved)
    browser.key("Escape")
    tap.ok(browser.wait("!location.hash.includes('from=')"), "Escape drops it")
    browser.wait("document.querySelectorAll('.strip').length === 2")
    heat = [url for url in browser.requests if "/api/heatmap" in url][-1]
    answer = json.loads(page.api.fetch(heat))
    column = max(range(answer["columns"]), key=lambda i: sum(
        answer["counts"][i * answer["rows"]:(i + 1) * answer["rows"]]))
    x = (column + 0.5) / answer["columns"]
    browser.drag(".strip:nth-of-type(2) canvas", (x, 0.79), (x, 0.21))
    browser.wait("location.hash.includes('from=')")
    span = chosen()
    start = answer["from"] + 1000 * column * answer.get("seconds_per_column", 1)
    expected = page.api.get("flame", **{"from": span[0], "to": span[1]})["total"]
    tap.ok(start + 150 <= span[0] < span[1] <= start + 850 and page.shows(expected),
           "a drag in the heat map chooses a part of a second", start, span, expected, page.total())
    page.shot("range")

    browser.evaluate("document.activeElement.blur()")
    browser.key("b")
    browser.drag(".strip:nth-of-type(1) canvas", (0.2, 0.5), (0.9, 0.5))
    is_compared = browser.wait("document.querySelector('.legend .more')")
    places = page.hash()
    query = {name: places[name][0] for name in ("from", "to", "base_from", "base_to")}
    answer = page.api.get("flame", root="process", max_nodes=10000, **query)
    words = browser.wait("(text => text.includes('z = ') && text)"
                         "(document.querySelector('.flame .bar').innerText)") or ""
    tap.ok(is_compared and page.shows(answer["total"])
           and "base: {:,} samples".format(answer["base_total"]) in words,
           "two ranges are compared", words, query)
    browser.key("2")
    tap.ok(browser.wait("document.querySelectorAll('table.top thead th').length === 9"),
           "the table compares them too")
    browser.key("1")
    page.shot("comparison")
    link = browser.evaluate("location.href")
    page.browser.open(link)
    tap.ok(browser.wait("document.querySelector('.legend .more')")
           and page.shows(answer["total"]), "a link restores what was looked at")
    page.clear()


def check_exports(page):
    tap, browser = page.tap, page.browser
    links = browser.evaluate("[...document.querySelectorAll('.menu a')].map(link => link.href)")
    bodies = {urllib.parse.parse_qs(link.split("?", 1)[1])["format"][0]: page.api.fetch(link)
              for link in links}
    tap.ok(set(bodies) == {"pprof", "folded", "otlp", "html"} and all(bodies.values()),
           "there are four exports", sorted(bodies))
    path = os.path.join(SHOTS, "export.html")
    with open(path, "wb") as file:
        file.write(bodies.get("html", b""))
    total = page.api.get("status")["samples"]
    browser.open("about:blank")
    browser.wait("location.href === 'about:blank'")
    first = len(browser.requests)
    browser.open("file://" + path)
    tap.ok(browser.wait("document.querySelector('.flame canvas')") and page.shows(total)
           and all(url.startswith(("file:", "about:")) for url in browser.requests[first:]),
           "the exported page shows the same by itself", browser.text("body")[:300],
           browser.requests[first:])
    page.shot("export")
    page.open()


def check_rest(page):
    tap, browser = page.tap, page.browser
    browser.key("4")
    browser.wait("document.querySelector('.quality tbody tr')")
    answer = page.api.get("quality")
    rows = browser.evaluate("[...document.querySelectorAll('.quality table')].map(table =>"
                            "table.tBodies[0].rows.length)")
    listed = {row["pid"] for row in answer["processes"]}
    tap.ok(rows == [len(answer["processes"]), len(answer["binaries"])]
           and listed >= set(page.pids.values()),
           "the page of quality lists processes and binaries", rows, sorted(listed))
    page.shot("quality")
    browser.key("?")
    tap.ok(browser.wait("document.querySelector('dialog[open]')"), "? shows the keys")
    page.shot("keys")
    browser.key("Escape")
    tap.ok(browser.wait("!document.querySelector('dialog')"), "Escape closes them")
    browser.evaluate("document.activeElement.blur()")
    browser.key("d")
    browser.key("d")
    tap.ok(browser.wait("document.documentElement.dataset.theme === 'dark'"), "d makes it dark")
    browser.key("d")
    nameless = browser.evaluate(
        "[...document.querySelectorAll('button, input, select, a, canvas, summary')].filter(e =>"
        "!(e.ariaLabel || e.textContent.trim() || e.title || e.closest('label')?.innerText.trim()))"
        ".map(e => e.outerHTML.slice(0, 100))")
    tap.ok(not nameless, "all that can be used has a name", nameless)


def check_sizes(page):
    """Screenshots for people to look at, and nothing that sticks out."""
    for width, height in ((1280, 800), (390, 844)):
        for is_dark in (False, True):
            for tab in ("flame", "top", "quality", "sandwich&of=" + NATIVE_MIDDLE):
                page.open("#tab=" + tab, width=width, height=height, is_dark=is_dark)
                page.browser.wait("document.querySelectorAll('.strip').length === 2"
                                  " && document.querySelector('.facet')")
                name = "%s-%d-%s" % (tab.partition("&")[0], width, "dark" if is_dark else "light")
                page.shot(name)
                wide = page.browser.evaluate("document.documentElement.scrollWidth")
                page.tap.ok(wide <= width, "%s fits its width" % name, wide)
    page.open()


class Refusing(http.server.SimpleHTTPRequestHandler):
    """The page without the token that its server asks for."""

    def __init__(self, *arguments):
        super().__init__(*arguments, directory=ASSETS)

    def do_GET(self):
        if self.path.startswith("/api/"):
            self.send_error(401)
        else:
            super().do_GET()

    def log_message(self, *_):
        pass


def check_token(tap, browser):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            browser.open("http://127.0.0.1:%d/" % server.server_port)
            tap.ok(browser.wait("document.querySelector('.problem')?.innerText.includes('token')"),
                   "a page without its token says what to do", browser.text("body"))
        finally:
            # It waits for open connections otherwise.
            browser.open("about:blank")
            server.shutdown()
            thread.join()


def main():
    tap = Tap()
    need_root(tap, "the viewer's page")
    if not browsers.COMMAND:
        tap.skip("the viewer's page", "needs chromium")
        tap.finish()
    os.makedirs(SHOTS, exist_ok=True)
    with Browser() as browser:
        check_token(tap, browser)
    with targets() as pids, Browser() as browser:
        tap.note("targets: %s" % ", ".join(pids))
        start = time.monotonic()
        with Agent("-viewer", "127.0.0.1:0", "-samples-per-second", SAMPLES_PER_SECOND,
                   outputs=[]) as agent:
            tap.ok(agent.wait_started(), "the agent starts", agent.log_text())
            started = time.monotonic()
            address = ADDRESS.search(agent.log_text())
            if not tap.ok(address, "it prints the page's address", agent.log_text()):
                tap.finish()
            page = Page(tap, browser, address[1].rstrip("/") + "/", pids)
            page.open()
            tap.ok(browser.wait("document.querySelector('.flame canvas')?.width > 0"),
                   "the first flame graph comes")
            tap.note("the agent samples after %.1f s, first flame graph %.1f s later"
                     % (started - start, time.monotonic() - started))
            check_live(page)
            tap.ok(wait_for_samples(page), "functions of all programs come by name")
            stop_recording(page)
            for check in (check_flame, check_top, check_sandwich, check_filters, check_times,
                          check_exports, check_rest, check_sizes):
                check(page)
            tap.ok(not browser.errors, "the console is quiet", *browser.errors[:10])
            strange = [url for url in browser.requests
                       if not url.startswith((page.url, "about:", "file:", "data:"))]
            tap.ok(not strange, "nothing is asked of anybody else", *strange[:10])
            agent.stop()
            tap.ok(browser.wait("document.querySelector('.problem')?.innerText.includes('ended')"),
                   "the page says that the agent has ended", browser.text("body")[:500])
            page.shot("ended")
    tap.finish()


if __name__ == "__main__":
    main()
