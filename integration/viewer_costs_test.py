#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What processes cost (-accounting), in the table of processes on the viewer's page: beside what the kernel says that two
programs took, in a headless Chromium on a live profile of them.
"""
import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
import build_targets
from browser import Browser
from build_targets import TARGETS
from harness import HANG_SECONDS, Agent, Program, Tap, need_root, run_seconds, stolen_seconds
from sampled import stopped
from viewer_controls import asks, click_button, hash_has
from viewer_pages import Page, wait_for_page

MIN_SAMPLES = 100
# A slice of the program on the CPU is counted by the kernel and by the agent from moments that are microseconds apart.
TOLERANCE = 0.02
NAME = "cost_target"
ROWS = "[...document.querySelectorAll('.processes tbody tr')]"


def wait_for_rows(page, pids):
    """Waits until both programs have samples."""
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        samples = {row["pid"]: row["samples"] for row in page.api.get("processes", comm=NAME)["rows"]}
        if all(samples.get(pid, 0) >= MIN_SAMPLES for pid in pids):
            return True
        time.sleep(0.2)
    return False


def costs_of(page, pids):
    """Rows of the API by pid, once they have what the programs ran until they stopped: costs are read once a second."""
    end = time.monotonic() + HANG_SECONDS
    before = None
    while time.monotonic() < end:
        rows = {row["pid"]: row for row in page.api.get("processes", comm=NAME)["rows"] if row["pid"] in pids}
        now = [row.get("cpu_time") for row in rows.values()]
        if now == before and len(now) == len(pids):
            return rows
        before = now
        time.sleep(2.5)
    return {}


def cells(page, row):
    """Texts of a row by the titles of their columns."""
    return dict(zip(page.browser.evaluate("[...document.querySelectorAll('.processes thead tr:first-child th')].map("
                                          "each => each.innerText.replace(/[↑↓]/, '').trim())"),
                    page.browser.evaluate("[...%s[%d].cells].map(each => each.innerText.trim())" % (ROWS, row))))


def order_is(page, pids):
    return page.browser.wait("%s.map(row => row.innerText.match(/\\d+/g) ?? []).every((numbers, i) => "
                             "numbers.includes(%s[i]))" % (ROWS, [str(pid) for pid in pids]))


def check_page(page, rows):
    """@rows: of the API, the one with more CPU time first."""
    tap, browser = page.tap, page.browser
    pids = [row["pid"] for row in rows]
    page.open("#tab=processes&comm=%s&order=cpu_time" % NAME, width=1440, height=900)
    tap.ok(order_is(page, pids), "rows can be sorted by CPU time, the most first", pids)
    shown = cells(page, 0)
    row = rows[0]
    tap.ok(shown.get("CPU time") == "%.3f s" % row["cpu_time"] and shown.get("Softirqs") == "{:,}".format(int(row["softirqs"])),
           "the table has the CPU time and the softirqs that the answer has", shown, row)
    tap.ok(row["joules"] > 1 and shown.get("Joules") == "%.1f" % row["joules"], "and the energy", shown, row)
    titles = {"page_reads": "Pages read", "page_writes": "Pages written"}
    tap.ok(all((title in shown) == (name in row) for name, title in titles.items()),
           "and pages where this kernel tells them", sorted(shown), sorted(row))
    missing = page.api.get("processes", comm=NAME).get("not_counted")
    tap.ok(not missing or browser.wait("document.body.innerText.includes(%s)" % json.dumps("Not counted on this machine: %s." % missing)),
           "and says what this machine cannot count", missing)
    page.shot("processes-costs")
    limit = (rows[0]["cpu_time"] + rows[1]["cpu_time"]) / 2
    browser.type("input[aria-label='Only rows by CPU time']", ">%.3f" % limit)
    tap.ok(browser.wait("%s.length === 1" % ROWS) and order_is(page, pids[:1]), "and a least CPU time filters them")
    browser.evaluate("document.activeElement.blur()")
    total = page.api.get("flame", pid=pids[0])["total"]
    click_button(page, "graph", ".processes tbody")
    tap.ok(hash_has(page, "pid=%d" % pids[0]) and asks(page, "flame", pid=pids[0]) and page.shows(total),
           "a row opens the flame graph of its process", page.hash(), total)


def check(tap, browser, programs, watts):
    with Agent("-accounting", "-energy-file", watts, "-comm", NAME, "-viewer", "127.0.0.1:0", "-samples-per-second", 199, outputs=[]) as agent:
        url = wait_for_page(agent)
        if not tap.ok(url, "the agent starts", agent.log_text()):
            return
        page = Page(tap, browser, url, {})
        stolen_before = stolen_seconds()
        with Program(*programs[0], ready=False) as one, Program(*programs[1], ready=False) as other:
            pids = [one.process.pid, other.process.pid]
            tap.ok(wait_for_rows(page, pids), "both programs are sampled")
            with stopped(pids):
                rows = costs_of(page, pids)
                ran = {pid: run_seconds(pid) for pid in pids}
                stolen = stolen_seconds() - stolen_before
                tap.ok(all(-TOLERANCE * ran[pid] <= rows.get(pid, {}).get("cpu_time", 0) - ran[pid] <= TOLERANCE * ran[pid] + stolen
                           for pid in pids),
                       "the CPU time of each is what the kernel says", rows, ran)
                if len(rows) == len(pids):
                    check_page(page, sorted(rows.values(), key=lambda row: -row["cpu_time"]))
        tap.ok(not browser.errors, "the console has nothing to say", *browser.errors[:5])


def main():
    tap = Tap()
    need_root(tap, "costs on the viewer's page")
    if not browsers.COMMAND:
        tap.skip("costs on the viewer's page", "needs chromium")
        tap.finish()
    build_targets.build([NAME])
    path = TARGETS[NAME].path
    # One computes always, the other three quarters of the time.
    programs = [(path, "spin", 1000 * HANG_SECONDS), (path, "sleep", 1000 * HANG_SECONDS)]
    with Browser() as browser, tempfile.NamedTemporaryFile("w") as watts:
        # For machines that do not measure it.
        watts.write("idle 40\nfull 180\n")
        watts.flush()
        check(tap, browser, programs, watts.name)
    tap.finish()


if __name__ == "__main__":
    main()
