#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: a thread is held up for seconds
"""What is held up in the agent is seen: while the thread that converts samples, or the one that reads maps of
processes, can do nothing, the status has the growing age of what waits for it, and the page says so in a line, which
goes when the thread goes on. And both name a process whose memory does not answer.
"""
import contextlib
import os
import signal
import sys
import time

import browser as browsers
import build_targets
from browser import Browser
from build_targets import TARGETS
from harness import HANG_SECONDS, IS_LONG, Agent, Program, Tap, need_root
from held_thread import held
from process_states import children, wait_for
from sampled import paced
from viewer_pages import Page, targets, wait_for_page

SIZES = ((1280, 800), (390, 844)) if IS_LONG else ((390, 844),)
# From which on the page shows a line, and beyond.
SHOWN_MS = 1000
OLD_MS = 2000

# Its functions are new all the time: each has to be read.
CHANGING = """
print("ready", flush=True)
count = 0
while True:
    count += 1
    exec("def f%d():\\n for _ in range(100000): pass\\nf%d()" % (count, count))
"""


def find_host(agent_pid):
    """The process that holds runtimes for the agent; None if there is none."""
    for pid in children(agent_pid):
        with open("/proc/%d/comm" % pid, encoding="utf-8") as comm:
            if comm.read() == "runtimes\n":
                return pid
    return None


def wait_delay(page, key, condition):
    """Waits until the status says of the delay @key what @condition() wants; the last one that it said."""
    end = time.monotonic() + HANG_SECONDS
    while True:
        delay = page.api.get("status")["delays"][key]
        if condition(delay) or time.monotonic() > end:
            return delay
        time.sleep(0.05)


def shows_line(page, kind):
    return page.browser.wait("document.querySelector('[data-delay=%s]')" % kind)


def check_page(page, kind):
    if not page.browser:
        page.tap.skip("the page has a line: %s" % kind, "needs chromium")
        return
    for width, height in SIZES:
        page.open(width=width, height=height)
        page.tap.ok(shows_line(page, kind), "the page has a line, at %d pixels: %s" % (width, kind))
        page.tap.note(page.browser.text("[data-delay=%s]" % kind))
        page.shot("delay-%s-%d" % (kind, width))


def check_held(page, agent, thread, key, kind):
    with contextlib.ExitStack() as stack:
        with held(agent.pid, thread):
            # News of a process, and samples of it.
            stack.enter_context(paced([stack.enter_context(Program(TARGETS["calls"].path)).pid]))
            delay = wait_delay(page, key, lambda delay: delay > OLD_MS)
            later = wait_delay(page, key, lambda delay_now: delay_now > delay)
            page.tap.ok(OLD_MS < delay < later, "the status says how old what waits for %s is" % thread, delay, later)
            check_page(page, kind)
        delay = wait_delay(page, key, lambda delay: delay < SHOWN_MS)
        page.tap.ok(delay < SHOWN_MS, "and that nothing waits when it goes on", delay)
        if page.browser:
            page.tap.ok(page.browser.wait("!document.querySelector('[data-delay=%s]')" % kind),
                        "and the page says so no more")


def check_hanging(tap, browser):
    # An agent of this program alone: else its host is asked about others.
    with Program(sys.executable, "-c", CHANGING) as python, paced([python.pid]), \
            Agent("-pid", python.pid, "-viewer", "127.0.0.1:0", "-samples-per-second", 199, outputs=[]) as agent:
        page = Page(tap, browser, wait_for_page(agent), {})
        host = wait_for(lambda: find_host(agent.pid))
        if not tap.ok(host, "a process holds the program's runtime", agent.log_text()):
            return
        # As it stands in a read that gets no answer.
        os.kill(host, signal.SIGSTOP)
        pids = wait_delay(page, "hanging_pids", lambda pids: pids)
        tap.ok(pids == [python.pid], "the status names the process whose memory does not answer", pids,
               agent.log_text())
        check_page(page, "hanging")


def main():
    tap = Tap()
    need_root(tap, "what is held up is seen")
    build_targets.build(["calls"])
    with targets(["native"]) as pids, paced(pids.values()), \
            Agent("-viewer", "127.0.0.1:0", "-samples-per-second", 199, outputs=[]) as agent:
        url = wait_for_page(agent)
        if not tap.ok(url, "the agent starts and prints the page's address", agent.log_text()):
            tap.finish()
        with Browser() if browsers.COMMAND else contextlib.nullcontext() as browser:
            page = Page(tap, browser, url, pids)
            check_held(page, agent, "work", "sample_ms", "samples")
            check_held(page, agent, "sync", "event_ms", "processes")
            check_hanging(tap, browser)
            if browser:
                tap.ok(not browser.errors, "the console is quiet", *browser.errors[:10])
        tap.ok(agent.stop().status == 0, "the agent ends well", agent.log_text())
    tap.finish()


if __name__ == "__main__":
    main()
