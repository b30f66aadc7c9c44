#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
"""The capabilities in docker/kubernetes/daemonset.yaml are enough, and each of them is needed: the
agent runs with all of them and no other, then without each, and what fails then is what the
manifest says.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import ROOT, Program, Tap, need_root, run_agent

MANIFEST = os.path.join(ROOT, "docker", "kubernetes", "daemonset.yaml")
RATE = 199
SECONDS = 2
NOBODY = 65534
LEAST_SAMPLES = 10
TRIES = 5

# The loss without each capability. Programs: see start_programs().
NO_START = "no start"
LOST = {
    "BPF": NO_START,
    "PERFMON": NO_START,
    "SYS_PTRACE": {"plain", "private", "deleted"},
    "DAC_READ_SEARCH": {"private"},
    "CHECKPOINT_RESTORE": {"deleted"},
    "SYSLOG": {"kernel names"},
    # Only moves the agent's threads ahead of others: nothing that a short run shows.
    "SYS_NICE": set(),
}


def manifest_capabilities():
    with open(MANIFEST, encoding="utf-8") as file:
        return re.findall(r"^ {16}- ([A-Z_]+)$", file.read(), re.M)


def sysctl(name):
    with open("/proc/sys/kernel/" + name, encoding="ascii") as file:
        return int(file.read())


def start_programs(directory):
    """plain: a program of root's; private: another user's, in a directory of that user's; deleted:
    its file is gone. Returns a list of contexts.
    """
    private = os.path.join(directory, "private")
    os.mkdir(private)
    paths = {"plain": os.path.join(directory, "plain"),
             "private": os.path.join(private, "private"),
             "deleted": os.path.join(directory, "deleted")}
    for path in paths.values():
        shutil.copy(TARGETS["calls"].path, path)
    os.chmod(directory, 0o755)
    os.chmod(private, 0o700)
    os.chown(private, NOBODY, NOBODY)
    os.chmod(paths["private"], 0o500)
    os.chown(paths["private"], NOBODY, NOBODY)
    as_nobody = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups"]
    programs = [Program(paths["plain"]), Program(paths["deleted"]),
                Program(*as_nobody, paths["private"]),
                Program("dd", "if=/dev/zero", "of=/dev/null", "bs=1M", ready=False,
                        stderr=subprocess.DEVNULL)]
    os.unlink(paths["deleted"])
    return programs


def find_lost(stacks):
    """What is missing in @stacks, or None if it can't be told: too few samples, as on a machine
    that does a lot beside.
    """
    lost = set()
    for program in "plain", "private", "deleted":
        of_program = {stack: count for stack, count in stacks.items() if stack.comm == program}
        known = {stack: count for stack, count in of_program.items() if not stack.is_before_known}
        if sum(of_program.values()) < LEAST_SAMPLES:
            return None
        # It is not known for a moment only, unless its maps cannot be read.
        if sum(known.values()) < LEAST_SAMPLES:
            lost.add(program)
            continue
        named = sum(count for stack, count in known.items() if "main" in stack.frames)
        lost |= set() if named > sum(known.values()) / 2 else {program}
    kernel = [frame for stack in stacks for frame in stack.frames if frame.endswith("_[k]")]
    if not kernel:
        return None
    has_names = any(re.fullmatch(r"[a-z_]\w*_\[k\]", frame) for frame in kernel)
    return lost if has_names else lost | {"kernel names"}


def profile(names):
    """The agent's result with the capabilities @names alone, and what is missing."""
    prefix = ["setpriv", "--no-new-privs", "--inh-caps=-all",
              "--bounding-set=-all" + "".join(",+" + name.lower() for name in names)]
    for _ in range(TRIES):
        result = run_agent("-samples-per-second", RATE, "-duration", "%ds" % SECONDS,
                           prefix=prefix)
        lost = find_lost(result.stacks) if result.status == 0 else None
        if lost is not None or result.status != 0:
            break
    return result, lost


def main():
    tap = Tap()
    need_root(tap, "capabilities")
    if not shutil.which("setpriv"):
        tap.skip("capabilities", "no setpriv")
        tap.finish()
    build_targets.build(["calls"])
    names = manifest_capabilities()
    if sysctl("kptr_restrict") == 0 and sysctl("perf_event_paranoid") <= 1:
        # Such a kernel shows its addresses to everybody.
        LOST["SYSLOG"] = set()
    tap.ok(set(names) == set(LOST), "the manifest has the capabilities that are tested here", names)
    with tempfile.TemporaryDirectory(prefix="allframes-capabilities-") as directory:
        programs = start_programs(directory)
        try:
            time.sleep(0.2)
            result, missing = profile(names)
            tap.ok(missing == set(), "with all of the manifest's nothing is missing", missing,
                   result.log)
            for name, lost in LOST.items():
                result, missing = profile([one for one in names if one != name])
                if lost == NO_START:
                    tap.ok(result.status == 3 and len(result.log.splitlines()) == 1,
                           "without %s the agent does not start, and says so" % name, result.log)
                else:
                    tap.ok(missing == lost,
                           "without %s this is missing: %s" % (name, sorted(lost) or "nothing"),
                           result.status, missing, result.log)
        finally:
            for program in programs:
                program.__exit__()
    tap.finish()


if __name__ == "__main__":
    main()
