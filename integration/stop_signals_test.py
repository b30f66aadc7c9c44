#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every signal that asks the agent to stop leaves complete outputs and the summary: a closed terminal
does, alone and below a shell, and the terminal that is gone does not keep the outputs from being
written. A hangup that nohup ignores stays ignored; a second SIGINT or SIGTERM ends the agent at once.
"""
import errno
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

from harness import (AGENT, HANG_SECONDS, START_LINE, Agent, Program, Tap, cpu_seconds,
                     die_with_parent, need_root, parse_folded)

RATE = 997
# CPU time of the target, for some samples.
CPU_SECONDS = 0.1
# Busy for a third of the time.
TARGET = """import time
print("ready", flush=True)
while True:
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        pass
    time.sleep(0.02)
"""
SUMMARY = re.compile(r"^info: (no|\d+) samples? \(", re.M)


def wait_until(condition):
    """Waits for @condition(); False if it does not come."""
    end = time.monotonic() + HANG_SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def wait_sampled(target, seconds=CPU_SECONDS):
    """Waits until @target has used that much CPU time more."""
    start = cpu_seconds(target.pid)
    return wait_until(lambda: cpu_seconds(target.pid) - start >= seconds)


def options_of(target):
    return ["-pid", str(target.pid), "-samples-per-second", str(RATE)]


def samples_in(path, target):
    """How many samples of @target the folded file has; 0 if there is no file."""
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        stacks = parse_folded(file.read())
    return sum(count for stack, count in stacks.items() if stack.comm == target.comm)


class Terminal:
    """A program that has a terminal of its own, which close() takes away."""

    def __init__(self, *command):
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            die_with_parent()
            os.execv(command[0], command)
        self.text = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass

    def wait_text(self, pattern):
        end = time.monotonic() + HANG_SECONDS
        while not re.search(pattern, self.text, re.M):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._master], [], [], left)[0]:
                return False
            try:
                self.text += os.read(self._master, 4096).decode(errors="replace")
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                return False
        return True

    def type_line(self, line):
        os.write(self._master, line.encode() + b"\n")

    def close(self):
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def wait_status(self):
        """The exit status, -N after signal N; None if it does not end."""
        found = []

        def is_over():
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                found.append(os.waitstatus_to_exitcode(status))
            return pid
        return found[0] if wait_until(is_over) else None


def check_own_terminal(tap, target, directory):
    """The log and an output go to the terminal that is closed; the other outputs are written."""
    folded, pprof = directory + "/own.folded", directory + "/own.pb.gz"
    with Terminal(AGENT, *options_of(target), "-output", "-", "-output", folded, "-output",
                  pprof) as terminal:
        started = terminal.wait_text(START_LINE.pattern)
        wait_sampled(target)
        terminal.close()
        status = terminal.wait_status()
    count = samples_in(folded, target)
    # The output to the terminal itself is lost, which the status tells.
    tap.ok(started and status == 1 and count and os.path.exists(pprof),
           "when its terminal is closed, the agent writes the files",
           "status %s, %d samples" % (status, count), os.listdir(directory), terminal.text)


def check_shell(tap, target, directory):
    """A shell passes the hangup on, and the kernel sends it too."""
    folded, log, pid_path = (directory + "/shell." + name for name in ("folded", "log", "pid"))

    def read_log():
        if not os.path.exists(log):
            return ""
        with open(log, encoding="utf-8", errors="replace") as file:
            return file.read()

    with Terminal("/bin/bash", "--norc", "--noprofile", "-i") as terminal:
        # -duration ends what is left over if the test is killed.
        terminal.type_line("sh -c 'echo $$ >%s; exec %s %s -duration 120s -output %s' 2>%s"
                           % (pid_path, AGENT, " ".join(options_of(target)), folded, log))
        started = wait_until(lambda: START_LINE.search(read_log()))
        wait_sampled(target)
        terminal.close()
        terminal.wait_status()
    with open(pid_path) as file:
        pid = int(file.read())
    ended = wait_until(lambda: not os.path.exists("/proc/%d" % pid))
    count = samples_in(folded, target)
    tap.ok(started and ended and count and SUMMARY.search(read_log()),
           "when the terminal of its shell is closed, the agent writes its output and the summary",
           "%d samples" % count, read_log())


def check_repeated_hangup(tap, target):
    with Agent(*options_of(target)) as agent:
        started = agent.wait_started(HANG_SECONDS)
        wait_sampled(target)

        def is_over():
            agent.process.send_signal(signal.SIGHUP)
            return agent.process.poll() is not None
        ended = wait_until(is_over)
        result = agent.wait(HANG_SECONDS)
        count = samples_in(agent.folded_path, target)
    tap.ok(started and ended and result.status == 0 and count and SUMMARY.search(result.log),
           "any number of hangups stops the agent once, with its output and the summary",
           "status %s, %d samples" % (result.status, count), result.log)


def check_nohup(tap, target):
    with Agent(*options_of(target), prefix=["nohup"]) as agent:
        started = agent.wait_started(HANG_SECONDS)
        start = cpu_seconds(target.pid)
        agent.process.send_signal(signal.SIGHUP)
        wait_sampled(target, 2 * CPU_SECONDS)
        used = cpu_seconds(target.pid) - start
        is_running = agent.process.poll() is None
        result = agent.stop(signal.SIGTERM, HANG_SECONDS)
        count = samples_in(agent.folded_path, target)
    # All of that time came after the hangup.
    tap.ok(started and is_running and result.status == 0 and count > used * RATE / 2,
           "under nohup a hangup does not stop the agent, and SIGTERM does",
           "status %s, %d samples in %.1f s" % (result.status, count, used), result.log)


def check_ignored_interrupt(tap, target):
    """As a script's background job, which a script stops by SIGINT all the same. SIGUSR1, which the
    agent sends to itself at its end, does nothing if it comes from somebody else.
    """
    with Agent(*options_of(target),
               prefix=["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]) as agent:
        started = agent.wait_started(HANG_SECONDS)
        wait_sampled(target)
        agent.process.send_signal(signal.SIGUSR1)
        try:
            status = agent.stop(signal.SIGINT, HANG_SECONDS).status
        except subprocess.TimeoutExpired:
            status = None
        count = samples_in(agent.folded_path, target)
        log = agent.log_text()
    tap.ok(started and status == 0 and count,
           "SIGINT stops a script's background job, where it was ignored at the start, also after a "
           "SIGUSR1", "status %s" % status, log)


def full_pipe():
    """The two ends of a pipe that takes no byte more."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, bytes(4096))
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    return reader, writer


