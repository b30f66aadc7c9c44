# SPDX-License-Identifier: Apache-2.0
"""Tests of -open: the API of an agent that shows files, and the functions and types in its answers."""
import contextlib
import json
import os
import re
import time

from harness import HANG_SECONDS, Agent, run_agent
from viewer_pages import Api

SHOWING = re.compile(r"^info: showing .+ at (http://\S+);", re.M)


@contextlib.contextmanager
def showing(tap, *paths, stdin=None):
    """The API of the agent that shows the files."""
    options = [text for path in paths for text in ("-open", path)]
    with Agent(*options, "-viewer", "127.0.0.1:0", outputs=[], **({"stdin": stdin} if stdin else {})) as agent:
        end = time.monotonic() + HANG_SECONDS
        while not SHOWING.search(agent.log_text()) and agent.process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        found = SHOWING.search(agent.log_text())
        if not tap.ok(found, "it shows " + " and ".join(map(os.path.basename, paths)), agent.log_text()):
            tap.finish()
        api = Api(found[1] + "/")
        api.pid = agent.pid
        yield api


def functions(api, **query):
    return {row["name"]: (row["self"], row["total"])
            for row in api.get("top", root="none", limit=10000, **query)["rows"]}


def types_of(api):
    return [(one["type"], one["unit"]) for one in api.get("status")["types"]]


def write_json(directory, name, value):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
    return path


SUFFIX = re.compile(r"_\[[kij?~]\]$")


def report_of(path, kind=None):
    """The report of the file as JSON, of values of the type @kind or of those that it shows first."""
    result = run_agent("-open", path, "-report", "-json", *(("-type", kind) if kind else ()), outputs=[])
    if result.status:
        raise ValueError(result.log)
    return json.loads(result.output)


def reported_functions(report):
    """{name: (self, total)}, functions of one name added up; names are those without the marks of kinds."""
    found = {}
    for row in report["functions"]:
        name = SUFFIX.sub("", row["name"])
        one = found.get(name, (0, 0))
        found[name] = (one[0] + row["self"], one[1] + row["total"])
    return found


def greatest(functions_found, column, count=10):
    """The greatest functions by self (0) or total (1): [(name, value)]."""
    rows = sorted(functions_found.items(), key=lambda row: (-abs(row[1][column]), row[0]))
    return [(name, values[column]) for name, values in rows[:count]]
