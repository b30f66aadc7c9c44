#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Labels of goroutines (runtime/pprof.Do()) and their ids, as a collector and a pprof file get
them: each sample in a function of targets/go_labels has exactly the labels that its goroutine has
there, on the goroutine's stack and on the scheduler's. The long tier does it with every Go that keeps
them differently.
"""
# time limit: 900 s
import collections
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gos
from harness import IS_LONG, OUTPUT, ROOT, Agent, Program, Tap, need_root
from otlp_collector import Collector
from pprof_reader import Profile
from protobuf_wire import fields, message, numbers

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_gos

SOURCE = os.path.join(ROOT, "integration", "targets", "go_labels")
LONG_VERSIONS = ["1.16.15", "1.17.13", "1.18.10", "1.19.13", "1.20.14", "1.21.13", "1.22.12",
                 "1.23.12", "1.24.0", "1.25.14", "1.26.11", "1.27.4"]
# Seconds of the program's CPU time; a busy machine needs longer for them.
CPU_SECONDS = 1
MAX_SECONDS = 60
RATE = 1999
LABELS_MAX = 8
KEY_MAX_BYTES, VALUE_MAX_BYTES = 62, 128

PREFIX = "process.context.label."
OWN_KEYS = {"comm", "pid", "thread", "tid"}


def numbered(count):
    return {"key%02d" % i: "value%02d" % i for i in range(count)}


# The labels in each function, as pprof.Do() has them. A text that is cut ends with a whole character.
LABELS = {
    "main.busyNone": {},
    "main.busyOne": {"only": "one"},
    "main.busyOuter": {"outer": "1"},
    "main.busyInner": {"outer": "1", "inner": "2"},
    "main.busyAgain": {"outer": "3"},
    "main.busyEight": numbered(8),
    "main.busyLong": {"k" * KEY_MAX_BYTES: "v" * VALUE_MAX_BYTES,
                      "é" * (KEY_MAX_BYTES // 2): "ü" * (VALUE_MAX_BYTES // 2)},
    "main.busyOdd": {"process.pid": "1", "pid": "2", "comm": "mine", "label.tid": "3",
                     "goroutine": "4", "empty": "", "control ": "a?b??"},
    "main.busySystem": {"system": "stack"},
    "main.busyChild": {"inherited": "yes"},
    "main.busyShort": {"short": "yes"},
}
# Of more labels than are sent, any.
MANY = "main.busyMany"

# How pprof files have keys that are theirs.
PPROF_KEYS = {"pid": "label.pid", "comm": "label.comm", "label.tid": "label.label.tid",
              "goroutine": "label.goroutine"}

Sample = collections.namedtuple("Sample", "frames labels goroutine count")


class Go(gos.Go):
    """A toolchain: the machine's, or one that scripts/fetch_gos.py brought."""

    def program(self):
        """The path of the program, built."""
        folder = os.path.join(OUTPUT, "go_labels", self.version)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "go_labels")
        self._compile(path, SOURCE, ".", gos.Mode(link="-s -w"))
        return path


class Target(Program):
    """The program; goroutines: the number of some by name."""

    def __init__(self, path):
        self.goroutines = {}
        super().__init__(path, ready=False)
        for line in self.process.stdout:
            words = line.decode().split()
            if words == ["ready"]:
                return
            self.goroutines[words[1]] = int(words[2])
        self.__exit__()
        raise RuntimeError("%s did not get ready" % path)


# --- what was sent ---

