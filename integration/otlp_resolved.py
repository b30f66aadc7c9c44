# SPDX-License-Identifier: Apache-2.0
"""OTLP profiles as lines of text with their tables resolved: what two requests have in common does not depend on the
order of their tables. A second reader beside build/collector, by the wire format alone; field numbers are those of
proto/otlp_profiles.proto and of what it imports. Random ids of profiles are left out.
"""
import struct

from protobuf_wire import fields, message, numbers


def _all(data, wanted):
    return [value for number, value in fields(data) if number == wanted]


def _one(data, wanted):
    values = _all(data, wanted)
    return values[-1] if values else b""


def _text(data):
    return ascii(data.decode("utf-8", "surrogateescape"))


def _value(data):
    """An AnyValue."""
    for number, value in fields(data):
        if number == 1:
            return _text(value)
        if number == 2:
            return "true" if value else "false"
        if number == 3:
            return str(value)
        if number == 5:
            return "[%s]" % ",".join(_value(part) for part in _all(value, 1))
        return "field %d: %r" % (number, value)
    return "nothing"


def _fixed64(data, wanted):
    values = []
    for value in _all(data, wanted):
        values += [value] if isinstance(value, int) else struct.unpack("<%dQ" % (len(value) // 8), value)
    return values


class _Dictionary:
    """The tables of a request; entries are made texts when they are asked for."""

    def __init__(self, data):
        mappings, locations, functions, _, strings, attributes, stacks = (_all(data, n) for n in range(1, 8))
        self.strings = [_text(text) for text in strings]
        self.attributes = [self._attribute(part) for part in attributes]
        self.functions = [self._function(part) for part in functions]
        self.mappings = [self._mapping(part) for part in mappings]
        self.locations = [self._location(part) for part in locations]
        self.stacks = [" < ".join(self.locations[index] for index in numbers(part, 1)) for part in stacks]

    def _attribute(self, data):
        found = message(data, key=1, value=2, unit=3)
        return "%s=%s%s" % (self.strings[found.key], _value(found.value or b""),
                            self.strings[found.unit] if found.unit else "")

    def attributes_of(self, data, wanted):
        return ",".join(sorted(self.attributes[index] for index in numbers(data, wanted)))

    def _function(self, data):
        found = message(data, name=1, system_name=2, file=3, line=4)
        return "%s %s %s %d" % (self.strings[found.name], self.strings[found.system_name], self.strings[found.file],
                                found.line)

    def _mapping(self, data):
        found = message(data, start=1, limit=2, offset=3, file=4)
        return "%#x %#x %#x %s {%s}" % (found.start, found.limit, found.offset, self.strings[found.file],
                                        self.attributes_of(data, 5))

    def _location(self, data):
        found = message(data, mapping=1, address=2)
        lines = [message(part, function=1, line=2, column=3) for part in _all(data, 3)]
        return "(%s) %#x {%s} %s" % (
            self.mappings[found.mapping], found.address, self.attributes_of(data, 4),
            "; ".join("%s:%d:%d" % (self.functions[line.function], line.line, line.column) for line in lines))


def _key_values(data, wanted):
    return ",".join(sorted("%s=%s" % (_text(_one(part, 1)), _value(_one(part, 2))) for part in _all(data, wanted)))


def _type(dictionary, data):
    found = message(data, type=1, unit=2)
    return "%s in %s" % (dictionary.strings[found.type], dictionary.strings[found.unit])


def _profile_lines(dictionary, data):
    top = " | ".join((
        _type(dictionary, _one(data, 1)), "time %s" % _fixed64(data, 3), "duration %s" % _all(data, 4),
        "%s period %s" % (_type(dictionary, _one(data, 5)), _all(data, 6)), "id of %d bytes" % len(_one(data, 7)),
        "{%s}" % dictionary.attributes_of(data, 11)))
    for sample in _all(data, 2):
        stack = next((value for number, value in fields(sample) if number == 1), 0)
        yield "%s | {%s} | values %s | times %s | %s" % (
            top, dictionary.attributes_of(sample, 2), numbers(sample, 4), _fixed64(sample, 5), dictionary.stacks[stack])


def resolved_lines(data):
    """One line for each sample of a ProfilesData, sorted."""
    dictionary = _Dictionary(_one(data, 2))
    lines = []
    for resource_profiles in _all(data, 1):
        resource = _one(resource_profiles, 1)
        for scope_profiles in _all(resource_profiles, 2):
            scope = _one(scope_profiles, 1)
            where = "{%s} %s | %s %s {%s} %s" % (
                _key_values(resource, 1), _text(_one(resource_profiles, 3)), _text(_one(scope, 1)),
                _text(_one(scope, 2)), _key_values(scope, 3), _text(_one(scope_profiles, 3)))
            for profile in _all(scope_profiles, 2):
                lines += ["%s | %s" % (where, line) for line in _profile_lines(dictionary, profile)]
    return sorted(lines)
