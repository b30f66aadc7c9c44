# SPDX-License-Identifier: Apache-2.0
"""When and in which thread the samples of a folded file came: from the .otlp file of the same run, which has
threads and times. So bad samples that follow each other in one thread count as one event.
"""
import collections
import re

import bad_events
from protobuf_wire import fields, message, numbers

_LOCATION = re.compile(r" \([^()]*\)(?=(?:_\[[^\]]\])*$)")
_NATIVE_FILE = re.compile(r"\.(?:[chS]|cc|cpp|cxx|hh|hpp|hxx|inc|def)$")
_MARKS = re.compile(r"(?:_\[[kij~]\])+$")


def _plain(frame):
    """A frame without what only folded files have: the line, and marks but that of a guess."""
    return _MARKS.sub("", _LOCATION.sub("", frame))


class SampleTimes:
    """The samples of one .otlp file by thread; read when they are asked for."""

    def __init__(self, data):
        self._data = data
        # The stacks that will be asked for are those of harness.without_native_lines().
        self.is_without_native_lines = False

    def count_events(self, stacks):
        """How many events @stacks are, {Stack: count} of the same run. Those that are not found in the
        file count one event a sample, so that none is lost.
        """
        if not stacks:
            return 0
        wanted = {(stack.comm, tuple(map(_plain, stack.frames))) for stack in stacks}
        found, threads = set(), []
        for samples in self.threads.values():
            samples.sort()
            keys = [key for _, key in samples]
            found |= wanted & set(keys)
            threads.append([key in wanted for key in keys])
        missing = sum(count for stack, count in stacks.items()
                      if (stack.comm, tuple(map(_plain, stack.frames))) not in found)
        return min(sum(stacks.values()), bad_events.count_events(threads) + missing)

    @property
    def seconds(self):
        """How long was sampled: on a busy machine longer than the duration, which begins when all is loaded."""
        return max(message(profile, duration=4).duration for number, resource in fields(self._data) if number == 1
                   for profile in _profiles(resource)) / 1e9

    @property
    def threads(self):
        """{(pid, tid): [(time, (comm, frames))]}."""
        resources, tables = [], collections.defaultdict(list)
        for number, value in fields(self._data):
            if number == 1:
                resources.append(value)
            else:
                for kind, entry in fields(value):
                    tables[kind].append(entry)
        names = _Names(tables, self.is_without_native_lines)
        threads = collections.defaultdict(list)
        for resource in resources:
            for sample in _samples(resource):
                stack = message(sample, stack=1).stack
                attributes = names.attributes(sample)
                key = (attributes.get("process.executable.name", ""), names.stack(stack))
                thread = attributes.get("process.pid"), attributes.get("thread.id")
                threads[thread] += [(time, key) for number, packed in fields(sample) if number == 5
                                    for time in _fixed(packed)]
        return threads


def _profiles(resource):
    for number, scope in fields(resource):
        for inner, profile in fields(scope) if number == 2 else ():
            if inner == 2:
                yield profile


def _samples(resource):
    for profile in _profiles(resource):
        yield from (value for kind, value in fields(profile) if kind == 2)


def _fixed(packed):
    """The numbers of 8 bytes in a field that is packed or not."""
    if isinstance(packed, int):
        return [packed]
    return [int.from_bytes(packed[at:at + 8], "little") for at in range(0, len(packed), 8)]


class _Names:
    """What the numbers in samples stand for."""

    def __init__(self, tables, is_without_native_lines):
        self._tables = tables
        self._is_without_native_lines = is_without_native_lines
        self._strings = [text.decode("utf-8", "surrogateescape") for text in tables[5]]
        self._stacks, self._frames_of, self._attributes = {}, {}, {}

    def attributes(self, data):
        """The attributes of a sample."""
        return dict(map(self._attribute, numbers(data, 2)))

    def _attribute(self, index):
        """Key and value; most samples share them."""
        if index not in self._attributes:
            attribute = message(self._tables[6][index], key=1, value=2)
            value = message(attribute.value or b"", text=1, truth=2, number=3)
            self._attributes[index] = (self._strings[attribute.key], value.text.decode() if value.text
                                       else value.number or value.truth)
        return self._attributes[index]

    def stack(self, index):
        """The frames of a stack, root first, as _plain() has them."""
        if index not in self._stacks:
            frames = []
            for location in reversed(numbers(self._tables[7][index], 1)):
                if location not in self._frames_of:
                    self._frames_of[location] = self._frames(self._tables[2][location])
                frames += self._frames_of[location]
            self._stacks[index] = tuple(frames)
        return self._stacks[index]

    def _frames(self, location):
        fixed = message(location, mapping=1, address=2)
        lines = [value for number, value in fields(location) if number == 3]
        is_guess = any("allframes.frame.guess" == self._strings[message(self._tables[6][index], key=1).key]
                       for index in numbers(location, 4))
        functions = [message(line, function=1).function for line in reversed(lines)]
        frames = [self._name(index, 1) for i, index in enumerate(functions)
                  if not (i and self._is_without_native_lines
                          and _NATIVE_FILE.search(self._name(index, 3)))]
        if not frames:
            file = message(self._tables[1][fixed.mapping], file=4).file
            frames = ["%s+%#x" % (self._strings[file].rpartition("/")[2], fixed.address)]
        return [frame + "_[?]" * is_guess for frame in frames]

    def _name(self, index, field):
        """The name of a function, or with field 3 of its file."""
        found = message(self._tables[3][index], **{"text": field}).text
        return self._strings[found].replace(";", ":")
