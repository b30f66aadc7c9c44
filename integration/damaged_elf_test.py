#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damaged ELF files, live: mapped and executing. The agent lives, uses little memory, goes on with
the whole files, and says at most one line for each of the others.

All are copies of one target, damaged where the kernel and the dynamic linker do not look: section
headers, .eh_frame and its header, notes, symbols. Others are truncated or grow to terabytes while
the agent reads them.
"""
import collections
import os
import random
import re
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
import chains
from build_targets import TARGETS
from harness import HANG_SECONDS, IS_LONG, Agent, Program, Tap, need_root
from sampled import stopped, wait_cpu

SECONDS = 60 if IS_LONG else 3
# At least, of files and of the CPU time of a whole program.
SHAKEN = SECONDS / 4
CPU_SECONDS = 0.8
RATE = 997
RANDOM_COPIES = 60 if IS_LONG else 16
HUGE = 1 << 63
# The agent reads 96 MiB.
EH_FRAME_BYTES = 100 << 20
RSS_MAX_MB = 200

PT_GNU_EH_FRAME = 0x6474e550
PT_NOTE = 4
SHF_COMPRESSED = 0x800


class Image:
    """The bytes of an ELF file, with its tables at hand."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = bytearray(file.read())
        # The file's size; zeros follow the data.
        self.length = len(self.data)
        self.program_headers = self._table(32, 54, 56)
        self.section_headers = self._table(40, 58, 60)
        self.name_index = self.get(62, "H")

    def get(self, at, form="Q"):
        return struct.unpack_from("<" + form, self.data, at)[0]

    def put(self, at, value, form="Q"):
        struct.pack_into("<" + form, self.data, at, value)

    def _table(self, offset_at, size_at, count_at):
        offset, size = self.get(offset_at), self.get(size_at, "H")
        return [offset + i * size for i in range(self.get(count_at, "H"))]

    def section(self, name):
        """Where the header of a section lies."""
        names = self.get(self.section_headers[self.name_index] + 24)
        for header in self.section_headers:
            at = names + self.get(header, "I")
            if self.data[at:self.data.index(0, at)].decode() == name:
                return header
        raise KeyError(name)

    def bytes_of(self, name):
        header = self.section(name)
        return self.get(header + 24), self.get(header + 32)

    def program_header(self, kind):
        return next(at for at in self.program_headers if self.get(at, "I") == kind)

    def without_sections(self):
        self.put(40, 0)
        self.put(58, 0, "H")
        self.put(60, 0, "H")
        self.put(62, 0, "H")


def damage_at(section, field, value):
    """A field of a section header: 4 type, 8 flags, 16 address, 24 offset, 32 size, 56 entry size.
    """
    def damage(image, _):
        image.put(image.section(section) + field, value)
    return damage


def damage_header(at, value, form="Q"):
    def damage(image, _):
        image.put(at, value, form)
    return damage


def random_bytes(section, count):
    def damage(image, generator):
        offset, size = image.bytes_of(section)
        for _ in range(count):
            image.data[offset + generator.randrange(size)] = generator.randrange(256)
    return damage


def all_random(section):
    def damage(image, generator):
        offset, size = image.bytes_of(section)
        image.data[offset:offset + size] = generator.randbytes(size)
    return damage


def sectionless(damage):
    def both(image, generator):
        damage(image, generator)
        image.without_sections()
    return both


def eh_frame_segment(field, value):
    """A field of PT_GNU_EH_FRAME, which the dynamic linker only takes note of."""
    def damage(image, _):
        image.put(image.program_header(PT_GNU_EH_FRAME) + field, value)
        image.without_sections()
    return damage


def note_size(image, _):
    image.put(image.bytes_of(".note.gnu.build-id")[0] + 4, 0xffffffff, "I")


def compressed(image, _):
    """.eh_frame is told to be compressed, to more bytes than there are."""
    header = image.section(".eh_frame")
    image.put(header + 8, image.get(header + 8) | SHF_COMPRESSED)
    offset = image.get(header + 24)
    image.data[offset:offset + 24] = struct.pack("<IIQQ", 1, 0, HUGE, 1)


def too_large(image, _):
    """.eh_frame is larger than any that is read, and all there."""
    header = image.section(".eh_frame")
    image.put(header + 32, EH_FRAME_BYTES)
    image.length = image.get(header + 24) + EH_FRAME_BYTES


