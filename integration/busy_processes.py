# SPDX-License-Identifier: Apache-2.0
"""A recording of a busy host as an OTLP file, made by a fixed seed: eight CPUs for 13 minutes at 19 Hz, and processes with
users, containers, parents and command lines. Half-way shop's workers are restarted with a version whose tax() takes longer.
"""
import collections
import itertools
import random
import struct

import busy_host
from protobuf_wire import field

RATE = 19
CPUS = 8
SECONDS = 780
START_S = 1_790_000_000
DEPLOY_S = 390
STACKS = 60
BUSY = 0.9
CONTAINER = "4f" * 32

Process = collections.namedtuple("Process", "comm pid user container parent command threads weight from_s to_s")

_SHOP = ["_start", "main", "serve_request", "checkout"]


def _processes():
    found = []

    def add(comm, pid, user, parent, command, weight, container="", threads=1, from_s=0, to_s=SECONDS):
        found.append(Process(comm, pid, user, container, parent, command, threads, weight, from_s, to_s))

    add("postgres", 800, "postgres", 1, "/usr/lib/postgresql/15/bin/postgres -D /data", 1)
    for i in range(6):
        add("postgres", 810 + i, "postgres", 800, "postgres: shop shop 10.0.0.%d SELECT" % i, 2)
    add("nginx", 900, "root", 1, "nginx: master process", 0.2)
    for i in range(4):
        add("nginx", 901 + i, "www-data", 900, "nginx: worker process", 1.5)
    for i in range(3):
        add("shop", 1000 + i, "app", 999, "/srv/shop --worker %d" % i, 6, CONTAINER, 4, 0, DEPLOY_S)
        add("shop", 2000 + i, "app", 999, "/srv/shop --worker %d" % i, 6, CONTAINER, 4, DEPLOY_S)
    add("kafka", 1200, "kafka", 1, "java -Xmx4g kafka.Kafka server.properties", 5, threads=12)
    add("celery", 1300, "app", 1, "python3 -m celery worker", 3, CONTAINER)
    # A build: many short programs of one parent.
    for i in range(150):
        begin = 5 * i
        add("cc1plus", 5000 + i, "builder", 4999, "cc1plus -quiet -O2 part_%d.cpp" % i, 20, "", 1, begin,
            min(SECONDS, begin + 8))
    return found


PROCESSES = _processes()


def _stacks(source):
    """{comm: stacks}. shop's, by whether they are of the new version: what tax() took a fifth of is a half there."""
    stacks = {comm: busy_host.stacks_of(source, comm, STACKS) for comm in ("postgres", "nginx", "kafka", "celery", "cc1plus")}
    others = [[*_SHOP, name] for name in ("cart", "prices", "render", "stock")]
    stacks["shop"] = [*others, [*_SHOP, "tax"]]
    stacks["shop new"] = [*others, [*_SHOP, "cart", "discount"], *[[*_SHOP, "tax"]] * 5]
    return stacks


Taken = collections.namedtuple("Taken", "process thread cpu stack time_ns")


def samples():
    """All samples, in the order of their times."""
    source = random.Random(busy_host.SEED)
    stacks = _stacks(source)
    period = 1_000_000_000 // RATE
    for second in range(SECONDS):
        alive = [process for process in PROCESSES if process.from_s <= second < process.to_s]
        weights = list(itertools.accumulate(process.weight for process in alive))
        for tick in range(RATE):
            for cpu in range(CPUS):
                if source.random() > BUSY:
                    continue
                process = source.choices(alive, cum_weights=weights)[0]
                thread = source.randrange(process.threads)
                known = "shop new" if process.pid >= 2000 and process.comm == "shop" else process.comm
                yield Taken(process, thread, cpu, tuple(source.choice(stacks[known])),
                            (START_S + second) * 1_000_000_000 + tick * period + cpu * 1000)


class _Table:
    """Numbers for things, from 1 on, and what is written for each."""

    def __init__(self):
        self._numbers = {}
        self.written = []

    def number(self, key, write):
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers) + 1
            self.written.append(write())
        return self._numbers[key]


class _Dictionary:
    def __init__(self):
        self._strings, self._functions, self._locations = _Table(), _Table(), _Table()
        self._attributes, self._stacks = _Table(), _Table()

    def string(self, text):
        return self._strings.number(text, text.encode)

    def attribute(self, key, value):
        any_value = field(1, value.encode()) if isinstance(value, str) else field(3, value)
        return self._attributes.number((key, value), lambda: field(1, self.string(key)) + field(2, any_value))

    def _location(self, frame):
        name = frame.partition(" (")[0].removesuffix("_[k]")
        kind = "kernel" if frame.endswith("_[k]") else "native"
        function = self._functions.number(name, lambda: field(1, self.string(name)))
        attribute = self.attribute("profile.frame.type", kind)
        return self._locations.number((name, kind), lambda: field(3, field(1, function)) + field(4, attribute))

    def stack(self, frames):
        return self._stacks.number(frames, lambda: b"".join(
            field(1, self._location(frame)) for frame in reversed(frames)))

    def message(self):
        """Each table begins with an empty entry."""
        return b"".join(field(number, entry) for number, table in (
            (2, self._locations), (3, self._functions), (5, self._strings), (6, self._attributes), (7, self._stacks))
                        for entry in (b"", *table.written))


def _resource(process):
    texts = {"process.executable.name": process.comm, "process.owner": process.user,
             "process.command_line": process.command, "container.id": process.container, "host.name": "busy"}
    numbers = {"process.pid": process.pid, "process.parent_pid": process.parent}
    pairs = [(key, field(1, text.encode())) for key, text in texts.items() if text]
    pairs += [(key, field(3, number)) for key, number in numbers.items()]
    return b"".join(field(1, field(1, key.encode()) + field(2, value)) for key, value in pairs)


def write(path):
    """Writes the recording to @path and returns its samples."""
    taken = list(samples())
    dictionary = _Dictionary()
    kinds = dictionary.string("samples"), dictionary.string("count")
    units = dictionary.string("cpu"), dictionary.string("nanoseconds")
    by_process = collections.defaultdict(lambda: collections.defaultdict(list))
    for sample in taken:
        by_process[sample.process][sample.thread, sample.cpu, sample.stack].append(sample.time_ns)
    head = (field(1, field(1, kinds[0]) + field(2, kinds[1])) + field(4, SECONDS * 1_000_000_000) +
            field(5, field(1, units[0]) + field(2, units[1])) + field(6, 1_000_000_000 // RATE))
    start = b"\x19" + struct.pack("<Q", START_S * 1_000_000_000)
    resources = []
    for process, found in by_process.items():
        parts = [head, start]
        for (thread, cpu, stack), times in found.items():
            indices = [dictionary.attribute("thread.name", "%s-%d" % (process.comm, thread)),
                       dictionary.attribute("thread.id", process.pid * 100 + thread),
                       dictionary.attribute("cpu.logical_number", cpu)]
            parts.append(field(2, field(1, dictionary.stack(stack)) + b"".join(field(2, index) for index in indices) +
                               field(5, struct.pack("<%dQ" % len(times), *times))))
        resources.append(field(1, field(1, _resource(process)) + field(2, field(2, b"".join(parts)))))
    with open(path, "wb") as file:
        file.write(b"".join(resources) + field(2, dictionary.message()))
    return taken
