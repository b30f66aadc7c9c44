#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# alone: it measures what the agent costs
# time limit: 900 s
"""The viewer's page in a headless Chromium, on a live profile of programs whose stacks are known:
all of it is clicked through, and its numbers are compared with the folded stacks of the same
samples. Screenshots are left in build/integration/viewer/.
"""
import json
import os
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
from browser import Browser
from harness import Agent, Tap, cpu_seconds, need_root, rss_anon_bytes, thread_seconds
from viewer_controls import EXPORTS, check_controls, query_of
from viewer_page_code import check_code
from viewer_pages import (KNOWN_FUNCTIONS, NATIVE_CALLER, NATIVE_LEAF, NATIVE_MIDDLE, SHOTS, Page,
                          check_process_filter, check_quiet, check_range, check_search, check_zoom,
                          count_ending, count_with, live_page, stop_recording, wait_for_page,
                          wait_for_samples)

FIRST_GRAPH_SECONDS = 5
TOKEN = "a-token-of-thirty-two-letters-0123"
# Time for the agent to settle while the page is open, at its own rate.
SETTLE_SECONDS = 10
COST_SECONDS = 20
MAX_CORE_PERCENT = 2
# While nobody looks. That samples are added to the history costs less: viewer_replay_test has the time of each.
MAX_IDLE_PERCENT = 0.1
MAX_MB = 150


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
    # The first of them has the samples that were on their way when the key came.
    shown = [page.total() for _ in range(2) if wait_for_more(page, 400)]
    tap.ok(frozen and len(shown) == 2 and shown[0] == shown[1] > 0,
           "a paused page shows what it showed", shown)
    browser.key(" ")
    tap.ok(browser.wait("document.querySelector('.state.live')"), "and goes on")


def check_flame(page):
    tap, browser = page.tap, page.browser
    page.open()
    answer = page.api.get("flame", root="process", max_nodes=10000)
    stacks = page.api.stacks()
    tap.ok(page.shows(answer["total"]) and sum(stacks.values()) == answer["total"],
           "the root has all samples", "page %s, API %d, folded %d"
           % (page.total(), answer["total"], sum(stacks.values())))
    path = check_zoom(page, answer)
    width = browser.box(".flame canvas")[2]
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
    browser.click(".flame canvas", (width / 2, browser.box(".flame canvas")[3] - 5))
    tap.ok(page.shows(answer["total"]), "the root is below then")
    page.shot("flipped")
    browser.key("f")

    check_search(page)
    page.shot("search")
    page.clear()


def check_top(page):
    tap, browser = page.tap, page.browser
    stacks = page.api.stacks()
    browser.key("3")
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
    # Of errors there may be more.
    browser.evaluate("[...document.querySelectorAll('.nearest button')].find(button =>"
                     "button.innerText.includes('%s')).click()" % NATIVE_MIDDLE)
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
        check_process_filter(page, language, pid)
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
    span = check_range(page)
    browser.evaluate("document.querySelector('.strip canvas').focus()")
    browser.key("ArrowRight")
    moved = browser.wait("!location.hash.includes('from=%d&')" % (span[0] + page.epoch)) and page.chosen()
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
    browser.drag(".strip canvas[aria-label^='Heat map']", (x, 0.79), (x, 0.21))
    browser.wait("location.hash.includes('from=')")
    span = page.chosen()
    start = answer["from"] + 1000 * column * answer.get("seconds_per_column", 1)
    expected = page.api.get("flame", **{"from": span[0], "to": span[1]})["total"]
    tap.ok(start + 150 <= span[0] < span[1] <= start + 850 and page.shows(expected),
           "a drag in the heat map chooses a part of a second", start, span, expected, page.total())
    page.shot("range")

    browser.evaluate("document.activeElement.blur()")
    browser.key("b")
    browser.drag(".strip:nth-of-type(1) canvas", (0.2, 0.5), (0.9, 0.5))
    is_compared = browser.wait("document.querySelector('.legend .more')")
    parameters = page.hash()
    query = {name: int(parameters[name][0]) - page.epoch
             for name in ("from", "to", "base_from", "base_to")}
    answer = page.api.get("flame", root="process", max_nodes=10000, **query)
    words = browser.wait("(text => text.includes('z = ') && text)"
                         "(document.querySelector('.flame .bar').innerText)") or ""
    tap.ok(is_compared and page.shows(answer["total"])
           and "base: {:,} samples".format(answer["base_total"]) in words,
           "two ranges are compared", words, query)
    browser.key("3")
    tap.ok(browser.wait("document.querySelectorAll('table.top thead th').length === 11"),
           "the table compares them too")
    page.shot("comparison-top")
    browser.evaluate("document.querySelector('table.top .function button').click()")
    tap.ok(browser.wait("document.querySelector('.sandwich .legend .more')"
                        " && document.querySelector('.sandwich .bar').innerText.includes('z = ')"),
           "and callers and callees, with their legend", browser.text(".sandwich .bar"))
    page.shot("comparison-sandwich")
    browser.key("1")
    page.shot("comparison")
    link = browser.evaluate("location.href")
    page.browser.open(link)
    tap.ok(browser.wait("document.querySelector('.legend .more')")
           and page.shows(answer["total"]), "a link restores what was looked at")
    page.clear()


