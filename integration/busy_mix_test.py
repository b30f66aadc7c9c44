#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A busy machine for 30 s at 99 Hz: a compiler over 200 files, openssl, gzip, a data base, tar, C++
with exceptions and lambdas, Rust, static programs.

99 % of the user stacks are complete once their process is known, judged from the frames: the
outermost is the thread's entry, and there is no guess and no error. No sample is lost to a full
ring, the kernel skips less than 1 % of the runs, and busy, idle and lost samples add up to online
CPUs x time x rate.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import Agent, StackEnds, Tap, die_with_parent, need_root, online_cpus, share

SECONDS = 30
RATE = 99
FILES = 200
COMPLETE_PERCENT = 99
PROGRAMS = ["exceptions", "exceptions_st", "closures", "closures_static", "calls_static",
            "threads"]

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item_%(n)d { int key; double weight; char name[16]; };
static int compare_%(n)d(const void *a, const void *b)
{ return ((const struct item_%(n)d *)a)->key - ((const struct item_%(n)d *)b)->key; }
%(functions)s
int entry_%(n)d(int argc, char **argv)
{
	struct item_%(n)d items[64];
	for (int i = 0; i < 64; i++) { items[i].key = (i * 7919 + argc) %% 61; items[i].weight = i; }
	qsort(items, 64, sizeof(items[0]), compare_%(n)d);
	printf("%%s %%d\\n", argv[0], items[argc %% 64].key);
	return (int)items[3].weight;
}
"""

FUNCTION = """
double function_%(n)d_%(i)d(const double *values, int count)
{
	double sum = %(i)d, last = 0;
	for (int i = 0; i < count; i++) {
		switch ((i + %(i)d) %% 5) {
		case 0: sum += values[i] * last; break;
		case 1: sum -= values[i] / (last + 1); break;
		case 2: last = sum > 10 ? values[i] : -values[i]; break;
		default: sum = sum * 1.0001 + last;
		}
	}
	return sum + %(n)d;
}
"""

DATA_BASE = """
import sqlite3
base = sqlite3.connect(":memory:")
base.execute("create table words (id integer primary key, text, number)")
while True:
    base.executemany("insert into words (text, number) values (?, ?)",
                     (("word %d" % (i * 7919 % 1009), i) for i in range(20000)))
    base.execute("create index if not exists by_text on words (text)")
    for i in range(20):
        base.execute("select text, sum(number), count(*) from words where text like ?"
                     " group by text order by 2", ("%%%d%%" % i,)).fetchall()
    base.execute("delete from words")
