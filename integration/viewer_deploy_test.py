#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# alone: the workers need as much of the CPUs after the restart as before
"""What changed since the deploy: workers in Python are restarted with a slower tax(), and the page's comparison of the time before
and after has that as the first row. Prints TAP.
"""
import contextlib
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Agent, Program, Tap, need_root
from viewer_pages import Api, wait_for_page

WORKERS = 2
SECONDS = 10
# Others may run on the machine: these are selected by their name.
NAME = "shopworker"
SOURCE = """
import sys

def cart():
    total = 0
    for i in range(2000):
        total += i * i % 7
    return total

def prices():
    total = 0
    for i in range(2000):
        total += i * i % 5
    return total

def render():
    total = 0
    for i in range(2000):
        total += i * i % 3
    return total

def tax(turns):
    total = 0
    for i in range(turns):
        total += i * i % 11
    return total

def serve(turns):
    cart(), prices(), render(), tax(turns)

print("ready", flush=True)
while True:
    serve(int(sys.argv[1]))
"""


@contextlib.contextmanager
def workers(command, turns):
    with contextlib.ExitStack() as stack:
        for _ in range(WORKERS):
            stack.enter_context(Program(*command, str(turns)))
        yield
        time.sleep(SECONDS)


def main():
    tap = Tap()
    need_root(tap, "the comparison of a deploy")
    with tempfile.TemporaryDirectory() as directory:
        script, program = os.path.join(directory, "shop.py"), os.path.join(directory, NAME)
        with open(script, "w", encoding="ascii") as file:
            file.write(SOURCE)
        os.symlink(os.path.realpath(sys.executable), program)
        with Agent("-viewer", "127.0.0.1:0", "-samples-per-second", 99, outputs=[]) as agent:
            url = wait_for_page(agent)
            if not tap.ok(url, "the agent starts", agent.log_text()):
                tap.finish()
            api = Api(url)
            start = api.get("status")["now_ms"]
            with workers((program, script), 2000):
                pass
            deploy = api.get("status")["now_ms"]
            with workers((program, script), 12000):
                pass
            end = api.get("status")["now_ms"]
            ranges = {"from": deploy, "to": end, "base_from": start, "base_to": deploy, "comm": NAME}
            for sort in ("total_share_change", "total_change"):
                rows = api.get("top", sort=sort, **ranges)["rows"]
                tap.ok(rows and rows[0]["name"] == "tax" and rows[0]["z"] > 5, "by %s, tax is the first row" % sort,
                       *[(row["name"], row["total"], row["base_total"], row["z"]) for row in rows[:5]])
            old = {row["pid"] for row in api.get("processes", comm=NAME, **{"from": start, "to": deploy})["rows"]}
            new = {row["pid"] for row in api.get("processes", comm=NAME, **{"from": deploy, "to": end})["rows"]}
            tap.ok(len(old) == len(new) == WORKERS and not old & new, "the workers have been restarted", old, new)
    tap.finish()


if __name__ == "__main__":
    main()
