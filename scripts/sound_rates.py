#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Totals the bad events that live tests counted, and writes the table of sound rates.

usage: sound_rates.py [-write] [FILE...]

A FILE is as tests append it (build/integration/events.jsonl, the default). Only runs of a sound agent may
be in it, failed ones included: to leave those out would make the rate look smaller. Without -write the
totals are printed only. A rate of fewer than 20 runs is marked.
"""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "integration"))
import bad_events

RUNS_WANTED = 20


def total(lines):
    """The table of @lines, by test and kind."""
    table, runs = {}, {}
    for line in lines:
        key = line["test"], line["class"]
        row = table.setdefault(key[0], {}).setdefault(
            key[1], {"events": 0, "samples": 0, "runs": 0, "date": "", "machine": ""})
        row["events"] += line["events"]
        row["samples"] += line["samples"]
        runs.setdefault(key, set()).add(line["run"])
        row["runs"] = len(runs[key])
        row["date"], row["machine"] = max((row["date"], row["machine"]),
                                          (line["date"][:10], line["machine"]))
    return table


def main():
    words = sys.argv[1:]
    lines = []
    for path in [word for word in words if word != "-write"] or [bad_events.LOG]:
        with open(path, encoding="utf-8") as file:
            lines += map(json.loads, file)
    table = total(lines)
    for test, rows in sorted(table.items()):
        for kind, row in sorted(rows.items()):
            print("%s, %s: %d events in %d samples of %d runs%s, at most %.2g each" % (
                test, kind, row["events"], row["samples"], row["runs"],
                " (too few)" if row["runs"] < RUNS_WANTED else "",
                bad_events.upper_rate(row["events"], row["samples"])))
    if "-write" in words:
        merged = {**bad_events.read_table(), **table}
        with open(bad_events.TABLE + ".new", "w", encoding="utf-8") as file:
            json.dump(merged, file, indent="\t", sort_keys=True)
            file.write("\n")
        os.replace(bad_events.TABLE + ".new", bad_events.TABLE)


if __name__ == "__main__":
    main()
