#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for one program after another to be ready
# time limit: 900 s
"""build/v8_stack reads the JavaScript stack of a Node.js process that waits. V8 itself reports the same stack in another
run. Both must agree, frame for frame, on functions, files, lines, columns, `new` and the ids of scripts. A function
has the same ids in all its frames, and no other function has them. A target declares more in its first lines:

    flags: FLAG...          for node
    tiers: NAME=TIER,...    the tiers that activations of a function are in, innermost first, without repetitions
    inlined: NAME...        functions that are inlined
    builtins: NAME...       names of builtins that some frame must have
    wasm: N                 frames of WebAssembly
    named: NAME=OTHER       V8's profiler calls it NAME, and stacks OTHER, a name that it has got while the program ran

A list with `from N` holds from that version of Node.js on. Optimized code has two tables of what is inlined, and
both must say the same where the version has both. Some targets are run in other modes of V8 too, and one out of a
core file.

usage: javascript_stack_test.py [NODE...] [TARGET...]
"""
import collections
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nodes
from harness import HANG_SECONDS, IS_LONG, ROOT, Tap, die_with_parent

TOOL = os.path.join(ROOT, "build", "v8_stack")
TARGET_FILES = ["tiers.js", "replaced.js", "names.js", "builtins.js", "scripts.js", "module.mjs", "wasm.js", "deep.js"]
# Other ways in which V8 runs the same programs. Not all versions have all.
MODES = {"interpreted": ["--no-opt", "--no-sparkplug"], "sparkplug": ["--sparkplug", "--always-sparkplug"],
         "jitless": ["--jitless"]}
MODE_TARGETS = ["names.js", "builtins.js"]
# Functions of V8's own whose frames V8 leaves out of stacks.
HIDDEN_BUILTINS = ("Generator.prototype.", "AsyncGenerator.prototype.", "AsyncFunctionAwait")
# Maglev has no table of positions in these.
WITHOUT_MAGLEV_POSITIONS = (24, 0, 0)
POLL_SECONDS = 0.05

# As a line of v8_stack has it.
Frame = collections.namedtuple("Frame", "tier function location is_inlined is_new ids")
# V8's own account of a stack, and the URLs of its scripts by their ids.
Reference = collections.namedtuple("Reference", "sites scripts")


class Target:
    """A program, and what it declares."""

    def __init__(self, name, version):
        self.name = name
        self.path = os.path.join(nodes.TARGETS, name)
        self._declared = {}
        with open(self.path, encoding="utf-8") as file:
            for line in file:
                match = re.match(r"// (flags|tiers|inlined|builtins|wasm|named)(?: from (\d+))?: (.*)", line)
                if match and version[0] >= int(match[2] or 0):
                    self._declared.setdefault(match[1], []).extend(match[3].split())

    def declared(self, kind):
        return self._declared.get(kind, [])

    def pairs(self, kind):
        """What is declared as NAME=VALUE."""
        return [tuple(word.split("=")) for word in self.declared(kind)]


