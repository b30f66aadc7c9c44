# SPDX-License-Identifier: Apache-2.0
"""How many bad events a live test allows: computed from the rate that sound agents were measured to have.

A bad event is one bad sample, or several of one thread with no good one between them. In N samples a test
allows k bad events: the smallest k that a sound agent exceeds in less than one of 10,000 runs. N has to be
so large that the fault which the test is for exceeds k in 95 % of the runs.

Events are taken to be independent (Poisson). Of a rate that was measured, the upper limit is used: the
largest rate at which so few events would be seen in one of 20 measurements.

The rates are in sound_rates.json, which scripts/sound_rates.py writes from the counts that each live
run appends to build/integration/events.jsonl.
"""
import collections
import datetime
import json
import math
import os
import platform

_FOLDER = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(_FOLDER, "sound_rates.json")
LOG = os.path.join(os.path.dirname(_FOLDER), "build", "integration", "events.jsonl")

# Runs of a sound agent that may fail, and runs of a faulty one that must.
FALSE_ALARM = 1e-4
FOUND = 0.95
# Measurements that see so few events although the rate is above the upper limit.
UNLUCKY = 0.05
_SAMPLES_MAX = 1 << 40


class TooFewSamples(ValueError):
    """The fault would be found in too few runs. @needed: how many samples are enough."""

    def __init__(self, samples, needed):
        super().__init__("%d samples are too few to find the fault; %d are needed" % (samples, needed))
        self.needed = needed


def at_most(count, mean):
    """The probability of at most @count events where @mean are expected."""
    if mean <= 0:
        return 1.0
    return min(1.0, math.fsum(math.exp(i * math.log(mean) - mean - math.lgamma(i + 1))
                              for i in range(count + 1)))


def more_than(count, mean):
    """The probability of more than @count events, also where it is tiny."""
    if mean <= 0:
        return 0.0
    if mean > count + 1:
        return 1.0 - at_most(count, mean)
    total, i = 0.0, count + 1
    while True:
        term = math.exp(i * math.log(mean) - mean - math.lgamma(i + 1))
        total += term
        if term <= total * 1e-12:
            return total
        i += 1


def upper_rate(events, samples):
    """The largest rate at which @events or fewer in @samples are no less likely than UNLUCKY."""
    low, high = float(events), 2.0 * events + 10
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if at_most(events, middle) > UNLUCKY else (low, middle)
    return high / samples


def limit(rate, samples, parts=1):
    """The k for @samples at the sound @rate; @parts such limits are held by one run."""
    count = 0
    while more_than(count, rate * samples) >= FALSE_ALARM / parts:
        count += 1
    return count


def finds(rate, fault_rate, samples, parts=1):
    """True if a fault of @fault_rate is found in enough runs."""
    return more_than(limit(rate, samples, parts), fault_rate * samples) >= FOUND


def samples_needed(rate, fault_rate, parts=1):
    """How many samples a test needs. Raises ValueError if no number is enough."""
    if fault_rate <= rate:
        raise ValueError("a fault of rate %g is not told from the sound rate %g" % (fault_rate, rate))
    high = 1
    while not finds(rate, fault_rate, high, parts):
        high *= 2
        if high > _SAMPLES_MAX:
            raise ValueError("no number of samples finds a fault of rate %g" % fault_rate)
    low = high // 2
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if finds(rate, fault_rate, middle, parts) else (middle, high)
    return high


def allowed(rate, fault_rate, samples, parts=1):
    """The k for @samples. Raises TooFewSamples where the fault would not be found."""
    if not finds(rate, fault_rate, samples, parts):
        raise TooFewSamples(samples, samples_needed(rate, fault_rate, parts))
    return limit(rate, samples, parts)


def count_events(threads):
    """Bad events in @threads: of each thread whether its samples are bad, in the order of time."""
    return sum(1 for samples in threads
               for before, is_bad in zip([False, *samples], samples) if is_bad and not before)


def read_table(path=TABLE):
    """{test: {kind: row}}; a row has events, samples, runs, date and machine."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class SoundRates:
    """The sound rates of one test, by kind of bad event. What was never measured allows nothing."""

    def __init__(self, test, table=None):
        self._rows = (read_table() if table is None else table).get(test, {})

    def rate(self, kind):
        row = self._rows.get(kind)
        return upper_rate(row["events"], row["samples"]) if row else 0.0

    def limit(self, kind, samples, parts=1):
        """The k of this kind for @samples."""
        return limit(self.rate(kind), samples, parts)

    def runs(self, kind):
        """How many runs the rate comes from."""
        return self._rows.get(kind, {}).get("runs", 0)


class Run:
    """The bad events of one run of a test, by kind. What is added is judged at the end, of all targets together;
    what is checked is judged at once.
    """

    def __init__(self, test, rates=None, log=LOG):
        self.test = test
        self.rates = rates or SoundRates(test)
        self._log = log
        self._events, self._samples = collections.Counter(), collections.Counter()
        self._fault_rates = {}

    def add(self, kind, events, samples, fault_rate):
        """Counts @events in @samples of one target. @fault_rate: of the fault that the test has to find."""
        self._events[kind] += events
        self._samples[kind] += samples
        self._fault_rates[kind] = fault_rate

    def check(self, tap, name, kind, events, samples, fault_rate, *diagnostics, is_good=True):
        """Counts them, and gives one result: there are no more events than sound agents have, a fault of
        @fault_rate would have shown, and @is_good. @diagnostics: said if it fails.
        """
        self._events[kind] += events
        self._samples[kind] += samples
        self._judge(tap, name, kind, events, samples, fault_rate, *diagnostics, is_good=is_good)

    def _judge(self, tap, name, kind, events, samples, fault_rate, *diagnostics, is_good=True, is_whole=True):
        rate, why = self.rates.rate(kind), ""
        most = limit(rate, samples)
        try:
            allowed(rate, fault_rate, samples)
        except ValueError as error:
            why = str(error)
        text = "%s: %d events in %d samples, %d allowed, by %d runs" % (
            kind, events, samples, most, self.rates.runs(kind)) + (": " + why) * bool(why)
        tap.ok(events <= most and not (why and is_whole) and is_good, name, text, *diagnostics)
        tap.note(text)

    def write(self):
        """Appends the counts to the log, a line for each kind."""
        os.makedirs(os.path.dirname(self._log), exist_ok=True)
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        with open(self._log, "a", encoding="utf-8") as file:
            for kind, samples in sorted(self._samples.items()):
                file.write(json.dumps({
                    "test": self.test, "class": kind, "events": self._events[kind],
                    "samples": samples, "date": now, "run": "%s/%d" % (now, os.getpid()),
                    "machine": "%s, %d CPUs" % (platform.release(), os.cpu_count())}) + "\n")

    def finish(self, tap, is_whole=True):
        """Writes the counts, and gives one result for each kind that was added. A run that is not whole, by
        arguments, may have too few samples to find the fault.
        """
        self.write()
        for kind, fault_rate in sorted(self._fault_rates.items()):
            self._judge(tap, "%s: no more bad events than sound agents have" % kind, kind,
                        self._events[kind], self._samples[kind], fault_rate, is_whole=is_whole)
