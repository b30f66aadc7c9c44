# SPDX-License-Identifier: Apache-2.0
"""Reads pprof files by the protobuf wire format alone: a second reader beside `go tool pprof`.

Field numbers are those of proto/profile.proto of https://github.com/google/pprof. Strict: what is
out of order (ids that lead nowhere, doubled ids, indexes over the string table) is a ValueError.
"""
import collections
import gzip

from protobuf_wire import fields, message, numbers


def _by_id(messages, what):
    table = {}
    for one in messages:
        if one.id == 0 or one.id in table:
            raise ValueError("%s id %d is 0 or there twice" % (what, one.id))
        table[one.id] = one
    return table


class Sample(collections.namedtuple("Sample", "frames values labels lines")):
    """frames: function names, root first; labels: dict of name to text or number; lines: (file, line, column) of each frame."""


class Profile:
    """A pprof file: sample_types, samples, comments, mappings, period, time and duration. @may_double: of frames that
    were made by hand, some differ by nothing that a profile has. @may_repeat: a sample may have a key twice.
    """

    def __init__(self, path, may_double=False, may_repeat=False):
        with gzip.open(path) as file:
            data = file.read()
        parts = collections.defaultdict(list)
        for number, value in fields(data):
            parts[number].append(value)
        self._may_repeat = may_repeat
        self._strings = [text.decode("utf-8", "surrogateescape") for text in parts[6]]
        if not self._strings or self._strings[0] != "":
            raise ValueError("string 0 is not empty")
        if len(set(self._strings)) != len(self._strings):
            raise ValueError("strings are doubled")
        self.sample_types = [self._type(part) for part in parts[1]]
        self.mappings = _by_id(
            [message(part, id=1, start=2, limit=3, offset=4, file=5, build_id=6)
             for part in parts[3]], "mapping")
        self._functions = _by_id([message(part, id=1, name=2, system_name=3, file=4, line=5)
                                  for part in parts[5]], "function")
        self.functions = [(self._strings[one.name], one.line) for one in self._functions.values()]
        self.start_lines = {self._strings[one.name]: one.line for one in self._functions.values()}
        locations = [(message(part, id=1, mapping=2, address=3), part) for part in parts[4]]
        _by_id([location for location, _ in locations], "location")
        if not may_double:
            self._check_doubled(locations)
        self._frames = {location.id: self._names(part) for location, part in locations}
        self._lines_of = {location.id: self._positions(part) for location, part in locations}
        self.addresses = {location.address for location, _ in locations}
        self._mapping_of = {location.id: location.mapping for location, _ in locations}
        if not set(self._mapping_of.values()) <= set(self.mappings) | {0}:
            raise ValueError("a location has an unknown mapping")
        self.samples = [self._sample(part) for part in parts[2]]
        top = message(data, time_ns=9, duration_ns=10, period=12)
        self.time_ns, self.duration_ns, self.period = top
        self.period_type = self._type(parts[11][0]) if parts[11] else None
        self.comments = [self._strings[index] for index in numbers(data, 13)]

    def mapping_file(self, mapping):
        return self._strings[mapping.file]

    def mapping_build_id(self, mapping):
        return self._strings[mapping.build_id]

    def _type(self, data):
        found = message(data, type=1, unit=2)
        return self._strings[found.type], self._strings[found.unit]

    def _check_doubled(self, locations):
        functions = [(one.name, one.file, one.line) for one in self._functions.values()]
        if len(set(functions)) != len(functions):
            raise ValueError("functions are doubled")
        keys = [(one.mapping, one.address, tuple(self._lines(part))) for one, part in locations]
        if len(set(keys)) != len(keys):
            raise ValueError("locations are doubled")

    @staticmethod
    def _lines(data):
        """Functions, lines and columns of one location, inlined ones first."""
        return [message(value, function=1, line=2, column=3) for number, value in fields(data)
                if number == 4]

    def _names(self, data):
        """Names of one location, the caller of inlined ones first."""
        return [self._strings[self._functions[line.function].name]
                for line in reversed(self._lines(data))]

    def _positions(self, data):
        return [(self._strings[self._functions[line.function].file], line.line, line.column)
                for line in reversed(self._lines(data))]

    def _sample(self, data):
        frames, in_kernel, lines = [], [], []
        for location in reversed(numbers(data, 1)):
            mapping = self._mapping_of[location]
            file = self.mapping_file(self.mappings[mapping]) if mapping else ""
            names = self._frames[location]
            if not names:
                raise ValueError("a location has no function")
            frames += names
            lines += self._lines_of[location]
            in_kernel += [file.startswith("[kernel.")] * len(names)
        labels = {}
        for number, value in fields(data):
            if number == 3:
                label = message(value, key=1, text=2, number=3)
                key = self._strings[label.key]
                if key in labels and not self._may_repeat:
                    raise ValueError("label %s is there twice" % key)
                labels[key] = self._strings[label.text] if label.text else label.number
        values = numbers(data, 2)
        if len(values) != len(self.sample_types):
            raise ValueError("a sample has %d values" % len(values))
        frames = [frame + "_[k]" if kernel else frame for frame, kernel in zip(frames, in_kernel)]
        return Sample(tuple(frames), values, labels, tuple(lines))
