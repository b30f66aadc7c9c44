#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for agents and what they read anew
"""Code in anonymous memory: text that a program has copied there out of its file, and code that a
program makes while it runs, whose names are in a perf map, and which is unwound by a copy of it.
"""
import contextlib
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from harness import OUTPUT, Agent, Program, Tap, need_root
from pprof_reader import Profile
from sampled import WAIT_SECONDS, paced, sample_run, wait_cpu

RATE = 997
LEAST_SAMPLES = 100
# CPU time of a program in which it gets more than LEAST_SAMPLES of them.
CPU_SECONDS = 0.25
# Of code that is written over other code: the rate, and the CPU time of the program.
WRITTEN_RATE = 4999
WRITTEN_SECONDS = 2
# A copy that was made in the midst of writing has no rows, and the agent does not try again for a minute: one in four.
WRITTEN_TRIES = 6
HOSTILE_CODE_SECONDS = 1.5
# CPU time of an agent that samples programs whose perf maps are hostile, its start included.
HOSTILE_CPU_SECONDS = 10
NODE_SCRIPT = """
function hotInner(x) { let s = 0; for (let i = 0; i < 2000; i++) s += Math.sqrt(i * x) % 7; return s; }
function hotOuter(n) { let t = 0; for (let i = 0; i < n; i++) t += hotInner(i); return t; }
let q = 0;
for (let i = 0; i < 300; i++) q += hotOuter(100);
console.log("ready");
for (;;) q += hotOuter(1000);
"""


def build(name):
    os.makedirs(OUTPUT, exist_ok=True)
    path = os.path.join(OUTPUT, name)
    source = os.path.join(build_targets.SOURCES, name + ".c")
    subprocess.run([*build_targets.C, "-o", path, source], check=True)
    return path


def sample(pids, seconds=CPU_SECONDS):
    """The stacks of programs that are paced: what the agent has to read of them takes time, not samples."""
    return sample_run(pids, RATE, seconds, is_paced=True).stacks


def leaves(stacks):
    """Samples by the innermost user frame."""
    found = {}
    for stack, count in stacks.items():
        if stack.user_frames:
            name = stack.user_frames[-1]
            found[name] = found.get(name, 0) + count
    return found


def anonymous_code(pid):
    """The first executable mapping without a file: its start."""
    with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as file:
        return int(re.search(r"^([0-9a-f]+)-\S+ rwxp \S+ 00:00 0\s*$", file.read(), re.M)[1], 16)


def check_copied_text(tap):
    path = build("copied_text")
    # The agent's process that reads memory starts when it is first needed, which takes longer than the copy: for this one.
    first_path = shutil.copy(path, os.path.join(OUTPUT, "copied_before"))
    with Program(first_path) as first, Program(path) as program:
        first.process.send_signal(signal.SIGUSR1)
        first.process.stdout.readline()
        with Agent("-samples-per-second", RATE, "-pid", "%d,%d" % (first.pid, program.pid)) as agent:
            if not agent.wait_started():
                raise RuntimeError(agent.log_text())
            wait_cpu([program.pid], CPU_SECONDS)
            program.process.send_signal(signal.SIGUSR1)
            answer = program.process.stdout.readline()
            with open("/proc/%d/maps" % program.pid, encoding="utf-8") as file:
                is_copied = not re.search(r" r-xp .*copied_text", file.read())
            wait_cpu([program.pid], 2 * CPU_SECONDS)
            result = agent.stop(seconds=WAIT_SECONDS)
            stacks = {stack: count for stack, count in result.stacks.items() if stack.comm == "copied_text"}
    wrong = {str(stack): count for stack, count in stacks.items()
             if stack.errors or not re.search(r";main(;outer(;inner)?)?$",
                                              ";".join(("", *stack.user_frames)))}
    total = sum(stacks.values())
    tap.ok(answer == b"copied\n" and is_copied and total >= 3 * LEAST_SAMPLES
           and sum(wrong.values()) <= total // 100,
           "text that was copied to anonymous memory is unwound and named as the file's",
           answer, "%d samples" % total, wrong)


def check_moved_before(tap):
    """The agent finds the text in anonymous memory, and has never seen it in the file."""
    with Program(build("copied_text")) as program:
        program.process.send_signal(signal.SIGUSR1)
        answer = program.process.stdout.readline()
        stacks = sample([program.pid], 2 * CPU_SECONDS)
    total = sum(stacks.values())
    whole = sum(count for stack, count in stacks.items() if not stack.errors
                and re.search(r";main(;outer(;inner)?)?$", ";".join(("", *stack.user_frames))))
    tap.ok(answer == b"copied\n" and total >= LEAST_SAMPLES and whole >= 0.6 * total,
           "text that was in anonymous memory before the agent came is unwound and named as the file's",
           answer, "%d of %d samples" % (whole, total), {str(stack): stacks[stack] for stack in stacks})


