#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 3600 s
"""An attribute of a sample is one row: the scheduler's policy of the thread (testdata/demo/attribute.patch) is put into a
copy of the tree, which is built and run. It comes in OTLP and pprof, is read out of both again, and the page selects by
it, though what changes is the record, the row, and the place where a record becomes a sample. Prints TAP.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from demo_tree import apply, build_target, demo_tree, opened_page, run
from harness import Program, Tap, die_with_parent, need_root
from otlp_resolved import resolved_lines
from pprof_reader import Profile

RATE, SECONDS = 199, 3
ATTRIBUTE_FILES_MAX = 7
PROGRAMS = ["build/agent", "build/replay_reports", "build/asan/agent/tracing/tests/verifier_test"]
BATCH = os.SCHED_BATCH


def become_batch():
    die_with_parent()
    os.sched_setscheduler(0, BATCH, os.sched_param(0))


def profile(tap, folder, pids):
    """Paths of the outputs, pprof and OTLP; None if the agent failed."""
    paths = [os.path.join(folder, name) for name in ("demo.pb.gz", "demo.otlp")]
    done = run(folder, os.path.join(folder, "build", "agent"), "-pid", ",".join(map(str, pids)), "-samples-per-second",
               str(RATE), "-duration", "%ds" % SECONDS, *(text for path in paths for text in ("-output", path)))
    return paths if tap.ok(done.returncode == 0, "the agent runs", done.stdout) else None


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


def check_attribute(tap, folder):
    files = apply(tap, folder, "attribute.patch", PROGRAMS)
    if not files:
        return
    tap.ok(len(files[0]) <= ATTRIBUTE_FILES_MAX and not files[1], "an attribute changes at most seven files", *files)
    done = run(folder, os.path.join(folder, "build/asan/agent/tracing/tests/verifier_test"))
    tap.ok(done.returncode == 0, "the verifier takes the programs", done.stdout[-3000:])
    done = run(folder, "agent/tests/replay_test.py")
    tap.ok(done.returncode == 0, "what was recorded without it is written as before", done.stdout[-3000:])
    target = build_target(folder)
    with Program(target, preexec_fn=become_batch) as batch, Program(target) as usual:
        paths = profile(tap, folder, (batch.pid, usual.pid))
        if not paths:
            return
        policies = pprof_policies(paths[0])
        tap.ok(policies == {batch.pid: {BATCH}, usual.pid: {None}}, "pprof has the policy, where it is not the usual one",
               policies)
        check_otlp(tap, paths[1], batch.pid)
        for path in paths:
            check_opened(tap, folder, path, batch.pid)


def main():
    tap = Tap()
    need_root(tap, "an attribute of samples")
    with demo_tree() as folder:
        check_attribute(tap, folder)
    tap.finish()


if __name__ == "__main__":
    main()
