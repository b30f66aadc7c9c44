#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page names the debug package of a stripped program. The test compares it with the package that dpkg names, and the server with
that of os-release. Prints TAP.
"""
import os
import platform
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import HANG_SECONDS, Agent, Program, Tap, need_root
from viewer_pages import Api, wait_for_page

SPIN = "BEGIN { while (1) n++ }"


def package_of(path):
    """By dpkg; a file may be listed by its path without /usr."""
    for each in (path, path.removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", each], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    return None


def quality_row(api, path):
    """The row of a file, once the page has one that lacks names."""
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        rows = {row["file"]: row for row in api.get("quality")["binaries"]}
        if path in rows and rows[path]["named"] < rows[path]["frames"]:
            return rows[path]
        time.sleep(0.2)
    return None


def main():
    tap = Tap()
    need_root(tap, "packages of files without names")
    program = shutil.which("mawk")
    if not program or not shutil.which("dpkg"):
        tap.skip("packages of files without names", "needs mawk and dpkg")
        tap.finish()
    path = os.path.realpath(program)
    with Program(path, SPIN, ready=False) as target:
        with Agent("-viewer", "127.0.0.1:0", "-pid", target.pid, "-samples-per-second", 199, outputs=[]) as agent:
            url = wait_for_page(agent)
            if not tap.ok(url, "the agent starts and prints the page's address", agent.log_text()):
                tap.finish()
            row = quality_row(Api(url), path)
            if not row:
                tap.skip("the package of %s" % path, "it has names here")
                tap.finish()
            package = package_of(path)
            tap.ok(package and row["names_mend"].startswith("Install %s-dbgsym" % package),
                   "the package of a file without names is the one that dpkg has", row, package)
            if platform.freedesktop_os_release()["ID"] in ("debian", "ubuntu") and row.get("build_id"):
                server = "https://debuginfod.%s" % ("debian.net" if platform.freedesktop_os_release()["ID"] == "debian"
                                                    else "ubuntu.com")
                tap.ok(server in row["names_mend"], "and the server is the distribution's", row["names_mend"])
            log = agent.log_text()
            tap.ok("refused" not in log, "the agent may read what it needs", log)
    tap.finish()


if __name__ == "__main__":
    main()