def section_headers_random(image, generator):
    for header in image.section_headers:
        image.data[header:header + 64] = generator.randbytes(64)


DAMAGES = {
    "eh_size": damage_at(".eh_frame", 32, HUGE),
    "eh_size_minus": damage_at(".eh_frame", 32, (1 << 64) - 1),
    "eh_offset": damage_at(".eh_frame", 24, HUGE),
    "eh_offset_end": damage_at(".eh_frame", 24, (1 << 64) - 16),
    "eh_address": damage_at(".eh_frame", 16, HUGE),
    "eh_compressed": compressed,
    "eh_too_large": too_large,
    "eh_random": all_random(".eh_frame"),
    "eh_some": random_bytes(".eh_frame", 20),
    "hdr_random": sectionless(all_random(".eh_frame_hdr")),
    "hdr_some": sectionless(random_bytes(".eh_frame_hdr", 3)),
    "hdr_eh_random": sectionless(all_random(".eh_frame")),
    "hdr_offset": eh_frame_segment(8, HUGE),
    "hdr_address": eh_frame_segment(16, HUGE),
    "hdr_size": eh_frame_segment(32, HUGE),
    "hdr_memory": eh_frame_segment(40, HUGE),
    "sections_at": damage_header(40, HUGE),
    "sections_end": damage_header(40, (1 << 64) - 64),
    "section_size": damage_header(58, 1, "H"),
    "section_count": damage_header(60, 0xffff, "H"),
    "section_names": damage_header(62, 0xfff0, "H"),
    "sections_rnd": section_headers_random,
    "note_size": note_size,
    "note_section": damage_at(".note.gnu.build-id", 32, HUGE),
    "symbols_size": damage_at(".symtab", 32, HUGE),
    "symbols_entry": damage_at(".symtab", 56, 0),
    "symbols_rnd": all_random(".symtab"),
    "strings_size": damage_at(".strtab", 32, HUGE),
    "strings_rnd": all_random(".strtab"),
    "text_size": damage_at(".text", 32, HUGE),
}


def write_copies(directory):
    """Path of each damaged copy by its name."""
    paths = {}
    source = TARGETS["calls"].path
    damages = dict(DAMAGES)
    for i in range(RANDOM_COPIES):
        section = [".eh_frame", ".eh_frame_hdr", ".symtab", ".eh_frame"][i % 4]
        damage = random_bytes(section, 1 + i % 5)
        damages["random_%02d" % i] = sectionless(damage) if i % 4 == 3 else damage
    for seed, (name, damage) in enumerate(damages.items()):
        image = Image(source)
        damage(image, random.Random(seed))
        assert len(name) <= 15 and image.data != Image(source).data, name
        paths[name] = os.path.join(directory, name)
        with open(paths[name], "wb") as file:
            file.write(image.data)
            file.truncate(image.length)
        os.chmod(paths[name], 0o755)
    return paths


class Shaker:
    """Starts copies all the time and changes their length while they run."""

    LENGTHS = [0, 1, 63, 64, 100, 4095, 4096, 9000, 1 << 20, 1 << 40, (1 << 43) + 7]

    def __init__(self, directory):
        self.count = 0
        self._directory = directory
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._shake)
        self._thread.start()

    def _shake(self):
        generator = random.Random(1)
        while not self._stop.is_set():
            path = os.path.join(self._directory, "shaken_%d" % (self.count % 7))
            if os.path.exists(path):
                os.unlink(path)
            shutil.copy(TARGETS["calls"].path, path)
            try:
                # The kernel refuses to write to a running program, but not to a mapped library.
                with Program(path) as program:
                    self._map_and_change(path, generator)
                    program.process.poll()
            except RuntimeError:
                pass
            self.count += 1

    def _map_and_change(self, path, generator):
        library = path + ".so"
        shutil.copy(TARGETS["red.so"].path, library)
        with Program(TARGETS["reload"].path, 100000, library) as program:
            time.sleep(generator.random() * 0.05)
            for _ in range(4):
                length = generator.choice(self.LENGTHS)
                try:
                    os.truncate(library, length)
                except OSError:
                    # Longer than this file system has files.
                    os.truncate(library, 1 << 20)
                time.sleep(generator.random() * 0.03)
            program.process.poll()
        os.unlink(library)

    def wait_for(self, count):
        end = time.monotonic() + HANG_SECONDS
        while self.count < count and time.monotonic() < end:
            time.sleep(0.1)

    def stop(self):
        self._stop.set()
        self._thread.join()


