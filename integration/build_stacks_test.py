#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it loads the machine with a build
"""A parallel build (make -j4) of small C files at 99 Hz: the user stacks are complete, deferred samples included,
judged from the frames: all but as many as sound agents have, and in the long tier 95 %.

Most of the processes of such a build live for a few milliseconds, and half of its samples are the
first of their process: what the agent does with those shows here. 60 files, and 300 with
ALLFRAMES_LONG=1.
"""
import collections
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
from harness import IS_LONG, Agent, StackEnds, Tap, die_with_parent, need_root, path_without_ccache, share
from judge import FLAGGED

FILES = 300 if IS_LONG else 60
JOBS = 4
RATE = 99
COMPLETE_PERCENT = 95 if IS_LONG else 0
COMPLETE_FAULT = 0.2
# 60 files take some seconds of two CPUs, more of slower ones.
LEAST_SAMPLES = 2 * FILES
SHOWN = 12

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item_%(n)d { struct item_%(n)d *next; int key; };
static struct item_%(n)d *insert_%(n)d(struct item_%(n)d *head, int key)
{
	struct item_%(n)d *item = malloc(sizeof(*item));
	if (!item)
		return head;
	item->next = head;
	item->key = key * %(n)d;
	return item;
}
int entry_%(n)d(int argc, char **argv)
{
	struct item_%(n)d *head = NULL;
	for (int i = 0; i < argc; i++)
		head = insert_%(n)d(head, (int)strlen(argv[i]));
	for (; head; head = head->next)
		printf("%%d\\n", head->key);
	return 0;
}
"""

MAKEFILE = """
OBJECTS := $(patsubst %%.c,%%.o,$(wildcard *.c))
all: $(OBJECTS)
%%.o: %%.c
	@echo building $@
	@gcc -O2 -c $< -o $@
	@gcc -shared $@ -o $(@:.o=.so)
"""

# The programs that the build runs, as comms show them: 15 characters at most. Anything else on the machine is not
# of the build.
BUILD_COMMS = {"make", "sh", "gcc", "cc1", "as", "ld", "collect2", "x86_64-linux-gn",
               "aarch64-linux-g"}


def write_tree(directory):
    for n in range(1, FILES + 1):
        with open(os.path.join(directory, "file_%d.c" % n), "w", encoding="ascii") as file:
            file.write(SOURCE % {"n": n})
    with open(os.path.join(directory, "Makefile"), "w", encoding="ascii") as file:
        file.write(MAKEFILE.replace("%%", "%"))


def profile_build(directory):
    with Agent("-samples-per-second", RATE, is_timed=True) as agent:
        if not agent.wait_started():
            raise RuntimeError("the agent did not start: " + agent.log_text())
        build = subprocess.run(["make", "-s", "-j%d" % JOBS], cwd=directory, text=True, env={**os.environ, "PATH": path_without_ccache()},
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, check=False, preexec_fn=die_with_parent)
        result = agent.stop()
        return build, result, result.stacks if result.status == 0 else {}


def check_complete(tap, stacks, times):
    ends = StackEnds()
    total = complete = before_known = without_memory = 0
    incomplete, bad = collections.Counter(), collections.Counter()
    for stack, count in stacks.items():
        if stack.comm not in BUILD_COMMS:
            continue
        if stack.is_without_memory:
            without_memory += count
            continue
        total += count
        before_known += stack.is_before_known * count
        if ends.is_complete(stack):
            complete += count
            continue
        bad[stack] += count
        reason = (stack.errors or ["a guess" if stack.has_guess else "not an entry"])[0]
        users = [frame for frame in stack.user_frames if frame not in stack.errors]
        incomplete["%s: %s, %s" % (stack.comm, reason, "; ".join(users[:2]))] += count
    tap.ok(total >= LEAST_SAMPLES, "the build was sampled", "%d samples" % total)
    run = bad_events.Run("build_stacks_test")
    run.check(tap, "the user stacks of a build are complete, deferred samples included", FLAGGED,
              times.count_events(bad), total, COMPLETE_FAULT, is_good=100 * complete >= COMPLETE_PERCENT * total)
    run.finish(tap)
    tap.note("complete: %s of %d; %d samples stayed without an unwind; %d more of tasks in exec or "
             "exit, which have no memory"
             % (share(complete, total), total, before_known, without_memory))
    for text, count in incomplete.most_common(SHOWN):
        tap.note("%d times %s" % (count, text))


def main():
    tap = Tap()
    need_root(tap, "stacks of a build")
    with tempfile.TemporaryDirectory(prefix="allframes-build-") as directory:
        write_tree(directory)
        build, result, stacks = profile_build(directory)
        made = sum(name.endswith(".so") for name in os.listdir(directory))
    tap.ok(build.returncode == 0 and made == FILES, "%d files are built" % FILES,
           build.stderr[-1000:])
    if tap.ok(result.status == 0, "the agent lives through it", result.log[-3000:]):
        check_complete(tap, stacks, result.times)
        tap.note(result.last_line)
    tap.finish()


if __name__ == "__main__":
    main()
