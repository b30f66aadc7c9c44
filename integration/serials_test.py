#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""No sample shows a function that was freed, or not made yet. Programs replace functions with serial numbers by others that
take their memory, and write which were alive when. The agent names functions after their samples, and remembers names.

usage: serials_test.py [LANGUAGE...]
"""
import collections
import itertools
import re
import sys
import os
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import nodes
import perls
import phps
import rubies
from attached_samples import sample_attached
from harness import IS_LONG, Program, Tap, need_root, share
from runtimes import newest_or_all

SAMPLES = 100000 if IS_LONG else 10000
SAMPLES_PER_SECOND = 4999
SECONDS_MAX = 600
# In PHP it is the line of a closure in code of eval(), which is a part of its name from 8.4 on.
SERIAL = re.compile(r"\bserial_(\d+)\b|eval\(\)'d code:(\d+)\}")
PHP_FROM = (8, 4)
# Times in .otlp files are cut to this.
TIME_NS = 1000000
FUNCTIONS_MIN = 50
NAMED_PERCENT = 80
# V8 moves what belongs to a function, and has no name for it then before it is looked at again.
JAVASCRIPT_PERCENT = 15
# So does Ruby's compaction: 78 to 87 % of the samples had a name in 9 runs.
COMPACT_PERCENT = 60

Target = collections.namedtuple("Target", "title command named_percent", defaults=[NAMED_PERCENT])


def javascript_targets():
    for node in newest_or_all(nodes.at_hand(IS_LONG).values(), IS_LONG):
        yield Target(str(node), node.command("--expose-gc", os.path.join(nodes.TARGETS, "serials.js")), JAVASCRIPT_PERCENT)


def ruby_targets():
    for ruby in newest_or_all(rubies.at_hand(IS_LONG).values(), IS_LONG):
        target = os.path.join(rubies.TARGETS, "serials.rb")
        yield Target(str(ruby), ruby.command(target))
        if ruby.version >= (3, 1):
            yield Target("%s, compact" % ruby, ruby.command(target, "compact"), COMPACT_PERCENT)


def php_targets():
    for php in newest_or_all([php for php in phps.at_hand(IS_LONG).values() if php.version >= PHP_FROM], IS_LONG):
        for mode in php.modes if IS_LONG else ["tracing"]:
            yield Target("%s, %s" % (php, mode), php.mode_command(mode, os.path.join(phps.TARGETS, "serials.php")))


def perl_targets():
    for perl in newest_or_all(perls.at_hand(IS_LONG).values(), IS_LONG):
        yield Target(str(perl), perl.command(os.path.join(perls.TARGETS, "serials.pl")))


LANGUAGES = {"javascript": javascript_targets, "ruby": ruby_targets, "php": php_targets, "perl": perl_targets}


def read_lives(file, difference):
    """{serial: (made, freed)}, in ns since 1970. The last line may be a part of one."""
    file.seek(0)
    rows = [line.split() for line in file.read().decode().splitlines(True) if line.endswith("\n")]
    return {int(serial): (int(made) + difference, int(freed) + difference) for serial, made, freed in rows}


def judge(samples, lives):
    """Counts of samples: all, those with serials, with those whose life is known; and what is wrong."""
    counts, wrong = collections.Counter(), []
    # Many samples share a stack.
    serials_of = {frames: {int(one or other) for frame in frames for one, other in SERIAL.findall(frame)}
                  for frames in {frames for _, frames in samples}}
    for at, frames in samples:
        serials = serials_of[frames]
        counts["all"] += 1
        counts["named"] += bool(serials)
        # The last ones were never freed.
        for serial in serials & set(lives):
            made, freed = lives[serial]
            counts["judged"] += 1
            if at + TIME_NS < made or at > freed:
                wrong.append("serial %d, %.3f ms after it was made, %.3f ms after it was freed" % (
                    serial, (at - made) / 1e6, (at - freed) / 1e6))
    return counts, wrong


def check_target(tap, target):
    with tempfile.TemporaryFile() as file:
        with Program(*target.command, stderr=file) as program:
            result = sample_attached([program], SECONDS_MAX, rate=SAMPLES_PER_SECOND,
                                     cpu_seconds=SAMPLES / SAMPLES_PER_SECOND)
            difference = time.time_ns() - time.monotonic_ns()
        lives = read_lives(file, difference)
    samples = [(at, key[1]) for at, key in itertools.chain(*result.times.threads.values())]
    counts, wrong = judge(samples, lives)
    tap.note("%s: %d functions, %s" % (target.title, len(lives), dict(counts)))
    others = collections.Counter(";".join(frames[-2:]) for _, frames in samples if not SERIAL.search(" ".join(frames)))
    tap.ok(counts["all"] >= 0.8 * SAMPLES and len(lives) >= FUNCTIONS_MIN
           and 100 * counts["judged"] >= target.named_percent * counts["all"],
           target.title + ": there are samples of functions that were freed", dict(counts), *others.most_common(5), result.log)
    tap.never(wrong, "%s: no sample shows a function that was not alive: %s" % (
        target.title, share(len(wrong), counts["judged"])), *wrong[:5])


def main():
    tap = Tap()
    need_root(tap, "functions that are freed")
    for language in sys.argv[1:] or LANGUAGES:
        targets = list(LANGUAGES[language]())
        if not targets:
            tap.skip("functions that are freed, " + language, "no runtime is at hand")
        for target in targets:
            check_target(tap, target)
    tap.finish()


if __name__ == "__main__":
    main()
