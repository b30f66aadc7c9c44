#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 3600 s
"""A language is one row and one folder: the language Demo (testdata/demo) is put into a copy of the tree, which is built
and run. Its frames come live, out of a core file and by the files and the page's API that the agent writes, though what
changes of the tree is its row, its texts and what is new. Prints TAP.
"""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from demo_tree import apply, build_target, demo_tree, opened_page, run
from harness import Program, Tap, allow_core, need_root, parse_folded
from otlp_resolved import resolved_lines

RATE, SECONDS = 199, 3
CHAIN = ["main", "demo_run", "outer", "c_between", "demo_run", "inner", "spin"]
PROGRAMS = ["build/agent", "build/walk_core", "build/asan/agent/tracing/tests/verifier_test"]


def is_chain(frames):
    """Whether the frames, root first, are a stack of the target's in spin()."""
    return frames[frames.index("main"):] == CHAIN if "main" in frames else False


def check_live(tap, folder, pid):
    agent = os.path.join(folder, "build", "agent")
    outputs = [os.path.join(folder, name) for name in ("demo.folded", "demo.otlp")]
    options = [text for path in outputs for text in ("-output", path)]
    done = run(folder, agent, "-pid", str(pid), "-samples-per-second", str(RATE), "-duration", "%ds" % SECONDS, *options)
    if not tap.ok(done.returncode == 0, "the agent runs", done.stdout):
        return
    with open(outputs[0], encoding="utf-8") as file:
        stacks = parse_folded(file.read())
    spinning = {stack: count for stack, count in stacks.items() if stack.frames[-1] == "spin"}
    wrong = [str(stack) for stack in spinning if not is_chain(list(stack.frames))]
    tap.ok(sum(spinning.values()) >= RATE * SECONDS / 4, "there are samples of the target", stacks)
    tap.ok(not wrong, "functions of Demo stand between those of C that run and call them", *wrong[:5])
    with open(outputs[1], "rb") as file:
        lines = resolved_lines(file.read())
    named = [line for line in lines if re.search(r"'profile\.frame\.type'='beam'} 'inner' '' 'target.demo' 0:20:0", line)]
    tap.ok(named, "OTLP has their type, file and line", *(line[-600:] for line in lines[:3]))
    check_opened(tap, folder, outputs[1])


def check_opened(tap, folder, path):
    """The page of the file: a kind of frames of its own."""
    with opened_page(tap, folder, path) as ask:
        tree = json.loads(ask("/api/flame?kind=native"))["tree"]
    kinds = {tree["names"][name]: tree["kinds"][kind] for name, kind in zip(tree["name"], tree["kind"])}
    tap.ok(kinds.get("inner") == "demo" and kinds.get("spin") == "native", "the page has the kind demo", kinds)


def check_core(tap, folder, program):
    core = os.path.join(folder, "core")
    subprocess.run(["gcore", "-o", core, str(program.pid)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    done = run(folder, os.path.join(folder, "build", "walk_core"), "-interpreted", "%s.%d" % (core, program.pid))
    frames = []
    for line in done.stdout.splitlines():
        fields = line.split("\t")
        if fields[0].startswith("#"):
            frames.insert(0, fields[4] if fields[1] == "demo" else fields[-2])
    tap.ok(is_chain(frames), "and so they do in a core file", done.stdout)


def check_texts(tap, folder, pid):
    agent = os.path.join(folder, "build", "agent")
    help_text = " ".join(run(folder, agent, "-help").stdout.split())
    tap.ok(", Demo in one stack" in help_text, "-help has it", help_text)
    refused = run(folder, agent, "-tracers", "cobol")
    tap.ok(refused.returncode == 2 and ", demo" in refused.stdout, "-tracers has it", refused.stdout)
    doctor = run(folder, agent, "-doctor", "-pid", str(pid), "-duration", "3s")
    tap.ok("Demo frames and names" in doctor.stdout, "-doctor has it", doctor.stdout)


def check(tap, folder):
    files = apply(tap, folder, "language.patch", PROGRAMS)
    if not files:
        return
    tap.ok(len(files[0]) == 2, "the language changes two files: its row, and its texts", files[0])
    done = run(folder, os.path.join(folder, "build/asan/agent/tracing/tests/verifier_test"))
    tap.ok(done.returncode == 0 and "demo_unwind" in done.stdout, "its unwinder passes the verifier, arm64's too",
           done.stdout[-3000:])
    with Program(build_target(folder), preexec_fn=allow_core) as program:
        check_live(tap, folder, program.pid)
        check_texts(tap, folder, program.pid)
        check_core(tap, folder, program)


def main():
    tap = Tap()
    need_root(tap, "the language Demo")
    with demo_tree() as folder:
        check(tap, folder)
    tap.finish()


if __name__ == "__main__":
    main()
