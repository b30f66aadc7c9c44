# SPDX-License-Identifier: Apache-2.0
"""Kinds of files that programs come in: how each is made out of a target's source and started.

A Kind is one program of a known chain, built in one way: another C library or linker, other sections
for its unwind information, a file that goes away while it runs. file_kinds_test.py judges them.
"""
import fcntl
import itertools
import lzma
import os
import shutil
import struct
import subprocess

from build_targets import C, CLANG, CXX, RUST, SOURCES, remove_section_headers
from harness import Program

MUSL = ["musl-gcc"] + C[1:]
NO_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
# Tables for debuggers, which no loader maps.
DEBUG_TABLES = NO_TABLES + ["-g"]
# So much code without tables that the agent looks for other files (UNWIND_INPUT_BARE_BYTES).
MUCH_CODE = "-falign-functions=1024"
WITH_FRAME_POINTER = ["-fno-omit-frame-pointer", "-DFRAME_POINTER"]

# More than 32 bits can say.
HOLE_BYTES = 5 << 30


class Kind:
    """One program. @change: functions that get the path of the linked file, and change it or lay
    others beside it; the twin keeps the symbols. @start: of (path, directory) to a Program.
    @may_guess: frames may be flagged as guesses. @macros replace parts of the source's chains.
    @file_name: what the agent calls the file, which is its name if it has one. @is_long: others of the short
    tier differ from it in less than their kind.
    """

    def __init__(self, name, source, command=None, flags=(), change=(), start=None, macros=None,
                 may_guess=False, file_name=None, is_long=False):
        assert len(name) <= 15, "the name must fit into a comm"
        self.name = name
        self.source = os.path.join(SOURCES, source)
        self.command = list(C if command is None else command)
        self.flags = list(flags)
        self.change = list(change)
        self.macros = macros or {}
        self.may_guess = may_guess
        self.file_name = file_name or name
        self.is_long = is_long
        self._start = start or start_plainly

    @property
    def has_symbols(self):
        """Whether it has a symbol table: its own, of its debug file or of .gnu_debugdata."""
        return strip not in self.change and drop_eh_frame not in self.change

    def is_possible(self):
        """Whether the machine has the compiler."""
        return shutil.which(self.command[0]) is not None

    def build(self, directory):
        """Makes the file in @directory, which is the kind's own. Raises CalledProcessError."""
        self.path = os.path.join(directory, self.name)
        self.twin = self.path + ".twin"
        run(*self.command, "-o", self.path, self.source, *self.flags)
        shutil.copy2(self.path, self.twin)
        for change in self.change:
            change(self.path)

    def start(self, directory):
        return self._start(self.path, directory)


def run(*command):
    subprocess.run(list(map(str, command)), check=True, cwd=SOURCES, stdin=subprocess.DEVNULL)


# --- changes of a linked file ---

def strip(path):
    run("strip", "-s", path)


def compress_debug(how):
    def change(path):
        run("objcopy", "--compress-debug-sections=" + how, path)
    return change


def drop_eh_frame(path):
    run("strip", "-s", "-R", ".eh_frame", "-R", ".eh_frame_hdr", path)
    remove_program_header(path, 0x6474e550)


def remove_program_header(path, kind):
    """Makes headers of type @kind mean nothing (PT_NULL)."""
    with open(path, "r+b") as file:
        header = file.read(64)
        table, size, count = (struct.unpack_from("<Q", header, 32)[0],
                              *struct.unpack_from("<HH", header, 54))
        for offset in range(table, table + size * count, size):
            file.seek(offset)
            if struct.unpack("<I", file.read(4))[0] == kind:
                file.seek(offset)
                file.write(struct.pack("<I", 0))


def split_off(debug_path):
    run("objcopy", "--only-keep-debug", debug_path)


def link_debug_beside(path):
    """Debug information in a file beside it, to which .gnu_debuglink leads."""
    debug = path + ".debug"
    shutil.copy2(path, debug)
    split_off(debug)
    run("strip", "-s", path)
    run("objcopy", "--add-gnu-debuglink=" + debug, path)


def link_debug_below(path):
    """The same in the folder .debug, compressed."""
    folder = os.path.join(os.path.dirname(path), ".debug")
    os.mkdir(folder)
    debug = os.path.join(folder, os.path.basename(path) + ".debug")
    shutil.copy2(path, debug)
    split_off(debug)
    run("objcopy", "--compress-debug-sections=zlib", debug)
    run("strip", "-s", path)
    run("objcopy", "--add-gnu-debuglink=" + debug, path)


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, text=True, check=True)
    return notes.stdout.rpartition("Build ID: ")[2].split()[0]


