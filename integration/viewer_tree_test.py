#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The call tree, the graph from the leaves and the menu of a frame, on the page of a busy host's recording (busy_processes.py) in
a headless Chromium: their numbers against sums over the recording, by mouse, finger and keyboard. The long tier has all sizes
and colours. Prints TAP; screenshots are left in build/integration/viewer/.
"""
import collections
import json
import os
import sys
import tempfile
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
import busy_processes
from browser import Browser
from harness import IS_LONG, Agent, Tap
from viewer_controls import asks, hash_has, hash_lacks
from viewer_pages import Geometry, Page, wait_for_file

SIZES = ((1440, 900), (390, 844)) if IS_LONG else ((1440, 900),)
PROGRAM = "shop"
PRESS_SECONDS = 0.9
# Texts that were copied, by whatever way.
_WATCH_COPIES = ("window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); };"
                 "document.addEventListener('copy', () => window.copied.push(document.activeElement.value));")


class Sums:
    """Samples by the beginnings of paths, from the process on or from the leaf on."""

    def __init__(self, taken):
        self.total = len(taken)
        self.down, self.up, self.leaves = collections.Counter(), collections.Counter(), collections.Counter()
        for (comm, stack), count in collections.Counter((sample.process.comm, sample.stack) for sample in taken).items():
            names = [comm, *(frame.partition(" (")[0].removesuffix("_[k]") for frame in stack)]
            for counts, path in ((self.down, names), (self.up, names[::-1])):
                for length in range(1, len(path) + 1):
                    counts[tuple(path[:length])] += count
            self.leaves[names[-1]] += count

    @staticmethod
    def callees(counts, path):
        """(name, samples) of what is below @path, the greatest first."""
        found = [(each[-1], count) for each, count in counts.items() if len(each) == len(path) + 1 and each[:-1] == path]
        return sorted(found, key=lambda entry: -entry[1])


def row(page, index):
    """(name, total) of a row, from 0 on."""
    cells = page.browser.evaluate("[...(document.querySelectorAll('.calltree tbody tr')[%d]?.cells ?? [])]"
                                  ".map(cell => cell.innerText.trim())" % index)
    return (cells[4].lstrip("▾▸ \n").strip(), int(cells[0].replace(",", ""))) if cells else None


def focused_row(page):
    return page.browser.evaluate("[...document.querySelectorAll('.calltree tbody tr')].indexOf(document.activeElement)")


def is_open(page, index):
    return page.browser.evaluate("document.querySelectorAll('.calltree tbody tr')[%d]?.ariaExpanded" % index)


def row_count(page):
    return page.browser.evaluate("document.querySelectorAll('.calltree tbody tr').length")


def open_tree(page, hash_text):
    page.browser.evaluate("location.hash = '%s'" % hash_text)
    return page.browser.wait("document.querySelectorAll('.calltree tbody tr').length > 1")


def check_call_tree(page, sums):
    tap, browser = page.tap, page.browser
    open_tree(page, "#tab=tree")
    programs = sums.callees(sums.down, ())
    tap.ok(row(page, 0) == ("all", sums.total) and row(page, 1) == programs[0],
           "the call tree begins with the program that has most samples", row(page, 0), row(page, 1), programs[:2])
    browser.evaluate("document.querySelector('.calltree tbody tr').focus()")
    browser.key("ArrowDown")
    if is_open(page, 1) == "true":
        browser.key("ArrowLeft")
    closed = row_count(page)
    browser.key("ArrowRight")
    below = sums.callees(sums.down, (programs[0][0],))
    browser.wait("document.querySelectorAll('.calltree tbody tr').length > %d" % closed)
    browser.key("ArrowRight")
    tap.ok(focused_row(page) == 2 and row(page, 2) == below[0], "the right arrow opens a row, and goes below it",
           focused_row(page), row(page, 2), below[:2])
    browser.key("ArrowLeft")
    browser.key("ArrowLeft")
    if focused_row(page) == 2:
        browser.key("ArrowLeft")
    tap.ok(bool(browser.wait("document.querySelectorAll('.calltree tbody tr').length === %d" % closed))
           and focused_row(page) == 1, "the left arrow goes back, and closes", focused_row(page), row_count(page), closed)
    page.shot("tree-%d" % browser.evaluate("innerWidth"))
    browser.key("Enter")
    tap.ok(hash_has(page, "zoom=") and bool(browser.wait(
        "document.querySelector('.calltree tbody tr td.function')?.innerText.includes('%s')" % programs[0][0])),
           "Enter zooms", row(page, 0), page.hash())
    browser.evaluate("document.querySelector('.calltree tbody tr').focus()")
    browser.key("*")
    opened = row_count(page)
    browser.key("Escape")
    tap.ok(opened > 100 and hash_lacks(page, "zoom="), "an asterisk opens all below, Escape zooms out", opened)
    wide = browser.evaluate("document.documentElement.scrollWidth")
    tap.ok(wide <= browser.evaluate("innerWidth"), "nothing sticks out", wide)


def check_leaves_first(page, sums):
    tap, browser = page.tap, page.browser
    open_tree(page, "#tab=tree")
    browser.evaluate("document.activeElement.blur()")
    browser.key("i")
    leaf, count = sums.leaves.most_common(1)[0]
    shown = hash_has(page, "inverted=1") and asks(page, inverted=1) and browser.wait(
        "document.querySelectorAll('.calltree tbody tr')[1]?.innerText.includes('{:,}')".format(count))
    tap.ok(bool(shown) and row(page, 1) == (leaf, count), "leaves first: the function with most self samples", row(page, 1),
           leaf, count)
    callers = sums.callees(sums.up, (leaf,))
    browser.evaluate("document.querySelectorAll('.calltree tbody tr')[1].focus()")
    if is_open(page, 1) == "false":
        browser.key("ArrowRight")
    browser.wait("document.querySelectorAll('.calltree tbody tr')[1].ariaExpanded === 'true'")
    tap.ok(row(page, 2) == callers[0], "and its callers below it", row(page, 2), callers[:2])
    page.shot("tree-inverted-%d" % browser.evaluate("innerWidth"))
    page.browser.evaluate("location.hash = '#inverted=1'")
    shows = page.shows(sums.total)
    answer = page.api.get("flame", inverted=1, max_nodes=10000)
    geometry = Geometry(answer)
    node = geometry.greatest(leaf)
    # On a narrow screen others are in a block at the end, and those drawn are further left.
    browser.evaluate("document.querySelector('.flame canvas').focus()")
    browser.key("ArrowDown")
    browser.key("Enter")
    tap.ok(shows and page.shows(geometry.samples(node)) and geometry.samples(node) == sums.up[(leaf,)],
           "the flame graph too", browser.text(".flame .bar"))
    page.shot("inverted-%d" % browser.evaluate("innerWidth"))
    browser.key("Escape")


def menu_texts(page):
    return page.browser.wait("(found => found.length && found)([...document.querySelectorAll('.popup button')]"
                             ".map(button => button.innerText))")


def choose(page, text):
    page.browser.evaluate("[...document.querySelectorAll('.popup button')].find(button => button.innerText === %s).click()"
                          % json.dumps(text))
    page.browser.wait("!document.querySelector('.popup')")


def copied(page):
    return page.browser.evaluate("window.copied.splice(0)")


class Frame:
    """The widest frame of @name in the graph of all samples, and where it is."""

    def __init__(self, page, name):
        geometry = Geometry(page.api.get("flame", max_nodes=10000))
        self.path = geometry.path_to(name)
        self.point = geometry.middle(geometry.greatest(name), page.browser.box(".flame canvas")[2])
        page.browser.evaluate("document.querySelector('.flame .scroll').scrollTop = 0")


def reset(page, sums):
    page.browser.evaluate("location.hash = '#'")
    page.browser.wait("document.querySelector('.flame canvas')?.dataset.zoom === '0'")
    page.deselect()
    page.shows(sums.total)


def check_menu(page, sums):
    tap, browser = page.tap, page.browser
    reset(page, sums)
    browser.evaluate(_WATCH_COPIES)
    frame = Frame(page, "tax")
    browser.click(".flame canvas", frame.point, buttons=2)
    texts = menu_texts(page)
    page.shot("menu-%d" % browser.evaluate("innerWidth"))
    tap.ok(texts == ["Copy name", "Copy stack", "Zoom to it", "Only stacks with it", "Begin at it", "Hide it", "Only this process", "Callers & callees",
                     "Show in the table", "Copy link"] and browser.text(".flame .bar b") == "tax",
           "a right click on a frame opens its menu", texts, browser.text(".flame .bar"))
    browser.key("ArrowDown")
    browser.key("Enter")
    tap.ok(copied(page) == [";".join(frame.path)] and browser.evaluate("document.activeElement.tagName") == "CANVAS",
           "by keyboard the stack is copied, and the focus is back in the graph", frame.path)
    browser.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})")
    browser.key("F10", has_shift=True)
    is_open_by_key = menu_texts(page) == texts
    choose(page, "Copy name")
    tap.ok(is_open_by_key and copied(page) == ["tax"], "Shift+F10 opens it, and without a clipboard a name is copied too")
    browser.key("F10", has_shift=True)
    menu_texts(page)
    browser.key("Escape")
    tap.ok(bool(browser.wait("!document.querySelector('.popup')")) and browser.text(".flame .bar b") == "tax",
           "Escape closes it, and nothing else", browser.text(".flame .bar"))
    browser.press(".flame canvas", frame.point, PRESS_SECONDS)
    tap.ok(menu_texts(page) == texts and not page.hash().get("zoom"), "a long press opens it, and does not zoom", page.hash())
    choose(page, "Copy link")
    link = copied(page)
    zoom = urllib.parse.parse_qs(link[0].partition("#")[2]).get("zoom") if link else None
    tap.ok(zoom and json.loads(zoom[0]) == frame.path, "a link leads to the frame", link)


def check_choices(page, sums):
    tap, browser = page.tap, page.browser
    for text, is_done in (
            ("Only this process", lambda: hash_has(page, "comm=" + PROGRAM) and asks(page, comm=PROGRAM)),
            ("Only stacks with it", lambda: hash_has(page, "only=tax")),
            ("Hide it", lambda: hash_has(page, "hide=tax") and asks(page, hide="tax") and page.browser.wait(
                "document.querySelector('.filters')?.innerText.includes('without tax')")),
            ("Begin at it", lambda: hash_has(page, "begin=tax") and asks(page, begin="tax")),
            ("Callers & callees", lambda: hash_has(page, "of=tax")),
            ("Show in the table", lambda: hash_has(page, "named=tax") and hash_has(page, "tab=top")),
            ("Zoom to it", lambda: hash_has(page, "zoom="))):
        reset(page, sums)
        browser.click(".flame canvas", Frame(page, "tax").point, buttons=2)
        menu_texts(page)
        choose(page, text)
        tap.ok(is_done(), "the menu's “%s”" % text, page.hash())
    # Zoomed to the program, the frame has two shares.
    reset(page, sums)
    geometry = Geometry(page.api.get("flame", max_nodes=10000))
    browser.click(".flame canvas", geometry.middle(geometry.greatest(PROGRAM), browser.box(".flame canvas")[2]))
    page.shows(sums.down[(PROGRAM,)])
    browser.evaluate("document.querySelector('.flame canvas').focus()")
    browser.key("ArrowDown")
    name, count = sums.callees(sums.down, (PROGRAM,))[0]
    share = "%.1f%%" % (100 * count / sums.down[(PROGRAM,)])
    words = browser.wait("(words => words.includes('of the view') && words)(document.querySelector('.flame .bar').innerText)")
    tap.ok(words and name in words and share + " of the view" in words, "a zoomed frame has its share of all, and of the view",
           browser.text(".flame .bar"), share)
    browser.key("ArrowUp")
    browser.key("ArrowUp")
    tap.ok(browser.wait("document.querySelector('.flame .bar b').innerText === 'all'")
           and "of the view" not in browser.text(".flame .bar"), "a caller of it is not a part of the view",
           browser.text(".flame .bar"))


def check_page(page, sums, width, height, is_dark):
    page.tap.note("at %d pixels, %s" % (width, "dark" if is_dark else "light"))
    page.open(width=width, height=height, is_dark=is_dark)
    page.shows(sums.total)
    for check in (check_call_tree, check_leaves_first, check_menu, check_choices):
        check(page, sums)
    page.tap.ok(not page.browser.errors, "the console has nothing to say", *page.browser.errors[:5])
    page.browser.errors.clear()


def main():
    tap = Tap()
    if not browsers.COMMAND:
        tap.skip("the call tree", "needs chromium")
        tap.finish()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "busy.otlp")
        sums = Sums(busy_processes.write(path))
        with Agent("-open", path, "-viewer", "127.0.0.1:0", outputs=[]) as agent:
            url = wait_for_file(agent)
            if not tap.ok(url, "the recording is shown", agent.log_text()):
                tap.finish()
            with Browser() as browser:
                page = Page(tap, browser, url, {})
                for width, height in SIZES:
                    for is_dark in (False, True) if IS_LONG else (False,):
                        check_page(page, sums, width, height, is_dark)
    tap.finish()


if __name__ == "__main__":
    main()