def functions_shown(browser):
    """{name: total} of the first rows of a table of functions."""
    rows = browser.evaluate("[...document.querySelectorAll('table.top tbody tr')].slice(0, 20).map(row =>"
                            "[row.querySelector('.function').textContent, row.querySelectorAll('td.number')[2].textContent])")
    return {name.removesuffix(" ?"): int(total.replace(",", "")) for name, total in rows or []}


def check_exports(page):
    tap, browser = page.tap, page.browser
    links = browser.evaluate("[...document.querySelectorAll('.export a')].map(link => link.href)")
    bodies = {urllib.parse.parse_qs(link.split("?", 1)[1])["format"][0]: page.api.fetch(link)
              for link in links}
    tap.ok(set(bodies) == EXPORTS and all(bodies.values()), "all formats can be exported", sorted(bodies))
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
    browser.evaluate("[...document.querySelectorAll('.tabs button')].find(one => one.textContent === 'Functions').click()")
    # Functions of several files may have one name.
    rows = {(row["name"], row["total"]) for row in page.api.get("top")["rows"]}
    shown = browser.wait("document.querySelectorAll('table.top tbody tr').length > 5") and functions_shown(browser)
    tap.ok(shown and set(shown.items()) <= rows, "and its functions", shown, rows)
    page.shot("export-functions")
    page.open()