@contextlib.contextmanager
def running(command):
    """The process of @command, which is killed in the end."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def parse(output):
    """The frames of each thread that has some, in the output of v8_stack."""
    threads = []
    for line in output.splitlines():
        if line.startswith("thread "):
            threads.append([])
            continue
        tier, function, location, notes, ids = line.split("\t")
        ids = {name: int(value) for name, value in (word.split("=") for word in ids.split())}
        threads[-1].append(Frame(tier, function, location, "inlined" in notes, "new" in notes, ids))
    return [frames for frames in threads if frames]


def read_stacks(name, *options):
    """What v8_stack says of the process or core file @name."""
    result = subprocess.run([TOOL, *options, str(name)], text=True, check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return parse(result.stdout) if not result.returncode else []


def waiting_stacks(process, count=1):
    """The stacks of the process once @count threads wait in stop.js."""
    deadline = time.monotonic() + HANG_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        stacks = read_stacks(process.pid)
        waiting = [frames for frames in stacks if frames[0].location.rpartition("/")[2].startswith("stop.js:")]
        if len(waiting) == count:
            return waiting
        time.sleep(POLL_SECONDS)
    return []


def reference_of(command):
    """What V8 says of the stack; None if the program does not run so."""
    result = subprocess.run([*command, "reference"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False, timeout=HANG_SECONDS)
    if result.returncode or not result.stdout:
        return None
    said = json.loads(result.stdout)
    return Reference(said["stack"], {int(name): url for name, url in said["scripts"].items()})


def describe(site):
    """A frame of the reference as that of v8_stack is to be: function, location, is_new."""
    name = site["function"]
    # So V8 calls code of eval() without a name, not its profiler.
    if site["isEval"] and name == "eval":
        name = ""
    location = "" if site["isNative"] or site["line"] is None else "%s:%d:%d" % (
        site["script"], site["line"], site["column"])
    return name, location, site["isConstructor"]


def is_same(site, frame, other_names):
    """Whether @frame is what the reference has as @site."""
    name, location, is_new = describe(site)
    if (frame.function, name) in other_names:
        name = frame.function
    if frame.tier == "c++":
        # Builtins in C++ are functions to V8, with no code of their own.
        return site["isNative"] or not location
    if frame.tier == "wasm":
        return "wasm" in site["script"]
    if frame.tier == "builtin":
        return frame.function.split(".")[-1] == name or frame.function == name
    return (frame.function, frame.location, frame.is_new) == (name, location, is_new)


def is_hidden(frame):
    """Whether V8 may leave the frame out of stacks."""
    # C++ that is no function of the program's, between two of JavaScript.
    return frame.tier == "c++" or (frame.tier == "builtin" and frame.function.startswith(HIDDEN_BUILTINS))


def first_difference(sites, frames, other_names):
    """What differs in the two lists, innermost first; None if nothing does."""
    sites = [site for site in sites if not site["isAsync"]]
    at = 0
    for frame in frames:
        if at < len(sites) and is_same(sites[at], frame, other_names):
            at += 1
        elif not is_hidden(frame):
            return "V8: %s\nread: %s" % (describe(sites[at]) if at < len(sites) else "the end", frame)
    return None if at == len(sites) else "V8: %s\nread: the end" % (describe(sites[at]),)


def activations(frames, name):
    """The tiers of the activations of @name, innermost first, without repetitions."""
    tiers = []
    for frame in frames:
        if frame.function == name and tiers[-1:] != [frame.tier]:
            tiers.append(frame.tier)
    return tiers


def check_declared(tap, title, target, frames):
    for name, tiers in target.pairs("tiers"):
        expected = tiers.split(",")
        found = activations(frames, name)
        # The innermost activation ran last.
        tap.ok(sorted(set(found)) == sorted(set(expected)),
               "%s: %s is in %s" % (title, name, " and ".join(expected)), found)
    for name in target.declared("inlined"):
        found = [frame for frame in frames if frame.function == name]
        tap.ok(found and all(frame.is_inlined for frame in found), "%s: %s is inlined" % (title, name), found)
    names = {frame.function for frame in frames}
    for name in target.declared("builtins"):
        tap.ok(name in names, "%s: %s has its name" % (title, name), *names)
    for count in target.declared("wasm"):
        found = [frame for frame in frames if frame.tier == "wasm"]
        tap.ok(len(found) == int(count), "%s: %s frames of wasm" % (title, count), len(found))


def check_tables(tap, title, node, process, frames):
    """Both tables of optimized code say what is inlined."""
    if not any(frame.tier in ("maglev", "turbofan") for frame in frames):
        return
    for option in "-translations", "-positions":
        if option == "-positions" and node.version == WITHOUT_MAGLEV_POSITIONS:
            continue
        # Bytecodes of a function that has Sparkplug's code are not found by its translation.
        if option == "-translations" and node.version[0] == 16:
            continue
        stacks = [stack for stack in read_stacks(process.pid, option) if stack[0] == frames[0]]
        others = stacks[0] if stacks else []
        # A builtin that is inlined is in translations only, and so is a call by `new`.
        wanted = [frame._replace(is_new=False) for frame in frames if not frame.is_inlined or frame.location]
        found = [frame._replace(is_new=False) for frame in others if not frame.is_inlined or frame.location]
        tap.never(found != wanted, "%s: %s says the same" % (title, option),
                  *("%s\n%s" % pair for pair in zip(wanted, found) if pair[0] != pair[1]))


def file_of(frame):
    return frame.location.rsplit(":", 2)[0]


def first_wrong_id(node, reference, frames):
    """An id that is not what V8 has given the function, its script or its code; None if all are right."""
    functions, compiled = {}, {}
    for frame in frames:
        ids = dict(frame.ids)
        optimization = ids.pop("optimization", None)
        if file_of(frame):
            url = reference.scripts.get(ids["script"], "")
            if os.path.basename(url) != os.path.basename(file_of(frame)):
                return "%s has the script of %r" % (frame, url)
            if ("unique" in ids) != (node.version[0] >= 22):
                return "%s and its unique id" % (frame,)
            key = ids["script"], ids["literal"]
            is_known = functions.setdefault(key, (frame.function, file_of(frame), ids))
            if is_known != (frame.function, file_of(frame), ids):
                return "%s has the ids of %s" % (frame, is_known)
        if (optimization is not None) != (frame.tier in ("maglev", "turbofan")):
            return "%s and its optimization id" % (frame,)
        # The last one of those that are inlined into each other is the one that was compiled.
        if optimization is not None and not frame.is_inlined and \
                compiled.setdefault(optimization, (frame.function, frame.tier)) != (frame.function, frame.tier):
            return "%s has the compilation of %s" % (frame, compiled[optimization])
    uniques = [ids["unique"] for _, _, ids in functions.values() if "unique" in ids]
    return None if len(set(uniques)) == len(uniques) else "%s are not unique" % uniques


def check_ids(tap, title, node, reference, process, frames):
    wrong = first_wrong_id(node, reference, frames)
    tap.never(wrong, title + ": ids are V8's, and each function has its own", wrong)
    again = [stack for stack in read_stacks(process.pid) if stack[0] == frames[0]]
    tap.never(again[:1] != [frames], title + ": ids stay")


def check_stack(tap, node, name, mode="", flags=()):
    target = Target(name, node.version)
    title = "%s %s%s" % (node, name, " " + mode if mode else "")
    command = node.command(*target.declared("flags"), *flags, target.path)
    reference = reference_of(command)
    if reference is None:
        tap.skip(title, "this version does not run so")
        return
    with running(command) as process:
        stacks = waiting_stacks(process)
        if not tap.ok(stacks, title + ": waits"):
            return
        frames = stacks[0]
        # The innermost function is another one in the reference.
        difference = first_difference(reference.sites, frames[1:], target.pairs("named"))
        tap.never(difference, title + ": is as V8 says", difference)
        check_ids(tap, title, node, reference, process, frames)
        if not mode:
            check_declared(tap, title, target, frames)
            check_tables(tap, title, node, process, frames)


def check_workers(tap, node):
    title = "%s worker.js" % node
    with running(node.command(os.path.join(nodes.TARGETS, "worker.js"))) as process:
        stacks = waiting_stacks(process, 2)
        names = sorted(frames[1].function for frames in stacks)
        tap.ok(names == ["inMain", "inWorker"], title + ": both threads have their functions", names)


def check_core(tap, node):
    """The same stack out of a core file as out of the process."""
    title = "%s core file" % node
    gcore = shutil.which("gcore")
    if not gcore:
        tap.skip(title, "no gcore")
        return
    target = Target("tiers.js", node.version)
    with tempfile.TemporaryDirectory(prefix="allframes-v8-") as directory, \
            running(node.command(*target.declared("flags"), target.path)) as process:
        stacks = waiting_stacks(process)
        result = subprocess.run([gcore, "-o", os.path.join(directory, "core"), str(process.pid)],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, check=False)
        if result.returncode:
            tap.skip(title, "gcore cannot: " + result.stdout.strip()[-200:].replace("\n", " "))
            return
        cores = read_stacks(os.path.join(directory, "core.%d" % process.pid))
        tap.never(not stacks or stacks[0] not in cores, title + ": has the process's stack", stacks, cores)


def check_node(tap, node, targets):
    for name in targets or TARGET_FILES:
        check_stack(tap, node, name)
    if targets:
        return
    for mode, flags in MODES.items():
        for name in MODE_TARGETS if IS_LONG else MODE_TARGETS[:1]:
            check_stack(tap, node, name, mode, flags)
    check_workers(tap, node)


def main():
    tap = Tap()
    if IS_LONG:
        for version in nodes.fetch_nodes.VERSIONS:
            nodes.fetch_nodes.fetch(version)
    else:
        nodes.fetch_nodes.fetch_short()
    every, chosen, _, targets = nodes.chosen(sys.argv[1:], IS_LONG)
    if not every:
        tap.skip("stacks of Node.js", "there is none on this machine")
    for node in chosen or every.values():
        check_node(tap, node, targets)
    if every and not targets:
        check_core(tap, list(chosen or every.values())[-1])
    tap.finish()


if __name__ == "__main__":
    main()
