#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for programs under qemu-user, until they are stopped at random
"""The unwinder of arm64 over core files: programs of integration/targets/arm64, compiled in several
ways, run under qemu-user and are stopped at random by a signal that leaves a core file. Each
thread's stack is unwound by build/arm64/walk_core, the unwinder compiled for arm64 (under qemu-user
as well), and by build/walk_core_arm64, the same on this machine: both must print the same, end at
the thread's entry without a guess, and give a chain that the program's source allows. Prints TAP.

    arm64_test.py [-stops N] [NAME...]
"""
import collections
import glob
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

import chains
from harness import IS_LONG, OUTPUT, ROOT, Program, Tap, allow_core, take_count

STOPS = 50 if IS_LONG else 3
SOURCES = os.path.join(ROOT, "integration", "targets", "arm64")
COMPILERS = {".c": "aarch64-linux-gnu-gcc", ".cpp": "aarch64-linux-gnu-g++"}
UNWIND_THERE = os.path.join(ROOT, "build", "arm64", "walk_core")
UNWIND_HERE = os.path.join(ROOT, "build", "walk_core_arm64")

# At the end of these, callers are overwritten (targets/arm64/exceptions.cpp), so that an unwind need not
# come to an end.
CHANGES_CALLERS = {"_Unwind_Resume", "_Unwind_Resume_or_Rethrow", "_Unwind_RaiseException"}

# Return addresses of the second are signed: bits above the address have to be masked. In the third
# functions save the frame record at the top of the frame, far from sp.
VARIANTS = {
    "": ["-O2"],
    "pac": ["-O2", "-mbranch-protection=standard"],
    "pac-leaf": ["-O2", "-mbranch-protection=pac-ret+leaf+b-key", "-fno-omit-frame-pointer"],
    "no-fp": ["-O2", "-fomit-frame-pointer", "-momit-leaf-frame-pointer"],
    "O0": ["-O0"],
    "Os": ["-Os", "-fstack-protector-all"],
}
WANTED_VARIANTS = VARIANTS if IS_LONG else ["", "pac-leaf", "no-fp"]

# The parts of the C library, as arm64 has them.
LIBRARY = {
    "START": r"_start;__libc_start_main(?:@.*|_impl)?;__libc_start_call_main;",
    "THREAD": r"(?:__)?(?:thread_start|clone3?);start_thread;",
}


def find_qemu():
    return shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")


def build(name, variant, directory):
    """Compiles a program; its path."""
    source = os.path.join(SOURCES, name)
    stem, suffix = os.path.splitext(name)
    path = os.path.join(directory, "-".join(filter(None, [stem, variant])))
    subprocess.run([COMPILERS[suffix], *VARIANTS[variant], "-g", "-static", "-pthread", "-o", path,
                    source], check=True)
    return path


def make_core(path, wait_seconds, directory):
    """Runs a program for @wait_seconds from its start line on; the paths of its core and maps."""
    maps = os.path.join(directory, "maps")
    for old in glob.glob(os.path.join(directory, "*.core")) + glob.glob(maps):
        os.unlink(old)
    with Program(find_qemu(), "-cpu", "max", path, maps, cwd=directory,
                 preexec_fn=allow_core) as program:
        time.sleep(wait_seconds)
        program.process.send_signal(signal.SIGQUIT)
        program.process.wait(60)
    cores = glob.glob(os.path.join(directory, "qemu_*.core"))
    if len(cores) != 1:
        raise RuntimeError("%s left %d core files" % (path, len(cores)))
    return cores[0], maps


def unwind(core, maps, *options):
    """What the unwinder prints here, and whether it prints the same under qemu."""
    here, there = (subprocess.run([*command, *options, "-maps", maps, core],
                                  stdout=subprocess.PIPE, text=True, errors="surrogateescape",
                                  check=True).stdout
                   for command in ([UNWIND_HERE], [find_qemu(), UNWIND_THERE]))
    return here, here == there


def missing_tools():
    """What there is not to run programs of arm64, as text."""
    missing = [] if find_qemu() else ["qemu-aarch64"]
    if not os.path.exists(UNWIND_THERE) and not shutil.which("apt-get"):
        missing.append("apt-get, which fetches libraries of arm64")
    return missing


def build_unwinders():
    subprocess.run(["make", "--no-print-directory", "-C", ROOT, UNWIND_HERE[len(ROOT) + 1:],
                    UNWIND_THERE[len(ROOT) + 1:]], check=True, stdout=subprocess.DEVNULL)


class Result:
    """Counts of one program in one variant."""

    def __init__(self, allowed):
        self._allowed = allowed
        self.threads = 0
        self.frames = 0
        self.leaves = 0
        self.wrong = collections.Counter()

    def add(self, text):
        frames, is_guess = [], False
        for line in text.splitlines():
            kind, *fields = line.split("\t")
            if kind == "thread":
                frames = []
                continue
            if kind.startswith("#"):
                _, address, path, function, flags = fields
                is_guess = is_guess or "guess" in flags
                known = function if function != "-" else os.path.basename(path)
                frames.append(known if known != "-" else address)
                continue
            self.threads += 1
            self.frames += len(frames)
            self.leaves += frames[0] in ("leaf", "leaf_with_stack")
            chain = frames[::-1]
            is_cut = kind != "end" and not CHANGES_CALLERS & set(chain[-3:])
            if is_cut or is_guess or not self._allowed.allow(chain):
                self.wrong[";".join(chain + ["[%s]" % "\t".join(fields)] * (kind != "end"))] += 1


def check_program(tap, name, variant, stops, directory):
    what = "%s%s: every stack of %d stops is one that the source allows" % (
        name, " (%s)" % " ".join(VARIANTS[variant]), stops)
    path = build(name, variant, directory)
    result = Result(chains.Chains(os.path.join(SOURCES, name)))
    generator = random.Random(name + variant)
    differing = 0
    for _ in range(stops):
        core, maps = make_core(path, generator.uniform(0, 0.05), directory)
        text, is_same = unwind(core, maps)
        differing += not is_same
        result.add(text)
    tap.ok(result.threads >= stops and not result.wrong and not differing, what,
           "%d of %d are printed differently under qemu" % (differing, stops),
           *("%d times %s" % (count, chain) for chain, count in result.wrong.most_common(5)))
    tap.note("%d stacks, %d frames, %d in a leaf function" % (
        result.threads, result.frames, result.leaves))


def main():
    tap = Tap()
    stops, arguments = take_count("-stops", STOPS)
    missing = [compiler for compiler in COMPILERS.values() if not shutil.which(compiler)]
    missing += missing_tools()
    if missing:
        tap.skip("stacks of arm64", "no " + " and no ".join(missing))
        tap.finish()
    build_unwinders()
    chains.MACROS.update(LIBRARY)
    names = sorted(name for name in os.listdir(SOURCES) if os.path.splitext(name)[1] in COMPILERS)
    os.makedirs(OUTPUT, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="arm64-", dir=OUTPUT) as directory:
        for name in names:
            if arguments and os.path.splitext(name)[0] not in arguments:
                continue
            for variant in WANTED_VARIANTS:
                check_program(tap, name, variant, stops, directory)
    tap.finish()


if __name__ == "__main__":
    main()
