#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 1800 s
"""A debug file of about 1 GB becomes a symbol cache with less than 200 MB of memory, within the agent's limits, as it is
and packed in each way; and what is said of its addresses is right.

The file is some units of generated functions, compiled once and linked many times, each time with a prefix of its own
before their symbols: more than what zstd keeps in mind, which would pack the same unit into nothing. Each function has another one inlined, in a line that is known.
Another file has 1.5 million small functions, each in a section of its own, with padding between them: as many runs of addresses
as there can be.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("integration", "scripts")]
import anonymous_peak
from harness import Tap

SYMBOLS = os.path.join(ROOT, "build", "symbols")
UNITS = 8
# Of each unit.
FUNCTIONS = 300
FILE_BYTES = 1150 << 20
SMALL_FUNCTIONS, SMALL_UNITS = 15000, 100
LIMIT_BYTES = 200 * 1000 * 1000
ADDRESSES = 2000
STEPS = 40
FUNCTION = """\
static inline __attribute__((always_inline)) long inner_%(n)d(struct shape_%(n)d *shape, long count)
{
	shape->sum_%(n)d += count * %(n)d; shape->last_%(n)d = count; mark = count;
	return shape->sum_%(n)d ^ count;
}
__attribute__((noinline)) long outer_%(n)d(struct shape_%(n)d *shape, long first, long second)
{
	long one_%(n)d = first * 3;
%(steps)s
	if (second & 1)
		one_%(n)d += inner_%(n)d(shape, second);
	return one_%(n)d;
}

