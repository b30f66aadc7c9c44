#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agent -- CMD ARGS`: the command runs as if the caller had started it, from its exec to its end it is sampled with all that
it starts, and nothing else is. Its status is the agent's.
"""
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import build_targets
from build_targets import TARGETS
from harness import (AGENT, HANG_SECONDS, IS_LONG, Program, Tap, children_of, cpu_seconds, die_with_parent, need_root, parse_folded,
                     path_without_ccache)
from sampled import paced
from stop_signals_test import Terminal

RATE = 997
PYTHON = sys.executable
# Uses so many seconds of CPU time as a process of the name.
SPIN = """
def spin(name, seconds):
    import time
    open("/proc/self/comm", "w").write(name)
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""
# The properties that a process has from the one that started it.
HERITAGE = ("grep -E '^(Uid|Gid|Groups|Cap...|SigBlk|SigIgn|NoNewPrivs|Seccomp):' /proc/self/status; ulimit -Sn; ulimit -Hn; "
            "ulimit -Sc; readlink /proc/self/fd/0; ls /proc/self/fd | wc -l; nice; ps -o cls= -p $$; env | sort")


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("ALLFRAMES_")}


def command_line(*arguments, options=(), agent=AGENT):
    return [agent, *map(str, options), "--", *map(str, arguments)]


def run(*arguments, options=(), text="", agent=AGENT, variables=(), **more):
    """Runs the agent with the command, with @text as its standard input, and with the environment @variables."""
    return subprocess.run(command_line(*arguments, options=options, agent=agent), input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=HANG_SECONDS, check=False, env={**environment(), **dict(variables)}, **more)


def run_folded(*arguments, options=(), variables=()):
    """The result, and the stacks of the run."""
    with tempfile.TemporaryDirectory(prefix="allframes-command-") as directory:
        path = os.path.join(directory, "stacks.folded")
        result = run(*arguments, options=["-samples-per-second", RATE, "-output", path, *options], variables=variables)
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return result, parse_folded(file.read())


def by_comm(stacks):
    counts = {}
    for stack, count in stacks.items():
        counts[stack.comm] = counts.get(stack.comm, 0) + count
    return counts


def check_status(tap):
    cases = [(["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 128 + 9)]
    if IS_LONG:
        cases += [(["true"], 0), (["sh", "-c", "kill -TERM $$"], 128 + 15)]
    for arguments, status in cases:
        result = run(*arguments)
        tap.ok(result.returncode == status, "the status of %s is the agent's" % " ".join(arguments), result)
    result = run("no-such-command-here")
    tap.ok(result.returncode == 127 and re.search("^error: cannot run no-such-command-here: No such file", result.stderr, re.M)
           and "CPU time" not in result.stderr, "a command that is not found has the status of a shell, and no report", result)
    result = run("/etc/passwd")
    tap.ok(result.returncode == 126 and "Permission denied" in result.stderr, "so has one that is none", result)


def check_not_started(tap, directory):
    mark = os.path.join(directory, "started")
    result = run("touch", mark, options=["-output", "/nonexistent/stacks.folded"])
    tap.ok(result.returncode == 2 and not os.path.exists(mark), "a wrong option starts no command", result)
    # The folder of the build may be root's alone.
    agent = shutil.copy(AGENT, directory)
    os.chmod(directory, 0o755)
    result = run("touch", mark, agent=agent, user=65534, group=65534, extra_groups=[])
    tap.ok(result.returncode == 3 and not os.path.exists(mark), "neither does a lack of privilege", result)
    result = run("touch", mark, options=["-run-as", "no-such-user-here"])
    tap.ok(result.returncode == 2 and "there is no such user" in result.stderr and not os.path.exists(mark),
           "nor an unknown user", result)
    result = run("touch", mark)
    tap.ok(result.returncode == 0 and os.path.exists(mark), "it is started if all is well", result)


def peculiar():
    """For preexec_fn: the process gets what most have not."""
    die_with_parent()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGTERM})
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_NOFILE, (777, 8888))
    resource.setrlimit(resource.RLIMIT_CORE, (4096, 1 << 30))
    os.nice(3)


