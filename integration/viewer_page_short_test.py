#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The least that the viewer's page must do, in a headless Chromium on a live profile: viewer_page_test.py, of the long
tier, clicks through all of it.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
from harness import HANG_SECONDS, Tap, need_root
from sampled import stopped
from viewer_pages import (check_process_filter, check_quiet, check_range, check_search, check_zoom, live_page,
                          stop_recording, wait_for_samples)

SIZES = ((1280, 800), (390, 844))


def check_size(page, width, height):
    page.tap.note("at %d pixels" % width)
    page.open(width=width, height=height)
    answer = page.api.get("flame", root="process", max_nodes=10000)
    page.tap.ok(page.shows(answer["total"]), "the root has all samples", page.total(), answer["total"])
    check_zoom(page, answer)
    page.clear()
    check_search(page)
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
    # A hurry is for the long tier: what runs this one may be busy.
    with live_page(tap, ["native", "python"], HANG_SECONDS, is_of_targets=True) as (page, _):
        tap.ok(wait_for_samples(page), "its functions come by name")
        stop_recording(page)
        with stopped(page.pids.values()):
            for width, height in SIZES:
                check_size(page, width, height)
        check_quiet(page)
    tap.finish()


if __name__ == "__main__":
    main()
