#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 1800 s
"""Java on a kernel of arm64: Debian's 6.1 under qemu, with a JDK of arm64 that fetch_javas.py brought.

The agent samples a target that calls in many ways, interpreted and compiled: its stacks have the target's
methods, and nearly none has a guess or an error. Whether each is allowed is for java_arm64_test.py,
with more of them, by the same unwinder in user space. Prints TAP.
"""
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import fetch_javas
import qemu_test

SUITE = "bookworm-arm64"
JAVA_ROOT = fetch_javas.JAVAS / "trixie-arm64"
JAVA = fetch_javas.java_path("arm64", 21)
TARGETS = qemu_test.ROOT / "integration/targets/java"
MODES = {"interpreted": "-Xint", "compiled": "-XX:+TieredCompilation"}
MEGABYTES = 2500
# Files that no program needs at run time, half of a JDK.
NOT_NEEDED = shutil.ignore_patterns("src.zip", "jmods", "ct.sym", "share", "java-25-openjdk-arm64", "proc",
                                    "dev", "tmp", "var", "*.jsa")
SAMPLES_MIN = 300
# Shares of the samples of the target's thread, at most and at least. The rest is of main itself, and of the JVM's work.
BAD_SHARE_MAX = 0.01
NAMED_SHARE_MIN = 0.9

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /busybox
/bin/busybox --install -s /busybox
export PATH=/busybox
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev 2>/dev/null
mount -t tmpfs none /tmp
ip link set lo up
echo "GUEST kernel $(uname -r)"
try() {
	%s $2 -Xmx128m -Xss1m -XX:+UseSerialGC -cp /targets Calls >/tmp/ready 2>&1 &
	pid=$!
	while ! grep -q ready /tmp/ready && kill -0 $pid; do sleep 1; done
	sleep 10
	/agent -pid $pid -duration 12s -samples-per-second 97 -output /tmp/$1.folded >/tmp/log 2>&1
	echo "GUEST status $1 $?"
	sed "s/^/GUEST log $1 /" /tmp/log
	sed "s/^/GUEST stack $1 /" /tmp/$1.folded
	kill -9 $pid
	rm /tmp/ready
}
%s
echo "GUEST done"
poweroff -f
""" % (JAVA, "\n".join("try %s %s" % mode for mode in MODES.items()))


def judge(tap, mode, lines):
    logs = [line for line in lines if line.startswith(f"log {mode} ")]
    tap.result(f"status {mode} 0" in lines, f"the agent runs ({mode})", logs)
    total = named = 0
    bad = {}
    for line in lines:
        if not line.startswith(f"stack {mode} "):
            continue
        stack, count = line[len(f"stack {mode} "):].rsplit(" ", 1)
        frames = stack.split(";")
        # The target's own thread, or what of a stack cannot be told to be another's.
        if "JavaMain" not in frames and not any(frame.startswith("[error") for frame in frames):
            continue
        total += int(count)
        if any(frame.startswith("[error") or frame.endswith("[?]") for frame in frames):
            bad[stack] = bad.get(stack, 0) + int(count)
        elif "Calls.main" in frames and "Calls.turn" in frames:
            named += int(count)
    notes = [f"{total} samples, {named} named, {sum(bad.values())} bad"] + list(bad)[:5] + logs[-3:]
    print("# %s: %s" % (mode, notes[0]))
    tap.result(total >= SAMPLES_MIN and named >= NAMED_SHARE_MIN * total
               and sum(bad.values()) <= BAD_SHARE_MAX * total,
               f"stacks have the target's methods, and no guesses or errors ({mode})", notes)


def main():
    tap = qemu_test.Tap()
    machine = qemu_test.ARM64
    tools = [*qemu_test.TOOLS, machine.qemu, machine.compiler, "javac"]
    missing = [tool for tool in tools if not shutil.which(tool)]
    if not (JAVA_ROOT / JAVA.lstrip("/")).exists():
        missing.append("scripts/fetch_javas.py trixie-arm64")
    if missing:
        tap.result(False, "tools are there", missing)
        tap.end()
    with tempfile.TemporaryDirectory(prefix="allframes-qemu-") as scratch:
        scratch = pathlib.Path(scratch)
        kernel, busybox = qemu_test.fetch_kernel(SUITE)
        shutil.copytree(JAVA_ROOT, scratch / "root", symlinks=True, ignore=NOT_NEEDED)
        qemu_test.run(["javac", "-nowarn", "-d", scratch / "root/targets", TARGETS / "Target.java",
                       TARGETS / "Calls.java"])
        initramfs = qemu_test.make_initramfs(scratch, machine, busybox, INIT)
        output, ended = qemu_test.boot(machine, kernel, initramfs, MEGABYTES)
    lines = [line.strip()[len("GUEST "):] for line in output.splitlines() if line.startswith("GUEST ")]
    tap.result(ended and "done" in lines, "the machine boots and ends", output.splitlines()[-30:])
    for mode in MODES:
        judge(tap, mode, lines)
    tap.end()


if __name__ == "__main__":
    main()