class Dictionary:
    """The tables of an OTLP request."""

    def __init__(self, data):
        tables = collections.defaultdict(list)
        for number, value in fields(data):
            tables[number].append(value)
        self._strings = [text.decode() for text in tables[5]]
        self._functions = [self._strings[message(one, name=1).name] for one in tables[3]]
        self._locations = [[self._functions[message(value, function=1).function]
                            for number, value in fields(one) if number == 3]
                           for one in tables[2]]
        self._stacks = [[name for index in numbers(one, 1) for name in self._locations[index]]
                        for one in tables[7]]
        self._attributes = [self._attribute(one) for one in tables[6]]

    def _attribute(self, data):
        entry = message(data, key=1, value=2)
        value = None
        for number, one in fields(entry.value or b""):
            value = one.decode() if number == 1 else one
        return self._strings[entry.key], value

    def sample(self, data):
        one = message(data, stack=1)
        attributes = {}
        for index in numbers(data, 2):
            key, value = self._attributes[index]
            if key in attributes:
                raise ValueError("attribute %s is there twice" % key)
            attributes[key] = value
        labels = {key[len(PREFIX):]: value for key, value in attributes.items()
                  if key.startswith(PREFIX)}
        count = sum(len(value) // 8 for number, value in fields(data) if number == 5)
        return Sample(self._stacks[one.stack], labels, attributes.get("go.goroutine.id"), count)


def _inner(messages, wanted):
    return (value for data in messages for number, value in fields(data) if number == wanted)


def sent_samples(path):
    with open(path, "rb") as file:
        parts = list(fields(file.read()))
    dictionary = Dictionary(next(value for number, value in parts if number == 2))
    resources = [value for number, value in parts if number == 1]
    for data in _inner(_inner(_inner(resources, 2), 2), 2):
        yield dictionary.sample(data)


def written_samples(path):
    """Of a pprof file; labels with the keys that the program gave them."""
    keys = {ours: key for key, ours in PPROF_KEYS.items()}
    for sample in Profile(path).samples:
        if not OWN_KEYS <= set(sample.labels):
            raise ValueError("a sample lacks labels: %s" % sample.labels)
        goroutine = sample.labels.get("goroutine")
        labels = {keys.get(key, key): value or "" for key, value in sample.labels.items()
                  if key not in OWN_KEYS | {"goroutine"}}
        yield Sample(list(reversed(sample.frames)), labels, goroutine, sample.values[0])


# --- what they must be ---

def function_of(sample):
    """The function of the table that the sample is in, innermost first; None if in none."""
    names = [re.sub(r"_\[\w\]$", "", name) for name in sample.frames]
    return next((name for name in names if name in LABELS or name == MANY), None)


def is_right(name, labels):
    if name != MANY:
        return labels == LABELS[name]
    return 0 < len(labels) <= LABELS_MAX and labels.items() <= numbered(12).items()


def check_labels(tap, samples, where):
    wrong, counts, on_system, empty = [], collections.Counter(), 0, 0
    for sample in samples:
        name = function_of(sample)
        if not name:
            continue
        counts[name] += sample.count
        if not is_right(name, sample.labels):
            wrong.append((sample.count, name, sample.labels, sample.frames))
        if name == "main.busySystem" and any("systemstack" in one for one in sample.frames):
            on_system += sample.count
    for name in [*LABELS, MANY]:
        tap.ok(counts[name] > 20, "there are samples in %s: %s" % (name, where), counts)
    tap.ok(not wrong, "all have exactly their labels: " + where,
           "%d of %d" % (sum(one[0] for one in wrong), sum(counts.values())),
           *sorted(wrong, reverse=True, key=lambda one: one[0])[:10])
    tap.ok(on_system > 20, "some of them on the scheduler's stack: " + where, on_system)
    tap.note("%s: %d samples, %d on the scheduler's stack" % (where, sum(counts.values()),
                                                             on_system))


def check_goroutines(tap, samples, goroutines, where):
    for name, function in (("none", "main.busyNone"), ("one", "main.busyOne")):
        found = {sample.goroutine for sample in samples if function_of(sample) == function}
        tap.ok(found == {goroutines[name]}, "%s has its goroutine's id: %s" % (function, where),
               found, goroutines)
    found = {sample.goroutine for sample in samples if function_of(sample) == "main.busyShort"}
    tap.ok(len(found) > 20 and None not in found,
           "goroutines that end soon have their own: " + where, len(found))


def wait_busy(pid):
    """Until the process has had its CPU time."""
    def used():
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return sum(map(int, file.read().rpartition(")")[2].split()[11:13]))

    end = time.monotonic() + MAX_SECONDS
    wanted = used() + CPU_SECONDS * os.sysconf("SC_CLK_TCK")
    while used() < wanted and time.monotonic() < end:
        time.sleep(0.1)


def run_agent(tap, target, with_goroutines, directory):
    """Samples of the collector and of the pprof file; None if the agent fails."""
    pprof = os.path.join(directory, "all.pb.gz")
    options = ["-with-goroutine-id"] if with_goroutines else []
    with Collector() as collector, \
            Agent("-collection-agent", collector.address, "-disable-tls", "-samples-per-second",
                  RATE, "-reporter-interval", "1s", "-pid", target.pid, *options,
                  outputs=[pprof]) as agent:
        agent.wait_started()
        wait_busy(target.pid)
        result = agent.stop()
        received = collector.stop()
        if not tap.ok(result.status == 0, "the agent runs and ends well", result.log[-3000:]):
            return None
        tap.ok(received.status == 0, "no rule is broken", received.broken(), received.log)
        sent = [sample for path in collector.saved_files() for sample in sent_samples(path)]
    return {"sent": sent, "pprof": list(written_samples(pprof))}


def check_go(tap, go):
    with Target(go.program()) as target, tempfile.TemporaryDirectory() as directory:
        found = run_agent(tap, target, True, directory)
        for where, samples in (found or {}).items():
            check_labels(tap, samples, "%s, %s" % (go.name, where))
            check_goroutines(tap, samples, target.goroutines, "%s, %s" % (go.name, where))


def check_without_numbers(tap, go):
    with Target(go.program()) as target, tempfile.TemporaryDirectory() as directory:
        found = run_agent(tap, target, False, directory)
        for where, samples in (found or {}).items():
            check_labels(tap, samples, "no numbers, %s" % where)
            tap.ok(not any(sample.goroutine for sample in samples),
                   "without the option there are no numbers: " + where)


def main():
    tap = Tap()
    need_root(tap, "labels of goroutines")
    if not fetch_gos.machines_go():
        tap.skip("labels of goroutines", "there is no go")
        tap.finish()
    versions = sys.argv[1:] or [None] + (LONG_VERSIONS if IS_LONG else [])
    for index, version in enumerate(versions):
        if version and not fetch_gos.is_fetched(version):
            tap.skip("labels of goroutines, go" + version, "it is not fetched")
            continue
        go = Go(fetch_gos.DIRECTORY / version if version else None)
        check_go(tap, go)
        if not index:
            check_without_numbers(tap, go)
    tap.finish()


if __name__ == "__main__":
    main()
