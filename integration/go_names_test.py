#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of a stripped Go program, as a collector gets them: leaf frames are of type go and have
function, file and line, those that are inlined as further lines, as the source has them; local
outputs say the same. The process says which Go made it and from which module, its file the build id.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import OUTPUT, ROOT, Agent, Program, Tap, need_root
from otlp_collector import Collector, read_requests, without_comm
from protobuf_wire import fields, message, numbers

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_gos

SOURCE = os.path.join(ROOT, "integration", "targets", "go_names", "main.go")
PROGRAM = os.path.join(OUTPUT, "go_names")
MODULE = "example.com/allframes/names"
SECONDS = 4
RATE = 197

Location = collections.namedtuple("Location", "type mapping lines")


def go_environment():
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GO111MODULE": "on", "GOENV": "off",
                   "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0",
                   "GOCACHE": str(fetch_gos.BUILD_CACHE)}
    environment.pop("GOROOT", None)
    return environment


def run_go(*words):
    """What the machine's go printed."""
    return subprocess.run([fetch_gos.machines_go(), *words], env=go_environment(), check=True,
                          cwd=os.path.dirname(SOURCE), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


class Source:
    """The lines of the program: `// line of NAME` marks one, and functions have ranges."""

    def __init__(self):
        with open(SOURCE, encoding="ascii") as file:
            self.lines = file.read().split("\n")

    def marked(self, name):
        return next(number for number, line in enumerate(self.lines, 1)
                    if line.endswith("// line of " + name))

    def range_of(self, start):
        """Lines of the function whose first one starts with @start."""
        first = next(number for number, line in enumerate(self.lines, 1) if line.startswith(start))
        last = next(number for number, line in enumerate(self.lines, 1)
                    if number > first and line == "}")
        return range(first, last + 1)


class Request:
    """One OTLP request: locations of its dictionary, and how many samples have which leaf."""

    def __init__(self, path):
        with open(path, "rb") as file:
            parts = list(fields(file.read()))
        dictionary = collections.defaultdict(list)
        for number, value in fields(next(value for number, value in parts if number == 2)):
            dictionary[number].append(value)
        self.strings = [text.decode() for text in dictionary[5]]
        self.attributes = [message(one, key=1, value=2) for one in dictionary[6]]
        self.functions = [message(one, name=1, file=3) for one in dictionary[3]]
        self.locations = [self._location(one) for one in dictionary[2]]
        leaves = [(numbers(stack, 1) or [0])[0] for stack in dictionary[7]]
        self.leaves = collections.Counter()
        for stack, count in self._samples(value for number, value in parts if number == 1):
            self.leaves[self.locations[leaves[stack]]] += count

    def _location(self, data):
        kind = None
        for index in numbers(data, 4):
            attribute = self.attributes[index]
            if self.strings[attribute.key] == "profile.frame.type":
                kind = message(attribute.value, text=1).text.decode()
        lines = [message(value, function=1, line=2) for number, value in fields(data)
                 if number == 3]
        return Location(kind, message(data, mapping=1).mapping,
                        tuple((self.strings[self.functions[one.function].name],
                               self.strings[self.functions[one.function].file], one.line)
                              for one in lines))

    @staticmethod
    def _inner(messages, wanted):
        return (value for data in messages for number, value in fields(data) if number == wanted)

    def _samples(self, resources):
        for sample in self._inner(self._inner(self._inner(resources, 2), 2), 2):
            stack = message(sample, stack=1).stack
            yield stack, sum(len(value) // 8 for number, value in fields(sample) if number == 5)


def is_allowed(lines, source):
    """Whether functions and lines of a location are ones that the source has in each other."""
    inner = ("main.inner", source.marked("inner"))
    middle = ("main.middle", source.marked("middle"))
    in_outer = source.marked("outer")
    frames = [(function, line) for function, _, line in lines]
    function, line = frames[-1]
    if any(file != SOURCE for _, file, _ in lines):
        return False
    if len(frames) > 1:
        return frames in ([inner, middle, ("main.outer", in_outer)],
                          [middle, ("main.outer", in_outer)])
    starts = {"main.(*mixer).spin": "func (m *mixer) spin", "main.outer": "func outer",
              "main.sum[...]": "func sum", "main.twice": "func twice", "main.main": "func main"}
    if re.fullmatch(r"main\.main\.func\d+", function):
        return abs(line - source.marked("the closure")) <= 1
    return function in starts and line in source.range_of(starts[function])


def check_leaves(tap, leaves, source, where):
    """@leaves: Counter of Location; of those of the program's own code."""
    named = {location: count for location, count in leaves.items()
             if location.lines and location.lines[0][0].startswith("main.")}
    total = sum(leaves.values())
    tap.ok(sum(named.values()) > 0.8 * total > 150, "most leaves are the program's: " + where,
           sum(named.values()), total, list(leaves)[:20])
    tap.ok(all(location.type == "go" and location.mapping for location in named),
           "their type is go, and they have the file as mapping: " + where, list(named)[:5])
    wrong = [location for location in named if not is_allowed(location.lines, source)]
    tap.ok(not wrong, "function, file and line are those of the source: " + where, wrong[:10])
    names = collections.Counter()
    for location, count in named.items():
        names[re.sub(r"\d+$", "", location.lines[0][0])] += count
    for name in ("main.(*mixer).spin", "main.inner", "main.sum[...]", "main.main.func"):
        tap.ok(names[name] > 10, "%s is among them: %s" % (name, where), names)


def check_attributes(tap, received):
    version = run_go("env", "GOVERSION")
    for key, value in (("process.runtime.name", "go"), ("process.runtime.version", version),
                       ("allframes.go.module.path", MODULE),
                       ("allframes.go.module.version", "(devel)")):
        tap.ok(received.values("sample", key) == {value}, key, received.values("sample", key))
    build_id = run_go("tool", "buildid", PROGRAM)
    tap.ok(received.values("mapping", "process.executable.build_id.go") == {build_id},
           "the mapping has Go's build id",
           received.values("mapping", "process.executable.build_id.go"), build_id)


def main():
    tap = Tap()
    need_root(tap, "names of a Go program")
    if not fetch_gos.machines_go():
        tap.skip("names of a Go program", "there is no go")
        tap.finish()
    os.makedirs(OUTPUT, exist_ok=True)
    run_go("build", "-buildvcs=false", "-ldflags=-s -w", "-o", PROGRAM, ".")
    source = Source()
    with Program(PROGRAM) as program, Collector() as collector, \
            tempfile.TemporaryDirectory() as directory:
        otlp, folded = (os.path.join(directory, name) for name in ("all.otlp", "all.folded"))
        with Agent("-collection-agent", collector.address, "-disable-tls", "-samples-per-second",
                   RATE, "-reporter-interval", "1s", "-duration", "%ds" % SECONDS, "-pid",
                   program.pid, outputs=[folded, otlp]) as agent:
            agent.folded_path = folded
            result = agent.wait(SECONDS + 30)
            stacks = result.stacks if result.status == 0 else None
        received = collector.stop()
        if not tap.ok(stacks, "the agent runs and ends well", result.log[-3000:]):
            tap.finish()
        tap.ok(received.status == 0, "no rule is broken", received.broken(), received.log)
        leaves = collections.Counter()
        for path in collector.saved_files():
            leaves += Request(path).leaves
        check_leaves(tap, leaves, source, "sent")
        check_leaves(tap, Request(otlp).leaves, source, "in a file")
        named = read_requests(collector.saved_files(), "-names", otlp)
        tap.ok(named.stacks == without_comm(stacks), "stacks are those of the folded file",
               list(named.stacks.items())[:5], list(stacks.items())[:5])
        inlined = [stack for stack in stacks
                   if ";main.outer;main.middle_[i];main.inner_[i]" in str(stack)]
        tap.ok(inlined, "inlined functions stand there behind those around them",
               list(stacks)[:10])
        check_attributes(tap, received)
    tap.finish()


if __name__ == "__main__":
    main()
