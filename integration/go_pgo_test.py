#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`go build -pgo=` takes the agent's pprof of a Go program: functions have their first lines, and a hot call of a function
that is too large to be inlined is inlined then. Prints TAP.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Program, Tap, need_root
from pprof_reader import Profile
from sampled import sample_run

GO = shutil.which("go")
# The body of mix costs more than the 80 nodes that the compiler inlines without a profile. With a profile it compiles all
# packages once more, so there are few.
SOURCE = """package main

import "syscall"

func mix(a, b uint64) uint64 {
%s	return a ^ b
}

// A comment, so that the loop is far from the first line.
func loop(n int) uint64 {
	sum := uint64(n)
	for i := 0; i < n; i++ {
		sum = mix(sum, uint64(i))
	}
	return sum
}

func main() {
	syscall.Write(1, []byte("ready\\n"))
	for {
		if loop(1 << 20) == 42 {
			println()
		}
	}
}
""" % "".join("\ta = a*%d + b>>%d\n\tb ^= a << %d\n" % (3 + 2 * i, i + 1, i + 2) for i in range(8))


def build(source, output, *options):
    run = subprocess.run([GO, "build", *options, "-gcflags=-m=2", "-o", output, source], capture_output=True, text=True,
                         check=False)
    return run.returncode, run.stderr


def main():
    tap = Tap()
    need_root(tap, "profiles for go build")
    if not GO:
        tap.skip("profiles for go build", "needs go")
        tap.finish()
    with tempfile.TemporaryDirectory(prefix="allframes-pgo-") as directory:
        source, program = os.path.join(directory, "main.go"), os.path.join(directory, "program")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        status, before = build(source, program, "-pgo=off")
        tap.ok(status == 0 and re.search(r"cannot inline mix: .* exceeds budget 80", before),
               "without a profile the function is too large", before)
        profile = os.path.join(directory, "cpu.pb.gz")
        with Program(program) as process:
            sample_run([process.pid], 499, 1, outputs=[profile])
        lines = SOURCE.splitlines()
        starts = {name: lines.index(next(line for line in lines if line.startswith("func %s(" % name))) + 1
                  for name in ("mix", "loop", "main")}
        found = Profile(profile, True, True).start_lines
        tap.ok(all(found.get("main." + name) == start for name, start in starts.items()), "functions have their first lines",
               found, starts)
        status, after = build(source, program, "-pgo=" + profile)
        tap.ok(status == 0 and re.search(r"can inline mix with cost \d+", after) and
               re.search(r"inlining call to mix", after), "with the profile it is inlined", after)
    tap.finish()


if __name__ == "__main__":
    main()
