# SPDX-License-Identifier: Apache-2.0
"""Files of which only some parts are kept: those that a test reads. They are packed into one file, xz of, for each file,
a line `file SIZE PATH` and for each part a line `at OFFSET LENGTH` with so many bytes and a newline behind it; paths and
offsets ascend. Lines before the first file that begin with # are a comment. Unpacked, they are sparse files, with zeros
between the parts.
"""
import lzma
import os

PAGE = 4096


def pack(path, files, comment=""):
    """@files: {path: (size, {offset: bytes})}"""
    parts = ["".join("# %s\n" % line for line in comment.splitlines()).encode()]
    for name, (size, ranges) in sorted(files.items()):
        parts.append(b"file %d %s\n" % (size, os.fsencode(name)))
        for offset, data in sorted(ranges.items()):
            parts.append(b"at %d %d\n" % (offset, len(data)) + data + b"\n")
    with lzma.open(path, "wb", preset=9 | lzma.PRESET_EXTREME) as file:
        file.writelines(parts)


def read(path):
    """What pack() took, without the comment."""
    with lzma.open(path) as file:
        data = file.read()
    files, at = {}, 0
    while at < len(data):
        end = data.index(b"\n", at)
        word, *fields = data[at:end].split(b" ", 2)
        at = end + 1
        if word == b"file":
            files[os.fsdecode(fields[1])] = (int(fields[0]), {})
            ranges = files[os.fsdecode(fields[1])][1]
        elif word == b"at":
            offset, length = map(int, fields)
            ranges[offset] = data[at:at + length]
            at += length + 1
        elif word[:1] != b"#":
            raise ValueError("%s: %r at %d" % (path, data[at:at + 40], at))
    return files


def unpack(path, root):
    """Makes the files below the folder @root."""
    for name, (size, ranges) in read(path).items():
        target = os.path.join(root, name.lstrip("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.truncate(size)
            for offset, data in ranges.items():
                os.pwrite(file.fileno(), data, offset)


def pages_of(path, pages):
    """{offset: bytes} of the pages of these numbers of a file, those that follow each other in one."""
    ranges = {}
    with open(path, "rb") as file:
        first = None
        for page in sorted(pages):
            if first is None or page != last + 1:
                first = page
            last = page
            file.seek(page * PAGE)
            ranges[first * PAGE] = ranges.get(first * PAGE, b"") + file.read(PAGE)
    return {offset: data for offset, data in ranges.items() if data}
