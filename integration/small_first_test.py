#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small program that starts while the unwind rows of a large one are being made does not wait for them. Those of much
code without tables are made when samples have come to it often, and then take a second.
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Agent, Program, Tap, need_root

RATE = 197
SMALL_COUNT = 5
# Functions without tables, of 32 bytes.
FUNCTIONS = 350000

SPIN = """
#include <stdio.h>
volatile unsigned count;
int main(void) { puts("ready"); fflush(stdout); for (;;) count++; }
"""

BUSY = """
#include <stdio.h>
void work(unsigned long count);
int main(void) { puts("ready"); fflush(stdout); for (;;) work(1000000); }
"""

FUNCTION = """
	.text
	push %rbx
	sub $32,%rsp
	mov %rdi,8(%rsp)
	test %rdi,%rdi
	je 1f
	mov (%rdi),%rbx
1:	add $32,%rsp
	pop %rbx
	ret
	.p2align 5
"""

LARGE = """
	.text
	.p2align 5
	.incbin "functions"
	.globl work
work:	push %rbx
	mov %rdi,%rbx
1:	dec %rbx
	jnz 1b
	pop %rbx
	ret
	.section .note.GNU-stack,"",@progbits
"""


def build(directory, name, *sources, flags=()):
    """A program of @sources, texts by their suffix."""
    files = []
    for suffix, text in sources:
        files.append(os.path.join(directory, "source" + suffix))
        with open(files[-1], "w", encoding="ascii") as file:
            file.write(text)
    path = os.path.join(directory, name)
    subprocess.run(["gcc", "-O1", *flags, "-o", path, *files], cwd=directory, check=True)
    return path


def write_functions(directory):
    """The code of all functions, which the assembler would take seconds for."""
    one, code = build(directory, "one", (".s", FUNCTION), flags=["-c"]), os.path.join(directory, "functions")
    subprocess.run(["objcopy", "-O", "binary", "--only-section=.text", one, code], check=True)
    with open(code, "rb") as file:
        data = file.read()
    with open(code, "wb") as file:
        file.write(data * FUNCTIONS)


def check(tap, directory):
    write_functions(directory)
    large = build(directory, "large", (".c", BUSY), (".s", LARGE))
    smalls = []
    for i in range(SMALL_COUNT):
        # Files of their own.
        smalls.append(build(directory, "small%d" % i, (".c", SPIN)))
    programs = []
    with Agent("-samples-per-second", RATE, "-log-level", "debug") as agent:
        agent.wait_started()
        try:
            programs.append(Program(large))
            begun = agent.wait_logged(large + ": making unwind rows", 2)
            programs += [Program(small) for small in smalls]
            ended = begun and agent.wait_logged(large + ": unwind rows published", 2)
            for small in smalls:
                agent.wait_logged(small + ": unwind rows published")
        finally:
            for program in programs:
                program.__exit__()
        result = agent.stop()
        stacks = result.stacks
    order = re.findall(r"/(large|small\d): (making unwind rows|unwind rows published)", result.log)
    tap.ok(ended, "the rows of a large program are made", result.log[-2000:])
    indices = {(name, what): i for i, (name, what) in enumerate(order)}
    last = indices.get(("large", "unwind rows published"), 0)
    before = [i for i in range(SMALL_COUNT)
              if indices.get(("small%d" % i, "unwind rows published"), last) < last]
    tap.ok(len(before) == SMALL_COUNT,
           "small programs that start meanwhile have theirs before (%d of %d)" % (len(before), SMALL_COUNT), order)
    bad = {stack: count for stack, count in stacks.items()
           if re.match(r"small\d|large", stack.comm) and "[error: unwind rows not loaded]" in stack.frames}
    tap.ok(not bad, "no sample of them went without its rows", bad)


def main():
    tap = Tap()
    need_root(tap, "small programs go first")
    if os.uname().machine != "x86_64":
        tap.skip("small programs go first", "the large program is for x86-64")
        tap.finish()
    with tempfile.TemporaryDirectory(prefix="allframes-small-") as directory:
        check(tap, directory)
    tap.finish()


main()
