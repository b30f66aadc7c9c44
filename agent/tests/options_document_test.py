#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/options.md is what the table of options makes of it today. Prints TAP."""
import difflib
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "integration"))
from harness import Tap

TOOL = ROOT / "build" / "options_markdown"
DOCUMENT = ROOT / "docs" / "options.md"
LINES_SHOWN = 20


def main():
    tap = Tap()
    made = subprocess.run([TOOL], stdout=subprocess.PIPE, text=True, check=True).stdout
    document = DOCUMENT.read_text(encoding="utf-8")
    differences = list(difflib.unified_diff(document.splitlines(), made.splitlines(), "docs/options.md",
                                            "the table of options", lineterm="", n=0))
    tap.ok(made == document, "docs/options.md is up to date", "`make docs` writes it anew", *differences[:LINES_SHOWN])
    rows = [line for line in made.splitlines() if line.startswith("| `-")]
    tap.ok(rows and all(line.replace("\\|", "").count("|") == 4 for line in rows), "each option has a row of three cells",
           *rows)
    status = subprocess.run([TOOL, "-x"], stderr=subprocess.DEVNULL, check=False).returncode
    tap.ok(status == 2, "the tool takes no arguments", status)
    tap.finish()


if __name__ == "__main__":
    main()