def check_heritage(tap):
    """The same program, with the agent before it and without."""
    def lines_of(command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, preexec_fn=peculiar, env=environment())
        # The shell's own variables differ from run to run.
        return [line for line in done.stdout.splitlines() if not line.startswith("_=")], done.stderr
    alone, _ = lines_of(["sh", "-c", HERITAGE])
    profiled, log = lines_of(command_line("sh", "-c", HERITAGE))
    tap.ok(len(alone) > 15 and profiled == alone,
           "ids, capabilities, signals, limits, priority, descriptors and environment are the caller's",
           *sorted(set(alone) ^ set(profiled)), log)
    result = run("sh", "-c", "id -un; id -Gn; echo $HOME $USER; exit 3", options=["-run-as", "nobody"])
    expected = subprocess.run(["id", "-Gn", "nobody"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    lines = result.stdout.splitlines()
    tap.ok(result.returncode == 3 and lines[:2] == ["nobody", expected] and lines[2].endswith(" nobody"),
           "-run-as changes the ids", result)


def check_streams(tap):
    result = run("cat", text="one\ntwo\n")
    tap.ok(result.returncode == 0 and result.stdout == "one\ntwo\n" and ": " in result.stderr
           and "of CPU time" in result.stderr,
           "the standard streams are the command's, and the report goes elsewhere if standard output is no terminal", result)
    result = run("sh", "-c", "echo mine; echo his >&2", options=["-report"])
    tap.ok(result.stdout.startswith("mine\nsh and what it starts: ") and "his\n" in result.stderr,
           "-report writes to standard output", result)
    with open("/dev/null", "rb") as null:
        closed = subprocess.run(["sh", "-c", "exec \"$@\" >&-", "sh", *command_line("sh", "-c", "ls -l /proc/self/fd")],
                                stdin=null, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    tap.ok(closed.returncode != 0 and "write error" in closed.stderr, "a stream that is closed is closed for the command",
           closed)


def check_samples(tap):
    """Beside a busy program, which is not sampled."""
    script = SPIN + "import os, time\nspin('all-of-it', 0.5)\n"
    with Program(TARGETS["calls"].path) as other, paced([other.pid]):
        result, stacks = run_folded(PYTHON, "-c", script)
    counts = by_comm(stacks)
    named = counts.get("all-of-it", 0)
    # Its program's start is sampled too, under the name of the program.
    tap.ok(result.returncode == 0 and 0.85 * 0.5 * RATE < sum(counts.values()) and 0.8 * 0.5 * RATE < named,
           "a command is sampled from its exec on", counts, result.stderr)
    tap.ok("calls" not in counts and set(counts) <= {"all-of-it", os.path.basename(PYTHON), "agent", "python3"},
           "and nothing else is", counts)
    names = {frame for stack in stacks for frame in stack.frames}
    tap.ok("spin" in names, "with its functions", *sorted(names)[:50])


def check_children(tap):
    """A child, a grandchild whose parent has ended, a daemon, a child of a thread, and one that runs another program."""
    script = SPIN + """
import os, subprocess, sys, threading, time
def forked(name, seconds):
    pid = os.fork()
    if not pid:
        spin(name, seconds)
        os._exit(0)
    return pid
ends, done = os.pipe()
child = forked("child", 0.2)
middle = os.fork()
if not middle:
    os.setsid()
    if not os.fork():
        spin("daemon", 0.2)
        forked("of-the-daemon", 0.2)
        os.wait()
        os.write(done, b"x")
    os._exit(0)
os.waitpid(middle, 0)
thread = threading.Thread(target=lambda: os.waitpid(forked("of-a-thread", 0.2), 0))
thread.start()
thread.join()
subprocess.run([sys.executable, "-c", %r + "spin('other-program', 0.2)"], check=True)
os.waitpid(child, 0)
os.read(ends, 1)
""" % SPIN
    result, stacks = run_folded(PYTHON, "-c", script)
    counts = by_comm(stacks)
    names = ["child", "daemon", "of-the-daemon", "of-a-thread", "other-program"]
    tap.ok(result.returncode == 0 and all(counts.get(name, 0) > 0.8 * 0.2 * RATE for name in names),
           "what the command starts is sampled, also by a thread, a daemon or another program", counts, result.stderr)


def check_build(tap, directory):
    if not shutil.which("make") or not shutil.which("gcc"):
        tap.skip("a build", "needs make and gcc")
        return
    for i in range(2):
        with open("%s/f%d.c" % (directory, i), "w", encoding="ascii") as file:
            file.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                       + "".join("int f%d_%d(int x) { return x * %d + printf(\"%%d\", x); }\n" % (i, n, n) for n in range(400)))
    with open(directory + "/Makefile", "w", encoding="ascii") as file:
        file.write("all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\tgcc -O1 -c $< -o $@\n")
    result, stacks = run_folded("make", "-s", "-j2", "-C", directory, variables={"PATH": path_without_ccache()})
    counts = by_comm(stacks)
    tap.ok(result.returncode == 0 and counts.get("cc1", 0) > 50 and counts.get("as", 0) > 5,
           "the programs of a build are sampled", counts, result.stderr)
    tap.ok(set(counts) <= {"make", "gcc", "cc1", "as", "sh", "agent", "collect2", "ld"}, "and no others", counts)


def wait_for(condition):
    end = time.monotonic() + HANG_SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def read_comm(pid):
    with open("/proc/%d/comm" % pid, encoding="utf-8", errors="replace") as file:
        return file.read().strip()


def check_signals(tap, directory):
    folded, mark = directory + "/signals.folded", directory + "/mark"
    command = command_line("sh", "-c", "touch %s; while :; do :; done" % mark, options=["-F", RATE, "-output", folded])
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent) as process:
        started = wait_for(lambda: os.path.exists(mark))
        child = children_of(process.pid)
        wait_for(lambda: any(read_comm(pid) == "sh" and cpu_seconds(pid) > 0.2 for pid in child))
        process.send_signal(signal.SIGTERM)
        log = process.communicate(timeout=HANG_SECONDS)[1]
    with open(folded, encoding="utf-8") as file:
        stacks = parse_folded(file.read())
    tap.ok(started and process.returncode == 128 + 15 and by_comm(stacks).get("sh", 0) > 50,
           "a signal to the agent is the command's, and its profile is written", process.returncode, log)
    os.unlink(mark)
    # The second one ends the agent, whatever the command does.
    command = command_line("sh", "-c", "trap '' TERM; touch %s; exec sleep 600" % mark)
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent) as process:
        started = wait_for(lambda: os.path.exists(mark))
        children = children_of(process.pid)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        still = process.poll() is None
        process.send_signal(signal.SIGINT)
        try:
            process.wait(HANG_SECONDS)
        finally:
            for pid in children:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
    tap.ok(started and still and process.returncode == 1, "a second signal ends the agent, not the command",
           still, process.returncode)