def check_rest(page):
    tap, browser = page.tap, page.browser
    browser.key("6")
    browser.wait("document.querySelector('.quality tbody tr')")
    answer = page.api.get("quality")
    rows = browser.evaluate("[...document.querySelectorAll('.quality table')].map(table =>"
                            "table.tBodies[0].rows.length)")
    # On a busy machine others have so many processes that these are not among the first.
    pids = set(page.pids.values())
    listed = {row["pid"] for row in page.api.get("quality", pid=sorted(pids))["processes"]}
    tap.ok(rows == [len(answer["processes"]), len(answer["binaries"])]
           and listed == pids,
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
            for tab in ("flame", "processes", "top", "quality", "sandwich&of=" + NATIVE_MIDDLE):
                page.open("#tab=" + tab, width=width, height=height, is_dark=is_dark)
                page.tap.ok(page.browser.wait("document.querySelectorAll('.strip').length === 2"
                                              " && document.querySelector('.facet')"),
                            "%s, %d pixels: time line, heat map and filters are there" % (tab.partition("&")[0], width))
                name = "%s-%d-%s" % (tab.partition("&")[0], width, "dark" if is_dark else "light")
                page.shot(name)
                wide = page.browser.evaluate("document.documentElement.scrollWidth")
                page.tap.ok(wide <= width, "%s fits its width" % name, wide)
                columns = int(query_of(page, "heatmap")["columns"][0])
                # A legend may be above it.
                strip = page.browser.box(".strip canvas[aria-label^='Heat map']")[2]
                page.tap.ok(strip / 2 < columns <= strip, "%s: a column of the heat map has a pixel"
                            % name, columns, strip)
    page.open()


def check_token(tap):
    """The door of an agent that asks for a token: what the page says without it, and the link that has it."""
    with tempfile.TemporaryDirectory() as directory, Browser() as browser:
        path = os.path.join(directory, "token")
        with open(path, "w", encoding="ascii") as file:
            file.write(TOKEN + "\n")
        os.chmod(path, 0o600)
        with Agent("-viewer", "127.0.0.1:0", "-viewer-token-file", path, outputs=[]) as agent:
            url = wait_for_page(agent)
            if not tap.ok(url, "the agent starts with a token", agent.log_text()):
                return
            browser.open(url)
            tap.ok(browser.wait("document.querySelector('.problem')?.innerText.includes('token')"),
                   "a page without its token says what to do", browser.text("body"))
            browser.open(url + "?token=wrong")
            tap.ok(browser.wait("document.querySelector('.problem')?.innerText.includes('token')"),
                   "and one with a wrong one", browser.text("body"))
            # The console has a line about the refused request.
            browser.errors.clear()
            browser.type(".token input", TOKEN)
            browser.click(".token button")
            tap.ok(browser.wait("document.querySelector('.flame canvas')?.width > 0"
                                " && !document.querySelector('.problem') && !location.search"),
                   "the token that is typed lets in, and the address loses it", browser.text("body"))
            browser.open(url)
            tap.ok(browser.wait("document.querySelector('.flame canvas')?.width > 0")
                   and not browser.errors and not browser.evaluate("document.cookie"),
                   "from then on the page needs none, and scripts do not see it", *browser.errors)


def check_cost(tap):
    """Of the agent as it comes, with the page open: all its threads, the page's answers among them."""
    with Browser() as browser, Agent("-viewer", "127.0.0.1:0", outputs=[]) as agent:
        url = wait_for_page(agent)
        if not tap.ok(url, "the agent starts for its cost to be seen", agent.log_text()):
            return
        page = Page(tap, browser, url, {})
        page.open()
        browser.wait("document.querySelector('.flame canvas')?.width > 0")
        # Its start is another figure: until what runs is known and has names.
        browser.wait("false", seconds=SETTLE_SECONDS)
        start, before, first = time.monotonic(), cpu_seconds(agent.pid), len(browser.requests)
        viewer_before = thread_seconds(agent.pid, "viewer")
        while time.monotonic() < start + COST_SECONDS:
            # Chromium's events are read meanwhile.
            browser.wait("false", seconds=1)
        seconds = time.monotonic() - start
        percent = 100 * (cpu_seconds(agent.pid) - before) / seconds
        viewer = 100 * (thread_seconds(agent.pid, "viewer") - viewer_before) / seconds
        memory = rss_anon_bytes(agent.pid) / 1e6
        asked = sum("/api/flame" in url for url in browser.requests[first:])
        tap.note("with the page open for %d s, which asked for %d flame graphs: %.2f %% of a core, of these %.2f %%"
                 " for the page; %.0f MB" % (COST_SECONDS, asked, percent, viewer, memory))
        tap.ok(asked >= 2 and percent < MAX_CORE_PERCENT, "the agent takes less than %d %% of a core with the"
               " page open" % MAX_CORE_PERCENT, percent, viewer, asked)
        tap.ok(memory < MAX_MB, "and less than %d MB" % MAX_MB, memory)
        browser.open("about:blank")
        browser.wait("location.href === 'about:blank'")
        before = thread_seconds(agent.pid, "viewer")
        browser.wait("false", seconds=COST_SECONDS)
        idle = 100 * (thread_seconds(agent.pid, "viewer") - before) / COST_SECONDS
        tap.note("while nobody looks, the page's thread takes %.3f %% of a core" % idle)
        tap.ok(idle < MAX_IDLE_PERCENT, "while nobody looks, it takes less than %g %%" % MAX_IDLE_PERCENT, idle)


def main():
    tap = Tap()
    need_root(tap, "the viewer's page")
    if not browsers.COMMAND:
        tap.skip("the viewer's page", "needs chromium")
        tap.finish()
    check_code(tap)
    check_token(tap)
    check_cost(tap)
    with live_page(tap, KNOWN_FUNCTIONS, FIRST_GRAPH_SECONDS) as (page, agent):
        tap.note("targets: %s" % ", ".join(page.pids))
        check_live(page)
        tap.ok(wait_for_samples(page), "functions of all programs come by name")
        stop_recording(page)
        for check in (check_flame, check_top, check_sandwich, check_filters, check_times,
                      check_exports, check_rest, check_sizes):
            check(page)
        for width, height in ((1280, 800), (390, 844)):
            check_controls(page, width, height)
        check_quiet(page)
        agent.stop()
        tap.ok(page.browser.wait("document.querySelector('.problem')?.innerText.includes('ended')"),
               "the page says that the agent has ended", page.browser.text("body")[:500])
        page.shot("ended")
    tap.finish()


if __name__ == "__main__":
    main()
