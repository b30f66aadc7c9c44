# SPDX-License-Identifier: Apache-2.0
"""What the agent itself costs: CPU time, memory, time to start."""
import collections
import contextlib
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from tools import ROOT, bench_cpu, path, start_alone, undisturbed
import harness
from process_states import children

RATE = 9973
SECONDS = 8
CHURN_RATE = 200
PROCESSES = 300
LIBRARIES = 400

SampleCost = collections.namedtuple("SampleCost", "user_us total_us hit_percent")
StartFigures = collections.namedtuple("StartFigures",
                                      "seconds files eh_frame_mb rss_anon_mb map_mb")
CacheGain = collections.namedtuple("CacheGain",
                                   "files read_seconds made_seconds kept_seconds")
MixFigures = collections.namedtuple(
    "MixFigures", "hit_percent conversions_per_sample before_known_percent")


def user_and_system(pid):
    """CPU time in seconds of a process and of those that it has started: the agent's read memory and files for it."""
    user = total = 0
    for one in [pid, *children(pid)]:
        # One that has just ended counts nothing.
        with contextlib.suppress(OSError):
            own_user, own_total = _own_user_and_system(one)
            user, total = user + own_user, total + own_total
    return user, total


def _own_user_and_system(pid):
    """/proc/PID/stat has hundredths, schedstat of the threads all of it."""
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="surrogateescape") as file:
        fields = file.read().rpartition(")")[2].split()
    user, system = int(fields[11]), int(fields[12])
    total = 0
    for name in glob.glob("/proc/%d/task/*/schedstat" % pid):
        with open(name, encoding="ascii") as file:
            total += int(file.read().split()[0])
    # The kernel scales both to the exact sum when it shows them.
    share = user / (user + system) if user + system else 0
    return total / 1e9 * share, total / 1e9


class _Cost(collections.namedtuple("_Cost", "user total ran")):
    """CPU seconds of the agent, and of the program that causes them."""


def _cost_of(agent, program, seconds):
    """What @program costs the agent in that time: the same time with the program stopped is taken
    off, since the agent looks after all other programs as well.
    """
    costs = []
    for number in (signal.SIGSTOP, signal.SIGCONT):
        program.process.send_signal(number)
        time.sleep(0.2)
        before, ran_before = user_and_system(agent.pid), user_and_system(program.pid)[1]
        time.sleep(seconds)
        after, ran_after = user_and_system(agent.pid), user_and_system(program.pid)[1]
        costs.append(_Cost(after[0] - before[0], after[1] - before[1], ran_after - ran_before))
    without, with_program = costs
    return _Cost(with_program.user - without.user, with_program.total - without.total,
                 with_program.ran)


def cpu_per_sample(command):
    """CPU time of the agent per sample of @command, at a high rate on one CPU."""
    with start_alone(command) as program:
        with harness.Agent("-pid", program.pid, "-cpus", bench_cpu(), "-samples-per-second", RATE,
                           "-log-level", "debug") as agent:
            agent.wait_started()
            with undisturbed(program):
                cost = _cost_of(agent, program, SECONDS)
            metrics = agent.stop().metrics
    samples = RATE * cost.ran
    hits = metrics["trace_cache_hits"]
    return SampleCost(cost.user / samples * 1e6, cost.total / samples * 1e6,
                      100 * hits / max(1, hits + metrics["traces_converted"]))


def cpu_per_event(command):
    """CPU seconds of the agent per exec or mapping of churn, while it samples at 19 Hz."""
    with start_alone(command) as program:
        with harness.Agent() as agent:
            agent.wait_started()
            return _cost_of(agent, program, SECONDS).total / (SECONDS * CHURN_RATE)