# Not in a shell: dash forgets a signal that comes while it forks.
ENDS_BY_INTERRUPT = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("rea" "dy", flush=True)
time.sleep(600)
"""
TAKES_INTERRUPT = """
import signal, sys, time
taken = []
signal.signal(signal.SIGINT, lambda *_: taken.append(True))
print("rea" "dy", flush=True)
while not taken:
    time.sleep(0.05)
print("awa" "ke", flush=True)
sys.exit(5)
"""


def check_terminal(tap):
    with Terminal(*command_line(PYTHON, "-c", ENDS_BY_INTERRUPT)) as terminal:
        ready = terminal.wait_text("ready")
        terminal.type_line("\x03")
        status = terminal.wait_status()
    tap.ok(ready and status == 128 + 2, "Ctrl-C ends the command, and so the run", status, terminal.text)
    with Terminal(*command_line(PYTHON, "-c", TAKES_INTERRUPT)) as terminal:
        ready = terminal.wait_text("ready")
        terminal.type_line("\x03")
        status = terminal.wait_status()
        terminal.wait_text("of CPU time")
    tap.ok(ready and status == 5 and "awake" in terminal.text,
           "a command that takes Ctrl-C goes on, and the agent with it", status, terminal.text)


def check_privileged(tap):
    """Programs that get privileges of their own by their files, as a plain user's command."""
    for name, arguments, said in (("ping", ["ping", "-c", "1", "127.0.0.1"], "1 received"),
                                  ("sudo", ["sudo", "-n", "-l"], "")):
        if not shutil.which(name):
            tap.skip("%s as a plain user's command" % name, "there is no " + name)
            continue
        alone = subprocess.run(["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", *arguments],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        result = run(*arguments, options=["-run-as", "nobody"])
        tap.ok(result.returncode == alone.returncode and said in result.stdout + result.stderr
               and "effective uid is not 0" not in result.stderr and "no new privileges" not in result.stderr,
               "%s does as a plain user's command what it does without the agent" % name, alone, result)


def check_duration(tap):
    result = run("sh", "-c", "sleep 2; exit 4", options=["-duration", "500ms"])
    tap.ok(result.returncode == 4 and re.search(r"samples? in 0\.[5-9]", result.stderr),
           "-duration ends the sampling, and the status is the command's all the same", result)


def main():
    tap = Tap()
    need_root(tap, "commands")
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if not build_targets.build(["calls"]):
        tap.skip("commands", "a compiler is missing")
        tap.finish()
    check_status(tap)
    with tempfile.TemporaryDirectory(prefix="allframes-command-") as directory:
        os.chmod(directory, 0o777)
        check_not_started(tap, directory)
        check_signals(tap, directory)
    check_heritage(tap)
    check_streams(tap)
    check_samples(tap)
    check_children(tap)
    with tempfile.TemporaryDirectory(prefix="allframes-build-") as directory:
        check_build(tap, directory)
    check_terminal(tap)
    check_privileged(tap)
    check_duration(tap)
    tap.finish()


if __name__ == "__main__":
    main()
