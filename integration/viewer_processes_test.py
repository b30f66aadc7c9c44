#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of processes on the page of a busy host's recording (busy_processes.py): its numbers against sums over the
recording, and its gestures in a headless Chromium, by mouse and by keyboard. The long tier has all sizes and colours. Prints
TAP; screenshots are left in build/integration/viewer/.
"""
import collections
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
import busy_processes
from browser import Browser
from harness import IS_LONG, Agent, Tap
from viewer_controls import asks, click_button, hash_has, hash_lacks
from viewer_pages import Api, Page, wait_for_file

SIZES = ((1440, 900), (390, 844)) if IS_LONG else ((1440, 900),)
MIN_SAMPLES = 100_000

# Identity of a row of each group in the answer, and of a sample of the recording.
GROUPS = {
    "process": (lambda row: (row["name"], row["pid"]), lambda taken: (taken.process.comm, taken.process.pid)),
    "name": (lambda row: row["name"], lambda taken: taken.process.comm),
    "user": (lambda row: row["user"], lambda taken: taken.process.user),
    "container": (lambda row: row["container"], lambda taken: taken.process.container),
    "parent": (lambda row: row["parent_pid"], lambda taken: taken.process.parent),
    "thread": (lambda row: row["tid"], lambda taken: taken.process.pid * 100 + taken.thread),
    "cpu": (lambda row: row["cpu"], lambda taken: taken.cpu),
}
# Columns of texts: part of what stands there, and the same of a process.
TEXTS = {
    "name": ("NGI", lambda process: process.comm),
    "pid": ("/^81[0-5]$/", lambda process: str(process.pid)),
    "command_line": ("worker 1", lambda process: process.command),
    "user": ("www", lambda process: process.user),
    "container": ("4f4f", lambda process: process.container),
    "parent": ("/^4999$/", lambda process: str(process.parent)),
}


def count_by(taken, key_of):
    return collections.Counter(map(key_of, taken))


def check_groups(tap, api, taken):
    wrong = []
    for group, (of_row, of_taken) in GROUPS.items():
        answer = api.get("processes", group=group, limit=2000)
        expected = count_by(taken, of_taken)
        found = {of_row(row): row["samples"] for row in answer["rows"]}
        processes = collections.defaultdict(set)
        for sample in taken:
            processes[of_taken(sample)].add(sample.process.pid)
        counted = {of_row(row): row["processes"] for row in answer["rows"]}
        if found != expected or answer["total"] != len(taken) or answer["rows_total"] != len(expected):
            wrong.append((group, answer["total"], len(found), len(expected)))
        if counted != {key: len(pids) for key, pids in processes.items()}:
            wrong.append((group, "processes"))
        if any(sum(row["counts"]) != row["samples"] for row in answer["rows"]):
            wrong.append((group, "times"))
        if [row["samples"] for row in answer["rows"]] != sorted(found.values(), reverse=True):
            wrong.append((group, "order"))
    tap.ok(not wrong, "rows of each of %d groups have the samples and processes of the recording" % len(GROUPS), *wrong)


def check_columns(tap, api, taken):
    """Filters of columns, and the same by the filters that clicks set."""
    wrong = []
    for column, (text, of_process) in TEXTS.items():
        part = text.strip("/^$").replace("[0-5]", "").lower()
        expected = {process.pid for process in {sample.process for sample in taken}
                    if part in of_process(process).lower() and (column != "pid" or 810 <= process.pid <= 815)}
        answer = api.get("processes", **{"with": "%s:%s" % (column, text), "limit": 2000})
        if {row["pid"] for row in answer["rows"]} != expected or not expected:
            wrong.append((column, len(answer["rows"]), len(expected)))
    for selector, key_of in (("user", lambda taken: taken.process.user), ("parent", lambda taken: taken.process.parent)):
        for value, samples in count_by(taken, key_of).items():
            if api.get("flame", max_nodes=1, **{selector: value})["total"] != samples:
                wrong.append((selector, value))
    tap.ok(not wrong, "columns are filtered, and users and parents select samples", *wrong)


def check_times(tap, api, taken):
    """The time line's rows and the lanes, for the rows of shop and of the build."""
    rows = {row["name"]: row["id"] for row in api.get("processes", group="name")["rows"]}
    names = ["cc1plus", "shop"]
    ids = ".".join(rows[name] for name in names)
    line = api.get("timeline", buckets=60, group="name", rows=ids)
    # The first sample is at the history's time 0.
    first = taken[0].time_ns
    wrong = []
    for name, counts in zip(names, line["stack"]):
        expected = collections.Counter((sample.time_ns - first) // 1_000_000 // line["step_ms"] for sample in taken
                                       if sample.process.comm == name)
        if {i: count for i, count in enumerate(counts) if count} != dict(expected):
            wrong.append(name)
    lanes = api.get("lanes", columns=60, group="name", rows=ids)
    cells = collections.Counter((sample.cpu, (sample.time_ns - first) // 1_000_000 // lanes["step_ms"], key)
                                for sample in taken for key in ("", sample.process.comm))
    for lane in lanes["lanes"]:
        for key, counts in zip(("", *names), (lane["counts"], *lane["stack"])):
            expected = {column: count for (cpu, column, name), count in cells.items() if (cpu, name) == (lane["cpu"], key)}
            if {column: count for column, count in enumerate(counts) if count} != expected:
                wrong.append((lane["cpu"], key))
    tap.ok(not wrong and len(lanes["lanes"]) == busy_processes.CPUS,
           "the time line and the lanes of CPUs have the samples of rows", *wrong[:5])


# --- the page ---

def first_cells(page):
    """The texts of the first row."""
    return page.browser.evaluate("[...(document.querySelector('.processes tbody tr')?.cells ?? [])].map(cell => cell.innerText)")


def rows_are(page, count):
    return bool(page.browser.wait("document.querySelectorAll('.processes tbody tr').length === %d" % count))


def says(page, text):
    return bool(page.browser.wait("document.querySelector('#content .bar')?.innerText.includes(%s)" % json.dumps(text)))


def column_of(page, title):
    return page.browser.evaluate("[...document.querySelectorAll('.processes thead th')].findIndex(each =>"
                                 "each.innerText.replace(/ [↑↓]$/, '') === %s)" % json.dumps(title))


def click_heading(page, title):
    page.browser.click(".processes thead th:nth-child(%d) button" % (column_of(page, title) + 1))


def column_texts(page, title):
    return page.browser.evaluate("[...document.querySelectorAll('.processes tbody tr')].map(row =>"
                                 "row.cells[%d].innerText)" % column_of(page, title))


def check_sorting(page, taken):
    tap = page.tap
    by_process = count_by(taken, lambda sample: (sample.process.comm, sample.process.pid))
    (name, pid), samples = by_process.most_common(1)[0]
    tap.ok(says(page, "%d rows" % len(by_process)) and first_cells(page)[:2] == [name, str(pid)]
           and "{:,}".format(samples) in first_cells(page), "the busiest process is the first row", first_cells(page))
    click_heading(page, "PID")
    least = min(pid for _, pid in by_process)
    tap.ok(bool(page.browser.wait("document.querySelector('.processes tbody td:nth-child(2)').innerText === '%d'" % least))
           and hash_has(page, "order=pid"), "a click on a heading sorts", first_cells(page))
    click_heading(page, "PID")
    most = max(pid for _, pid in by_process)
    tap.ok(bool(page.browser.wait("document.querySelector('.processes tbody td:nth-child(2)').innerText === '%d'" % most))
           and page.browser.evaluate("document.querySelectorAll('th[aria-sort=descending]').length") == 1,
           "and a second one the other way round", first_cells(page))
    click_heading(page, "Samples")


def check_column_filters(page, taken):
    tap = page.tap
    page.browser.type("input[aria-label='Only rows by User']", "post")
    workers = {sample.process.pid for sample in taken if sample.process.user == "postgres"}
    tap.ok(rows_are(page, len(workers)) and set(column_texts(page, "User")) == {"postgres"},
           "what is typed above a column filters it", column_texts(page, "User")[:5])
    page.browser.type("input[aria-label='Only rows by Samples']", "many")
    tap.ok(page.browser.wait("document.querySelector('#content .bad')?.innerText.includes('number')"),
           "a number that is none is said to be so", page.browser.text("#content .bar"))
    # The console has lines about the refusals.
    page.browser.errors.clear()
    page.browser.type("input[aria-label='Only rows by Samples']", ">2000")
    by_pid = count_by(taken, lambda sample: sample.process.pid)
    tap.ok(rows_are(page, sum(by_pid[pid] >= 2000 for pid in workers)), "a number is the least there may be",
           column_texts(page, "Samples"))
    for title in ("User", "Samples"):
        page.browser.type("input[aria-label='Only rows by %s']" % title, "")
    page.browser.evaluate("document.activeElement.blur()")
    says(page, "%d rows" % len(by_pid))


def check_clicks(page, taken):
    """A click on a cell filters, here and on the other tabs."""
    tap, browser = page.tap, page.browser
    browser.choose("select[aria-label='Rows']", "name")
    names = count_by(taken, lambda sample: sample.process.comm)
    tap.ok(rows_are(page, len(names)) and first_cells(page)[0] == names.most_common(1)[0][0],
           "processes are grouped by name", first_cells(page))
    click_button(page, "shop", ".processes tbody")
    tap.ok(hash_has(page, "comm=shop") and asks(page, "processes", comm="shop") and rows_are(page, 1),
           "a click on a name filters", page.hash())
    browser.evaluate("document.activeElement.blur()")
    browser.key("1")
    tap.ok(page.shows(names["shop"]), "the flame graph has that filter too", browser.text(".flame .bar"))
    browser.key("2")
    browser.wait("document.querySelector('.processes tbody tr')")
    browser.choose("select[aria-label='Rows']", "process")
    click_button(page, "threads", ".processes tbody")
    is_grouped = hash_has(page, "group=thread")
    pids = page.hash().get("pid", [])
    threads = {sample.thread for sample in taken if str(sample.process.pid) in pids}
    tap.ok(is_grouped and rows_are(page, len(threads)) and len(threads) == 4,
           "the threads of a process are shown", first_cells(page), page.hash())
    page.shot("processes-threads-%d" % browser.evaluate("innerWidth"))
    browser.key("c")
    tap.ok(hash_lacks(page, "comm=") and hash_lacks(page, "pid="), "c drops all filters", page.hash())
    browser.choose("select[aria-label='Rows']", "process")


def check_keyboard(page, taken):
    tap, browser = page.tap, page.browser
    says(page, "%d rows" % len({sample.process.pid for sample in taken}))
    stops = browser.evaluate("document.querySelectorAll('.processes tbody [tabindex=\"0\"]').length")
    browser.evaluate("document.querySelector('.processes tbody [tabindex=\"0\"]').focus()")
    seen = []
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp"):
        browser.key(key)
        seen.append(browser.evaluate("[document.activeElement.closest('tr').rowIndex, document.activeElement.closest('td')"
                                     ".cellIndex]"))
    user = column_of(page, "User")
    tap.ok(stops == 1 and seen == [[3, 0], [3, 1], [3, user], [2, user]],
           "the Tab key enters the table once, and arrow keys walk through it", stops, seen, user)
    chosen = browser.evaluate("document.activeElement.innerText")
    browser.key("Enter")
    tap.ok(hash_has(page, "user=" + chosen) and bool(browser.wait(
        "document.activeElement.getAttribute('aria-pressed') === 'true'")), "Enter filters by the cell", page.hash())
    browser.key("Enter")
    tap.ok(hash_lacks(page, "user="), "and once more drops the filter", page.hash())
    browser.evaluate("document.activeElement.blur()")


# --- comparison ---

def check_changes(tap, api):
    """Half-way the workers of shop were restarted with a slower tax()."""
    half = 1000 * busy_processes.DEPLOY_S
    ranges = {"from": half, "to": 2 * half, "base_from": 0, "base_to": half}
    answers = {sort: api.get("top", sort=sort, **ranges)["rows"]
               for sort in ("self_change", "self_share_change")}
    first = {sort: rows[0]["name"] for sort, rows in answers.items()}
    row = answers["self_change"][0]
    tap.ok(set(first.values()) == {"tax"} and row["z_self"] > 10 and row["self"] > 2 * row["base_self"],
           "what became slower is the first row, by CPU time and by share", first, row)
    new = {row["name"]: row for row in answers["self_change"] if not row["base_total"]}
    tap.ok("discount" in new, "a function that only the new version has is there", sorted(new))


def check_comparison(page, taken):
    tap, browser = page.tap, page.browser
    half = page.epoch + 1000 * busy_processes.DEPLOY_S
    page.open("#tab=top&from=%d&to=%d&base_from=%d&base_to=%d" % (
        half, half + 1000 * busy_processes.DEPLOY_S, page.epoch, half), width=browser.evaluate("innerWidth"))
    browser.wait("document.querySelector('.compared tbody tr')")
    click_button(page, "± CPUs", ".compared thead")
    first = browser.wait("location.hash.includes('sort=self_change')"
                         " && document.querySelector('.compared tbody td.function')?.innerText.includes('tax')"
                         " && document.querySelector('.compared tbody tr').innerText")
    tap.ok(bool(first), "sorted by the difference in CPUs, tax is the first function", browser.text(".compared tbody tr"))
    tags = browser.evaluate("[...document.querySelectorAll('.compared tbody tr')].filter(row => row.querySelector('.only'))"
                            ".map(row => row.querySelector('td.function').innerText)")
    tap.ok(any(tag.startswith("new") and "discount" in tag for tag in tags), "what is new is marked", tags[:5])
    page.shot("processes-compared-%d" % browser.evaluate("innerWidth"))
    # Two names at the same time.
    page.open("#tab=processes&group=name", width=browser.evaluate("innerWidth"))
    rows_are(page, len({sample.process.comm for sample in taken}))
    browser.evaluate("[...document.querySelectorAll('.processes tbody tr')].find(row =>"
                     "row.cells[0].innerText === 'nginx').querySelector('.row-actions [title^=Compare]').click()")
    click_button(page, "postgres", ".processes tbody")
    is_asked = hash_has(page, "base_comm=nginx") and hash_has(page, "comm=postgres") and hash_has(page, "root=none")
    browser.key("1")
    counts = count_by(taken, lambda sample: sample.process.comm)
    page.shows(counts["postgres"])
    tap.ok(is_asked and asks(page, comm="postgres", base_comm="nginx")
           and "base: {:,} samples".format(counts["nginx"]) in browser.text(".flame .bar"),
           "two names are compared", browser.text(".flame .bar"), page.hash())
    page.shot("processes-names-%d" % browser.evaluate("innerWidth"))
    browser.click(".filters .of-base")
    tap.ok(hash_lacks(page, "base_comm="), "and no more when the chip is clicked", page.hash())


def check_lanes(page):
    tap, browser = page.tap, page.browser
    legend = browser.wait("document.querySelector('.times .legend')?.innerText")
    tap.ok(legend and "others" in legend and "kafka 1200" in legend, "the time line has the first rows by themselves", legend)
    click_button(page, "CPU lanes")
    shown = browser.wait("(() => { const canvas = document.querySelector('.lanes canvas');"
                         "if (!canvas?.width) return 0;"
                         "const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
                         "const colours = new Set();"
                         "for (let i = 0; i < data.length; i += 4)"
                         "colours.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);"
                         "return colours.size; })()")
    tap.ok(shown and shown >= 4 and len(browser.evaluate("document.querySelector('.lane-names').innerText").split("CPU ")) ==
           busy_processes.CPUS + 1, "CPUs are lanes with the colours of the rows", shown)
    page.shot("processes-lanes-%d" % browser.evaluate("innerWidth"))
    click_button(page, "CPU lanes")


def check_page(page, taken, width, height, is_dark):
    page.tap.note("at %d pixels, %s" % (width, "dark" if is_dark else "light"))
    page.open("#tab=processes", width=width, height=height, is_dark=is_dark)
    page.browser.wait("document.querySelector('.processes tbody tr') && document.querySelector('.times .legend')")
    page.shot("processes-%d-%s" % (width, "dark" if is_dark else "light"))
    wide = page.browser.evaluate("document.documentElement.scrollWidth")
    page.tap.ok(wide <= width, "nothing sticks out", wide)
    for check in (check_sorting, check_column_filters, check_clicks, check_keyboard):
        check(page, taken)
    check_lanes(page)
    check_comparison(page, taken)
    page.tap.ok(not page.browser.errors, "the console has nothing to say", *page.browser.errors[:5])
    page.browser.errors.clear()


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "busy.otlp")
        taken = busy_processes.write(path)
        with Agent("-open", path, "-viewer", "127.0.0.1:0", outputs=[]) as agent:
            url = wait_for_file(agent)
            if not tap.ok(url and len(taken) >= MIN_SAMPLES, "a recording of %d samples is shown" % len(taken),
                          agent.log_text()):
                tap.finish()
            api = Api(url)
            check_groups(tap, api, taken)
            check_columns(tap, api, taken)
            check_times(tap, api, taken)
            check_changes(tap, api)
            if not browsers.COMMAND:
                tap.skip("the page's table of processes", "needs chromium")
                tap.finish()
            with Browser() as browser:
                page = Page(tap, browser, url, {})
                for width, height in SIZES:
                    for is_dark in (False, True) if IS_LONG else (False,):
                        check_page(page, taken, width, height, is_dark)
    tap.finish()


if __name__ == "__main__":
    main()