# Stacks of rewritten_code below main: what goes through one function goes to its own leaf. Its PLT has no names.
REWRITTEN = r"^(run_(small|large);)?(%s)?$" % "|".join([
    # The program says that it is ready, and binds what it calls.
    r"(__libc_)?write(;.*)?", r"_dl_runtime_resolve.*", r"write_code.*", r".*clock_gettime.*", r"rewritten_code\+0x[0-9a-f]+", r"through_small(;(note_caller|{anon}(;leaf_small)?))?",
    r"through_large(;{anon}(;leaf_large)?)?"]).replace("{anon}", r"\[anonymous\]\+0x[0-9a-f]+(_\[j\])?")


def check_rewritten(tap):
    """Rows of a copy of the one function would lead to a wrong stack of the other one."""
    wrong, reasons, by_leaf = {}, {}, {"leaf_small": 0, "leaf_large": 0}
    for _ in range(WRITTEN_TRIES):
        with Program(build("rewritten_code")) as program:
            result = sample_run([program.pid], WRITTEN_RATE, WRITTEN_SECONDS)
        for stack, count in result.stacks.items():
            path = ";".join(stack.user_frames)
            if stack.errors:
                for reason in stack.errors:
                    reasons[reason] = reasons.get(reason, 0) + count
            elif "[?]" not in path:
                below_main = re.search(r"(?:^|;)main(?:;(.*))?$", path)
                if not below_main or not re.search(REWRITTEN, below_main[1] or ""):
                    wrong[path] = wrong.get(path, 0) + count
                if stack.user_frames[-1] in by_leaf:
                    by_leaf[stack.user_frames[-1]] += count
        if wrong or sum(by_leaf.values()) >= LEAST_SAMPLES:
            break
    # final: a stack is right, or it says that it is not known
    tap.never(wrong, "no stack of code that is written over other code is wrong", wrong)
    tap.never([reason for reason in reasons if "anonymous executable memory" not in reason],
              "code that differs from its copy is code without rows", reasons)
    tap.ok(sum(by_leaf.values()) >= LEAST_SAMPLES, "code without frame pointers is unwound", by_leaf, reasons)


def check_hostile_code(tap):
    """Programs that change, unmap and copy their code all the time, and one whose memory never answers."""
    path, kinds = build("hostile_code"), ("rewrite", "unmap", "fork", "fault")
    with contextlib.ExitStack() as programs:
        running = {}
        for kind in kinds:
            try:
                running[kind] = programs.enter_context(Program(path, kind))
            except RuntimeError:
                # Not everybody may use userfaultfd(2).
                assert kind == "fault"
        quiet = programs.enter_context(Program(build("jit")))
        pids = [program.pid for program in [*running.values(), quiet]]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = sample_run(pids, RATE, HOSTILE_CODE_SECONDS)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    tap.ok(result.status == 0 and seconds < HOSTILE_CPU_SECONDS,
           "programs with hostile code cost the agent little, and it ends well", "%.1f s" % seconds, result.log[-2000:])
    stacks = {stack: count for stack, count in result.stacks.items() if stack.comm == "hostile_code"}
    wrong = {";".join(stack.user_frames): count for stack, count in stacks.items()
             if not stack.errors and ("[anonymous]" in str(stack) or ";decoy;decoy" in str(stack))
             and not re.search(r";run;\[anonymous\][^;]*(;leaf)?$", ";".join(stack.user_frames))
             and "[?]" not in str(stack)}
    # final: as above
    tap.never(wrong, "hostile code has no stack that looks right and is not", wrong)
    whole = sum(count for stack, count in result.stacks.items()
                if stack.comm == "jit" and not stack.errors and "[?]" not in str(stack))
    tap.ok(whole >= LEAST_SAMPLES // 2, "other programs' code is unwound meanwhile",
           {str(stack): count for stack, count in result.stacks.items() if stack.comm == "jit"})


