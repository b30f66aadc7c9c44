#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# apart: agents of other tests would warn of the files that do not answer
"""Programs whose files lie on a FUSE file system: while it answers, their stacks are whole and have names, and the agent
itself has none of the files open. When it takes requests and does not answer any more, other programs are sampled
and named as before, no thread of the agent hangs, and it ends when it is told to, by SIGTERM and by SIGKILL, leaving nothing
behind but what the file system keeps.
"""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import HANG_SECONDS, Agent, Program, Tap, need_root
from process_states import children, state, stuck_threads, wait_for
from sampled import is_alive, paced, run_for, stopped

RATE = 197
CPU_SECONDS = 1
# At least this part of the samples must have names.
NAMED_PART = 0.9
STOP_SECONDS = 5
KILL_SECONDS = 1
OPTIONS = ("-samples-per-second", RATE)
FUNCTION = "made_at_run_time"
CODE_COMM = "fuse_run_time"


class Served:
    """A mounted file system with a program, and a perf map that is every process's, and the two programs
    that run there.
    """

    def __init__(self, directory, elsewhere):
        """@elsewhere: a directory that is not below /tmp, over which the file system is mounted for one of them."""
        self.folder = os.path.join(directory, "mounted")
        self.source = os.path.join(directory, "source")
        os.mkdir(self.folder)
        os.mkdir(self.source)
        shutil.copy(TARGETS["calls"].path, os.path.join(self.source, "fuse_calls"))
        self.code_path = os.path.join(elsewhere, CODE_COMM)
        subprocess.run([*build_targets.C, "-o", self.code_path,
                        os.path.join(build_targets.SOURCES, "run_time_code.c")], check=True)

    @contextlib.contextmanager
    def running(self):
        try:
            with Program(TARGETS["hanging_file"].path, self.folder, 0, self.source) as self.server, \
                    Program(os.path.join(self.folder, "fuse_calls")) as self.calls, \
                    Program("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /tmp; exec "$1" quiet',
                            self.folder, self.code_path) as self.code:
                self.write_perf_map()
                try:
                    yield self
                finally:
                    self.server.process.kill()
        finally:
            subprocess.run(["umount", "--lazy", "--quiet", self.folder], check=False)

    def write_perf_map(self):
        with open("/proc/%d/maps" % self.code.pid, encoding="utf-8", errors="replace") as file:
            start = re.search(r"^([0-9a-f]+)-\S+ rwxp \S+ 00:00 0\s*$", file.read(), re.M)[1]
        with open(os.path.join(self.source, "perf.map"), "w", encoding="ascii") as file:
            file.write("%s 1000 %s\n" % (start, FUNCTION))

    def pids(self):
        return [self.calls.pid, self.code.pid]


def need_fuse(tap, directory):
    """Ends the script as skipped where no such file system can be had."""
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        try:
            with Program(TARGETS["hanging_file"].path, folder, 0, directory):
                pass
        except RuntimeError:
            tap.skip("files that never answer", "FUSE cannot be mounted")
            tap.finish()
        finally:
            subprocess.run(["umount", "--lazy", "--quiet", folder], check=False)


def options(pids):
    return (*OPTIONS, "-pid", ",".join(map(str, pids)))


def part_named(stacks, comm, *names):
    of_comm = {stack: count for stack, count in stacks.items() if stack.comm == comm}
    named = sum(count for stack, count in of_comm.items() if all(name in stack.frames for name in names))
    return named / max(1, sum(of_comm.values()))


def open_below(pid, folder):
    """The files that a process has open below @folder."""
    found = []
    for path in glob.glob("/proc/%d/fd/*" % pid):
        with contextlib.suppress(OSError):
            target = os.readlink(path)
            if target.startswith(folder + "/"):
                found.append(target)
    return found


