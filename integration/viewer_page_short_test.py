#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The least that the viewer's page must do, in a headless Chromium on a live profile: viewer_page_test.py, of the long
tier, clicks through all of it.
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
from harness import HANG_SECONDS, Tap, cpu_seconds, need_root
from sampled import paced, stopped
from viewer_pages import (check_process_filter, check_quiet, check_range, check_search, check_zoom, live_page,
                          stop_recording, unit_of, wait_for_samples)

# A little more than the page's "now".
NOW_SECONDS = 5.5
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


def check_processes(page):
    """Who runs the programs, and how busy they are now: both turn in a loop."""
    page.open("#tab=processes", width=1440, height=900)
    rows = {row.get("pid"): row for row in page.api.get("processes")["rows"]}
    wrong = []
    for language, pid in page.pids.items():
        row = rows.get(pid, {})
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            line = file.read().rstrip(b"\0").replace(b"\0", b" ").decode()
        unit = unit_of(pid)
        if (row.get("command_line") != line or row.get("user") != "root" or row.get("parent_pid") != os.getpid()
                or not row.get("parent", "").startswith("python3")
                or (row.get("unit") != unit and not row.get("container"))):
            wrong.append((language, row, line, unit))
    unit = unit_of(page.pids["native"])
    if unit:
        samples = page.api.get("flame", unit=unit)["total"]
        page.tap.ok(samples == page.api.get("flame", pid=page.pids["native"])["total"] > 0,
                    "the filter by systemd unit has the samples of the program in it", unit, samples)
    page.tap.ok(not wrong, "command lines, users, units and parents are those of the programs", *wrong)
    shown = page.browser.wait("[...document.querySelectorAll('.processes tbody tr')].map(row => row.innerText)")
    heading = page.browser.text(".processes thead")
    page.tap.ok(shown and all(any(str(pid) in row for row in shown) for pid in page.pids.values())
                and "CPUs now" in heading, "the table has them, and the CPUs that they take now", shown, heading)
    page.shot("processes-live")


def check_cpus_now(page):
    """While they still run, beside what the kernel says that they take."""
    pids = list(page.pids.values())
    start, before = time.monotonic(), {pid: cpu_seconds(pid) for pid in pids}
    time.sleep(NOW_SECONDS)
    answer = page.api.get("processes")
    seconds = time.monotonic() - start
    taken = {pid: (cpu_seconds(pid) - before[pid]) / seconds for pid in pids}
    rate = page.api.get("status")["samples_per_second"]
    cpus = {row["pid"]: row["now"] * 1000 / (rate * answer["now_ms"]) for row in answer["rows"] if row.get("pid") in pids}
    page.tap.ok(set(cpus) == set(pids) and all(0.5 * taken[pid] < cpus[pid] < 1.7 * taken[pid] for pid in pids),
                "the CPUs that programs take now are what the kernel says", cpus, taken)


def main():
    tap = Tap()
    need_root(tap, "the viewer's page")
    if not browsers.COMMAND:
        tap.skip("the viewer's page", "needs chromium")
        tap.finish()
    # A hurry is for the long tier: what runs this one may be busy.
    with live_page(tap, ["native", "python"], HANG_SECONDS, is_of_targets=True) as (page, _):
        tap.ok(wait_for_samples(page), "its functions come by name")
        with paced(page.pids.values()):
            check_cpus_now(page)
        stop_recording(page)
        with stopped(page.pids.values()):
            for width, height in SIZES:
                check_size(page, width, height)
            check_processes(page)
        check_quiet(page)
    tap.finish()


if __name__ == "__main__":
    main()
