#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds the worst habits of this project's language: comments that begin as the second half of a
sentence, and words for which CONTRIBUTING.md has better ones. Run by `make check`.
usage: check_words.py [FILE...]
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A comment says what its subject is; it never continues the identifier behind it.
OPENING = re.compile(r"(?:Of (?:the|a|an|it|them|what)|That of|Those|What|Which)\b")

# The word, what to say instead, and the folders in which it is looked for ("": everywhere).
WORDS = [
    (r"range files?", "symbol cache", ""),
    (r"stamps?", "process identity", ""),
    (r"notices?", "process event", "agent/processes ebpf lib"),
    (r"first walks?", "deferred sample", ""),
    (r"held frames?", "pending frame", ""),
    (r"(?:walk|walks|walked)", "unwind", "ebpf agent"),
    (r"pieces?", "chunk, part, range", ""),
    (r"places?", "offset, slot, index, location, limit", ""),
]

# Phrases in which a word is right, or is somebody else's.
RIGHT = re.compile(r"\bin place\b|\b(?:take|takes|took|taken|taking) (?:the|its|their) place|"
                   r"walk_core|walk_process|\bos\.walk|\bast\.walk|\btime stamps?\b", re.I)

# Whole files in which the words are others', are what is tested, or belong to a recorded format.
EXCEPTIONS = [
    "agent/tools/report_file.h", "testdata/reports/", "scripts/check_words.py", "LICENSE",
    "LICENSES/", "testdata/seeds/", "viewer/assets/", "viewer/page/package-lock.json",
    "docs/plans/", "CONTRIBUTING.md",
]

_C_COMMENT = re.compile(r"/\*+(.*?)\*/", re.S)
_SCRIPT_COMMENT = re.compile(r"(?:^|(?<=\s))#+ (.*)")


def comments(path, text):
    """(offset, text) of each comment; lines of a script that follow each other are one."""
    if path.endswith((".c", ".h", ".ts", ".js", ".css")):
        for match in _C_COMMENT.finditer(text):
            yield match.start(), re.sub(r"^[\s*]+", "", match[1])
    elif path.endswith((".py", ".sh")) or os.path.basename(path) == "Makefile":
        begin, was_comment = 0, False
        for line in text.splitlines(keepends=True):
            is_comment = line.lstrip().startswith("#")
            match = _SCRIPT_COMMENT.search(line)
            if match and not (is_comment and was_comment):
                yield begin + match.start(1), match[1]
            was_comment = is_comment
            begin += len(line)


def faults(path, text):
    """(line, what is wrong) for each fault of the file."""
    for offset, comment in comments(path, text):
        if OPENING.match(comment):
            yield text.count("\n", 0, offset) + 1, "a comment opens with %r" % " ".join(comment.split()[:3])
    plain = RIGHT.sub(lambda match: "-" * len(match[0]), text)
    for word, better, folders in WORDS:
        if folders and not path.startswith(tuple(folders.split())):
            continue
        # Parts of identifiers count as well.
        for match in re.finditer(r"(?<![A-Za-z])%s(?![a-z])" % word, plain, re.I):
            yield text.count("\n", 0, match.start()) + 1, "%r: say %s" % (match[0], better)


def files():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
    return [path for path in listed if path and not path.startswith(tuple(EXCEPTIONS))]


def main():
    found = 0
    for path in sys.argv[1:] or files():
        try:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                text = file.read()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
        for line, what in sorted(set(faults(path, text))):
            print("%s:%d: %s" % (path, line, what))
            found += 1
    sys.exit(found != 0)


if __name__ == "__main__":
    main()