def check_answering(tap, served):
    with stopped(served.pids()), Agent(*options(served.pids())) as agent:
        started = agent.wait_started()
        run_for(served.pids(), CPU_SECONDS)
        opened = open_below(agent.pid, served.folder)
        hosts = children(agent.pid)
        held = [path for pid in hosts for path in open_below(pid, served.folder)]
        result = agent.stop(signal.SIGTERM)
        stacks = result.stacks
    tap.ok(started and result.status == 0 and not opened and held,
           "files on FUSE are open in another process, and not in the agent", opened, held, result.log)
    tap.ok(part_named(stacks, "fuse_calls", "main", "outer") > NAMED_PART,
           "stacks of a program on FUSE are whole and have names", *stacks.most_common(9), result.log)
    tap.ok(part_named(stacks, CODE_COMM, FUNCTION + "_[j]") > NAMED_PART,
           "names of code made at run time come from a perf map on FUSE", *stacks.most_common(9), result.log)
    tap.ok(wait_for(lambda: not any(map(is_alive, hosts))), "the other process ends with the agent", hosts)


def hangs(agent, count):
    return wait_for(lambda: len(re.findall(r"^warn: process \d+: a file of it does not answer", agent.log_text(),
                                           re.M)) >= count)


def check_hanging(tap, served):
    served.server.process.send_signal(signal.SIGUSR1)
    with Program(TARGETS["calls"].path) as native, stopped([native.pid]), paced(served.pids()), \
            Agent(*options([*served.pids(), native.pid])) as agent:
        # The program and the perf map: each costs one process.
        noticed = agent.wait_started() and hangs(agent, 2)
        tap.ok(noticed, "files that do not answer are noticed", agent.log_text())
        run_for([native.pid], CPU_SECONDS)
        tap.ok(not stuck_threads(agent.pid), "no thread of the agent hangs", stuck_threads(agent.pid))
        hosts = children(agent.pid)
        result = agent.stop(signal.SIGTERM)
        stacks = result.stacks
    tap.ok(result.status == 0 and result.stop_seconds < STOP_SECONDS, "SIGTERM ends the agent", result.status,
           result.stop_seconds, result.log)
    wait_for(lambda: all(state(pid) in ("gone", "D") for pid in hosts))
    left = {pid: state(pid) for pid in hosts if state(pid) != "gone"}
    tap.ok(1 <= len(left) <= 2 and set(left.values()) == {"D"},
           "nothing is left behind but what the file system keeps", left, hosts)
    tap.ok(part_named(stacks, "calls", "main", "outer") > NAMED_PART, "another program is sampled and named",
           *stacks.most_common(9))
    return hosts


def check_kill(tap, served):
    with paced(served.pids()), Agent(*options(served.pids())) as agent:
        def stuck():
            return {pid for pid in children(agent.pid) if state(pid) == "D"}

        # A process may be in that state for a moment in any case.
        noticed = agent.wait_started() and wait_for(lambda: stuck() and not time.sleep(0.2) and stuck())
        hosts = children(agent.pid)
        agent.process.kill()
        start = time.monotonic()
        status = agent.process.wait(HANG_SECONDS)
        seconds = time.monotonic() - start
        tap.ok(noticed and status == -signal.SIGKILL and seconds < KILL_SECONDS,
               "SIGKILL ends the agent at once, while a file does not answer", status, seconds, agent.log_text())
    return hosts


def main():
    tap = Tap()
    need_root(tap, "files that never answer")
    build_targets.build(["calls", "hanging_file"])
    with tempfile.TemporaryDirectory(prefix="allframes-hanging-files-") as directory, \
            tempfile.TemporaryDirectory(prefix="allframes-hanging-files-", dir="/var/tmp") as elsewhere:
        need_fuse(tap, directory)
        served = Served(directory, elsewhere)
        with served.running():
            check_answering(tap, served)
            hosts = check_hanging(tap, served)
            hosts += check_kill(tap, served)
        tap.ok(wait_for(lambda: all(state(pid) == "gone" for pid in hosts)), "all is gone when the server is", hosts)
    tap.finish()


if __name__ == "__main__":
    main()
