# SPDX-License-Identifier: Apache-2.0
"""Reads docker/Dockerfile, for the tests, which run where there is no container engine.

Knows the instructions that the file uses, in the forms in which it uses them; all else is a
ValueError, so that nothing is tested that an engine would read in another way.
"""
import collections
import fnmatch
import json
import os
import re
import shlex

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCKERFILE = os.path.join(ROOT, "docker", "Dockerfile")

# instruction: upper case; arguments: the text behind it, lines joined.
Step = collections.namedtuple("Step", "instruction arguments")
# name: None for the last one; image: what it starts from.
Stage = collections.namedtuple("Stage", "name image steps")
# stage: None for files of the build context.
Copy = collections.namedtuple("Copy", "stage sources target")

KNOWN = {"ARG", "COPY", "ENTRYPOINT", "RUN", "WORKDIR"}


def read_stages(path=DOCKERFILE):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if not line.lstrip().startswith("#")]
    text = "\n".join(lines).replace("\\\n", " ")
    stages = []
    for line in filter(None, map(str.strip, text.split("\n"))):
        instruction, _, arguments = line.partition(" ")
        if instruction == "FROM":
            match = re.fullmatch(r"(\S+)(?: AS (\S+))?", arguments)
            if not match:
                raise ValueError("FROM %s" % arguments)
            stages.append(Stage(match[2], match[1], []))
        elif instruction in KNOWN and stages:
            stages[-1].steps.append(Step(instruction, arguments.strip()))
        else:
            raise ValueError("not known here: %s" % line)
    return stages


def parse_copy(arguments):
    words = shlex.split(arguments)
    stage = None
    while words[0].startswith("--"):
        option, _, value = words.pop(0).partition("=")
        if option != "--from":
            raise ValueError("COPY %s" % arguments)
        stage = value
    return Copy(stage, words[:-1], words[-1])


def parse_arg(arguments):
    """(name, value); value is "" without a default."""
    name, _, value = arguments.partition("=")
    return name, value


def parse_entrypoint(arguments):
    """The words of the form that has no shell, which is the one that passes signals on."""
    words = json.loads(arguments)
    if not words or not all(isinstance(word, str) for word in words):
        raise ValueError("ENTRYPOINT %s" % arguments)
    return words


def installed_packages(stage):
    """The packages that apt-get installs in @stage."""
    packages = set()
    for step in stage.steps:
        for command in re.split(r"&&|;", step.arguments) if step.instruction == "RUN" else []:
            words = shlex.split(command)
            if words[:2] == ["apt-get", "install"]:
                packages.update(word for word in words[2:] if not word.startswith("-"))
    return packages


def ignored_patterns():
    with open(os.path.join(ROOT, ".dockerignore"), encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith("#")]


def is_ignored(path, patterns):
    """True if @path, relative to the context, or a directory that it is in matches a pattern."""
    parts = path.split("/")
    for pattern in patterns:
        if pattern.startswith("**/"):
            if any(fnmatch.fnmatchcase(part, pattern[3:]) for part in parts):
                return True
        elif parts[:pattern.count("/") + 1] == pattern.split("/"):
            return True
    return False


def context_files(source):
    """Files of the build context at or below @source, relative to it, without the ignored ones."""
    patterns = ignored_patterns()
    top = os.path.normpath(os.path.join(ROOT, source))
    if os.path.isfile(top):
        path = os.path.relpath(top, ROOT)
        return [] if is_ignored(path, patterns) else [path]
    files = []
    for directory, directories, names in os.walk(top):
        below = os.path.relpath(directory, ROOT)
        directories[:] = [name for name in directories
                          if not is_ignored(os.path.normpath(os.path.join(below, name)), patterns)]
        paths = (os.path.normpath(os.path.join(below, name)) for name in names)
        files += [path for path in paths if not is_ignored(path, patterns)]
    return sorted(files)