def wait_renamed(pid):
    """Waits until the program has written the second name to its perf map."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        with open("/tmp/perf-%d.map" % pid, encoding="ascii") as file:
            if "second_name" in file.read():
                return
        time.sleep(0.02)


def check_perf_map(tap, path):
    with Program(path) as program:
        first = leaves(sample([program.pid]))
        program.process.send_signal(signal.SIGUSR1)
        wait_renamed(program.pid)
        second = leaves(sample([program.pid]))
    os.unlink("/tmp/perf-%d.map" % program.pid)
    tap.ok(first.get("first_name with spaces_[j]", 0) >= LEAST_SAMPLES
           and not any("second_name" in name for name in first),
           "code made at run time has its name from the perf map", first)
    tap.ok(second.get("second_name_[j]", 0) >= LEAST_SAMPLES
           and not any("first_name" in name for name in second),
           "memory that is used again has its new name", second)


def check_renamed_while_sampled(tap, path):
    with Program(path) as program, \
            Agent("-samples-per-second", RATE, "-pid", program.pid) as agent:
        if not agent.wait_started():
            raise RuntimeError(agent.log_text())
        wait_cpu([program.pid], CPU_SECONDS)
        program.process.send_signal(signal.SIGUSR1)
        wait_renamed(program.pid)
        # The agent looks at the file every second or so.
        with paced([program.pid]):
            wait_cpu([program.pid], 0.8)
        found = leaves(agent.stop(seconds=WAIT_SECONDS).stacks)
    os.unlink("/tmp/perf-%d.map" % program.pid)
    tap.ok(found.get("first_name with spaces_[j]", 0) >= LEAST_SAMPLES
           and found.get("second_name_[j]", 0) >= LEAST_SAMPLES,
           "a file that grows while the agent runs is read on", found)


def check_namespaces(tap, path):
    name = "the map is found in the process's mount namespace, under its inner pid"
    if not shutil.which("unshare"):
        tap.skip(name, "no unshare")
        return
    script = "mount -t tmpfs none /tmp && exec %s" % path
    with subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                           script], stdout=subprocess.PIPE) as outer:
        try:
            if outer.stdout.readline() != b"ready\n":
                tap.skip(name, "no namespaces here")
                return
            children = "/proc/%d/task/%d/children" % (outer.pid, outer.pid)
            with open(children, encoding="ascii") as file:
                pid = int(file.read().split()[0])
            found = leaves(sample([pid]))
        finally:
            outer.kill()
    tap.ok(found.get("first_name with spaces_[j]", 0) >= LEAST_SAMPLES, name, found)


def write_hostile(kind, pid, directory):
    """Makes the perf map of process @pid one that the agent must not take names from."""
    path = "/tmp/perf-%d.map" % pid
    text = "%x 1000 stolen_name\n" % anonymous_code(pid)
    other = os.path.join(directory, "other")
    with open(other if kind == "a link" else path, "w", encoding="ascii") as file:
        if kind == "a gigabyte without sense":
            file.write("\n" * 100000)
            file.truncate(1 << 30)
        elif kind == "a line that is cut off":
            file.write(text[:-1])
        else:
            file.write(text)
    if kind == "a FIFO":
        os.unlink(path)
        os.mkfifo(path)
    elif kind == "a link":
        os.symlink(other, path)
    elif kind == "another user's file":
        os.chown(path, 12345, 12345)
    elif kind == "a file from before the process":
        os.utime(path, (1e9, 1e9))
    return path


def check_hostile(tap, program_path):
    """Files that are none, somebody else's, or garbage: no names, no wait, and no harm. Each kind is a
    program with a name of its own, and one agent samples all of them.
    """
    kinds = ("a FIFO", "a link", "another user's file", "a file from before the process",
             "a line that is cut off", "a gigabyte without sense")
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as programs:
        pids, maps = [], []
        for number in range(len(kinds)):
            path = shutil.copy(program_path, os.path.join(directory, "hostile%d" % number))
            pids.append(programs.enter_context(Program(path, "quiet")).pid)
        for kind, pid in zip(kinds, pids):
            maps.append(write_hostile(kind, pid, directory))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        stacks = sample(pids)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        for path in maps:
            os.unlink(path)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    tap.ok(seconds < HOSTILE_CPU_SECONDS, "such files cost the agent little", "%.1f s" % seconds)
    for number, kind in enumerate(kinds):
        found = leaves({stack: count for stack, count in stacks.items()
                        if stack.comm == "hostile%d" % number})
        tap.ok(sum(found.values()) >= LEAST_SAMPLES
               and not any("stolen" in leaf for leaf in found),
               "no names are taken from %s" % kind, found)


def check_node(tap):
    name = "functions of node with --perf-basic-prof have their names, in every output"
    if not shutil.which("node"):
        tap.skip(name, "no node on this machine")
        return
    with tempfile.TemporaryDirectory() as directory:
        script = os.path.join(directory, "hot.js")
        with open(script, "w", encoding="ascii") as file:
            file.write(NODE_SCRIPT)
        outputs = [os.path.join(directory, "out." + kind) for kind in ("pb.gz", "folded", "otlp")]
        with Program("node", "--perf-basic-prof", script, cwd=directory) as program:
            # Else the agent knows V8's code by itself.
            result = sample_run([program.pid], RATE, 1, "-tracers", "native", outputs=outputs)
        os.unlink("/tmp/perf-%d.map" % program.pid)
        with open(outputs[1], encoding="utf-8") as file:
            folded = file.read()
        names = str([sample.frames for sample in Profile(outputs[0]).samples])
        with open(outputs[2], "rb") as file:
            otlp = file.read()
    in_script = [line for line in folded.splitlines() if re.search(r"hot\w+ .*hot\.js", line)]
    count = sum(int(line.rsplit(" ", 1)[1]) for line in in_script)
    tap.ok(result.status == 0 and count >= LEAST_SAMPLES
           and all("_[j]" in line or "_[?]" in line for line in in_script)
           and "hot.js" in names and b"hot.js" in otlp, name, folded[:2000], names[:500],
           "in OTLP: %s" % (b"hot.js" in otlp))


def main():
    tap = Tap()
    need_root(tap, "code in anonymous memory")
    check_copied_text(tap)
    check_moved_before(tap)
    if platform.machine() == "x86_64":
        check_rewritten(tap)
        check_hostile_code(tap)
    path = build("run_time_code")
    check_perf_map(tap, path)
    check_renamed_while_sampled(tap, path)
    check_namespaces(tap, path)
    check_hostile(tap, path)
    check_node(tap)
    tap.finish()


if __name__ == "__main__":
    main()