"""

FOREVER = 'while :; do %s; done'


def write_sources(directory):
    for n in range(FILES):
        functions = "".join(FUNCTION % {"n": n, "i": i} for i in range(25))
        with open(os.path.join(directory, "file_%d.c" % n), "w", encoding="ascii") as file:
            file.write(SOURCE % {"n": n, "functions": functions})


def mix_commands(directory):
    """Name, needed program, command."""
    data = os.path.join(directory, "data")
    with open(data, "wb") as file:
        file.write((os.urandom(64) + b"some text that can be made shorter ") * 40000)
    compile_all = ('for file in "%s"/file_*.c; do gcc -O2 -c "$file" -o "%s/out.o"; done'
                   % (directory, directory))
    return [
        ("gcc", ["sh", "-c", FOREVER % compile_all]),
        ("openssl", ["sh", "-c", FOREVER % "openssl speed -seconds 1 rsa2048 sha256 aes-128-gcm"]),
        ("gzip", ["sh", "-c", FOREVER % ('gzip -9 -c "%s"' % data)]),
        ("tar", ["sh", "-c", FOREVER % "tar -cf - /usr/include | cat"]),
    ]


class Mix:
    """All programs of the mix; they end with the context."""

    def __init__(self, directory):
        write_sources(directory)
        self.names = []
        self._processes = []
        for name, command in mix_commands(directory):
            if shutil.which(name):
                self._start(name, command)
        self._start("sqlite", [sys.executable, "-c", DATA_BASE])
        for name in build_targets.build(PROGRAMS):
            self._start(name, [TARGETS[name].path])

    def _start(self, name, command):
        self.names.append(name)
        # A group of its own, so that shells and what they have started end together.
        self._processes.append(subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_parent))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self._processes:
            os.killpg(process.pid, 9)
            process.wait()


# What the mix runs, as comms show it; all else on the machine is not ours to judge.
MIX_COMMS = re.compile(r"cc1|as|ld|collect2|gcc|x86_64-linux-gn|openssl|gzip|tar|cat|sh|dash|bash|"
                       r"sqlite|python[0-9.]*|" + "|".join(PROGRAMS))


def check_complete(tap, stacks):
    ends = StackEnds([os.path.dirname(os.path.realpath(sys.executable)),
                      os.path.join(sys.base_prefix, "lib")])
    total = before_known = without_memory = complete = others = others_complete = 0
    incomplete = collections.Counter()
    for stack, count in stacks.items():
        if stack.is_kernel_thread:
            continue
        if stack.is_without_memory:
            without_memory += count
            continue
        is_complete = ends.is_complete(stack)
        if not MIX_COMMS.fullmatch(stack.comm):
            others += count
            others_complete += is_complete * count
        elif stack.is_before_known:
            before_known += count
        else:
            total += count
            complete += is_complete * count
            if not is_complete:
                root = (stack.errors or ["no error"])[0]
                users = [frame for frame in stack.user_frames if frame not in stack.errors]
                incomplete["%s: %s, %s" % (stack.comm, root, "; ".join(users[:2]))] += count
    tap.ok(total and 100 * complete >= COMPLETE_PERCENT * total,
           "%d %% of the user stacks are complete once the process is known" % COMPLETE_PERCENT,
           "%d of %d" % (complete, total))
    tap.note("complete: %s of %d user stacks of known processes; before known: %s" %
             (share(complete, total), total, share(before_known, total + before_known)))
    tap.note("%d samples of tasks in exec or exit, which have no memory" % without_memory)
    tap.note("of other programs on this machine: %s of %d" %
             (share(others_complete, others), others))
    for text, count in incomplete.most_common(12):
        tap.note("%d times %s" % (count, text))


def check_counts(tap, result, stacks):
    metrics = result.metrics
    busy, idle = metrics["bpf_samples"], metrics["bpf_idle"] + metrics["idle_unseen"]
    ring_full, skipped = metrics["bpf_lost_ring_full"], metrics["samples_skipped"]
    total = busy + idle + metrics["bpf_unselected"] + ring_full + skipped
    wanted = len(online_cpus()) * SECONDS * RATE
    tap.ok(ring_full == 0, "no sample is lost to a full ring", ring_full)
    tap.ok(100 * skipped < total, "the kernel skips less than 1 % of the runs", skipped, total)
    tap.ok(abs(total - wanted) <= 0.01 * wanted,
           "busy, idle and lost samples add up to CPUs x time x rate",
           "%d busy, %d idle, %d ring full, %d skipped: %d of %d" %
           (busy, idle, ring_full, skipped, total, wanted))
    counted = sum(stacks.values())
    tap.ok(counted == busy - metrics["samples_dropped"], "every busy sample is in the output",
           "%d of %d, %d dropped" % (counted, busy, metrics["samples_dropped"]))
    tap.note("%d busy, %d idle, %d lost to a full ring, %d skipped by the kernel (%s)" %
             (busy, idle, ring_full, skipped, share(skipped, total)))


def main():
    tap = Tap()
    need_root(tap, "busy mix")
    with tempfile.TemporaryDirectory(prefix="allframes-mix-") as directory:
        with Mix(directory) as mix:
            with Agent("-samples-per-second", RATE, "-duration", "%ds" % SECONDS, "-log-level",
                       "debug") as agent:
                result = agent.wait(SECONDS + 30)
                stacks = result.stacks
    if not tap.ok(result.status == 0, "the agent lives through " + ", ".join(mix.names),
                  result.log[-3000:]):
        tap.finish()
    check_complete(tap, stacks)
    check_counts(tap, result, stacks)
    tap.note(result.last_line)
    tap.finish()


if __name__ == "__main__":
    main()
