#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 900 s
"""Memory comes back: thousands of processes of hundreds of different programs come and go under a
running agent, and afterwards it has the memory, the map bytes and the descriptors that it had
before them. The agent sends to a collector, so that no output has to keep what was seen. Other
programs of the machine come and go as well: the files that the agent has open tell which, and what
those that are new may take is allowed for.
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
WARM_UP = 2 * PROGRAMS
PROCESSES = 20000 if IS_LONG else 2000
AT_ONCE = 4
# The grace of processes, the time that rows stay, and that of traces in the cache (twice).
REST_SECONDS = 75
ALLOWED_PERCENT = 5
MORE_LOOKS = 8
LOOK_SECONDS = 15
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


class Usage:
    """What the agent uses at the moment; map bytes and tables as its log told last."""

    def __init__(self, agent, directory):
        with open("/proc/%d/status" % agent.pid, encoding="ascii") as file:
            self.anonymous_kib = int(re.search(r"^RssAnon:\s+(\d+) kB$", file.read(), re.M)[1])
        told = re.findall(r"tables of (\d+) processes and (\d+) executables in (\d+) bytes",
                          agent.log_text())
        self.processes, self.executables, self.map_bytes = map(int, told[-1])
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
        self.records_are_gone = len(after.own) <= len(before.own) + PROGRAMS // 20

    def is_good(self):
        return self.memory_is_back and self.maps_are_back and self.records_are_gone


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
            time.sleep(REST_SECONDS)
            if agent.process.poll() is not None:
                raise RuntimeError("the agent ended: " + agent.log_text()[-4000:])
            before = Usage(agent, directory)
            begin = time.monotonic()
            run_programs(paths, PROCESSES)
            tap.note("%d processes of %d programs in %.0f s"
                     % (PROCESSES, PROGRAMS, time.monotonic() - begin))
            busy = Usage(agent, directory)
            time.sleep(REST_SECONDS)
            after = Usage(agent, directory)
            # Files that are gone may have left what the next looks find gone, too.
            for _ in range(MORE_LOOKS):
                if Comparison(before, after).is_good():
                    break
                time.sleep(LOOK_SECONDS)
                after = Usage(agent, directory)
            result = agent.stop()
    for name, usage in ("before", before), ("right after", busy), ("after", after):
        tap.note("%-12s%s" % (name, usage))
    loaded = result.metrics["executables_loaded"]
    tap.ok(result.status == 0, "the agent ended well", result.log[-2000:])
    tap.ok(loaded >= 2 * PROGRAMS,
           "rows went when nobody ran a program, and came back when somebody did",
           "%d tables of executables were loaded" % loaded)
    compared = Comparison(before, after)
    tap.ok(compared.memory_is_back, "the agent's memory is what it was before the processes",
           compared.text)
    tap.ok(compared.maps_are_back, "the bytes in maps are what they were before the processes",
           compared.text)
    tap.ok(compared.records_are_gone, "records and descriptors of their files are gone",
           compared.text)
    tap.finish()


if __name__ == "__main__":
    main()