def eh_frame_figures():
    """(MB/s, bytes per row, file name) for large files of this machine."""
    figures = []
    files = (sorted(glob.glob("/usr/lib/x86_64-linux-gnu/libLLVM*.so*"))[:1]
             + sorted(glob.glob("/lib/x86_64-linux-gnu/libc.so.6"))
             + sorted(glob.glob("/usr/lib/gcc/x86_64-linux-gnu/*/cc1"))[:1])
    for name in files:
        text = subprocess.run([os.path.join(ROOT, "build", "stack_deltas"), "-bench", name],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        speed = re.search(r"([\d.]+) MB/s", text)
        row_bytes = re.search(r"([\d.]+) bytes per row", text)
        figures.append((float(speed[1]), float(row_bytes[1]), os.path.basename(name)))
    return figures


def cache_gain():
    """What the disk cache saves over all ELF files below /usr."""
    text = subprocess.run([os.path.join(ROOT, "build", "stack_deltas"), "-cache", "/usr"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False).stdout
    counts = re.search(r"total: (\d+) files, \d+ rows, ([\d.]+) s .* tables, ([\d.]+) s .* rows, "
                       r"([\d.]+) s ", text)
    return CacheGain(int(counts[1]), *map(float, counts.groups()[1:]))


def mix_figures():
    """The busy mix of the live tests, at 99 Hz."""
    import busy_mix_test
    with tempfile.TemporaryDirectory(prefix="allframes-mix-") as directory:
        with busy_mix_test.Mix(directory):
            result = harness.run_agent("-samples-per-second", 99, "-duration", "20s",
                                       "-log-level", "debug")
    metrics = result.metrics
    hits, converted = metrics["trace_cache_hits"], metrics["traces_converted"]
    samples = max(1, metrics["bpf_samples"])
    return MixFigures(100 * hits / max(1, hits + converted), converted / samples,
                      100 * metrics["bpf_first"] / samples)


def _libraries():
    """Shared objects of this machine, the same ones at each run."""
    names = {os.path.realpath(name) for name in
             glob.glob("/usr/lib/x86_64-linux-gnu/*.so*") + glob.glob("/usr/bin/*")
             if not os.path.isdir(name)}
    found = []
    for name in sorted(names):
        with open(name, "rb") as file:
            header = file.read(20)
        if header[:6] == b"\x7fELF\x02\x01" and header[18:20] == b"\x3e\x00":
            found.append(name)
        if len(found) == LIBRARIES:
            break
    return found


def _eh_frame_mb(files):
    total = 0
    for name in files:
        text = subprocess.run(["readelf", "-SW", name], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False).stdout
        match = re.search(r"\.eh_frame +\S+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+)", text)
        total += int(match[1], 16) if match else 0
    return total / 1e6


def _map_bytes(before):
    """Memory of all BPF maps that were not there @before."""
    return sum(one.get("bytes_memlock", 0) for one in harness.list_bpf("map")
               if one["type"] != "prog_array" and ("map", one["id"]) not in before)


def _start(options, files, eh_frame_mb):
    before = harness.bpf_objects()
    begin = time.monotonic()
    with harness.Agent("-log-level", "debug", *options) as agent:
        if not agent.wait_started(60):
            raise RuntimeError(agent.log_text())
        seconds = time.monotonic() - begin
        loaded = _wait_loaded(agent, begin)
        time.sleep(1)
        with open("/proc/%d/status" % agent.pid, encoding="ascii", errors="replace") as file:
            rss = int(re.search(r"RssAnon:\s+(\d+)", file.read())[1]) / 1024
        map_mb = _map_bytes(before) / 1e6
        agent.stop()
    return StartFigures(max(seconds, loaded), len(files), eh_frame_mb, rss, map_mb)


def _wait_loaded(agent, begin):
    """Seconds until the agent has been idle, in case it gave up waiting before all was loaded."""
    last = begin
    used = user_and_system(agent.pid)[1]
    while time.monotonic() - last < 1:
        time.sleep(0.1)
        now = user_and_system(agent.pid)[1]
        if now - used > 0.05:
            last = time.monotonic()
        used = now
    return last - begin


@contextlib.contextmanager
def many_processes():
    """300 processes that map 400 files, which are read: their names."""
    files = _libraries()
    programs = []
    try:
        for i in range(PROCESSES):
            # 25 libraries each, every one in some processes.
            some = [files[(i * 7 + j * 13) % len(files)] for j in range(25)]
            programs.append(harness.Program(path("map_files"), *some))
        for name in files:
            with open(name, "rb") as file:
                while file.read(1 << 20):
                    pass
        yield files
    finally:
        for program in programs:
            program.__exit__()


def start_figures():
    """Cold and with the disk cache, with 300 processes that map 400 files."""
    with many_processes() as files, tempfile.TemporaryDirectory(prefix="allframes-cache-") as directory:
        eh_frame_mb = _eh_frame_mb(files)
        cache = os.path.join(directory, "cache")
        cold = _start(["-cache-dir", cache], files, eh_frame_mb)
        warm = _start(["-cache-dir", cache], files, eh_frame_mb)
    return cold, warm


if __name__ == "__main__":
    sys.exit("run bench/run.py")
