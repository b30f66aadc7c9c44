#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# apart: the memory of the agent grows with the files of all that runs
# time limit: 900 s
"""Memory comes back: thousands of processes of hundreds of different programs come and go under a
running agent, and afterwards it has the memory, the map bytes and the descriptors that it had
before them. The agent sends to a collector, so that no output has to keep what was seen. Other
programs of the machine come and go as well: the files that the agent has open show which, and what
those that are new may take is allowed for.

The short tier compares two moments at which the agent has forgotten the processes and still has the
rows of their programs. The long tier waits until the rows are gone, too, which takes the agent more
than a minute. executable_cache_test.c and sync_loop_test.c look at that with a clock of their own.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import IS_LONG, Agent, Tap, need_root
from otlp_collector import Collector

PROGRAMS = 500 if IS_LONG else 100
PROCESSES = 20000 if IS_LONG else 2000
# The short tier compares busy moments, so the caches of the first one have to be filled.
WARM_UP = 2 * PROGRAMS if IS_LONG else 2 * PROCESSES
AT_ONCE = 4
ALLOWED_PERCENT = 5
# The agent may still have so many of the processes and programs when they count as gone.
LEFT_PROCESSES = PROCESSES // 10
LEFT_PROGRAMS = PROGRAMS // 20
# An agent that has not forgotten by then never does.
WAIT_SECONDS = 300
MARK = b"mark of this program: 00000000"

# Functions that call each other, their number and frame sizes being the program's own.
SOURCE = """
static volatile unsigned long sink;
static const char mark[] = "%s";
%s
int main(void)
{
	for (int i = 0; i < 20000; i++)
		f0(i);
	return sink == mark[i_zero];
}
"""
FUNCTION = """
__attribute__((noinline)) static void f%d(unsigned long x)
{
	volatile unsigned long room[%d];

	room[x %% %d] = x;
	%s
	sink += room[x %% %d];
}
"""


def source_of(kind):
    count = 3 + kind
    functions = ["static volatile int i_zero;"]
    for number in reversed(range(count)):
        room = 1 + (kind * 7 + number * 3) % 40
        call = "f%d(x + 1);" % (number + 1) if number + 1 < count else ""
        functions.append(FUNCTION % (number, room, room, call, room))
    return SOURCE % (MARK.decode(), "\n".join(functions))


def make_programs(directory):
    """Paths of PROGRAMS different ELF files: 20 that are compiled, the rest marked copies."""
    kinds = []
    for kind in range(20):
        path = os.path.join(directory, "kind%d" % kind)
        command = ["gcc", "-O1", "-x", "c", "-", "-o", path]
        command += ["-static"] if kind % 4 == 0 else []
        subprocess.run(command, input=source_of(kind).encode(), check=True)
        with open(path, "rb") as file:
            kinds.append(file.read())
    paths = []
    for number in range(PROGRAMS):
        path = os.path.join(directory, "p%d" % number)
        with open(path, "wb") as file:
            file.write(kinds[number % len(kinds)].replace(MARK, MARK[:-8] + b"%08d" % number))
        os.chmod(path, 0o755)
        paths.append(path)
    return paths


def run_programs(paths, count):
    running = set()
    for number in range(count):
        path = paths[number % len(paths)]
        running.add(os.posix_spawn(path, [path], {}))
        while len(running) >= AT_ONCE:
            running.discard(os.wait()[0])
    for pid in running:
        os.waitpid(pid, 0)


# The agent writes a line like this every 10 s.
TABLES = re.compile(r"tables of (\d+) processes and (\d+) executables in (\d+) bytes")


class Usage:
    """What the agent uses at the moment; map bytes and tables are from the last line of its log."""

    def __init__(self, agent, directory):
        with open("/proc/%d/status" % agent.pid, encoding="ascii") as file:
            self.anonymous_kib = int(re.search(r"^RssAnon:\s+(\d+) kB$", file.read(), re.M)[1])
        lines = TABLES.findall(agent.log_text())
        self.processes, self.executables, self.map_bytes = map(int, lines[-1])
        # The agent holds a descriptor of every executable that it knows.
        self.own, self.others = set(), {}
        folder = "/proc/%d/fd" % agent.pid
        for number in os.listdir(folder):
            path = os.path.join(folder, number)
            try:
                target, size = os.readlink(path), os.stat(path).st_size
            except FileNotFoundError:
                continue
            if target.startswith(directory):
                self.own.add(target)
            elif target.startswith("/") and not target.startswith("/dev/"):
                self.others[target] = size

    def __str__(self):
        return ("RssAnon %d KiB, %d map bytes, %d processes, %d executables, %d of the test's"
                % (self.anonymous_kib, self.map_bytes, self.processes, self.executables,
                   len(self.own)))


class Comparison:
    """Two usages, the second with what other programs brought: tables are smaller than files."""

    def __init__(self, before, after):
        new = {path: size for path, size in after.others.items() if path not in before.others}
        more = sum(new.values())
        self.text = "before: %s\nafter: %s\nnew files of others: %s" % (before, after, new)
        self.memory_is_back = is_near(after.anonymous_kib, before.anonymous_kib + more / 1024)
        self.maps_are_back = is_near(after.map_bytes, before.map_bytes + more)
        self.records_are_gone = len(after.own) <= len(before.own) + LEFT_PROGRAMS

    def is_good(self):
        return self.memory_is_back and self.maps_are_back and self.records_are_gone


def has_forgotten(usage):
    """True if the agent has forgotten the test's processes; in the long tier their programs, too."""
    running = sum(name.isdigit() for name in os.listdir("/proc"))
    return (usage.processes <= running + LEFT_PROCESSES
            and (len(usage.own) <= LEFT_PROGRAMS or not IS_LONG))


