#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files whose unwind tables stand elsewhere than in .eh_frame have the rows of those that have it.

One program is compiled with .eh_frame and without, its tables moved to every section and file where
tools put them; build/stack_deltas must print the same rows for its functions. usage: unwind_sources_test.py
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STACK_DELTAS = os.path.join(ROOT, "build", "stack_deltas")

# Large enough that other sources are looked for, and of every kind of frame.
SOURCE = r"""
#include <string.h>
#define MANY(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
extern int sink(char *bytes, int count);
__attribute__((noinline)) int sink(char *bytes, int count) { return bytes[count / 2]; }
#define FUNCTION(n)                                                          \
__attribute__((noinline)) int work_##n(int count, char *from)                \
{                                                                            \
    char bytes[count + n + 1], more[n * 100 + 16];                           \
    int sum = 0;                                                             \
    memset(bytes, n, count + n + 1);                                         \
    for (int i = 0; i < count; i++)                                          \
        sum += sink(more, n) * from[i] + sink(bytes, count) - i % (n + 3);   \
    return sum + sink(bytes, sum & 7);                                       \
}
MANY(FUNCTION)
#define CALL(n) sum += work_##n(argc, argv[0]);
int main(int argc, char **argv)
{
    int sum = 0;
    MANY(CALL)
    return sum & 1;
}
"""
FUNCTIONS = ["sink", "main"] + ["work_%d" % n for n in range(8)]
WITHOUT = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-g"]


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Files:
    """The variants, each by its name a method that gives the path of the file to ask for."""

    def __init__(self, folder):
        self.folder = folder
        self.source = self.path("program.c")
        with open(self.source, "w", encoding="ascii") as file:
            file.write(SOURCE)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, name, *options):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        run("gcc", "-O2", "-Wl,--build-id", "-o", path, self.source, *options)
        return path

    def copy(self, name, source, *options):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        run("objcopy", *options, source, path)
        return path

    def debug_frame(self):
        return self.compile("plain", *WITHOUT)

    def debug_frame_zlib(self):
        return self.copy("zlib", self.debug_frame(), "--compress-debug-sections=zlib")

    def debug_frame_zlib_gnu(self):
        return self.copy("zdebug", self.debug_frame(), "--compress-debug-sections=zlib-gnu")

    def debug_frame_zstd(self):
        return self.copy("zstd", self.debug_frame(), "--compress-debug-sections=zstd")

    def debug_frame_64_bit(self):
        return self.compile("wide", *WITHOUT, "-gdwarf64")

    def debug_frame_dwarf_5(self):
        return self.compile("five", *WITHOUT, "-gdwarf-5")

    def debug_frame_and_crt_in_static(self):
        return self.compile("static", *WITHOUT, "-static")

    def debug_link(self):
        """Beside the file, proven by its CRC alone."""
        full = self.compile("link/full", *WITHOUT, "-Wl,--build-id=none")
        debug = self.copy("link/program.debug", full, "--only-keep-debug")
        return self.copy("link/program", full, "--strip-debug", "--add-gnu-debuglink=" + debug)

    def debug_link_in_subfolder(self):
        full = self.compile("below/full", *WITHOUT)
        debug = self.copy("below/.debug/program.debug", full, "--only-keep-debug",
                          "--compress-debug-sections=zstd")
        return self.copy("below/program", full, "--strip-debug", "--add-gnu-debuglink=" + debug)

    def mini_debug(self):
        full = self.compile("mini/full", *WITHOUT)
        keep = self.copy("mini/keep", full, "--only-keep-debug",
                         *("--remove-section=.debug_" + name for name in
                           ("info", "abbrev", "line", "str", "aranges", "line_str", "rnglists")))
        run("xz", "--force", "--keep", keep)
        return self.copy("mini/program", full, "--strip-all",
                         "--add-section=.gnu_debugdata=%s.xz" % keep)

    def other_debug_link(self):
        """The link leads to a debug file of another build: it counts for nothing."""
        full = self.compile("other/full", *WITHOUT, "-Wl,--build-id=none")
        debug = self.copy("other/program.debug", full, "--only-keep-debug")
        path = self.copy("other/program", full, "--strip-debug", "--add-gnu-debuglink=" + debug)
        with open(debug, "ab") as file:
            file.write(b"\0")
        return path


def symbols_of(path):
    text = subprocess.run(["nm", "-S", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for line in text.splitlines():
        parts = line.split()
        if len(parts) == 4 and parts[3] in FUNCTIONS:
            found[parts[3]] = (int(parts[0], 16), int(parts[1], 16))
    return found


def rows_of(path, symbols):
    """{function: [(offset, rule)]}, the rule at offset 0 first."""
    text = subprocess.run([STACK_DELTAS, "-rows", path], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    rows = [(int(address, 16), rule) for address, rule in
            re.findall(r"^(0x[0-9a-f]+): (.*)$", text, re.M)]
    result = {}
    for name, (start, size) in symbols.items():
        before = [rule for address, rule in rows if address <= start]
        result[name] = [(0, before[-1] if before else "none")]
        result[name] += [(address - start, rule) for address, rule in rows
                         if start < address < start + size]
    return result


def fde_count(path):
    """Else rows from the instructions could pass for those of a table."""
    stats = subprocess.run([STACK_DELTAS, "-stats", path], check=True, stdout=subprocess.PIPE,
                           text=True).stdout
    return int(re.search(r"(\d+) FDEs", stats).group(1))


def main():
    number, failed = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        files = Files(folder)
        twin = files.compile("twin", "-g")
        wanted = rows_of(twin, symbols_of(twin))
        assert len(wanted) == len(FUNCTIONS) and len(wanted["work_7"]) > 5, wanted
        variants = [files.debug_frame, files.debug_frame_zlib, files.debug_frame_zlib_gnu,
                    files.debug_frame_zstd, files.debug_frame_64_bit, files.debug_frame_dwarf_5,
                    files.debug_frame_and_crt_in_static, files.debug_link,
                    files.debug_link_in_subfolder, files.mini_debug]
        for variant in variants:
            path = variant()
            full = path if "link" not in variant.__name__ and variant != files.mini_debug else \
                os.path.join(os.path.dirname(path), "full")
            sections = subprocess.run(["readelf", "-SW", path], check=True, stdout=subprocess.PIPE,
                                      text=True).stdout
            found = rows_of(path, symbols_of(full))
            is_good = found == wanted and fde_count(path) >= len(FUNCTIONS)
            if variant in (files.debug_link, files.debug_link_in_subfolder, files.mini_debug):
                is_good &= "debug_frame" not in sections
            number += 1
            failed += not is_good
            print("%s %d - %s has the rows of .eh_frame" %
                  ("ok" if is_good else "not ok", number, variant.__name__))
            for name in FUNCTIONS if not is_good else ():
                if found.get(name) != wanted[name]:
                    print("# %s: %s, not %s" % (name, found.get(name), wanted[name]))
        path = files.other_debug_link()
        number += 1
        is_good = fde_count(path) < len(FUNCTIONS)
        failed += not is_good
        print("%s %d - a debug file with another CRC is not believed" %
              ("ok" if is_good else "not ok", number))
    print("1..%d" % number)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
