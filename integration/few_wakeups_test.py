#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it counts what the agent does, which does more when others start programs
"""What other programs do hardly wakes the agent: they name their threads, start threads, processes and programs, and map
code, thousands of times, and the agent's threads wait on, read no maps and make few system calls meanwhile. Nor does the
kernel write more for the agent than it must: records of mapped code, with which come short ones of each new and ended thread, events of
programs, and nothing of names. Of programs that end without a sample the agent opens nothing. Speed is bench's business; wake-ups,
reads, records and opens can be counted on any machine.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Agent, Tap, need_root
from metrics_test import get, parse

RATE = 19
# The threads that hear of processes. They may wake up so often in a second by themselves, all together: the rings are
# read every 4 ms while files are mapped over others.
THREADS = ("ring", "sync", "work")
OWN_WAKEUPS = 350

PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *end(void *argument) { return argument; }

int main(int argc, char **argv)
{
	const char *what = argv[1];
	int count = atoi(argv[2]);
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *arguments[] = { "true", NULL };

	for (int i = 0; i < count; i++) {
		char name[16];
		pthread_t thread;
		pid_t pid = 0;

		if (!strcmp(what, "name")) {
			snprintf(name, sizeof(name), "name %d", i);
			prctl(PR_SET_NAME, name);
		} else if (!strcmp(what, "map")) {
			char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			munmap(code, 4096);
		} else if (!strcmp(what, "protect")) {
			mprotect(page, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_EXEC);
		} else if (!strcmp(what, "thread")) {
			if (pthread_create(&thread, NULL, end, NULL))
				return 1;
			pthread_join(thread, NULL);
		} else if (!strcmp(what, "fork")) {
			pid = fork();
			if (!pid)
				_exit(0);
		} else if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ)) {
			return 1;
		}
		if (pid)
			waitpid(pid, NULL, 0);
	}
	return 0;
}
"""

# How many of each, and how many wake-ups one of them may bring in the mean. A record or process event that wakes the agent by
# itself brings one or more. Then the records that perf writes for one of them, their bytes, and its process events: a thread, of a
# fork too, begins and ends in 40 bytes each; a program maps code of itself, its loader, a library and the kernel's page.
Work = collections.namedtuple("Work", "name count wakeups records record_bytes events")
WORKS = (Work("name", 20000, 0.002, 0, 0, 0), Work("map", 20000, 0.05, 1, 88, 0), Work("protect", 20000, 0.05, 0.5, 44, 0),
         Work("thread", 5000, 0.02, 2, 80, 0), Work("fork", 1500, 0.1, 2, 80, 0), Work("spawn", 600, 0.2, 6, 600, 2))
# Room for the records and events of other programs, for each work and for each second. It hides no record more of each work.
OTHERS = {"side_band_records": (0.3, 200), "side_band_read_bytes": (30, 25000), "process_events_received": (0.1, 50)}
# Files that the agent opens for each program without a sample, and for others in a second: a few samples, and what runs in /proc.
OPENS_EACH, OWN_OPENS = 0.02, 100
# Until the agent has read the rings.
READ_SECONDS = 0.3


def counts(pid):
    """How often each of the agent's threads has waited, and its calls of read."""
    found = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        folder = "/proc/%d/task/%s/" % (pid, tid)
        try:
            with open(folder + "comm", encoding="utf-8") as file:
                name = file.read().strip()
            with open(folder + "status", encoding="utf-8") as file:
                waits = int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", file.read(), re.M)[1])
            with open(folder + "io", encoding="ascii") as file:
                found[name] = (waits, int(re.search(r"^syscr: (\d+)", file.read(), re.M)[1]))
        except OSError:
            pass
    return found


def written(agent):
    """What the kernel has written for the agent: {metric: value}."""
    values, _ = parse(get(agent, "/metrics")[2])
    return {name: values["allframes_%s_total" % name, None] for name in (*OTHERS, "side_band_lost")}


def check_written(tap, work, seconds, news):
    """Compares what the kernel wrote for the agent with what @work makes. What was lost had no room."""
    made = dict(zip(OTHERS, (work.records, work.record_bytes, work.events)))
    for name, (for_each, for_second) in OTHERS.items():
        most = (made[name] + for_each) * work.count + for_second * (seconds + READ_SECONDS)
        least = 0 if news["side_band_lost"] else 0.5 * made[name] * work.count
        tap.ok(least <= news[name] <= most, "%s, %d: %d %s, %d to %d are right" % (
            work.name, work.count, news[name], name.replace("_", " "), least, most), news)


def check_opens(tap, directory, program):
    """Counts the files that the agent and its processes open while programs start and end."""
    trace, count = os.path.join(directory, "trace"), 600

    def opens():
        with open(trace, encoding="utf-8") as file:
            return [line for line in file if re.search(r" open(at2?)?\(", line)]

    with Agent("-samples-per-second", 1,
               prefix=["strace", "-D", "-f", "-qq", "-e", "trace=open,openat,openat2", "-o", trace]) as agent:
        agent.wait_started()
        subprocess.run([program, "spawn", str(count // 4)], check=True)
        time.sleep(1)
        before, begin = len(opens()), time.monotonic()
        subprocess.run([program, "spawn", str(count)], check=True)
        time.sleep(READ_SECONDS)
        seconds = time.monotonic() - begin
        new = opens()[before:]
        agent.stop()
    allowed = OPENS_EACH * count + OWN_OPENS * (seconds + READ_SECONDS)
    tap.ok(before and len(new) <= allowed, "%d programs in %.2f s: %d files are opened, %d are allowed" % (count, seconds, len(new), allowed),
           "".join(new[:40]))


def main():
    tap = Tap()
    need_root(tap, "the agent's wake-ups")
    with tempfile.TemporaryDirectory(prefix="allframes-wakeups-") as directory:
        source = os.path.join(directory, "works.c")
        program = os.path.join(directory, "works")
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-O1", "-pthread", "-o", program, source], check=True)
        with Agent("-samples-per-second", RATE, "-metrics", "127.0.0.1:0") as agent:
            agent.wait_started()
            # The agent reads what is new of the machine and of the program before that.
            for work in WORKS:
                subprocess.run([program, work.name, str(work.count // 4)], check=True)
            time.sleep(1)
            for work in WORKS:
                old, before, begin = written(agent), counts(agent.pid), time.monotonic()
                subprocess.run([program, work.name, str(work.count)], check=True)
                seconds = time.monotonic() - begin
                after = counts(agent.pid)
                allowed = OWN_WAKEUPS * (seconds + 0.2) + work.wakeups * work.count
                for i, what_counts in ((0, "wake-ups"), (1, "calls of read")):
                    news = {name: after[name][i] - before[name][i] for name in THREADS}
                    tap.ok(sum(news.values()) <= allowed, "%s, %d in %.2f s: %d %s, %d are allowed" % (
                        work.name, work.count, seconds, sum(news.values()), what_counts, allowed), news)
                time.sleep(READ_SECONDS)
                new = written(agent)
                check_written(tap, work, seconds, {name: new[name] - old[name] for name in new})
            agent.stop()
        check_opens(tap, directory, program)
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
