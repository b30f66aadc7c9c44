#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""-output x.afdo.txt: clang uses the profile of a native program (-fprofile-sample-use): the counts stand at the lines of the
source, calls that were inlined are inlined again, and functions are laid out by their samples. Prints TAP.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Program, Tap, need_root
from sampled import sample_run

CLANG = shutil.which("clang++")
# step is inlined into mix; seldom is never called.
SOURCE = """#include <stdio.h>

namespace work {

static inline unsigned long step(unsigned long a, unsigned long b)
{
	for (int i = 0; i < 3; i++)
		a = a / ((b & 15) + 3) + a * b;
	return a;
}

unsigned long mix(unsigned long a, unsigned long b)
{
%s	a = step(a, b);
	return a ^ b;
}

__attribute__((noinline)) unsigned long seldom(unsigned long a)
{
	puts("seldom");
	return a * 3;
}

__attribute__((noinline)) unsigned long loop(unsigned long n)
{
	unsigned long sum = n;

	for (unsigned long i = 0; i < n; i++)
		sum = mix(sum, i);
	return sum;
}

}

int main(int argc, char **argv)
{
	puts("ready");
	fflush(stdout);
	if (argc > 7)
		return (int)work::seldom(argc);
	for (unsigned long n = 1 << 20;; n ^= 1)
		if (work::loop(n) == 42)
			puts(argv[0]);
}
""" % "".join("\ta = a * %d + (b >> %d);\n\tb ^= a << %d;\n" % (3 + 2 * i, i % 7 + 1, i % 5 + 1) for i in range(25))
MIX, STEP, SELDOM = "_ZN4work3mixEmm", "_ZN4workL4stepEmm", "_ZN4work6seldomEm"


def build(source, output, *options):
    run = subprocess.run([CLANG, "-O2", "-g", *options, "-Rpass=inline", "-Rpass-analysis=sample-profile", "-o", output, source],
                         capture_output=True, text=True, check=False)
    return run.returncode, run.stderr


def read_profile(path):
    """{function: ({line: count}, {(line, inlined function): total}, total)} of the functions of the file."""
    functions, current = {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            depth = len(line) - len(line.lstrip())
            parts = line.strip().split(":")
            if not depth:
                current = functions.setdefault(parts[0], ({}, {}, int(parts[1])))
            elif depth == 1 and len(parts) == 2:
                current[0][int(parts[0])] = int(parts[1])
            elif depth == 1:
                current[1][(int(parts[0]), parts[1].strip())] = int(parts[2])
    return functions


def sections_of(path):
    return set(re.findall(r"\] (\.text\S*)", subprocess.run(["readelf", "-SW", path], capture_output=True, text=True,
                                                           check=True).stdout))


def line_of(text):
    return next(i for i, line in enumerate(SOURCE.splitlines(), 1) if text in line)


def main():
    tap = Tap()
    need_root(tap, "profiles for clang")
    if not CLANG:
        tap.skip("profiles for clang", "needs clang++")
        tap.finish()
    with tempfile.TemporaryDirectory(prefix="allframes-autofdo-") as directory:
        source, program = os.path.join(directory, "main.cpp"), os.path.join(directory, "program")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        status, before = build(source, program)
        tap.ok(status == 0, "the program is built", before)
        profile = os.path.join(directory, "cpu.afdo.txt")
        with Program(program) as process:
            sample_run([process.pid], 999, 3, outputs=[profile])
        found = read_profile(profile)
        lines, inlined, total = found.get(MIX, ({}, {}, 0))
        start, last = line_of("long mix("), line_of("return a ^ b;")
        tap.ok(total > 300 and lines and all(0 <= line <= last - start for line in lines),
               "the lines of a function are counted from its first", found)
        tap.ok((line_of("a = step(a, b);") - start, STEP) in inlined and
               total == sum(lines.values()) + sum(inlined.values()), "an inlined call is in its function", lines, inlined, total)
        build(source, program + ".o", "-c", "-ffunction-sections")
        tap.ok({".text." + MIX, ".text." + SELDOM} <= sections_of(program + ".o"), "without a profile no function is hot",
               sections_of(program + ".o"))
        status, after = build(source, program + ".o", "-c", "-ffunction-sections", "-fprofile-sample-accurate",
                              "-fprofile-sample-use=" + profile)
        tap.ok(status == 0 and re.search(r"Applied \d+ samples from profile", after), "clang takes the profile", after)
        tap.ok("'%s' inlined into '%s' to match profiling context" % (STEP, MIX) in after, "it inlines what was inlined", after)
        tap.ok({".text.hot." + MIX, ".text.unlikely." + SELDOM} <= sections_of(program + ".o"),
               "and lays out hot and cold functions apart", sections_of(program + ".o"))
    tap.finish()


if __name__ == "__main__":
    main()
