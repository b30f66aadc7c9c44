# SPDX-License-Identifier: Apache-2.0
"""Makes pprof profiles of given stacks for tests, and counts the functions of these stacks by itself."""
import collections

from protobuf_wire import field


class Strings:
    def __init__(self):
        self.texts = [""]

    def __call__(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def fields(self):
        return b"".join(field(6, text.encode()) for text in self.texts)


Row = collections.namedtuple("Row", "stack values labels", defaults=[()])
"""stack: names, root first. labels: (key, text), or (key, number, unit)."""


def _label(strings, label):
    key, value, *unit = label
    data = field(1, strings(key))
    if isinstance(value, str):
        return field(3, data + field(2, strings(value)))
    return field(3, data + field(3, value) + (field(4, strings(unit[0])) if unit else b""))


def pprof(types, rows, period=None, shown="", duration_ns=0, time_ns=0, comments=(), build_id="", file="/opt/made"):
    """@period: (type, unit, number). All code is in @file, which has a build id."""
    strings, ids, tables = Strings(), {}, b""
    parts = [field(1, field(1, strings(kind)) + field(2, strings(unit))) for kind, unit in types]
    for row in rows:
        for name in row.stack:
            if name not in ids:
                ids[name] = len(ids) + 1
                tables += field(5, field(1, ids[name]) + field(2, strings(name)))
                tables += field(4, field(1, ids[name]) + field(2, 1) + field(3, 0x1000 + ids[name]) +
                                field(4, field(1, ids[name])))
        parts.append(field(2, b"".join(field(1, ids[name]) for name in reversed(row.stack)) +
                           b"".join(field(2, value) for value in row.values) +
                           b"".join(_label(strings, label) for label in row.labels)))
    parts.append(field(3, field(1, 1) + field(2, 0x1000) + field(3, 0x9000) + field(5, strings(file)) +
                       field(6, strings(build_id)) + field(7, 1)))
    parts.append(tables)
    if period:
        parts.append(field(11, field(1, strings(period[0])) + field(2, strings(period[1]))) + field(12, period[2]))
    parts += [field(13, strings(comment)) for comment in comments]
    parts.append(field(9, time_ns) + field(10, duration_ns) + field(14, strings(shown)))
    return b"".join(parts) + strings.fields()


def counted(rows, index):
    """{name: (self, total)} of value @index: a function counts once for each stack."""
    flat, cumulative = collections.Counter(), collections.Counter()
    for row in rows:
        flat[row.stack[-1]] += row.values[index]
        for name in set(row.stack):
            cumulative[name] += row.values[index]
    return {name: (flat[name], cumulative[name]) for name in cumulative
            if any(row.values[index] for row in rows if name in row.stack)}
