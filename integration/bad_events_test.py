#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many bad events are allowed: over numbers, over runs that are drawn by chance, and in files."""
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
from harness import Tap


class Results:
    """Takes the results of a test that is tested."""

    def __init__(self):
        self.failed = []

    def ok(self, condition, name, *_):
        if not condition:
            self.failed.append(name)

    def note(self, _):
        pass


def check_numbers(tap):
    tap.ok(abs(bad_events.at_most(2, 3.0) - 0.42319) < 1e-5, "at most 2 where 3 are expected: 0.42319")
    tap.ok(abs(bad_events.more_than(2, 0.02) / 1.31348e-6 - 1) < 1e-3, "tiny tails are exact")
    tap.ok(abs(bad_events.at_most(5, 7.0) + bad_events.more_than(5, 7.0) - 1) < 1e-12
           and abs(bad_events.at_most(9, 7.0) + bad_events.more_than(9, 7.0) - 1) < 1e-12,
           "both tails together are 1")
    tap.ok(bad_events.limit(0.0, 10 ** 9) == 0, "at rate 0 nothing is allowed")
    tap.ok(abs(bad_events.upper_rate(0, 3000) * 3000 - 2.99573) < 1e-4,
           "of no event in N samples the rate is at most 3 / N")
    for rate in (1e-6, 1e-4, 1e-3, 1e-2):
        for samples in (200, 5000, 100000):
            k = bad_events.limit(rate, samples)
            mean = rate * samples
            tap.ok(bad_events.more_than(k, mean) < 1e-4 and (
                k == 0 or bad_events.more_than(k - 1, mean) >= 1e-4),
                   "%d is the smallest limit for %d samples at %g" % (k, samples, rate))
    tap.ok(bad_events.limit(1e-4, 2000, 100) > bad_events.limit(1e-4, 2000),
           "many limits in one run are wider each")


def check_faults(tap):
    for rate, fault in ((0.0, 0.01), (1e-5, 1e-3), (1e-4, 5e-3), (1e-3, 5e-3)):
        needed = bad_events.samples_needed(rate, fault)
        tap.ok(bad_events.finds(rate, fault, needed) and not bad_events.finds(rate, fault, needed // 2),
               "%d samples find %g beside %g, half of them do not" % (needed, fault, rate))
        try:
            bad_events.allowed(rate, fault, needed // 2)
            tap.ok(False, "too few samples are refused")
        except bad_events.TooFewSamples as error:
            tap.ok(error.needed == needed, "too few samples are refused, with the number that is needed")
    try:
        bad_events.samples_needed(0.01, 0.01)
        tap.ok(False, "a fault as frequent as sound agents' events is refused")
    except ValueError:
        tap.ok(True, "a fault as frequent as sound agents' events is refused")


def check_chance(tap):
    """Runs drawn by chance, each sample bad by itself: 2,000 of a sound agent, 2,000 of a faulty one."""
    generator = random.Random(7)
    rate, fault = 2e-3, 2e-2
    samples = bad_events.samples_needed(rate, fault)
    k = bad_events.allowed(rate, fault, samples)

    def share_above(of_rate):
        return sum(sum(generator.random() < of_rate for _ in range(samples)) > k
                   for _ in range(2000)) / 2000

    sound, faulty = share_above(rate), share_above(fault)
    tap.ok(sound <= 0.002, "sound runs pass", sound)
    tap.ok(faulty >= 0.93, "faulty runs fail", faulty)


def check_events(tap):
    for threads, events in (([], 0), ([[False]], 0), ([[True]], 1), ([[True, True, False, True]], 2),
                            ([[True], [True, True]], 2), ([[False, True, True, True]], 1)):
        tap.ok(bad_events.count_events(threads) == events, "%d events: %s" % (events, threads))


def check_run(tap):
    table = {"one_test": {"flagged": {"events": 4, "samples": 100000, "runs": 20}}}
    rates = bad_events.SoundRates("one_test", table)
    tap.ok(rates.limit("flagged", 5000) > 0 and rates.limit("other", 5000) == 0,
           "what was never measured allows nothing")
    k = rates.limit("flagged", 5000)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "folder", "events.jsonl")
        for events, samples, is_whole, is_good in ((k, 5000, True, True), (k + 1, 5000, True, False),
                                                   (0, 50, True, False), (0, 50, False, True)):
            run = bad_events.Run("one_test", rates, path)
            run.add("flagged", events, samples - 20, 0.01)
            run.add("flagged", 0, 20, 0.01)
            results = Results()
            run.finish(results, is_whole)
            tap.ok(not results.failed == is_good, "%d events of %d in a %s run are %s" % (
                events, samples, "whole" if is_whole else "short", "allowed" if is_good else "not allowed"))
        for events, samples, more, is_good in ((k, 5000, True, True), (k + 1, 5000, True, False), (0, 50, True, False),
                                               (0, 5000, False, False)):
            results = Results()
            run = bad_events.Run("one_test", rates, path)
            run.check(results, "checked", "flagged", events, samples, 0.01, is_good=more)
            run.finish(results)
            tap.ok(results.failed == [] if is_good else results.failed == ["checked"],
                   "%d events of %d that are checked are %s" % (events, samples, "allowed" if is_good
                                                                else "not allowed"), results.failed)
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    tap.ok([(line["test"], line["class"], line["events"], line["samples"]) for line in lines][:2]
           == [("one_test", "flagged", k, 5000), ("one_test", "flagged", k + 1, 5000)] and len(lines) == 8,
           "each run leaves its counts", lines)


def main():
    tap = Tap()
    check_numbers(tap)
    check_faults(tap)
    check_chance(tap)
    check_events(tap)
    check_run(tap)
    tap.finish()


if __name__ == "__main__":
    main()
