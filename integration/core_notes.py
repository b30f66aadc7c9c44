# SPDX-License-Identifier: Apache-2.0
"""Core files: whether they are whole; reads the threads' pointers of x86-64, and adds those of arm64."""
import os
import struct

HEADER_BYTES = 64
# Kind to size in the file, of a program header.
PROGRAM_HEADER = struct.Struct("<IIQQQQ")
PT_NOTE = 4
NT_PRSTATUS = 1
NT_ARM_TLS = 0x401
# Of struct elf_prstatus; fs base is word 21 of the registers of x86-64.
TID_OFFSET = 32
REGISTERS_OFFSET = 112
FS_BASE_OFFSET = REGISTERS_OFFSET + 21 * 8


class Cut(Exception):
    """A core file is not whole."""


def _program_headers(file):
    """Offset of the header, kind, offset and size in the file of each segment."""
    file.seek(0)
    header = file.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        raise Cut("%d bytes of %d of the header" % (len(header), HEADER_BYTES))
    start, (entry_bytes, count) = (struct.unpack_from("<Q", header, 32)[0],
                                   struct.unpack_from("<HH", header, 54))
    for header_offset in range(start, start + count * entry_bytes, entry_bytes):
        file.seek(header_offset)
        data = file.read(PROGRAM_HEADER.size)
        if len(data) < PROGRAM_HEADER.size:
            raise Cut("%d bytes, program headers up to %d" % (file.seek(0, os.SEEK_END),
                                                              start + count * entry_bytes))
        kind, _, offset, _, _, size = PROGRAM_HEADER.unpack(data)
        yield header_offset, kind, offset, size


def _segments(file):
    """Offsets of the program headers of notes, with offset and size of the notes."""
    for header_offset, kind, offset, size in _program_headers(file):
        if kind == PT_NOTE:
            yield header_offset, offset, size


def check_whole(path):
    """Raises Cut if not all of the core file is there that its headers speak of."""
    with open(path, "rb") as file:
        end = max((offset + size for _, _, offset, size in _program_headers(file)), default=0)
        there = file.seek(0, os.SEEK_END)
    if not end or there < end:
        raise Cut("%d bytes, segments up to %d" % (there, end))


def _padded(content):
    return content + bytes(-len(content) % 4)


def _read(data):
    """(name, type, content) of each note."""
    offset = 0
    while offset + 12 <= len(data):
        name_bytes, size, kind = struct.unpack_from("<III", data, offset)
        name = data[offset + 12:offset + 12 + name_bytes]
        offset += 12 + len(_padded(name))
        yield name, kind, data[offset:offset + size]
        offset += size + -size % 4


def _write(name, kind, content):
    return struct.pack("<III", len(name), len(content), kind) + _padded(name) + _padded(content)


def _tid(status):
    return struct.unpack_from("<I", status, TID_OFFSET)[0]


def fs_bases(path):
    """fs base by tid, of a core file of x86-64."""
    found = {}
    with open(path, "rb") as file:
        for _, offset, size in list(_segments(file)):
            file.seek(offset)
            found.update({_tid(content): struct.unpack_from("<Q", content, FS_BASE_OFFSET)[0]
                          for _, kind, content in _read(file.read(size)) if kind == NT_PRSTATUS})
    return found


def add_thread_pointers(path, pointers):
    """Gives a core file of arm64 that qemu-user wrote the notes with tpidr_el0 (@pointers, by tid)
    that the kernel writes, behind each thread's status.
    """
    with open(path, "r+b") as file:
        for header_offset, offset, size in list(_segments(file)):
            file.seek(offset)
            notes = b""
            for name, kind, content in _read(file.read(size)):
                notes += _write(name, kind, content)
                if kind == NT_PRSTATUS and _tid(content) in pointers:
                    notes += _write(b"LINUX\0", NT_ARM_TLS,
                                    struct.pack("<Q", pointers[_tid(content)]))
            new_offset = file.seek(0, 2)
            file.write(notes)
            file.seek(header_offset + 8)
            file.write(struct.pack("<Q", new_offset))
            file.seek(header_offset + 32)
            file.write(struct.pack("<Q", len(notes)))
