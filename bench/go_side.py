# SPDX-License-Identifier: Apache-2.0
"""What a frame of Go costs in the kernel, and how fast Go's tables are read."""
import os
import re
import subprocess
import sys

import python_side
from tools import OUTPUT, ROOT, SOURCES, path

sys.path.insert(0, os.path.join(ROOT, "scripts"))
from fetch_gos import machines_go

PASS = re.compile(r"(\d+) functions, .*, ([\d.]+) MB: (\d+) MB/s")


def build():
    """The bench's program in Go, stripped as most are."""
    environment = {**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "",
                   "GOENV": "off", "GOCACHE": os.path.join(OUTPUT, "go-cache")}
    subprocess.run([machines_go(), "build", "-ldflags=-s -w", "-o", path("go_depth"),
                    os.path.join(SOURCES, "go_depth.go")], check=True, env=environment)


def slope(median_of):
    """ns per frame of Go."""
    return python_side.slope(median_of, "go_depth")


def table_figures():
    """(file name, MB of the table, MB/s) of the programs of the machine's Go."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(machines_go())))
    for name in "bin/go", "pkg/tool/linux_amd64/compile":
        file = os.path.join(root, name)
        if not os.path.exists(file):
            continue
        text = subprocess.run([os.path.join(ROOT, "build", "go_table"), "-pass", file],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        match = PASS.search(text)
        yield os.path.basename(name), float(match[2]), float(match[3])
