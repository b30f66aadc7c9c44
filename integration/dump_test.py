#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it measures how long threads stand still
"""`agent -dump`: the stacks of all threads are those that gdb, jstack and the runtimes of the programs themselves show, with
their lines; each thread stands still for a moment only, and goes on whatever becomes of the agent.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import nodes
import perls
import phps
import rubies
from harness import AGENT, HANG_SECONDS, IS_LONG, ROOT, Program, Tap, children_of, die_with_parent, need_root
from runtimes import newest_or_all

THREADS = 100
DEPTH = 100
# So many threads are compared with gdb's, which takes its time.
COMPARED = THREADS if IS_LONG else 20
# Promises, of a machine that is not busy; the best of some runs is judged.
TRIES = 8
APART_US = 50000
STILL_US = 1000
COMMAND_SECONDS = 1
JVM_SECONDS = 2

C_TARGET = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile int depth;
__attribute__((noinline)) static void innermost(void) { for (;;) pause(); }
__attribute__((noinline)) static int nested(int left)
{
	if (left == 0)
		innermost();
	return nested(left - 1) + depth;
}
static void *run(void *argument) { return (void *)(long)nested(%d); }
__attribute__((noinline)) static void spin(void) { for (;;) depth++; }
static void *run_spin(void *argument) { spin(); return argument; }

int main(int argc, char **argv)
{
	pthread_t thread;

	for (int i = 1; i < (argc > 2 ? atoi(argv[2]) : %d); i++)
		pthread_create(&thread, NULL, run, NULL);
	if (argc > 1)
		pthread_create(&thread, NULL, run_spin, NULL);
	usleep(200000);
	puts("ready");
	fflush(stdout);
	nested(%d);
	return 0;
}
""" % (DEPTH - 4, THREADS, DEPTH - 4)

STACK_DELTAS = os.path.join(ROOT, "build", "stack_deltas")
# Functions as V8's stacks have them, and as dumps have them.
JAVASCRIPT_NAMES = {"": "(anonymous)", "map": "Array.prototype.map", "[nodejs.internal.kHybridDispatch]": "(anonymous)"}
# A program for each language, which prints its stacks as its runtime has them, and waits in them.
LANGUAGE_TARGETS = os.path.join(ROOT, "integration", "targets", "dump")


