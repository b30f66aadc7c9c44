# SPDX-License-Identifier: Apache-2.0
"""How quick the viewer's page is in a headless Chromium, served by a real agent that shows a file with 100,000 distinct
stacks: its answers are in the time. And what the live agent takes while the page is open.
"""
import collections
import os
import random
import statistics
import sys
import tempfile
import time

from tools import ROOT

sys.path.insert(0, os.path.join(ROOT, "integration"))
import browser as browsers
from harness import Agent, cpu_seconds, rss_anon_bytes
from viewer_pages import wait_for_file, wait_for_page

STACKS = 100000
FRAMES = (20, 40)
NAMES = 4000
WAYS_ON = 4
KINDS = ["", "_[k]", "_[j]", "_[i]"]
OPEN_SECONDS = 60

# Resolve when the graph is drawn, and when a click or a key has changed it; in ms.
_DRAWN = """new Promise(done => {
	const look = () => document.querySelector('.flame canvas')?.dataset.zoom !== undefined
		? requestAnimationFrame(() => done(performance.now())) : setTimeout(look, 2);
	look();
})"""
_CHANGED = """new Promise(done => {
	const start = performance.now();
	const canvas = document.querySelector('.flame canvas');
	const before = canvas.dataset.%(what)s;
	%(act)s;
	const look = () => canvas.dataset.%(what)s !== before
		? requestAnimationFrame(() => done(performance.now() - start)) : setTimeout(look, 1);
	look();
})"""
_CLICK = """const box = canvas.getBoundingClientRect();
	canvas.dispatchEvent(new MouseEvent('click', { bubbles: true,
		clientX: box.left + box.width / 2, clientY: box.top + 5 * 18 + 9 }))"""
_SEARCH = """const input = document.querySelector('.tools input');
	input.value = 'function_1';
	input.dispatchEvent(new Event('input', { bubbles: true }))"""

PageFigures = collections.namedtuple("PageFigures", "interactive_ms zoom_ms search_ms")
LiveFigures = collections.namedtuple("LiveFigures", "core_percent rss_anon_mb")


def _stacks():
    """Distinct stacks, folded. Each function has a few others that it calls, one of them far more often."""
    generator = random.Random(1)
    found = set()
    while len(found) < STACKS:
        number, frames = 0, ["program"]
        for _ in range(generator.randint(*FRAMES)):
            way = min(int(generator.expovariate(1)), WAYS_ON - 1)
            number = (number * 31 + way + 1) % NAMES
            frames.append("name_space::function_%d(int)%s" % (number, KINDS[number % len(KINDS)]))
        found.add(";".join(frames))
    return sorted(found)


def _write_file(path):
    with open(path, "w", encoding="ascii") as file:
        for i, stack in enumerate(_stacks()):
            file.write("%s %d\n" % (stack, 1 + i % 7))


def _load(browser, path):
    """PageFigures of an agent that has just said where its page is."""
    with Agent("-open", path, "-viewer", "127.0.0.1:0", outputs=[]) as agent:
        url = wait_for_file(agent)
        if not url:
            raise RuntimeError(agent.log_text())
        browser.open(url)
        browser.wait("location.href === '%s'" % url)
        found = PageFigures(browser.evaluate(_DRAWN),
                            browser.evaluate(_CHANGED % {"what": "zoom", "act": _CLICK}),
                            browser.evaluate(_CHANGED % {"what": "matched", "act": _SEARCH}))
        # It must not ask an agent that has gone.
        browser.open("about:blank")
        browser.wait("location.href === 'about:blank'")
        return found


def figures(rounds):
    """The medians of some rounds as PageFigures, or None where there is no Chromium."""
    if not browsers.COMMAND:
        return None
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "stacks.folded")
        _write_file(path)
        with browsers.Browser() as browser:
            found = [_load(browser, path) for _ in range(rounds)]
            if browser.errors:
                raise RuntimeError("\n".join(browser.errors))
    return PageFigures(*map(statistics.median, zip(*found)))


def live_figures():
    """LiveFigures of an agent as it comes, with the page open for a minute; None where there is no Chromium."""
    if not browsers.COMMAND:
        return None
    with browsers.Browser() as browser, Agent("-viewer", "127.0.0.1:0", outputs=[]) as agent:
        url = wait_for_page(agent)
        if not url:
            raise RuntimeError(agent.log_text())
        browser.open(url)
        browser.evaluate(_DRAWN)
        start, before = time.monotonic(), cpu_seconds(agent.pid)
        most = 0
        while time.monotonic() < start + OPEN_SECONDS:
            time.sleep(1)
            browser.evaluate("0")
            most = max(most, rss_anon_bytes(agent.pid))
        spent = (cpu_seconds(agent.pid) - before) / (time.monotonic() - start)
        if browser.errors:
            raise RuntimeError("\n".join(browser.errors))
    return LiveFigures(100 * spent, most / 1e6)
