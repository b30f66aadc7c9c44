#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 600 s
"""Each thread of a program that embeds a PHP with threads (ZTS) shows the PHP functions that it runs itself: all threads run
the same file, in which the depth of a recursion is the thread's number, and have a native function of their own. A thread
without PHP has none. With opcache the functions are the same objects in all threads.

usage: php_threads_test.py [PHP...] [MODE...]

A MODE is one of phps.MODES.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import phps
from chain_samples import profile
from harness import OUTPUT, Tap, need_root
from php_stack_test import APPROXIMATE, INTERPRETED_ERROR_SHARE, JIT_ERROR_SHARE, WORK_SHARE, parse_frame, wrong_natives

SECONDS = 5
SAMPLES_PER_SECOND = 4000
PROGRAM = os.path.join(phps.TARGETS, "threads.c")
TARGET = os.path.join(phps.TARGETS, "threads.php")
THREADS = 4
# In the thread without PHP, and in one whose number this is.
WITHOUT = "without_php"
IN_THREAD = re.compile(r"in_thread_(\d)\b")
# Errors beside a share of the samples: a generator's execute_data is not linked yet (interpreters/php/NOTES.md), in 5 of 121,000
# samples of a build without the JIT.
ERRORS = 2
# The limit of functions in C that the engine adds between the lines of the target.
MAX_EXTRA = 1
SHOWN_WRONG = 3


def chains_of(number):
    """The chains of functions of the thread @number, from the file to their ends."""
    deep = ("deep",) * (number + 1) + ("work",)
    return [("{main}", *deep), ("{main}", "Caller::call", "array_map", *deep), ("{main}", "generated", *deep)]


def is_beginning(names, chain):
    """True if the frames stand at the beginning of a chain, maybe with what the engine has called last, and not at its end."""
    common = len(os.path.commonprefix([names, chain]))
    return len(names) - common <= MAX_EXTRA and names[-1] != "work"


def thread_of(stack):
    """The number of the thread with @stack, or WITHOUT; None: it is another thread."""
    for frame in stack.user_frames:
        match = IN_THREAD.match(frame)
        if match:
            return int(match[1])
        if frame.startswith(WITHOUT):
            return WITHOUT
    return None


def why_wrong(thread, texts, frames):
    """Why a stack without errors is wrong; None."""
    names = tuple(frame.name for frame in frames)
    if not isinstance(thread, int):
        return "frames of PHP" if names else None
    chains = chains_of(thread)
    if names and names not in chains and not any(is_beginning(names, chain) for chain in chains):
        return "no such stack"
    return wrong_natives(texts)


def judge(tap, name, stacks, has_jit):
    """Checks that each thread has the frames of its own."""
    counts, wrong, errors = collections.Counter(), collections.Counter(), collections.Counter()
    for stack, count in stacks.items():
        texts, thread = stack.user_frames, thread_of(stack)
        frames = tuple(frame for frame in map(parse_frame, texts) if frame)
        counts["all"] += count
        counts[thread] += count
        if stack.errors:
            errors[";".join(texts)] += count
            continue
        why = why_wrong(thread, texts, frames)
        if why:
            wrong["%s: %s" % (why, ";".join(texts))] += count
        if isinstance(thread, int) and tuple(frame.name for frame in frames) in chains_of(thread):
            counts["%d to its end" % thread] += count
        counts["approximate"] += count * any(text.endswith(APPROXIMATE) for text in texts)
    tap.note("%s%s, errors %d" % (name, dict(counts), errors.total()))
    tap.ok(counts["all"] >= SECONDS * SAMPLES_PER_SECOND / 10, name + "there are samples")
    tap.never(wrong, name + "every thread has its own functions", *["%d %s" % (count, text) for text, count in
                                                                    wrong.most_common(SHOWN_WRONG)])
    tap.ok(all(counts["%d to its end" % thread] >= WORK_SHARE * counts[thread] > 0 for thread in range(THREADS)),
           name + "chains are there to their end in every thread")
    tap.ok(counts[WITHOUT], name + "the thread without PHP is there")
    share = JIT_ERROR_SHARE if has_jit else INTERPRETED_ERROR_SHARE
    tap.ok(errors.total() <= ERRORS + share * counts["all"], name + "no frames are missing",
           *["%d %s" % (count, text) for text, count in errors.most_common(SHOWN_WRONG)])


def build(php):
    """The program that embeds it."""
    os.makedirs(OUTPUT, exist_ok=True)
    path = os.path.join(OUTPUT, "threads-" + php.name)
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-o", path, PROGRAM, "-L%s/libs" % php.root, "-l:libphp.so",
                    "-Wl,-rpath,%s/libs" % php.root], check=True)
    return path


def check(tap, php, mode):
    name = "%s %s: " % (php, mode)
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "php.ini"), "w", encoding="utf-8") as file:
            file.write("\n".join(php.settings(mode)) + "\n")
        result = profile(["env", "PHPRC=" + directory, "PHP_INI_SCAN_DIR=", build(php), TARGET], SECONDS, SAMPLES_PER_SECOND)
    judge(tap, name, result.stacks, mode in phps.JIT_MODES)


def main():
    tap = Tap()
    need_root(tap, "PHP with threads")
    # The short tier has none of them.
    chosen = phps.chosen(sys.argv[1:], True)
    threaded = [php for php in chosen.runtimes or chosen.every.values() if php.has_threads]
    if not threaded:
        tap.skip("PHP with threads", "no PHP with threads is at hand: scripts/fetch_phps.py")
    for php in threaded:
        for mode in chosen.modes or phps.MODES:
            check(tap, php, mode)
    tap.finish()


if __name__ == "__main__":
    main()