def wait_usage(agent, directory, is_wanted):
    """The agent's usage by a line of its log from now on, as soon as @is_wanted(usage) is true, or else
    the last one before it is too late.
    """
    old_lines = len(TABLES.findall(agent.log_text()))
    end = time.monotonic() + WAIT_SECONDS
    while True:
        time.sleep(0.5)
        if agent.process.poll() is not None:
            raise RuntimeError("the agent ended: " + agent.log_text()[-4000:])
        usage = Usage(agent, directory)
        is_settled = len(TABLES.findall(agent.log_text())) > old_lines and is_wanted(usage)
        if is_settled or time.monotonic() > end:
            return usage


def is_near(after, before):
    return after <= before * (100 + ALLOWED_PERCENT) / 100


def main():
    tap = Tap()
    need_root(tap, "many processes")
    with tempfile.TemporaryDirectory(prefix="allframes-many-", dir="/var/tmp") as directory, \
            Collector() as collector:
        paths = make_programs(directory)
        # Files that have just changed are not shared between processes.
        time.sleep(0.2)
        with Agent("-samples-per-second", 99, "-log-level", "debug", "-disable-tls",
                   "-collection-agent", collector.address, outputs=[]) as agent:
            if not agent.wait_started():
                raise RuntimeError("the agent did not start: " + agent.log_text())
            run_programs(paths, WARM_UP)
            before = wait_usage(agent, directory, has_forgotten)
            begin = time.monotonic()
            run_programs(paths, PROCESSES)
            tap.note("%d processes of %d programs in %.0f s"
                     % (PROCESSES, PROGRAMS, time.monotonic() - begin))
            busy = Usage(agent, directory)
            after = wait_usage(agent, directory, lambda usage: has_forgotten(usage)
                               and Comparison(before, usage).is_good())
            result = agent.stop()
    for name, usage in ("before", before), ("right after", busy), ("after", after):
        tap.note("%-12s%s" % (name, usage))
    tap.ok(result.status == 0, "the agent ended well", result.log[-2000:])
    tap.ok(has_forgotten(after), "the processes are forgotten" + " and their programs" * IS_LONG,
           after)
    if IS_LONG:
        loaded = result.metrics["executables_loaded"]
        tap.ok(loaded >= 2 * PROGRAMS,
               "rows went when nobody ran a program, and came back when somebody did",
               "%d tables of executables were loaded" % loaded)
    compared = Comparison(before, after)
    tap.note(compared.text)
    tap.ok(compared.memory_is_back, "the agent's memory is what it was before the processes",
           compared.text)
    tap.ok(compared.maps_are_back, "the bytes in maps are what they were before the processes",
           compared.text)
    tap.ok(compared.records_are_gone, "records and descriptors of their files are gone",
           compared.text)
    tap.finish()


if __name__ == "__main__":
    main()
