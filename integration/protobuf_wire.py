# SPDX-License-Identifier: Apache-2.0
"""Reads and writes messages by the protobuf wire format alone."""
import collections
import functools


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


@functools.lru_cache(1 << 16)
def _encode_varint(number):
    number &= (1 << 64) - 1
    data = bytearray()
    while number > 0x7f:
        data.append(number & 0x7f | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def field(number, value):
    """A field of a message, with a number or with bytes."""
    if isinstance(value, int):
        return _encode_varint(number << 3) + _encode_varint(value)
    return _encode_varint(number << 3 | 2) + _encode_varint(len(value)) + value


def fields(data):
    """Yields (number, value): an int, or bytes for what has a length."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = _varint(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif kind == 2:
            length, at = _varint(data, at)
            value, at = data[at:at + length], at + length
            if at > len(data):
                raise ValueError("field %d is cut off" % number)
        else:
            raise ValueError("field %d has wire type %d" % (number, kind))
        yield number, value


@functools.cache
def _message_type(*names):
    return collections.namedtuple("Message", names)


def message(data, **names):
    """The fields of a message that has each at most once; absent ones are 0."""
    found = dict.fromkeys(names, 0)
    by_number = {number: name for name, number in names.items()}
    for number, value in fields(data):
        if number in by_number:
            found[by_number[number]] = value
    return _message_type(*names)(**found)


def numbers(data, wanted):
    """All values of the repeated field @wanted, packed or not."""
    values = []
    for number, value in fields(data):
        if number != wanted:
            continue
        if isinstance(value, int):
            values.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = _varint(value, at)
            values.append(one)
    return values