def peak_rss_mb(pid):
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) / 1024


def main():
    tap = Tap()
    need_root(tap, "damaged ELF files")
    build_targets.build(["calls", "alloca", "reload", "red.so"])
    with tempfile.TemporaryDirectory(prefix="allframes-damaged-") as directory:
        paths = write_copies(directory)
        programs = []
        try:
            ready = []
            for path in paths.values():
                programs.append(Program("nice", "-n", "10", path, ready=False))
                ready += [path] if programs[-1].wait_ready() else []
                # Until the agent samples: so many would keep the others from getting ready.
                programs[-1].process.send_signal(signal.SIGSTOP)
            whole = Program(TARGETS["alloca"].path)
            programs.append(whole)
            tap.ok(len(ready) == len(paths), "all damaged programs run", len(ready), len(paths))
            pids = [program.pid for program in programs]
            with Agent("-samples-per-second", RATE) as agent:
                with stopped(pids):
                    agent.wait_started()
                begin = time.monotonic()
                shaker = Shaker(directory)
                try:
                    time.sleep(SECONDS)
                    wait_cpu([whole.pid], CPU_SECONDS)
                    shaker.wait_for(SHAKEN)
                    rss = peak_rss_mb(agent.pid)
                finally:
                    shaker.stop()
                with stopped(pids):
                    result = agent.stop()
                seconds = time.monotonic() - begin
                stacks = result.stacks
        finally:
            for program in programs:
                program.__exit__()
    tap.ok(result.status == 0, "the agent lives", "status %d" % result.status, result.log[-3000:])
    tap.ok(rss < RSS_MAX_MB, "the agent's memory stays small", "%.0f MB at most" % rss)
    tap.ok(shaker.count >= SHAKEN, "files changed their length while they were mapped",
           shaker.count)
    check_log(tap, paths, result.log, shaker.count, seconds)
    check_stacks(tap, paths, stacks)
    tap.note("%d programs, %d files shaken, %.0f MB at most" % (len(paths), shaker.count, rss))
    tap.finish()


def check_log(tap, paths, log, shaken, seconds):
    lines = collections.Counter()
    for line in log.splitlines():
        for name, path in paths.items():
            if re.search(re.escape(path) + r"\b", line):
                lines[name] += 1
    doubled = ["%d lines for %s" % (count, name) for name, count in lines.items() if count > 1]
    tap.ok(not doubled, "each damaged file has at most one line", *doubled)
    count = log.count("\n")
    # A burst, then one a second, and what the agent says of itself.
    tap.ok(count <= 20 + 2 * seconds + 10, "the log is limited",
           "%d lines, %d files shaken" % (count, shaken), log[-1000:])
    # Where only the tables are damaged, rows come from the code.
    tap.ok(lines["eh_too_large"], "a file that gives no rows at all is told", log[-3000:])


def check_stacks(tap, paths, stacks):
    allowed = chains.Chains(TARGETS["alloca"].source)
    whole = {stack: count for stack, count in stacks.items() if stack.comm == "alloca"}
    # On a machine as busy as this one, loading takes its time, and unwinds end early until then.
    early = sum(count for stack, count in whole.items()
                if "[error: unwind rows not loaded]" in stack.frames)
    wrong = [str(stack) for stack in whole
             if "[error: unwind rows not loaded]" not in stack.frames
             and not allowed.allow(stack.frames)]
    total = sum(whole.values()) - early
    tap.ok(total >= 200 and not wrong, "stacks of a whole program stay right beside them",
           "%d samples, %d from before its rows were loaded" % (total, early), *wrong[:5])
    tap.note("%d samples of the whole program, %d from before its rows were loaded" %
             (total, early))
    seen = {stack.comm for stack in stacks}
    missing = [name for name in paths if name not in seen]
    tap.ok(len(missing) <= len(paths) / 10, "damaged programs are sampled like others", missing)


if __name__ == "__main__":
    main()
