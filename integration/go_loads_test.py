#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it loads the machine
# time limit: 1800 s
"""Real programs in Go under load: the stacks are complete, judged from their frames, all but as many as sound
agents have, and in the long tier 99.5 %.

Servers of Debian (scripts/fetch_go_programs.py), and Go's own compiler.
usage: go_loads_test.py [LOAD...]
"""
import collections
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
import gos
import fetch_go_programs
from harness import (IS_LONG, ROOT, ProcessGroups, Program, StackEnds, Tap, free_port, need_root,
                     run_agent, share)

SECONDS = 30 if IS_LONG else 2
RATE = 997
ROUNDS_MAX = 10
SAMPLES = 30 * 200 if IS_LONG else 1000
COMPLETE_PERCENT, COMPLETE_FAULT = 99.5, 0.02
# Programs of a second, of which some samples come before the agent knows them or has attached.
SHORT_LIVED = ["compile", "gofmt"]
SHORT_LIVED_SECONDS = 30 if IS_LONG else 5
SHORT_LIVED_PERCENT, SHORT_LIVED_FAULT = 95, 0.2
READY_SECONDS = 60
SHOWN_REASONS = 12
CLIENT = os.path.join(ROOT, "integration", "targets", "go_loads", "client.py")
# Of goroutines, of threads, and of the scheduler that has put the goroutine away.
ENTRIES = ["runtime.goexit", "runtime.mstart", "runtime.rt0_go", "runtime.mcall", "runtime.clone",
           "_rt0_amd64_linux", "_rt0_arm64_linux"]
ENDS = StackEnds(entries=ENTRIES)
# A goroutine that was told to make way when it entered a function, and has been put away.
PREEMPTED = re.compile(r"runtime\.morestack;runtime\.newstack;"
                       r"runtime\.(gopreempt_m|preemptPark)(_\[i\])?(;|$)")
PROMETHEUS = """
global: {scrape_interval: 100ms, scrape_timeout: 100ms, evaluation_interval: 200ms}
rule_files: [rules.yml]
scrape_configs:
- job_name: itself
  static_configs: [{targets: [%s]}]
"""
RULE = """
  - record: made:rule%d
    expr: sum by (job, handler) (rate(prometheus_http_request_duration_seconds_bucket[%ds]))
"""
QUERIES = [
    "/api/v1/query?query=count({__name__=~'.%2B'})",
    "/api/v1/query_range?query=rate(prometheus_http_requests_total[5s])"
    "&start={start}&end={end}&step=1",
    "/api/v1/query?query=histogram_quantile(0.9,sum%20by(le)(rate("
    "prometheus_http_request_duration_seconds_bucket[10s])))",
    "/api/v1/series?match[]=up", "/api/v1/label/__name__/values", "/metrics",
    "/federate?match[]=up",
]
CADDY = """
{
	admin off
}
http://127.0.0.1:%d {
	root * %s
	encode gzip
	file_server browse
	templates
}
"""


class Lacking(Exception):
    """What the load needs is not on this machine, and could not be fetched."""


def program_of(name, path):
    """A program of Debian, fetched if that is needed."""
    try:
        return str(fetch_go_programs.fetch(name) / path)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        raise Lacking("%s could not be fetched: %s" % (name, error)) from error


def wait_answer(url, server):
    """Waits until @server, which was started, answers there."""
    end = time.monotonic() + READY_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError) as error:
            if time.monotonic() > end or server.process.poll() is not None:
                raise RuntimeError("%s does not answer: %s" % (url, error)) from error
        time.sleep(0.1)


@contextlib.contextmanager
def running(command, directory, url, paths, threads=4):
    """A server and a client of it that loads it; yields what the agent is to select."""
    log = os.path.join(directory, "log")
    with open(log, "wb") as output, Program(*command, ready=False, cwd=directory,
                                            stderr=output) as server:
        wait_answer(url, server)
        address = re.search("//([^/]+)", url)[1]
        with Program(sys.executable, CLIENT, address, threads, *paths) as client:
            yield ["-pid", str(server.pid)], client


@contextlib.contextmanager
def prometheus(suite):
    """Prometheus, which scrapes itself under many names, computes rules and answers queries."""
    program = program_of(suite + "-prometheus", "usr/bin/prometheus")
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        targets = ["'127.0.0.1:%d'" % port, "'localhost:%d'" % port]
        with open(directory + "/prometheus.yml", "w", encoding="ascii") as file:
            file.write(PROMETHEUS % ", ".join(targets))
        with open(directory + "/rules.yml", "w", encoding="ascii") as file:
            file.write("groups:\n")
            for group in range(8):
                file.write("- name: g%d\n  rules:%s" % (
                    group, "".join(RULE % (group * 8 + i, 2 + i) for i in range(8))))
        start = int(time.time())
        paths = [path.format(start=start - 60, end=start + 600) if "{start}" in path else path
                 for path in QUERIES]
        command = [program, "--config.file=prometheus.yml", "--storage.tsdb.path=data",
                   "--web.listen-address=127.0.0.1:%d" % port]
        with running(command, directory, "http://127.0.0.1:%d/-/ready" % port, paths) as load:
            yield load


