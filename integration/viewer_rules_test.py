#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
"""The viewer's page against the rules of accessibility of axe-core: each tab, the help and the menu, at two sizes, light and dark,
in a headless Chromium. Prints TAP.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
import busy_processes
from browser import Browser
from harness import ROOT, Agent, Tap
from viewer_pages import Page, wait_for_file

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_npm_packages

RULES = fetch_npm_packages.RULES / "axe-core" / "axe.min.js"
SIZES = ((1440, 900), (390, 844))
# A few rows have all that there can be.
TABS = ("flame", "processes&shown=9", "processes&shown=5&lanes=1&user=app&base_pid=1200", "top&rows=20", "tree", "sandwich&of=tax", "quality",
        "flame&search=tax&inverted=1", "flame&fold=kernel&hide=tax&colour=package", "top&frames=binary&rows=20")
_FINDINGS = ("axe.run().then(found => found.violations.map(each => each.id + ': ' + each.help + ': '"
             "+ each.nodes.map(node => node.target + ' ' + node.failureSummary).slice(0, 3).join('; ')))")


def check(page, name, rules):
    page.browser.evaluate(rules + "; 0")
    found = page.browser.evaluate(_FINDINGS)
    page.tap.ok(found == [], "%s keeps all rules" % name, *found)


def check_size(page, rules, width, height, is_dark):
    where = "at %d pixels, %s" % (width, "dark" if is_dark else "light")
    for tab in TABS:
        page.open("#tab=" + tab, width=width, height=height, is_dark=is_dark)
        page.browser.wait("document.querySelectorAll('.strip').length === 2")
        check(page, "#tab=%s %s" % (tab, where), rules)
    page.browser.evaluate("document.querySelector('.transforms').open = true")
    check(page, "the menu of frames " + where, rules)
    page.browser.evaluate("document.querySelector('.transforms').open = false")
    page.browser.click("button[aria-label=Help]")
    page.browser.wait("document.querySelector('dialog[open]')")
    check(page, "the help " + where, rules)
    page.browser.key("Escape")
    page.open(width=width, height=height, is_dark=is_dark)
    page.browser.wait("document.querySelector('.flame canvas')?.width > 0")
    page.browser.evaluate("document.querySelector('.flame canvas').focus()")
    page.browser.key("ArrowDown")
    page.browser.key("F10", has_shift=True)
    page.browser.wait("document.querySelector('.popup')")
    check(page, "the menu " + where, rules)


def main():
    tap = Tap()
    if not browsers.COMMAND or not RULES.exists():
        tap.skip("the rules of accessibility", "needs chromium, and what scripts/fetch_npm_packages.py brings")
        tap.finish()
    rules = RULES.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "busy.otlp")
        busy_processes.write(path)
        with Agent("-open", path, "-viewer", "127.0.0.1:0", outputs=[]) as agent:
            url = wait_for_file(agent)
            if not tap.ok(url, "the recording is shown", agent.log_text()):
                tap.finish()
            with Browser() as browser:
                page = Page(tap, browser, url, {})
                for width, height in SIZES:
                    for is_dark in (False, True):
                        check_size(page, rules, width, height, is_dark)
    tap.finish()


if __name__ == "__main__":
    main()