def check_second_signal(tap, target, directory):
    """A hangup is not counted: what follows it is the first signal, and then the second."""
    numbers = signal.SIGHUP, signal.SIGINT, signal.SIGTERM
    reader, writer = full_pipe()
    log_path = directory + "/second.log"
    with open(log_path, "w+") as log:
        process = subprocess.Popen([AGENT, *options_of(target), "-output", "-"], stdout=writer,
                                   stderr=log, preexec_fn=die_with_parent)
        os.close(writer)
        try:
            def has_started():
                with open(log_path) as file:
                    return START_LINE.search(file.read())
            started = wait_until(has_started)
            wait_sampled(target)
            for number in numbers:
                process.send_signal(number)
            try:
                status = process.wait(HANG_SECONDS)
            except subprocess.TimeoutExpired:
                status = None
        finally:
            process.kill()
            process.wait()
            os.close(reader)
    # Without it, the agent waits for a reader of its output.
    tap.ok(started and status == 1,
           "a second signal ends the agent at once, also behind a hangup", "status %s" % status)


def main():
    tap = Tap()
    need_root(tap, "signals that stop the agent")
    # Whoever runs the tests by nohup hands on a SIGHUP that is ignored.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with Program(sys.executable, "-c", TARGET) as target:
        with open("/proc/%d/comm" % target.pid) as file:
            target.comm = file.read().strip()
        with tempfile.TemporaryDirectory(prefix="allframes-signals-") as directory:
            check_own_terminal(tap, target, directory)
            check_shell(tap, target, directory)
            check_repeated_hangup(tap, target)
            check_nohup(tap, target)
            check_ignored_interrupt(tap, target)
            check_second_signal(tap, target, directory)
    tap.finish()


if __name__ == "__main__":
    main()
