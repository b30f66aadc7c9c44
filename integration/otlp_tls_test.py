#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for connections and their ends
"""TLS between agent and collector: authorities, client certificates, certificates that change, and
one clear line for each thing that does not fit: wrong authority, expired certificate, another name,
plain text to a TLS port and the reverse.
"""
import concurrent.futures
import functools
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import HANG_SECONDS, IS_LONG, Agent, FinishedResult, Program, Tap, need_root
from otlp_collector import Certificates, Collector, sending_warnings
from sampled import paced, sample_run

RATE = 997
CPU_SECONDS = 0.05
# A request has the samples of one turn of the program.
INTERVAL_SECONDS = 0.5


def options(address, *more):
    return ["-collection-agent", address, "-reporter-interval", "%dms" % (1000 * INTERVAL_SECONDS), "-reporter-jitter", "0",
            "-log-level", "debug", *more]


def start_agent(pid, *more):
    return Agent("-samples-per-second", RATE, "-pid", pid, *more)


def wait_for_warning(agent, words=""):
    """Waits until the agent's log says something about sending that has @words in it."""
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        if any(words in line for line in sending_warnings(agent.log_text())):
            return
        time.sleep(0.1)


def check_good(tap, name, pid, collector_options, agent_options):
    """The agent sends with these options, and everything comes."""
    with Collector(*collector_options) as collector:
        result = sample_run([pid], RATE, CPU_SECONDS, *options(collector.address, *agent_options))
        total = sum(result.stacks.values())
        received = collector.stop()
    tap.ok(received.samples_once == total > 0 and not sending_warnings(result.log)
           and not received.broken_rules, name, result.log[-2000:], received.broken(),
           received.log[-1000:])


def run_bad(pid, case):
    """(the agent's result, whether it went on, what the collector got) of one of bad_cases()."""
    _, _, collector_options, agent_options = case
    with Collector(*collector_options) as collector:
        with start_agent(pid, *options(collector.address, *agent_options)) as agent:
            agent.wait_started()
            wait_for_warning(agent)
            # For a second line, which there must not be.
            time.sleep(1.5)
            lives = agent.process.poll() is None
            result = agent.stop(signal.SIGTERM)
        return result, lives, collector.stop()


def check_bad(tap, cases, outcomes):
    """Nothing can be sent; one line says why, and the agent lives on."""
    for (name, words, _, _), (result, lives, received) in zip(cases, outcomes):
        lines = sending_warnings(result.log)
        tap.ok(lives and result.status == 0 and received.samples_all == 0,
               "the agent goes on: " + name, result.log[-2000:])
        tap.ok(len(lines) == 1 and words in lines[0], "one line says why: " + name,
               *(lines or ["no line"]), result.log[-1500:])
        for line in lines:
            tap.note(line)


def run_change(pid, certificates):
    """The agent's result, and what collectors got that came one after the other: the first one, one with a certificate
    of a stranger, and one with another certificate of the authority.
    """
    first = certificates.make("first")
    stranger = certificates.make("stranger", ca="other")
    second = certificates.make("second")
    with Collector("-tls-cert", first[0], "-tls-key", first[1]) as collector:
        address = collector.address
        with start_agent(pid, *options(address, "-tls-ca", certificates.ca)) as agent:
            collector.wait_for(lambda received: received.samples_taken > 0)
            before = collector.stop()
            with Collector("-tls-cert", stranger[0], "-tls-key", stranger[1],
                           listen=address) as another:
                wait_for_warning(agent, "signed by no CA that is trusted")
                between = another.stop()
            with Collector("-tls-cert", second[0], "-tls-key", second[1],
                           listen=address) as last:
                last.wait_for(lambda received: received.samples_taken > 0)
                result = agent.stop(signal.SIGTERM)
                result = FinishedResult(result, result.stacks)
                return result, before, between, last.stop()


def check_change(tap, result, before, between, after):
    total = sum(result.stacks.values())
    tap.ok(before.samples_taken > 0 and between.requests == 0 and after.samples_taken > 0,
           "a certificate that changes: a stranger gets nothing, the right one all",
           result.log[-3000:])
    tap.ok(result.status == 0
           and before.samples_once + after.samples_once
           + result.metrics["otlp_samples_dropped"] >= total > 0,
           "no sample is lost without a word", before.samples_once, after.samples_once, total,
           result.last_line)
    tap.ok(len(sending_warnings(result.log)) <= 3, "and the log stays short", *sending_warnings(result.log))


def main():
    tap = Tap()
    need_root(tap, "OTLP over TLS")
    if not build_targets.build(["calls"]):
        tap.skip("OTLP over TLS", "a compiler is missing")
        tap.finish()
    with Certificates() as certificates:
        other = certificates.other_ca()
        server = certificates.make("server")
        client = certificates.make("client")
        expired = certificates.make("expired", is_expired=True)
        guest = certificates.make("guest", ca="other")
        elsewhere = certificates.make("elsewhere", address="127.0.0.2")
        tls = ["-tls-cert", server[0], "-tls-key", server[1]]
        mutual = [*tls, "-client-ca", certificates.ca]
        trust = ["-tls-ca", certificates.ca]
        with Program(TARGETS["calls"].path) as program:
            check_good(tap, "TLS with an authority of our own", program.pid, tls, trust)
            check_good(tap, "a client certificate", program.pid, mutual,
                       [*trust, "-tls-cert", client[0], "-tls-key", client[1]])
        cases = [
            ("the system's authorities", "signed by no CA that is trusted", tls, []),
            ("an expired certificate", "has expired",
             ["-tls-cert", expired[0], "-tls-key", expired[1]], trust),
            ("a certificate of another host", "for another name",
             ["-tls-cert", elsewhere[0], "-tls-key", elsewhere[1]], trust),
            ("no client certificate", "may want a client certificate", mutual, trust),
            ("TLS to a plain port", "speaks no TLS", [], trust),
            ("plain text to a TLS port", "may want TLS", tls, ["-disable-tls"]),
        ]
        if IS_LONG:
            # check_change() has a stranger, too, and a client's certificate is missing above.
            cases += [("another authority", "signed by no CA that is trusted", tls, ["-tls-ca", other]),
                      ("a client certificate of a stranger", "may want a client certificate", mutual,
                       [*trust, "-tls-cert", guest[0], "-tls-key", guest[1]])]
        # Side by side, since each waits for its end in vain, or for a collector.
        with Program(TARGETS["calls"].path) as program, paced([program.pid], INTERVAL_SECONDS), \
                concurrent.futures.ThreadPoolExecutor(len(cases) + 1) as pool:
            change = pool.submit(run_change, program.pid, certificates)
            check_bad(tap, cases, pool.map(functools.partial(run_bad, program.pid), cases))
            check_change(tap, *change.result())
    tap.finish()


if __name__ == "__main__":
    main()
