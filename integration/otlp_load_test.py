#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it loads the machine, and counts what is lost
# long
# time limit: 5400 s
"""An hour of the busy mix, sent over OTLP: no rule is broken, stacks and samples are those of the
folded file, no sample is dropped on the way, and the agent does not grow.

ALLFRAMES_OTLP_SECONDS=60 makes it shorter.
"""
import os
import re
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from busy_mix import Mix
from harness import Agent, Tap, need_root, share
from otlp_collector import Collector, read_requests, without_comm

SECONDS = int(os.environ.get("ALLFRAMES_OTLP_SECONDS", "3600"))
RATE = 97
# Of anonymous memory, from the tenth of the run after which all caches are filled.
GROWTH_MAX_KB = 16 << 10


def anonymous_kb(pid):
    """RssAnon of a process; None if it has gone."""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
            return int(re.search(r"RssAnon:\s+(\d+) kB", file.read())[1])
    except (OSError, TypeError):
        return None


class Memory(threading.Thread):
    """The agent's anonymous memory, once a second."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self._pid = pid
        self.values = []
        self.start()

    def run(self):
        while True:
            value = anonymous_kb(self._pid)
            if value is None:
                return
            self.values.append(value)
            time.sleep(1)


def check(tap, result, received, named, folded):
    tap.ok(result.status == 0, "the agent lives through it", result.log[-3000:])
    tap.ok(not received.broken_rules, "no rule is broken", received.broken())
    total = sum(folded.values())
    metrics = result.metrics
    tap.ok(received.samples_all == received.samples_taken == total
           and not metrics["otlp_samples_dropped"], "every sample comes, once",
           total, received.samples_all, dict(metrics))
    tap.ok(named.stacks == folded, "stacks and samples are those of the folded file",
           "%d stacks, %d in the file, %d only there, %d only here" %
           (len(named.stacks), len(folded), len(folded - named.stacks),
            len(named.stacks - folded)))
    tap.note("%d samples, %d stacks, %d requests, %.1f bytes per sample (%.1f raw)" %
             (total, len(folded), received.requests, received.wire_bytes / max(total, 1),
              received.raw_bytes / max(total, 1)))
    tap.note(result.last_line)


def check_memory(tap, values):
    # The folded file's own store grows with every new stack, and is in these figures.
    early = values[len(values) // 10:len(values) // 5]
    late = values[-len(values) // 10:]
    tap.note("anonymous memory: %d kB early, %d kB at the end, %d kB at most" %
             (max(early), max(late), max(values)))
    return max(late) - max(early)


def run_for_files(tap, directory):
    """The run that is compared with files: it ends while all stacks fit the file's store."""
    seconds = min(SECONDS, 300)
    otlp = os.path.join(directory, "all.otlp")
    folded = os.path.join(directory, "all.folded")
    with Collector() as collector:
        with Agent("-collection-agent", collector.address, "-disable-tls", "-samples-per-second",
                   RATE, "-duration", "%ds" % seconds, "-log-level", "debug",
                   outputs=[folded, otlp]) as agent:
            agent.folded_path = folded
            result = agent.wait(seconds + 120)
            stacks = without_comm(result.stacks)
        received = collector.stop(120)
        named = read_requests(collector.saved_files(), "-names", otlp)
    check(tap, result, received, named, stacks)


def run_for_memory(tap):
    """The long run: nothing but the collector keeps what was sampled."""
    with Collector() as collector:
        with Agent("-collection-agent", collector.address, "-disable-tls", "-samples-per-second",
                   RATE, "-duration", "%ds" % SECONDS, "-log-level", "debug",
                   outputs=[]) as agent:
            memory = Memory(agent.pid)
            result = agent.wait(SECONDS + 120)
        received = collector.stop(120)
    metrics = result.metrics
    busy = metrics["bpf_samples"] - metrics["samples_dropped"]
    tap.ok(result.status == 0 and not received.broken_rules, "%d s break no rule" % SECONDS,
           received.broken(), result.log[-3000:])
    tap.ok(received.samples_all == received.samples_once == busy
           and not metrics["otlp_samples_dropped"], "every sample comes, once", busy,
           received.samples_all, dict(metrics))
    growth = check_memory(tap, memory.values)
    tap.ok(growth <= GROWTH_MAX_KB, "the agent does not grow", "%d kB" % growth)
    tap.note("%d requests, %d samples; %s of the ticks were lost" %
             (received.requests, received.samples_all,
              share(metrics["samples_skipped"] + metrics["bpf_lost_ring_full"],
                    metrics["bpf_samples"] + metrics["bpf_idle"])))


def main():
    tap = Tap()
    need_root(tap, "an hour of OTLP")
    with tempfile.TemporaryDirectory(prefix="allframes-mix-") as directory:
        with Mix(directory):
            run_for_files(tap, directory)
            run_for_memory(tap)
    tap.finish()


if __name__ == "__main__":
    main()