def dump(*pids, options=()):
    """The processes of a dump, by pid, and the seconds that it took."""
    start = time.monotonic()
    done = subprocess.run([AGENT, "-dump", ",".join(map(str, pids)), "-json", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=HANG_SECONDS, check=False)
    seconds = time.monotonic() - start
    if done.returncode:
        raise RuntimeError("status %d: %s" % (done.returncode, done.stderr))
    return {process["pid"]: process for process in json.loads(done.stdout)["processes"]}, seconds


def thread_of(process, tid):
    return next(thread for thread in process["threads"] if thread["tid"] == tid)


def functions(thread, language=None):
    return [frame["function"] for frame in thread["frames"] if not language or frame["language"] == language]


def state_of(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def build_c(directory, *options, name="dump-target"):
    source, path = os.path.join(directory, "target.c"), os.path.join(directory, name)
    with open(source, "w", encoding="ascii") as file:
        file.write(C_TARGET)
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-pthread", *options, "-o", path, source], check=True)
    return path


def gdb_frames(pid):
    """{tid: [(function, file, line)], leaf first} by gdb; the file is "" where there is no debug data."""
    done = subprocess.run(["gdb", "-batch", "-nx", "-p", str(pid), "-ex", "thread apply all bt"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False, env={**os.environ, "DEBUGINFOD_URLS": ""})
    stacks, frames = {}, None
    for line in done.stdout.splitlines():
        thread = re.match(r"Thread \d+ \(Thread 0x\w+ \(LWP (\d+)\)", line)
        if thread:
            frames = stacks.setdefault(int(thread[1]), [])
        frame = re.match(r"#\d+ +(?:0x\w+ in )?(\S+) \(.*\)(?: at (\S+):(\d+))?", line)
        if frame and frames is not None:
            frames.append((frame[1].partition("@")[0], os.path.basename(frame[2] or ""), int(frame[3] or 0)))
    return stacks


def check_native(tap, path, has_lines):
    where = "with debug data: " if has_lines else "without debug data: "
    # Without it a busy machine may not have read them in time.
    options = ["-with-lines"] if has_lines else []
    with Program(path, "spin", COMPARED) as program:
        found, _ = dump(program.pid, options=options)
        process = found[program.pid]
        by_gdb = gdb_frames(program.pid)
        threads = process["threads"]
        tap.ok(len(threads) == COMPARED + 1 == len(by_gdb), where + "all threads are shown", len(threads), len(by_gdb))
        # gdb has other names for what the C library's aliases are.
        own = ("innermost", "nested", "run", "main", "spin", "run_spin")
        wrong, lines = [], 0
        for thread in threads:
            mine = [(frame["function"], os.path.basename(frame["file"]), frame["line"]) for frame in thread["frames"]
                    if frame["function"] in own]
            gdbs = [frame for frame in by_gdb.get(thread["tid"], []) if frame[0] in own]
            lines += sum(line > 0 for _, _, line in mine)
            if not has_lines:
                mine, gdbs = [name for name, _, _ in mine], [name for name, _, _ in gdbs]
            elif ("spin", "target.c") in {frame[:2] for frame in mine}:
                # It runs from line to line.
                mine, gdbs = mine[1:], gdbs[1:]
            if mine != gdbs or not mine or thread["why"]:
                wrong.append("%s: %s, gdb: %s; %s" % (thread["tid"], mine[:5], gdbs[:5], thread["why"]))
        tap.never(wrong, where + "the frames of native code are those that gdb shows", *wrong[:5])
        tap.ok((lines > COMPARED * (DEPTH - 3)) == has_lines, where + "and so are their lines", lines)
        waiting = [thread for thread in threads if thread["state"] == "waiting in pause"]
        spinning = [thread for thread in threads if "spin" in functions(thread)]
        tap.ok(len(waiting) == COMPARED and [thread["state"] for thread in spinning] == ["running"],
               where + "threads run or wait in their system call", {thread["state"] for thread in threads})
        text = subprocess.run([AGENT, "-dump", str(program.pid), *options], stdout=subprocess.PIPE, text=True, check=True).stdout
        nested = re.findall(r" nested \((.*)\)\n", text)
        file = r"target\.c:\d+" if has_lines else os.path.basename(path)
        tap.ok(re.search(r"^process %d \S+: \S*%s spin %d$" % (program.pid, os.path.basename(path), COMPARED), text, re.M)
               and len(nested) == COMPARED * (DEPTH - 3) and all(re.fullmatch(file, one) for one in nested)
               and text.count("  thread ") == COMPARED + 1, where + "the text shows the same", text[:1500])


def check_times(tap, path):
    runs, least, shallow = [], {}, []

    def are_moments():
        return min(apart for apart, _ in runs) <= APART_US and min(seconds for _, seconds in runs) <= COMMAND_SECONDS

    def are_short():
        """The agent may wait for a CPU at any thread, but not each time at the same one."""
        return max(least.values()) <= STILL_US

    with Program(path) as program:
        while len(runs) < TRIES and (IS_LONG or not runs or not are_moments() or not are_short()):
            found, seconds = dump(program.pid)
            threads = found[program.pid]["threads"]
            for thread in threads:
                least[thread["tid"]] = min(thread["still_us"], least.get(thread["tid"], thread["still_us"]))
            shallow += [thread for thread in threads if len(thread["frames"]) < DEPTH]
            still = sorted(thread["still_us"] for thread in threads)
            runs.append((max(thread["after_us"] + thread["still_us"] for thread in threads), seconds))
            tap.note("%d us between first and last, at most %d us still (half of them %d us), %.2f s in all"
                     % (runs[-1][0], still[-1], still[len(still) // 2], seconds))
        tap.ok(not shallow, "all stacks are whole", *shallow[:3])
        tap.ok(are_moments(), "the stacks of %d threads of depth %d are of one moment" % (THREADS, DEPTH), *runs)
        tap.ok(are_short(), "and none stands still for longer than %d us" % STILL_US, sorted(least.values())[-5:])
        tap.ok(state_of(program.pid) == "S", "and they go on", state_of(program.pid))


def told_stacks(output):
    """The stacks that a program has printed: lists of (function, line), leaf first."""
    stacks = [[]]
    for line in output.decode().splitlines():
        if line == "end":
            stacks.append([])
        elif line.startswith("frame\t"):
            _, function, number = line.split("\t")
            stacks[-1].append((function, int(number)))
    return stacks[:-1]


def check_language(tap, language, command, adapt=lambda frame: frame):
    """A program that prints its stacks and waits; None: it is not at hand. Behind the innermost frame that a program prints
    there may be those of the runtime's functions that wait. @adapt: a frame of the program as a dump has it.
    """
    name = "the stacks of %s are those that it prints itself" % language
    in_time = "the dump of %s takes less than %d s" % (language, COMMAND_SECONDS)
    if not command:
        tap.skip(name, "there is no " + language)
        tap.skip(in_time, "there is no " + language)
        return
    with Program(*command) as program:
        # The interpreter may be a child, in a root file system of its own.
        pid = (children_of(program.pid) or [program.pid])[-1]
        time.sleep(0.5)
        told = [[frame for frame in map(adapt, stack) if frame] for stack in told_stacks(program.output)]
        found, seconds = dump(pid)
        tries = [seconds]
        while min(tries) > COMMAND_SECONDS and len(tries) < TRIES:
            tries.append(dump(pid)[1])
    threads = found[pid]["threads"]
    stacks = [[(frame["function"], frame["line"]) for frame in thread["frames"] if frame["language"] == language]
              for thread in threads]
    missing = [stack for stack in told if len(stack) < 5 or [one[-len(stack):] for one in stacks].count(stack) != 1]
    tap.ok(told and not missing, name, *(missing or told), *[stack for stack in stacks if stack][:4],
           *[thread["why"] for thread in threads if thread["why"]])
    tap.ok(min(tries) <= COMMAND_SECONDS, in_time, tries)
    tap.note("%s: %d threads in %.2f s" % (language, len(threads), min(tries)))


def target(name):
    return os.path.join(LANGUAGE_TARGETS, name)


def text_of(name):
    with open(target(name), encoding="utf-8") as file:
        return file.read().replace("<?php", "")


def fetched(finder, *arguments):
    """The command of the newest runtime that is at hand."""
    runtimes_at_hand = newest_or_all(finder.at_hand(False).values(), False)
    return runtimes_at_hand[0].command(*arguments) if runtimes_at_hand else None


def check_languages(tap, directory):
    check_language(tap, "python", [sys.executable, target("waits.py")])
    # Methods in C have no lines.
    check_language(tap, "ruby", fetched(rubies.FINDER, "-e", text_of("waits.rb")),
                   lambda frame: (frame[0], 0) if "each" in frame[0] else frame)
    check_language(tap, "php", fetched(phps.FINDER, "-r", text_of("waits.php")))
    check_language(tap, "perl", fetched(perls.FINDER, "-e", text_of("waits.pl")))
    check_language(tap, "javascript", fetched(nodes.FINDER, target("waits.js")),
                   lambda frame: (JAVASCRIPT_NAMES.get(frame[0], frame[0]), frame[1]))
    go = os.path.join(directory, "waits-go")
    has_go = shutil.which("go") and not subprocess.run(
        ["go", "build", "-o", go, target("waits.go")], check=False, env={**os.environ, "GO111MODULE": "off"}).returncode
    check_language(tap, "go", [go] if has_go else None)


def check_work(tap):
    """What takes longest in a dump of Node.js: its machine code without tables, of which V8's builtins are made, is looked for
    in all of its code. Most functions are seen to have nothing of it by their bytes alone.
    """
    counts = {}
    for node in newest_or_all(nodes.FINDER.at_hand(False).values(), IS_LONG):
        text = subprocess.run([STACK_DELTAS, "-stats", *node.command()], stdout=subprocess.PIPE, text=True, check=True).stdout
        counts[node.name] = tuple(map(int, re.search(r"(\d+) +bytes of code with tables .*: (\d+) decoded", text).groups()))
    if not counts:
        tap.skip("most code of Node.js is not decoded for its rows", "there is no Node.js")
        return
    tap.ok(all(searched > 10 << 20 and decoded < searched / 4 for searched, decoded in counts.values()),
           "most code of Node.js is not decoded for its rows", counts)


def check_uninterruptible(tap, directory):
    """A parent whose child by vfork() has not executed a program yet waits uninterruptibly."""
    source, path = os.path.join(directory, "vforks.c"), os.path.join(directory, "vforks")
    with open(source, "w", encoding="ascii") as file:
        file.write("#include <unistd.h>\nint main(void) { if (!vfork()) { write(1, \"ready\\n\", 6); pause(); _exit(0); } }\n")
    subprocess.run(["gcc", "-w", "-O1", "-o", path, source], check=True)
    with Program(path) as program:
        thread = thread_of(dump(program.pid)[0][program.pid], program.pid)
        child = children_of(program.pid)
        for pid in child:
            os.kill(pid, signal.SIGKILL)
    tap.ok(child and thread["state"] == "waiting uninterruptibly in vfork" and not thread["stopped"]
           and thread["why"] == "not stopped: it waits uninterruptibly" and "kernel_clone" in functions(thread, "kernel"),
           "a thread that waits uninterruptibly is shown from the kernel", thread)


def check_java(tap, directory):
    name = "the stacks of java are those that jstack shows"
    if not shutil.which("javac") or not shutil.which("jstack"):
        tap.skip(name, "there is no JDK")
        return
    subprocess.run(["javac", "-d", directory, target("Waits.java")], check=True)
    with Program("java", "-cp", directory, "Waits") as program:
        time.sleep(0.5)
        runs = [dump(program.pid)]
        while runs[-1][1] > JVM_SECONDS and len(runs) < 3:
            runs.append(dump(program.pid))
        jstack = subprocess.run(["jstack", str(program.pid)], stdout=subprocess.PIPE, text=True, check=True).stdout
    process, seconds = runs[0][0][program.pid], min(seconds for _, seconds in runs)
    expected = {}
    for part in jstack.split("\n\n"):
        tid = re.search(r" nid=(0x\w+|\d+) ", part)
        # With the module before the file; and a hidden class has an address for a name, or a number, which dumps leave out.
        frames = [(re.sub(r"/0x\w+", "", function), line) for function, line in
                  re.findall(r"^\tat ([\w.$<>/]+)\((?:\S+@\S+/)?(?:[\w.$]+:(\d+)|.*)\)", part, re.M)]
        if tid and frames:
            expected[int(tid[1], 0)] = [(function, int(line or 0)) for function, line in frames]
    wrong = []
    for thread in process["threads"]:
        # A stub by which the JVM calls Java is no method.
        mine = [(re.sub(r"\(.*", "", frame["function"]), frame["line"]) for frame in thread["frames"]
                if frame["language"] == "java" and not frame["function"].startswith("[")]
        if mine != expected.get(thread["tid"], []):
            wrong.append("%s: %s, jstack: %s" % (thread["tid"], mine, expected.get(thread["tid"])))
    recursive = [tid for tid, frames in expected.items() if sum(one == "Waits.recurse" for one, _ in frames) > 3]
    tap.ok(not wrong and len(recursive) == 2, name, *(wrong or expected.items()))
    tap.ok(seconds <= JVM_SECONDS, "the dump of a JVM takes less than %d s" % JVM_SECONDS, seconds)
    tap.note("java: %d threads in %.2f s" % (len(process["threads"]), seconds))


def check_killed(tap, path):
    """The agent is killed while it stops threads, again and again."""
    with Program(path) as program:
        for i in range(0, 10, 1 if IS_LONG else 3):
            agent = subprocess.Popen([AGENT, "-dump", str(program.pid)], stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
            end = time.monotonic() + HANG_SECONDS
            # A thread that stands still.
            while agent.poll() is None and state_of(program.pid) == "S" and time.monotonic() < end:
                time.sleep(0)
            time.sleep(i * 0.001)
            agent.kill()
            agent.wait()
        time.sleep(0.1)
        states = set()
        for tid in os.listdir("/proc/%d/task" % program.pid):
            with open("/proc/%d/task/%s/stat" % (program.pid, tid), encoding="ascii") as file:
                states.add(file.read().rpartition(")")[2].split()[0])
    tap.ok(states == {"S"}, "no thread stays stopped when the agent is killed", states)


def check_stopped(tap, path):
    with Program(path) as program:
        os.kill(program.pid, signal.SIGSTOP)
        while state_of(program.pid) != "T":
            time.sleep(0.01)
        thread = thread_of(dump(program.pid)[0][program.pid], program.pid)
        tap.ok("main" in functions(thread) and thread["state"].startswith("stopped") and state_of(program.pid) == "T",
               "a process that was stopped is shown, and stays stopped", thread["state"], state_of(program.pid))
        os.kill(program.pid, signal.SIGCONT)


def check_traced(tap, path):
    """Under a debugger: the thread is left alone, and has the kernel's frames."""
    with Program(path) as program:
        with subprocess.Popen(["gdb", "-batch", "-nx", "-p", str(program.pid), "-ex", "echo attached\\n", "-ex", "shell sleep 600"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=die_with_parent,
                              start_new_session=True, env={**os.environ, "DEBUGINFOD_URLS": ""}) as gdb:
            timer = threading.Timer(HANG_SECONDS, gdb.kill)
            timer.start()
            attached = any("attached" in line for line in gdb.stdout)
            timer.cancel()
            thread = thread_of(dump(program.pid)[0][program.pid], program.pid)
            os.killpg(gdb.pid, signal.SIGKILL)
    tap.ok(attached and not thread["stopped"] and re.search(r"not stopped: traced by gdb \(%d\)" % gdb.pid, thread["why"])
           and {frame["language"] for frame in thread["frames"]} <= {"kernel"} and thread["frames"],
           "a thread that a debugger traces is shown from the kernel, with a word why", thread)


def check_refusals(tap):
    for arguments, words in ((["-dump", "4194304"], "there is no process"), (["-dump", "x"], "give pids"),
                             (["-dump", "1", "-output", "x.txt"], "leave out -output"), (["-json"], "it is for -report and -dump"),
                             (["-dump", "1", "--", "true"], "leave out the command")):
        done = subprocess.run([AGENT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        tap.ok(done.returncode == 2 and words in done.stderr, "%s is refused" % " ".join(arguments), done)
    found, _ = dump(2)
    tap.ok(found[2]["name"] == "kthreadd" and found[2]["threads"][0]["state"] == "waiting" and "no memory of its own" in found[2]["threads"][0]["why"],
           "a kernel thread has the kernel's frames", found)


def main():
    tap = Tap()
    need_root(tap, "dumps of stacks")
    if not shutil.which("gcc") or not shutil.which("gdb"):
        tap.skip("dumps of stacks", "gcc or gdb is missing")
        tap.finish()
    check_refusals(tap)
    with tempfile.TemporaryDirectory(prefix="allframes-dump-") as directory:
        path = build_c(directory)
        check_native(tap, path, False)
        check_native(tap, build_c(directory, "-g", name="with-lines"), True)
        check_times(tap, path)
        check_languages(tap, directory)
        check_work(tap)
        check_java(tap, directory)
        check_killed(tap, path)
        check_stopped(tap, path)
        check_traced(tap, path)
        check_uninterruptible(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
