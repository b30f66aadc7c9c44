#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 120 s
"""The least that the viewer's page must do, in a headless Chromium on a live profile: viewer_page_test.py, of the long
tier, clicks through all of it.
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
from browser import Browser
from harness import Agent, Tap, need_root
from viewer_pages import (Page, check_first_graph, check_process_filter, check_quiet, check_range,
                          check_search, check_zoom, stop_recording, targets, wait_for_page,
                          wait_for_samples)

SAMPLES_PER_SECOND = 199
# Other tests run beside this one.
FIRST_GRAPH_SECONDS = 15
SIZES = ((1280, 800), (390, 844))


def check_size(page, width, height):
    page.tap.note("at %d pixels" % width)
    page.open(width=width, height=height)
    answer = page.api.get("flame", root="process", max_nodes=10000)
    page.tap.ok(page.shows(answer["total"]), "the root has all samples", page.total(), answer["total"])
    check_zoom(page, answer)
    page.clear()
    check_search(page, answer)
    page.clear()
    check_process_filter(page, "native", page.pids["native"])
    page.clear()
    page.shows(answer["total"])
    check_range(page)
    page.shot("short-%d" % width)
    page.clear()


def main():
    tap = Tap()
    need_root(tap, "the viewer's page")
    if not browsers.COMMAND:
        tap.skip("the viewer's page", "needs chromium")
        tap.finish()
    with targets(["native"]) as pids, Browser() as browser:
        start = time.monotonic()
        with Agent("-viewer", "127.0.0.1:0", "-samples-per-second", SAMPLES_PER_SECOND,
                   outputs=[]) as agent:
            url = wait_for_page(agent)
            if not tap.ok(url, "the agent starts and prints the page's address", agent.log_text()):
                tap.finish()
            page = Page(tap, browser, url, pids)
            check_first_graph(page, start, FIRST_GRAPH_SECONDS)
            tap.ok(wait_for_samples(page), "its functions come by name")
            stop_recording(page)
            for width, height in SIZES:
                check_size(page, width, height)
            check_quiet(page)
    tap.finish()


if __name__ == "__main__":
    main()
