#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 3600 s
"""An attribute of a sample is one row, and so is an origin: patches of testdata/demo are put into copies of the tree, which
are built and run. Prints TAP.

attribute.patch adds the scheduler's policy of the thread. It comes in OTLP and pprof, is read out of both again, and the
page selects by it, though what changes is the record, the row, and the code that makes a sample of a record.

origin.patch adds samples of how long a thread was away before it left the CPU, from a program of another type. They have types
and values of their own in OTLP and pprof; folded stacks, the summary and the page have the clock's samples only.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from demo_tree import apply, build_target, demo_tree, opened_page, run
from harness import Program, Tap, die_with_parent, need_root, parse_folded
from otlp_resolved import resolved_lines
from pprof_reader import Profile

RATE, SECONDS = 199, 3
ATTRIBUTE_FILES_MAX = 7
ORIGIN_FILES_MAX = 10
PROGRAMS = ["build/agent", "build/collector", "build/replay_reports", "build/asan/agent/tracing/tests/verifier_test"]
BATCH = os.SCHED_BATCH
NAP_SECONDS = 0.02
SLEEPER = ["python3", "-c", "import time\nprint('ready', flush=True)\nwhile True: time.sleep(%g)" % NAP_SECONDS]


def become_batch():
    die_with_parent()
    os.sched_setscheduler(0, BATCH, os.sched_param(0))


def profile(tap, folder, pids):
    """Paths of the outputs, pprof, OTLP and folded stacks, and the summary; None if the agent failed."""
    paths = [os.path.join(folder, name) for name in ("demo.pb.gz", "demo.otlp", "demo.folded")]
    done = run(folder, os.path.join(folder, "build", "agent"), "-pid", ",".join(map(str, pids)), "-samples-per-second",
               str(RATE), "-duration", "%ds" % SECONDS, *(text for path in paths for text in ("-output", path)))
    return (paths, done.stdout) if tap.ok(done.returncode == 0, "the agent runs", done.stdout) else None


def pprof_policies(path):
    """For each pid the values of the label, None for samples without it."""
    policies = {}
    for sample in Profile(path).samples:
        policies.setdefault(sample.labels["pid"], set()).add(sample.labels.get("policy"))
    return policies


def check_otlp(tap, path, batch):
    with open(path, "rb") as file:
        lines = resolved_lines(file.read())
    with_policy = [line for line in lines if "'thread.policy'" in line]
    of_batch = [line for line in lines if "'thread.id'=%d" % batch in line]
    tap.ok(of_batch and with_policy == of_batch and all("'thread.policy'=%d" % BATCH in line for line in of_batch),
           "OTLP has the policy, where it is not the usual one", *(line[:600] for line in lines[:3]))


def check_opened(tap, folder, path, batch):
    with opened_page(tap, folder, path) as ask:
        facets = json.loads(ask("/api/facets?policy=%d" % BATCH))
        exported = os.path.join(folder, "exported.pb.gz")
        with open(exported, "wb") as file:
            file.write(ask("/api/export?format=pprof&policy=%d" % BATCH))
    tap.ok([row["pid"] for row in facets["processes"]] == [batch], "the page selects by it", facets)
    tap.ok(pprof_policies(exported) == {batch: {BATCH}}, "and exports it", pprof_policies(exported))


def check_attribute(tap, folder, batch, _usual, paths, _summary):
    policies = pprof_policies(paths[0])
    tap.ok(len(policies) == 2 and policies.pop(batch) == {BATCH} and list(policies.values()) == [{None}],
           "pprof has the policy, where it is not the usual one", policies)
    check_otlp(tap, paths[1], batch)
    for path in paths[:2]:
        check_opened(tap, folder, path, batch)


def check_origin_of_pprof(tap, path, sleeper):
    """Returns the sums of the columns."""
    found = Profile(path)
    tap.ok(found.sample_types == [("samples", "count"), ("cpu", "nanoseconds"), ("away", "count"), ("off_cpu", "nanoseconds")] and
           found.period_type == ("cpu", "nanoseconds"), "pprof has the types of both", found.sample_types, found.period_type)
    wrong = [sample for sample in found.samples
             if [value > 0 for value in sample.values] not in ([False, False, True, True], [True, True, False, False])]
    tap.ok(not wrong, "a sample has values of its origin only", *wrong[:3])
    slept = [sample.values[2:] for sample in found.samples if sample.labels["pid"] == sleeper and sample.values[2]]
    naps, nap_ns = (sum(column) for column in zip(*slept)) if slept else (0, 0)
    # A nap begins or ends outside of the recording at most once.
    tap.ok(naps and 0.5 <= naps * NAP_SECONDS / SECONDS <= 1.1 and 0.9 <= nap_ns / 1e9 / naps / NAP_SECONDS <= 2,
           "the sleeper's naps are counted and measured", naps, nap_ns)
    return [sum(values) for values in zip(*(sample.values for sample in found.samples))]


def numbers_of(lines, kind):
    return [int(number) for line in lines for number in re.search(kind + r" \[(.*?)\]", line)[1].split(",")]


def check_origin(tap, folder, sleeper, spinner, paths, summary):
    sums = check_origin_of_pprof(tap, paths[0], sleeper)
    with open(paths[1], "rb") as file:
        lines = resolved_lines(file.read())
    away = [line for line in lines if "'off_cpu' in 'nanoseconds'" in line]
    usual = [line for line in lines if "'samples' in 'count'" in line]
    tap.ok(away and usual and len(away) + len(usual) == len(lines), "OTLP has a profile of each", *(line[:600] for line in lines[:3]))
    tap.ok([len(numbers_of(usual, "times")), len(numbers_of(away, "times")), sum(numbers_of(away, "values"))] ==
           [sums[0], sums[2], sums[3]], "with as many samples and the same values", sums)
    done = run(folder, os.path.join(folder, "build", "collector"), paths[1])
    tap.ok(done.returncode == 0, "that a collector takes", done.stdout[-2000:])
    with open(paths[2], encoding="utf-8") as file:
        folded = sum(parse_folded(file.read()).values())
    tap.ok(folded == sums[0] > 0, "folded stacks are the clock's", folded, sums)
    tap.ok(re.search(r"\b%d samples \(" % sums[0], summary), "so is the summary", summary)
    for path in paths[:2]:
        with opened_page(tap, folder, path) as ask:
            rows = json.loads(ask("/api/facets?type=samples"))["processes"]
        tap.ok(sum(row["count"] for row in rows) == sums[0] and spinner in [row["pid"] for row in rows], "and the page", rows)


def check(tap, patch, files_max, check_outputs, other_program):
    """@other_program(target) starts the one that is not usual; its pid is the first that @check_outputs gets."""
    with demo_tree() as folder:
        files = apply(tap, folder, patch, PROGRAMS)
        if not files:
            return
        tap.ok(len(files[0]) + len(files[1]) <= files_max, "it takes at most %d files" % files_max, *files)
        done = run(folder, os.path.join(folder, "build/asan/agent/tracing/tests/verifier_test"))
        tap.ok(done.returncode == 0, "the verifier takes the programs", done.stdout[-3000:])
        done = run(folder, "agent/tests/replay_test.py")
        tap.ok(done.returncode == 0, "what was recorded without it is written as before", done.stdout[-3000:])
        target = build_target(folder)
        with other_program(target) as other, Program(target) as usual:
            done = profile(tap, folder, (other.pid, usual.pid))
            if done:
                check_outputs(tap, folder, other.pid, usual.pid, *done)


def main():
    tap = Tap()
    need_root(tap, "attributes and origins of samples")
    check(tap, "attribute.patch", ATTRIBUTE_FILES_MAX, check_attribute,
          lambda target: Program(target, preexec_fn=become_batch))
    check(tap, "origin.patch", ORIGIN_FILES_MAX, check_origin, lambda target: Program(*SLEEPER))
    tap.finish()


if __name__ == "__main__":
    main()