@contextlib.contextmanager
def caddy():
    """Caddy, which compresses files and listings."""
    program = program_of("bookworm-caddy", "usr/bin/caddy")
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        with open(directory + "/Caddyfile", "w", encoding="ascii") as file:
            file.write(CADDY % (port, ROOT))
        paths = ["/integration/", "/README.md", "/integration/harness.py", "/agent/", "/nothing"]
        command = ["env", "HOME=" + directory, program, "run", "--config", "Caddyfile"]
        with running(command, directory, "http://127.0.0.1:%d/" % port, paths) as load:
            yield load


@contextlib.contextmanager
def etcd():
    """Etcd, which keeps keys."""
    program = program_of("bookworm-etcd-server", "usr/bin/etcd")
    client, peer = free_port(), free_port()
    with tempfile.TemporaryDirectory() as directory:
        command = [program, "--data-dir", "data", "--unsafe-no-fsync",
                   "--listen-client-urls", "http://127.0.0.1:%d" % client,
                   "--advertise-client-urls", "http://127.0.0.1:%d" % client,
                   "--listen-peer-urls", "http://127.0.0.1:%d" % peer]
        paths = ['POST:/v3/kv/put:{"key":"a2V5","value":"%s"}' % ("dmFs" * 100),
                 'POST:/v3/kv/range:{"key":"a2V5"}', "/metrics", "/version"]
        with running(command, directory, "http://127.0.0.1:%d/health" % client, paths) as load:
            yield load


@contextlib.contextmanager
def compiling(comm):
    """Go's own tools at work on the standard library, again and again."""
    every = gos.at_hand(False)
    if not every:
        raise Lacking("there is no go on this machine")
    go = next(iter(every.values()))
    root = go.root()
    with tempfile.TemporaryDirectory() as directory, ProcessGroups() as groups:
        if comm == "gofmt":
            script = "while :; do '%s/bin/gofmt' -l '%s/src/cmd/compile' '%s/src/net'; done" % (
                root, root, root)
        else:
            script = "while :; do '%s/bin/go' build -a std; done" % root
        environment = ["%s=%s" % pair for pair in go.environment.items()
                       if pair[0].startswith("GO")]
        groups.start(["env", *environment, "GOCACHE=" + directory, "CGO_ENABLED=0", "sh", "-c",
                      "cd '%s/src' && %s" % (root, script)])
        yield ["-comm", comm], None


LOADS = {
    "prometheus": lambda: prometheus("bookworm"),
    "prometheus-new": lambda: prometheus("trixie"),
    "caddy": caddy,
    "etcd": etcd,
    "compile": lambda: compiling("compile"),
    "gofmt": lambda: compiling("gofmt"),
}
SHORT_LOADS = ["prometheus", "compile"]


def reason_of(stack):
    """Why @stack is not complete; None if it is."""
    users = stack.user_frames
    if (ENDS.is_complete(stack) or stack.is_without_memory
            or PREEMPTED.match(";".join(users)) and not stack.errors and not stack.has_guess):
        return None
    if stack.errors:
        return "%s below %s" % (users[0], users[1] if len(users) > 1 else "nothing")
    if stack.has_guess:
        return "a guess: " + next(frame for frame in users if frame.endswith("_[?]"))
    return "no entry: " + (users[0] if users else "no frames")


def judge(tap, run, name, stacks, events):
    """One result: enough of @stacks are complete. @events: those that are not."""
    total, reasons, examples = stacks.total(), collections.Counter(), {}
    for stack, count in stacks.items():
        reason = reason_of(stack)
        if reason:
            reasons[reason] += count
            examples.setdefault(reason, str(stack)[-600:])
    bad = reasons.total()
    percent, fault = ((SHORT_LIVED_PERCENT, SHORT_LIVED_FAULT) if name in SHORT_LIVED
                      else (COMPLETE_PERCENT, COMPLETE_FAULT))
    run.check(tap, "%s: the stacks are complete" % name, "not whole, %s" % name, events, total,
              fault,
              *["%s, for one: %s" % (reason, examples[reason]) for reason, _ in reasons.most_common(SHOWN_REASONS)],
              is_good=total >= SAMPLES and (not IS_LONG or 100 * bad <= (100 - percent) * total))
    tap.note("%s: %s of %d samples are complete" % (name, share(total - bad, total), total))
    for reason, count in reasons.most_common(SHOWN_REASONS):
        tap.note("  %s %s" % (share(count, total), reason))


def test(tap, run, name):
    """One load."""
    stacks, events = collections.Counter(), 0
    try:
        with LOADS[name]() as (selection, client):
            for _ in range(ROUNDS_MAX):
                seconds = SHORT_LIVED_SECONDS if name in SHORT_LIVED else SECONDS
                result = run_agent("-samples-per-second", RATE, "-duration", "%ds" % seconds,
                                   *selection, is_timed=True)
                if result.status != 0:
                    raise RuntimeError("the agent failed: " + result.log)
                stacks.update(result.stacks)
                events += result.times.count_events(
                    {stack: count for stack, count in result.stacks.items() if reason_of(stack)})
                if stacks.total() >= SAMPLES:
                    break
            if client and client.process.poll() is not None:
                raise RuntimeError("%s: the client has ended" % name)
    except Lacking as lack:
        tap.skip("%s: the stacks are complete" % name, lack)
        return
    judge(tap, run, name, stacks, events)


def main():
    tap = Tap()
    need_root(tap, "loads in Go")
    run = bad_events.Run("go_loads_test")
    for name in sys.argv[1:] or (LOADS if IS_LONG else SHORT_LOADS):
        test(tap, run, name)
    run.finish(tap)
    tap.finish()


if __name__ == "__main__":
    main()