"""
STEP = "	long step_%(i)d_of_%(n)d = mark * %(i)d; mark = first ^ step_%(i)d_of_%(n)d;"
# Of one function, and in it: of the inlined one, and of the one that has the code.
BLANK_LINES = STEPS // 2
FUNCTION_LINES = 13 + STEPS + BLANK_LINES
INNER_LINES, OUTER_LINES = range(0, 5), range(5, 12 + STEPS + BLANK_LINES)
SHAPE = "struct shape_%(n)d { long sum_%(n)d, last_%(n)d; struct shape_%(n)d *next_%(n)d; char name_%(n)d[%(n)d + 1]; };\n"


def write_source(path, unit):
    """Returns the line of the first function."""
    numbers = range(unit * FUNCTIONS, (unit + 1) * FUNCTIONS)
    head = "static volatile long mark;\n" + "".join(SHAPE % {"n": n} for n in numbers)
    with open(path, "w", encoding="ascii") as file:
        file.write(head)
        for n in numbers:
            # Tables of lines that are alike would be packed into next to nothing.
            blank = random.sample(range(STEPS), BLANK_LINES)
            steps = "\n".join("\n" * (i in blank) + STEP % {"i": i, "n": n} for i in range(STEPS))
            file.write(FUNCTION % {"n": n, "steps": steps})
    return head.count("\n") + 1


def debug_bytes(path):
    text = subprocess.run(["readelf", "-SW", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    return sum(int(match[1], 16) for match in re.finditer(r" \.debug_\S+ +PROGBITS +\S+ \S+ (\S+)", text))


def build(folder):
    """(path of the file, line of the first function)."""
    source, path = (os.path.join(folder, name) for name in ("unit.c", "large"))
    kinds = [os.path.join(folder, "kind%d.o" % i) for i in range(UNITS)]
    for i, kind in enumerate(kinds):
        line = write_source(source, i)
        subprocess.run(["gcc", "-g", "-O2", "-gdwarf-5", "-c", source, "-o", kind], check=True)
    # Strings are there once for all.
    count = FILE_BYTES // debug_bytes(kinds[0]) + 1
    units = []
    for i in range(count):
        units.append(os.path.join(folder, "unit%d.o" % i))
        subprocess.run(["objcopy", "--prefix-symbols=u%d_" % i, kinds[i % UNITS], units[-1]], check=True)
    with open(os.path.join(folder, "units"), "w", encoding="ascii") as file:
        file.write("\n".join(units))
    subprocess.run(["ld", "-e", "u0_outer_0", "-o", path, "@" + file.name], check=True)
    for one in units:
        os.unlink(one)
    return path, line


def choose(path):
    """Addresses in functions, with the number of each."""
    listing = subprocess.run(["nm", "-S", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    functions = re.findall(r"^(\w+) (\w+) T u\d+_outer_(\d+)$", listing, re.MULTILINE)
    for start, size, number in random.sample(functions, ADDRESSES):
        yield int(start, 16) + random.randrange(int(size, 16)), int(number)


def is_right(frames, number, first_line):
    """Whether [function, location], innermost first, are those of the function."""
    lines = {"inner_%d" % number: INNER_LINES, "outer_%d" % number: OUTER_LINES}
    names = [name for name, _ in frames]
    if names not in (["outer_%d" % number], ["inner_%d" % number, "outer_%d" % number]):
        return False
    for name, location in frames:
        file, line = location.rsplit(":", 1)
        if not file.endswith("/unit.c") or int(line) - first_line - number % FUNCTIONS * FUNCTION_LINES not in lines[name]:
            return False
    return True


def answers(path, addresses, first_line, ranges):
    """How many of them are right, and how many have an inlined one; with the most memory that was taken."""
    text = ["%x" % address for address, _ in addresses]
    output, most = anonymous_peak.run(SYMBOLS, "-limited", "-f", "-i", "-a", "-o", ranges, path, *text)
    blocks = re.split(r"^0x[0-9a-f]+\n", output, flags=re.MULTILINE)[1:]
    right = inlined = 0
    for block, (_, number) in zip(blocks, addresses):
        lines = block.splitlines()
        frames = list(zip(lines[::2], lines[1::2]))
        right += is_right(frames, number, first_line)
        inlined += len(frames) == 2
    return right, inlined, most


def build_many(folder):
    source, kind, path = (os.path.join(folder, name) for name in ("small.c", "small.o", "many"))
    with open(source, "w", encoding="ascii") as file:
        file.write("static volatile long mark;\n")
        for i in range(SMALL_FUNCTIONS):
            file.write("long small_%d(long a) { mark = a * %d; return a ^ %d; }\n" % (i, i, i))
    subprocess.run(["gcc", "-g", "-O2", "-falign-functions=16", "-ffunction-sections", "-c", source, "-o", kind], check=True)
    units = []
    for i in range(SMALL_UNITS):
        units.append(os.path.join(folder, "small%d.o" % i))
        subprocess.run(["objcopy", "--prefix-symbols=s%d_" % i, kind, units[-1]], check=True)
    with open(os.path.join(folder, "units"), "w", encoding="ascii") as file:
        file.write("\n".join(units))
    subprocess.run(["ld", "-e", "s0_small_0", "-o", path, "@" + file.name], check=True)
    for one in units:
        os.unlink(one)
    return path


def check_many(tap, folder):
    path = build_many(folder)
    listing = subprocess.run(["nm", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = re.findall(r"^(\w+) T (s\d+_small_(\d+))$", listing, re.MULTILINE)
    chosen = random.sample(found, ADDRESSES)
    output, most = anonymous_peak.run(SYMBOLS, "-limited", "-f", path, *[address for address, _, _ in chosen])
    tap.note("%d functions: %d bytes at most" % (len(found), most))
    tap.ok(len(found) == SMALL_FUNCTIONS * SMALL_UNITS and 0 < most < LIMIT_BYTES,
           "1.5 million functions take less than 200 MB of memory", len(found), most)
    lines = output.splitlines()
    # Line 1 is not of a function.
    right = sum(name == "small_%s" % number and location.endswith("/small.c:%d" % (int(number) + 2))
                for name, location, (_, _, number) in zip(lines[::2], lines[1::2], chosen))
    tap.ok(right == ADDRESSES, "names and lines are right: 1.5 million functions", right, *lines[:8])


def main():
    tap = Tap()
    random.seed(8)
    with tempfile.TemporaryDirectory(prefix="allframes-large-", dir="/var/tmp") as folder:
        path, first_line = build(folder)
        tap.note("debug data of %d bytes" % debug_bytes(path))
        tap.ok(debug_bytes(path) > 900e6, "there is a file of about 1 GB", debug_bytes(path))
        addresses = list(choose(path))
        for way in ("none", "zlib", "zstd"):
            if way != "none":
                subprocess.run(["objcopy", "--compress-debug-sections=" + way, path, path + ".packed"], check=True)
            right, inlined, most = answers(path if way == "none" else path + ".packed", addresses, first_line,
                                           path + ".ranges")
            tap.note("%s: %d bytes at most, %d of %d right, %d inlined" % (way, most, right, ADDRESSES, inlined))
            tap.ok(0 < most < LIMIT_BYTES, "less than 200 MB of memory: " + way, most)
            tap.ok(right > 0.999 * ADDRESSES and inlined > 10, "names and lines are right: " + way,
                   right, inlined)
    with tempfile.TemporaryDirectory(prefix="allframes-many-", dir="/var/tmp") as folder:
        check_many(tap, folder)
    tap.finish()


if __name__ == "__main__":
    main()
