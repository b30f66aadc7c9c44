#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it measures how long threads stand still
"""`agent -dump`: the stacks of all threads are those that gdb, jstack and the programs themselves show; each thread stands still
for a moment only, and goes on whatever becomes of the agent.
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

import phps
import rubies
from harness import AGENT, HANG_SECONDS, Program, Tap, children_of, die_with_parent, need_root
from runtimes import newest_or_all

THREADS = 100
DEPTH = 100
# Promises, of a machine that is not busy; the best of some runs is judged.
TRIES = 8
APART_US = 50000
STILL_US = 1000
COMMAND_SECONDS = 1

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

	for (int i = 1; i < %d; i++)
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

PYTHON_TARGET = """import sys, time
def innermost():
    print("ready", flush=True)
    time.sleep(1000)
def middle(value):
    innermost()
class Outer:
    def method(self):
        middle(1)
Outer().method()
"""
PYTHON_FRAMES = [("innermost", 4), ("middle", 6), ("method", 9), ("<module>", 10)]

JAVA_TARGET = """
public class Waits {
    static void innermost() throws Exception { System.out.println("ready"); Thread.sleep(1000000); }
    static void middle() throws Exception { innermost(); }
    public static void main(String[] arguments) throws Exception { middle(); }
}
"""

JAVASCRIPT_TARGET = """function innermost() { require("fs").writeSync(1, "ready\\n"); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); }
function middle() { innermost(); }
middle();
"""
PERL_TARGET = "$| = 1; sub innermost { print qq(ready\\n); sleep 1000 } sub middle { innermost(); 1 } middle();"
RUBY_TARGET = "def innermost; puts 'ready'; $stdout.flush; sleep; end\ndef middle; innermost; end\nmiddle\n"
PHP_TARGET = "function innermost() { echo \"ready\\n\"; while (true) { sleep(1000); } } function middle() { innermost(); } middle();"


def dump(*pids):
    """The processes of a dump, by pid, and the seconds that it took."""
    start = time.monotonic()
    done = subprocess.run([AGENT, "-dump", ",".join(map(str, pids)), "-json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
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


def build_c(directory):
    source, path = os.path.join(directory, "target.c"), os.path.join(directory, "dump-target")
    with open(source, "w", encoding="ascii") as file:
        file.write(C_TARGET)
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-pthread", "-o", path, source], check=True)
    return path


def gdb_functions(pid):
    """{tid: functions, leaf first} by gdb."""
    done = subprocess.run(["gdb", "-batch", "-nx", "-p", str(pid), "-ex", "thread apply all bt"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False, env={**os.environ, "DEBUGINFOD_URLS": ""})
    stacks, frames = {}, None
    for line in done.stdout.splitlines():
        thread = re.match(r"Thread \d+ \(Thread 0x\w+ \(LWP (\d+)\)", line)
        if thread:
            frames = stacks.setdefault(int(thread[1]), [])
        frame = re.match(r"#\d+ +(?:0x\w+ in )?(\S+) \(", line)
        if frame and frames is not None:
            frames.append(frame[1].partition("@")[0])
    return stacks


def check_native(tap, path):
    with Program(path, "spin") as program:
        found, _ = dump(program.pid)
        process = found[program.pid]
        by_gdb = gdb_functions(program.pid)
        threads = process["threads"]
        tap.ok(len(threads) == THREADS + 1 == len(by_gdb), "all threads are shown", len(threads), len(by_gdb))
        # gdb has other names for what the C library's aliases are.
        own = ("innermost", "nested", "run", "main", "spin", "run_spin")
        wrong = []
        for thread in threads:
            mine = [name for name in functions(thread) if name in own]
            gdbs = [name for name in by_gdb.get(thread["tid"], []) if name in own]
            if mine != gdbs or thread["why"]:
                wrong.append("%s: %s, gdb: %s; %s" % (thread["tid"], mine[:5], gdbs[:5], thread["why"]))
        tap.never(wrong, "the functions of native code are those that gdb shows", *wrong[:5])
        waiting = [thread for thread in threads if thread["state"] == "waiting in pause"]
        spinning = [thread for thread in threads if "spin" in functions(thread)]
        tap.ok(len(waiting) == THREADS and [thread["state"] for thread in spinning] == ["running"],
               "threads run or wait in their system call", {thread["state"] for thread in threads})
        text = subprocess.run([AGENT, "-dump", str(program.pid)], stdout=subprocess.PIPE, text=True, check=True).stdout
        tap.ok(re.search(r"^process %d dump-target: \S*dump-target spin$" % program.pid, text, re.M)
               and text.count(" nested (dump-target)\n") == THREADS * (DEPTH - 3)
               and text.count("  thread ") == THREADS + 1, "the text shows the same", text[:1500])


def check_times(tap, path):
    with Program(path) as program:
        best, least, shallow = None, {}, []
        for _ in range(TRIES):
            found, seconds = dump(program.pid)
            threads = found[program.pid]["threads"]
            for thread in threads:
                least[thread["tid"]] = min(thread["still_us"], least.get(thread["tid"], thread["still_us"]))
            shallow += [thread for thread in threads if len(thread["frames"]) < DEPTH]
            still = sorted(thread["still_us"] for thread in threads)
            run = max(thread["after_us"] + thread["still_us"] for thread in threads), seconds
            best = min(best or run, run)
            tap.note("%d us between first and last, at most %d us still (half of them %d us), %.2f s in all"
                     % (run[0], still[-1], still[len(still) // 2], seconds))
        tap.ok(not shallow, "all stacks are whole", *shallow[:3])
        tap.ok(best[0] <= APART_US and best[1] <= COMMAND_SECONDS,
               "the stacks of %d threads of depth %d are of one moment" % (THREADS, DEPTH), best)
        # The agent may wait for a CPU at any thread, but not each time at the same one.
        tap.ok(max(least.values()) <= STILL_US, "and none stands still for longer than %d us" % STILL_US, sorted(least.values())[-5:])
        tap.ok(state_of(program.pid) == "S", "and they go on", state_of(program.pid))


def check_python(tap, directory):
    path = os.path.join(directory, "target.py")
    with open(path, "w", encoding="ascii") as file:
        file.write(PYTHON_TARGET)
    with Program(sys.executable, path) as program:
        thread = dump(program.pid)[0][program.pid]["threads"][0]
        frames = [(frame["function"], frame["line"]) for frame in thread["frames"] if frame["language"] == "python"]
        # Since 3.11 a method has its class before it.
        frames = [(name.rpartition(".")[2], line) for name, line in frames]
        tap.ok(frames == PYTHON_FRAMES and not thread["why"], "Python's functions and lines are those of the program", frames,
               thread)


def check_language(tap, language, command):
    """A program in which main calls middle() and that innermost(), which waits; None: it is not at hand."""
    name = "the functions of %s are those of the program" % language
    if not command:
        tap.skip(name, "there is no " + language)
        return
    with Program(*command) as program:
        # The interpreter may be a child, in a root file system of its own.
        pid = (children_of(program.pid) or [program.pid])[-1]
        time.sleep(0.5)
        process = dump(pid)[0][pid]
        found = functions(thread_of(process, pid), language)
    ends = [re.split(r"[.#:]", one)[-1].rstrip("()") for one in found]
    tap.ok([one for one in ends if one in ("innermost", "middle")] == ["innermost", "middle"], name, found,
           *functions(thread_of(process, pid))[:20])


def of_machine(program, *arguments):
    return [program, *arguments] if shutil.which(program) else None


def fetched(finder, *arguments):
    """The command of the newest runtime that is at hand."""
    runtimes_at_hand = newest_or_all(finder.at_hand(False).values(), False)
    return runtimes_at_hand[0].command(*arguments) if runtimes_at_hand else None


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
    name = "Java's methods are those that jstack shows"
    if not shutil.which("javac") or not shutil.which("jstack"):
        tap.skip(name, "there is no JDK")
        return
    with open(os.path.join(directory, "Waits.java"), "w", encoding="ascii") as file:
        file.write(JAVA_TARGET)
    subprocess.run(["javac", "-d", directory, os.path.join(directory, "Waits.java")], check=True)
    with Program("java", "-cp", directory, "Waits") as program:
        time.sleep(0.5)
        start = time.monotonic()
        process = dump(program.pid)[0][program.pid]
        seconds = time.monotonic() - start
        jstack = subprocess.run(["jstack", str(program.pid)], stdout=subprocess.PIPE, text=True, check=True).stdout
    part = jstack[jstack.index('"main"'):].split("\n\n")[0]
    expected = [re.sub(r"^.*/", "", one) for one in re.findall(r"^\tat ([\w.$/@]+)\(", part, re.M)]
    stacks = [[re.sub(r"\(.*", "", one) for one in functions(thread, "java")] for thread in process["threads"]]
    # The stub by which the JVM calls Java is no method.
    best = [one for one in next((stack for stack in stacks if "Waits.main" in stack), []) if not one.startswith("[")]
    tap.ok(best == expected, name, best, expected, *[stack for stack in stacks if stack][:3])
    tap.note("the dump of a JVM of %d threads took %.2f s" % (len(process["threads"]), seconds))


def check_killed(tap, path):
    """The agent is killed while it stops threads, again and again."""
    with Program(path) as program:
        for i in range(10):
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
    tap.ok(found[2]["name"] == "kthreadd" and "no memory of its own" in found[2]["threads"][0]["why"],
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
        check_native(tap, path)
        check_times(tap, path)
        check_python(tap, directory)
        check_language(tap, "javascript", of_machine("node", "-e", JAVASCRIPT_TARGET))
        check_language(tap, "perl", of_machine("perl", "-e", PERL_TARGET))
        check_language(tap, "ruby", fetched(rubies.FINDER, "-e", RUBY_TARGET))
        check_language(tap, "php", fetched(phps.FINDER, "-r", PHP_TARGET))
        check_java(tap, directory)
        check_killed(tap, path)
        check_stopped(tap, path)
        check_traced(tap, path)
        check_uninterruptible(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