def debug_by_build_id(path):
    """In the file that the build id names, below the folder `root`."""
    name = build_id(path)
    folder = os.path.join(os.path.dirname(path), "root/usr/lib/debug/.build-id", name[:2])
    os.makedirs(folder)
    debug = os.path.join(folder, name[2:] + ".debug")
    shutil.copy2(path, debug)
    split_off(debug)
    run("strip", "-s", path)


def mini_debug(path):
    """Symbols and .debug_frame as an ELF file that is packed by xz (.gnu_debugdata)."""
    mini = path + ".mini"
    shutil.copy2(path, mini)
    split_off(mini)
    run("objcopy", "-R", ".debug_info", "-R", ".debug_abbrev", "-R", ".debug_line", "-R",
        ".debug_str", "-R", ".debug_line_str", "-R", ".debug_aranges", "-R", ".debug_loclists",
        "-R", ".debug_rnglists", mini)
    with open(mini, "rb") as file:
        packed = lzma.compress(file.read(), lzma.FORMAT_XZ)
    with open(mini, "wb") as file:
        file.write(packed)
    run("strip", "-s", path)
    run("objcopy", "--add-section", ".gnu_debugdata=" + mini, path)


def open_hole(path):
    """Moves all that lies behind the code by HOLE_BYTES: a file of some GB, most of it a hole."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    segments, segment_size, sections = struct.unpack_from("<Q14xH", data, 32) + (
        struct.unpack_from("<Q", data, 40)[0],)
    segment_count, section_size, section_count = struct.unpack_from("<HHH", data, 56)
    headers = [segments + i * segment_size for i in range(segment_count)]
    cut = min(offset for kind, flags, offset in (struct.unpack_from("<IIQ", data, header)
                                                 for header in headers)
              if kind == 1 and offset and not flags & 1)
    fields = [header + 8 for header in headers]
    fields += [sections + i * section_size + 24 for i in range(section_count)] + [40]
    for field in fields:
        offset = struct.unpack_from("<Q", data, field)[0]
        if offset >= cut:
            struct.pack_into("<Q", data, field, offset + HOLE_BYTES)
    with open(path, "wb") as file:
        file.write(data[:cut])
        file.seek(cut + HOLE_BYTES)
        file.write(data[cut:])


# --- ways to start it ---

# Descriptors that are told apart by their numbers.
_numbers = itertools.count(100)

def start_plainly(path, _directory):
    return Program(path)


def start_from_memory(path, _directory):
    """From a memfd, so that there is no file. The comm is the number of the descriptor."""
    with open(path, "rb") as file:
        data = file.read()
    first = os.memfd_create(os.path.basename(path), 0)
    memory = fcntl.fcntl(first, fcntl.F_DUPFD, next(_numbers))
    os.close(first)
    try:
        with open(memory, "wb", closefd=False) as file:
            file.write(data)
        return Program("/proc/self/fd/%d" % memory, pass_fds=[memory])
    finally:
        os.close(memory)


def start_with_library(path, directory):
    """@path is a library: loads it from a memfd and runs its main()."""
    loader = os.path.join(directory, os.path.basename(path)[:12] + ".ld")
    run(*C, "-o", loader, os.path.join(SOURCES, "memfd_library.c"), "-ldl")
    return Program(loader, path)


def start_and_unlink(path, _directory):
    program = Program(path)
    os.unlink(path)
    return program


def start_and_replace(path, _directory):
    """An upgrade: another program replaces the file that runs."""
    program = Program(path)
    shutil.copy2("/bin/true", path + ".upgrade")
    os.replace(path + ".upgrade", path)
    return program


def start_in_own_root(path, directory):
    """In a root of its own, where its debug information lies."""
    root = os.path.join(directory, "root")
    name = os.path.basename(path)
    os.link(path, os.path.join(root, name))
    return Program("chroot", root, "/" + name)


def kind(name, *flags, source="calls.c", **more):
    return Kind(name, source, flags=flags, **more)


# The start of a program under musl, whose start is _start alone to glibc's three frames.
MUSL_MACROS = {"START": "MUSL_START", "JOIN": "MUSL_JOIN", "THREAD": "MUSL_THREAD", "BEGIN": "MUSL_BEGIN",
               "RESTORE": "MUSL_RESTORE"}

KINDS = [
    # C libraries and linkers
    kind("musl", command=MUSL, macros=MUSL_MACROS),
    kind("musl_static", "-static", command=MUSL, macros=MUSL_MACROS, is_long=True),
    kind("musl_stat_pie", "-static", "-pie", "-fPIE", command=MUSL, macros=MUSL_MACROS, is_long=True),
    kind("musl_signals", source="signals.c", command=MUSL, macros=MUSL_MACROS),
    kind("musl_static_sig", "-static", source="signals.c", command=MUSL,
         macros=dict(MUSL_MACROS, RESTORE="MUSL_STATIC_RESTORE"), is_long=True),
    kind("musl_threads", "-static", source="threads.c", command=MUSL, macros=MUSL_MACROS),
    kind("musl_stripped", "-static", command=MUSL, macros=MUSL_MACROS, change=[strip]),
    kind("lld", "-fuse-ld=lld", command=CLANG, is_long=True),
    kind("lld_no_pie", "-fuse-ld=lld", "-no-pie", command=CLANG, change=[strip]),
    kind("lld_rosegment", "-fuse-ld=lld", "-Wl,--no-rosegment", command=CLANG),
    kind("gold", "-fuse-ld=gold"),
    # addresses in memory and offsets in the file
    kind("prelinked", "-pie", "-Wl,-Ttext-segment=0x30000000"),
    kind("one_segment", "-Wl,-z,noseparate-code", change=[strip]),
    kind("code_segment", "-Wl,-z,separate-code", change=[strip], is_long=True),
    kind("big_pages", "-Wl,-z,max-page-size=0x200000"),
    kind("far_segments", "-no-pie", "-Wl,--section-start=far_one=0x4000000",
         "-Wl,--section-start=far_two=0x10000000", source="segments.c"),
    kind("far_segm_strip", "-no-pie", "-Wl,--section-start=far_one=0x4000000",
         "-Wl,--section-start=far_two=0x10000000", source="segments.c", change=[strip], is_long=True),
    kind("packed_relocs", "-Wl,-z,pack-relative-relocs"),
    kind("gigabytes", change=[open_hole]),
    kind("gigabytes_strip", "-no-pie", change=[strip, open_hole], is_long=True),
    kind("no_sections", "-static-pie", change=[strip, remove_section_headers]),
    kind("text_twice", source="text_twice.c"),
    # files without a name
    kind("unlinked", start=start_and_unlink),
    kind("unlinked_strip", change=[strip], start=start_and_unlink, is_long=True),
    kind("replaced", start=start_and_replace),
    kind("replaced_static", "-static", change=[strip], start=start_and_replace, is_long=True),
    kind("memory_file", start=start_from_memory),
    kind("memory_static", "-static", change=[strip], start=start_from_memory,
         file_name="memfd:memory_static", is_long=True),
    kind("memory_library", "-shared", "-fPIC", "-Wl,-Bsymbolic-functions",
         start=start_with_library, macros={"START": "START main"}),
    # where the unwind information is
    kind("debug_frame", *DEBUG_TABLES),
    kind("debug_zlib", *DEBUG_TABLES, change=[compress_debug("zlib")]),
    kind("debug_zlib_gnu", *DEBUG_TABLES, change=[compress_debug("zlib-gnu")], is_long=True),
    kind("debug_zstd", *DEBUG_TABLES, change=[compress_debug("zstd")]),
    kind("debug_link", *DEBUG_TABLES, MUCH_CODE, change=[link_debug_beside]),
    kind("debug_folder", *DEBUG_TABLES, MUCH_CODE, change=[link_debug_below]),
    kind("debug_build_id", *DEBUG_TABLES, MUCH_CODE, "-static", "-Wl,--build-id",
         change=[debug_by_build_id], start=start_in_own_root),
    kind("mini_debug", *DEBUG_TABLES, MUCH_CODE, change=[mini_debug]),
    kind("debug_dwarf4", *DEBUG_TABLES, "-gdwarf-4", "-no-pie", is_long=True),
    kind("debug_dwarf64", *DEBUG_TABLES, "-gdwarf64"),
    kind("debug_clang", *DEBUG_TABLES, command=CLANG, is_long=True),
    # no unwind information
    kind("no_tables", *NO_TABLES, may_guess=True),
    kind("no_tables_fp", *NO_TABLES, *WITH_FRAME_POINTER, may_guess=True, is_long=True),
    kind("no_tables_O0", *NO_TABLES, *WITH_FRAME_POINTER, "-O0", may_guess=True, is_long=True),
    kind("no_tables_strip", *NO_TABLES, change=[strip], may_guess=True),
    kind("no_eh_frame", *WITH_FRAME_POINTER, change=[drop_eh_frame], may_guess=True),
    kind("no_eh_frame_st", "-static", *WITH_FRAME_POINTER, change=[drop_eh_frame],
         may_guess=True, is_long=True),
    kind("bare_assembly", source="bare_assembly.s", may_guess=True),
    # other languages
    kind("cxx_lld", "-fuse-ld=lld", source="exceptions.cpp", command=["clang++", "-O2"], is_long=True),
    kind("cxx_stripped", source="exceptions.cpp", command=CXX, change=[strip]),
    kind("rust_stripped", source="closures.rs", command=RUST, change=[strip]),
]
