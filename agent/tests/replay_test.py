#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recorded reports (testdata/reports) replayed into everything that takes samples: what comes of them is what it was
when they were recorded, folded stacks and the stack table byte for byte, the others with their tables resolved and
sorted. Prints TAP.

    replay_test.py [-write]

-write takes what comes of them now for what is expected: for a change that is wanted, and in a tree in which the test
was green before. The commit says which lines changed, and why.
"""
import json
import lzma
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "integration"))
from harness import Tap
from otlp_resolved import resolved_lines
from pprof_reader import Profile

TOOL = ROOT / "build" / "replay_reports"
FOLDER = ROOT / "testdata" / "reports"
LINES_SHOWN = 10
RUN_SECONDS = 300
PROFILE_IN_PAGE = re.compile(r'<script type="application/json" id="profile">(.*?)</script>', re.S)


def pprof_lines(path):
    profile = Profile(path, may_double=True)
    yield "types %s, period %s %s, time %d, duration %d" % (
        profile.sample_types, profile.period_type, profile.period, profile.time_ns, profile.duration_ns)
    yield "comments %s" % sorted(profile.comments)
    yield from sorted("mapping %#x %#x %#x %s %s" % (
        mapping.start, mapping.limit, mapping.offset, ascii(profile.mapping_file(mapping)),
        ascii(profile.mapping_build_id(mapping))) for mapping in profile.mappings.values())
    yield from sorted("%s | %s | %s" % (
        sample.values, ", ".join(ascii(label) for label in sorted(sample.labels.items())),
        " < ".join("%s %s:%d" % (ascii(name), ascii(file), line)
                   for name, (file, line, _) in zip(reversed(sample.frames), reversed(sample.lines))))
                      for sample in profile.samples)


def tree_lines(tree):
    """One line for each node: the path to it, and its numbers."""
    paths = []
    # The page of -output has no files in it.
    files = tree.get("files", [])
    columns = [key for key in ("line", "flags", "self", "total", "base_self", "base_total", "z") if key in tree]
    for node, parent in enumerate(tree["parent"]):
        file = tree["file"][node] if files else -1
        # The root's kind does not matter.
        kind = tree["kinds"][tree["kind"][node]] if node else "-"
        line = tree["line"][node] if "line" in tree else 0
        text = "%s %s %s:%d" % (kind, ascii(tree["names"][tree["name"][node]]),
                                ascii(files[file]) if file >= 0 else "-", line)
        paths.append(paths[parent] + " < " + text if node else text)
        yield "%s | %s" % (" ".join("%s=%s" % (key, tree[key][node]) for key in columns), paths[node])


def json_lines(answer):
    """The answer with every tree resolved, and what comes first among equals in a list of its own left open."""
    for key in sorted(answer):
        value = answer[key]
        if isinstance(value, dict) and "parent" in value:
            yield from sorted("%s: %s" % (key, line) for line in tree_lines(value))
        elif isinstance(value, list):
            yield from sorted("%s: %s" % (key, json.dumps(one, sort_keys=True)) for one in value)
        else:
            yield "%s: %s" % (key, json.dumps(value, sort_keys=True))


def lines_of(path):
    """What is compared of an output file."""
    name = path.name
    if name.endswith(".otlp"):
        return resolved_lines(path.read_bytes())
    if name.endswith(".pb.gz"):
        return list(pprof_lines(path))
    if name.endswith(".html"):
        return list(json_lines(json.loads(PROFILE_IN_PAGE.search(path.read_text(encoding="utf-8"))[1])))
    if name.endswith(".json"):
        return list(json_lines(json.loads(path.read_text(encoding="utf-8"))))
    return path.read_text(encoding="utf-8", errors="surrogateescape").split("\n")


def replay(reports):
    """{name of an output: its lines}"""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([TOOL, folder], input=reports, check=True, timeout=RUN_SECONDS)
        return {path.name: lines_of(path) for path in sorted(pathlib.Path(folder).iterdir())}


def to_text(outputs):
    return "".join("== %s ==\n%s\n" % (name, "\n".join(lines)) for name, lines in sorted(outputs.items()))


def from_text(text):
    parts = re.split(r"^== (\S+) ==\n", text, flags=re.M)
    return {name: body[:-1].split("\n") for name, body in zip(parts[1::2], parts[2::2])}


def differences(expected, found):
    for name in sorted(set(expected) | set(found)):
        before, after = expected.get(name, []), found.get(name, [])
        if before == after:
            continue
        old, new = set(before), set(after)
        lines = ["-" + line for line in before if line not in new] + ["+" + line for line in after if line not in old]
        yield "%s: %d lines, %d before" % (name, len(after), len(before))
        for line in lines[:LINES_SHOWN] or ["the same lines in another order"]:
            yield line.encode("ascii", "backslashreplace").decode()[:2000]


def main():
    is_writing = sys.argv[1:] == ["-write"]
    tap = Tap()
    cases = sorted(FOLDER.glob("*.reports.xz"))
    tap.ok(cases, "reports are recorded")
    for case in cases:
        name = case.name[:-len(".reports.xz")]
        expected_path = FOLDER / (name + ".expected.xz")
        reports = lzma.decompress(case.read_bytes())
        found = replay(reports)
        if is_writing:
            expected_path.write_bytes(lzma.compress(to_text(found).encode("utf-8", "surrogateescape"), preset=9))
        expected = from_text(lzma.decompress(expected_path.read_bytes()).decode("utf-8", "surrogateescape"))
        tap.ok(from_text(to_text(found)) == expected, "%s: %d outputs are what they were" % (name, len(found)),
               *differences(expected, from_text(to_text(found))))
        # Hashes have another seed in each process: none of them shows.
        tap.ok(replay(reports) == found, "%s: another process gives the same" % name)
    tap.finish()


if __name__ == "__main__":
    main()
