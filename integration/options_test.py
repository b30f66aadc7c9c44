#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line: wrong usage, missing privilege and kernel features, destinations that fail,
signals, two agents at once, selection, probabilistic profiling; each with its exit status and one
line that says what is wrong, and with nothing left loaded.
"""
import contextlib
import hashlib
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import (AGENT, IS_LONG, START_LINE, STOP_SECONDS, Agent, Program, Tap, bpf_objects, bpf_objects_of,
                     bpf_objects_without_owner, cpu_seconds, list_bpf, need_root, online_cpus,
                     parse_folded, run_agent)
from sampled import paced, run_at_most, run_for, stopped, wait_cpu

WRONG_USAGE = [
    ["-no-such-option"],
    ["-samples-per-second"],
    ["-samples-per-second", "0"],
    ["-samples-per-second", "10001"],
    ["-samples-per-second", "many"],
    ["-duration", "5 parsecs"],
    ["-duration", "-1s"],
    ["-pid", "one"],
    ["-pid", "0"],
    ["-comm", "longer-than-any-comm"],
    ["-cgroup", "/nonexistent"],
    ["-cgroup", "/tmp"],
    ["-cpus", "3-1"],
    ["-cpus", "100000"],
    ["-probabilistic-threshold", "0"],
    ["-probabilistic-threshold", "101"],
    ["-probabilistic-interval", "soon"],
    ["-probabilistic-seed", "-3"],
    ["-output", "profile.docx"],
    ["-tags", "no-value"],
    ["-max-map-memory", "1"],
    ["-log-level", "loud"],
    ["-collection-agent", "host:70000"],
    ["-collection-agent", "[::1:4317"],
    ["-collection-agent", "http://host:4317/path"],
    ["-collection-agent", "host", "-tls-ca", "/nonexistent"],
    ["-collection-agent", "host", "-tls-cert", "/etc/passwd"],
    ["-collection-agent", "host", "-header", "no value"],
    ["-collection-agent", "host", "-header", "key=@/nonexistent"],
    ["-collection-agent", "host", "-disable-tls", "-tls-ca", "/etc/passwd"],
    ["-header", "key=value"],
    ["-disable-tls", "-output", "/tmp/never.folded"],
    ["-reporter-interval", "0s"],
    ["-reporter-jitter", "2"],
    ["-resource-grouping", "host"],
    ["-with-cpu=perhaps"],
    ["-viewer", "127.0.0.1:99999"],
    ["-viewer", "0.0.0.0:0"],
    ["-retention", "0s"],
    ["-history-memory", "1M"],
    ["-viewer-token-file", "/dev/null"],
    ["-receive", "4317"],
    ["-receive", "0.0.0.0:0"],
    ["-receive", "127.0.0.1:0", "-receive-tls-cert", "/etc/passwd"],
    ["-receive", "127.0.0.1:0", "-receive-tls-cert", "/etc/passwd", "-receive-tls-key", "/etc/passwd"],
    ["-receive", "127.0.0.1:0", "-receive-token-file", "/dev/null"],
    ["-receive-token-file", "/etc/passwd"],
    ["-doctor", "-receive", "127.0.0.1:0"],
    ["-doctor", "-viewer", "127.0.0.1:0"],
    ["-open", "/nonexistent"],
    ["-doctor=perhaps"],
    ["-tracers", "cobol"],
    ["-with-lines=perhaps"],
    ["-with-goroutine-id=perhaps"],
    ["-accounting=perhaps"],
    ["-energy-file", "/dev/null"],
    ["-doctor", "-accounting"],
    ["-weight", "watts"],
    ["-weight", "runs", "-type", "run-time"],
    ["-open", "/etc/passwd", "-weight", "runs"],
    ["-open", "/etc/passwd", "-accounting"],
    ["stray"],
]

NAMES = """collection-agent disable-tls tls-ca tls-cert tls-key header metrics metrics-token-file metrics-interval reporter-interval
    reporter-jitter resource-grouping with-cpu output viewer viewer-token-file retention history-memory receive receive-tls-cert
    receive-tls-key receive-token-file open doctor pid comm cgroup cpus samples-per-second
    duration probabilistic-threshold probabilistic-interval probabilistic-seed tags tracers
    accounting weight energy-file fold-runtime-frames with-lines with-processes with-goroutine-id max-map-memory cache-dir log-level version
    help""".split()


def is_one_line(text):
    return text.endswith("\n") and text.count("\n") == 1


def expect_failure(tap, name, result, status):
    tap.ok(result.status == status and is_one_line(result.log), name,
           "status %s, wanted %d; log:" % (result.status, status), result.log)


def check_usage(tap):
    wrong = []
    for arguments in WRONG_USAGE:
        result = run_agent(*arguments, outputs=[])
        if result.status != 2 or not is_one_line(result.log):
            wrong.append("%s: status %s, %r" % (arguments, result.status, result.log))
    tap.ok(not wrong, "each wrong option ends with status 2 and one line", *wrong)
    result = run_agent(outputs=[], environment={"ALLFRAMES_SAMPLES_PER_SECOND": "0"}, seconds=10)
    expect_failure(tap, "a wrong value in the environment is refused", result, 2)
    result = run_agent("-help", outputs=[])
    missing = [name for name in NAMES if "-" + name not in result.output]
    tap.ok(result.status == 0 and not missing, "-help tells every option", *missing)
    result = run_agent("--version", outputs=[])
    tap.ok(result.status == 0 and is_one_line(result.output), "--version prints one line",
           result.output)


def check_privilege(tap):
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        agent = os.path.join(directory, "agent")
        shutil.copy(AGENT, agent)
        os.chmod(agent, 0o755)
        name = "without privilege the status is 3"
        if not shutil.which("setpriv"):
            tap.skip(name, "no setpriv")
            return
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
                  "--bounding-set=-all"]
        result = run_agent("-duration", "1s", outputs=["-"], prefix=nobody, agent=agent)
        expect_failure(tap, name, result, 3)


def check_no_btf(tap):
    name = "without BTF the status is 3"
    hide = ["unshare", "--mount", "sh", "-c",
            'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh"]
    if subprocess.run(hide + ["true"], stderr=subprocess.DEVNULL, check=False).returncode:
        tap.skip(name, "cannot hide /sys/kernel/btf")
        return
    result = run_agent("-duration", "1s", outputs=["-"], prefix=hide)
    expect_failure(tap, name, result, 3)


def check_surroundings(tap, one):
    """What a service manager or a shell may leave an agent with."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "stacks.folded")
        result = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", AGENT, "-duration", "1s", *map(str, one),
                                 "-output", path], check=False)
        with open(path, encoding="utf-8") as file:
            tap.ok(result.returncode == 0 and parse_folded(file.read()),
                   "closed standard streams are no hindrance", result.returncode)
    result = run_agent("-duration", "1s", outputs=[], prefix=["prlimit", "--nofile=40:40"])
    expect_failure(tap, "too few descriptors are told of", result, 1)
    tap.ok("40 open files are allowed" in result.log, "with their number", result.log)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "stacks.folded")
        # Its messages go to a pipe: a file could not grow either.
        result = subprocess.run(["prlimit", "--fsize=0:", AGENT, "-duration", "1s", *map(str, one), "-output", path],
                                stderr=subprocess.PIPE, text=True, check=False)
        lines = result.stderr.splitlines()
        tap.ok(result.returncode == 1 and "File too large" in result.stderr and lines[-1].startswith("info: ")
               and not os.path.exists(path), "a file that may not grow is an error of that output",
               result.returncode, result.stderr)
        tap.ok("errors" not in lines[-1] and " 0.00 % of the stacks" not in lines[-1], "and of nothing else", lines[-1])


def check_outputs(tap, one):
    for path in "/nonexistent/stacks.folded", "/proc/stacks.folded", "/sys/profile.pb.gz":
        result = run_agent("-duration", "1s", outputs=[path])
        expect_failure(tap, "an output that cannot be written is told at once: " + path, result, 2)
        tap.ok(not START_LINE.search(result.log), "before any sampling: " + path, result.log)
    result = run_agent("-duration", "1s", *one, outputs=["-"])
    tap.ok(result.status == 0 and parse_folded(result.output), "`-` is folded stacks on stdout",
           result.log)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            # Else somebody else listens there.
            taken.bind(("127.0.0.1", 7171))
            taken.listen()
        result = run_agent("-duration", "1s", *one, outputs=[])
        tap.ok(result.status == 0 and not result.output and " to http://127.0.0.1:" in result.log,
               "without a destination there is the page", result.output[:1000], result.log)
        tap.ok(re.search(r"^info: port 7171 is taken \(by .+, [1-9]\d*\); using \d+$", result.log, re.M),
               "if its port is taken, the log says by whom", result.log)


def check_no_space(tap, one):
    name = "no space left is one line and status 1"
    directory = tempfile.mkdtemp(prefix="allframes-full-")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", directory]
    if subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode:
        os.rmdir(directory)
        tap.skip(name, "cannot mount a tmpfs")
        return
    try:
        paths = [os.path.join(directory, "stacks" + end) for end in (".folded", ".txt", ".pb.gz")]
        with Agent(*one, outputs=paths) as agent:
            agent.wait_started()
            wait_cpu(one[1:2], 0.1)
            with open(os.path.join(directory, "all-there-is"), "wb", buffering=0) as file:
                try:
                    while file.write(bytes(4096)):
                        pass
                except OSError:
                    pass
            result = agent.stop()
        left = os.listdir(directory)
        errors = re.findall("^error: .*", result.log, re.M)
        tap.ok(result.status == 1 and left == ["all-there-is"]
               and any("No space left" in line for line in errors) and len(errors) <= len(paths),
               name, "status %d" % result.status, "left: %s" % left, result.log)
    finally:
        subprocess.run(["umount", directory], check=True)
        os.rmdir(directory)


@contextlib.contextmanager
def busy_cpus(count):
    """@count busy programs: there are virtual machines whose kernel delivers no samples of an idle CPU, to
    perf no more than to us. Yields their pids.
    """
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Program(TARGETS["recursion"].path)).pid for _ in range(count)]


def settle(before, seconds=20):
    """What is left loaded beyond @before, once the kernel has had time to free it. The first look is
    late, so that it makes the kernel leak no program array (see bpf_objects).
    """
    time.sleep(3)
    end = time.monotonic() + seconds
    while True:
        extra = bpf_objects_without_owner(before)
        if not extra or time.monotonic() > end:
            return extra
        time.sleep(1)


def check_signals(tap, before, one):
    with Agent(*one) as agent:
        agent.wait_started()
        agent.process.send_signal(signal.SIGINT)
        # Two equal signals that come at once are one.
        seconds = agent.stop(signal.SIGTERM).stop_seconds
        tap.ok(seconds < 1, "a second signal stops at once", "%.2f s" % seconds)
    with Agent(*one) as agent:
        agent.wait_started()
        agent.process.kill()
        agent.wait()
    left = settle(before)
    tap.ok(not left, "nothing is left loaded after kill -9", left)


def samples_of(stacks, comm):
    return sum(count for stack, count in stacks.items() if stack.comm == comm)


class CpuTime:
    """How many samples a program should have got, by the CPU time it used from start to stop."""

    def __init__(self, program, rate):
        self._pid = program.pid
        self._rate = rate
        self._start = cpu_seconds(self._pid)

    def samples(self):
        return (cpu_seconds(self._pid) - self._start) * self._rate


def check_two_agents(tap):
    """They start after one was killed, and each is stopped by another signal."""
    numbers = signal.SIGINT, signal.SIGTERM
    with Program(TARGETS["calls"].path) as program, contextlib.ExitStack() as stack:
        agents = [stack.enter_context(Agent("-samples-per-second", 199, "-pid", program.pid))
                  for _ in numbers]
        with stopped([program.pid]):
            for agent in agents:
                agent.wait_started()
        expected = CpuTime(program, 199)
        run_for([program.pid], 1.5)
        wanted = expected.samples()
        results = [agent.stop(number) for number, agent in zip(numbers, agents)]
        counts = [samples_of(result.stacks, "calls") for result in results]
        for number, agent, result in zip(numbers, agents, results):
            tap.ok(result.status == 0 and result.stop_seconds <= STOP_SECONDS and result.stacks,
                   "%s stops the agent, and the output is written" % number.name,
                   "status %d after %.1f s" % (result.status, result.stop_seconds), result.log)
            left = [name for name in os.listdir(os.path.dirname(agent.folded_path))
                    if name not in ("log", "stdout", "stacks.folded")]
            tap.ok(not left, "no temporary file is left after %s" % number.name, left)
    tap.ok([result.status for result in results] == [0, 0]
           and all(0.7 * wanted < count < 1.3 * wanted for count in counts),
           "two agents at once both work", counts, wanted, *[result.log for result in results])


def make_cgroup():
    """A fresh cgroup v2 directory; None where that cannot be."""
    for root in "/sys/fs/cgroup", "/sys/fs/cgroup/unified":
        if os.path.exists(os.path.join(root, "cgroup.procs")):
            path = os.path.join(root, "allframes-test-%d" % os.getpid())
            try:
                os.mkdir(path)
                return path
            except OSError:
                pass
    return None


def remove_group(path):
    """The last process that was in it may still end."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            os.rmdir(path)
            break
        time.sleep(0.05)


class SlowGroup:
    """A cgroup whose tasks get a tenth of a CPU; its path is None where that cannot be."""

    def __init__(self):
        self.path = None
        for root, name, slow, free in (("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "10000", "-1"),
                                       ("/sys/fs/cgroup", "cpu.max", "10000 100000", "max 100000")):
            path = os.path.join(root, "allframes-slow-%d" % os.getpid())
            try:
                os.mkdir(path)
            except OSError:
                continue
            self._limit, self._free = os.path.join(path, name), free
            try:
                self._set(slow)
                self.path = path
                return
            except OSError:
                os.rmdir(path)

    def _set(self, limit):
        with open(self._limit, "w", encoding="ascii") as file:
            file.write(limit)

    def free(self):
        """Its tasks get all the CPU time that there is."""
        self._set(self._free)


def check_duration(tap):
    """An agent that gets hardly any CPU has its tables late, but samples for the duration and no longer. It gets the CPU back when
    the duration is over, since it stops late without it.
    """
    name, seconds, rate = "the duration begins with the sampling", 2, 199
    group = SlowGroup()
    if not group.path:
        tap.skip(name, "no cgroup can have a limit of CPU time")
        return
    try:
        prefix = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group.path]
        with Program(TARGETS["calls"].path) as program, stopped([program.pid]), \
                Agent("-samples-per-second", rate, "-duration", "%ds" % seconds, "-log-level", "debug", prefix=prefix) as agent:
            agent.wait_logged("sampling begins")
            run_at_most([program.pid], seconds, seconds)
            group.free()
            result = agent.wait()
    finally:
        remove_group(group.path)
    summary = re.search(r"^info: (\d+) samples \((\d+) % busy\), (\d+|none) lost", result.log, re.M)
    samples, busy, lost = (int(text) if text.isdigit() else 0 for text in summary.groups()) if summary else (0, 100, 0)
    found = (samples + lost) * 100 / busy / rate / len(online_cpus())
    tap.ok(result.status == 0 and 0 < found < 1.5 * seconds and START_LINE.search(result.log), name, found, result.log)


# An id that no container has, and a unit that no other test makes.
CONTAINER = hashlib.sha256(b"%d" % os.getpid()).hexdigest()
UNIT = "allframes-test-%d.service" % os.getpid()


@contextlib.contextmanager
def made_cgroups():
    """Groups for a process each: {options: path}. There are three kinds: of a container, of a unit, and plain. There are three
    hierarchies: version 2, version 1 below a controller, and systemd's own, which has no controller. In the long tier each
    hierarchy that is mounted has all kinds, under other names; in the short tier the kinds are spread over them.
    """
    groups, made = {}, []
    roots = {root: number for root, number in (("/sys/fs/cgroup", 2), ("/sys/fs/cgroup/unified", 2), ("/sys/fs/cgroup/pids", 1),
                                                  ("/sys/fs/cgroup/systemd", 0))
             if os.path.exists(os.path.join(root, "cgroup.procs"))}
    for index, (root, number) in enumerate(roots.items()):
        container, unit = CONTAINER[number:] + CONTAINER[:number], "v%d-%s" % (number, UNIT)
        top = "allframes-groups-%d/" % os.getpid()
        for kind, (path, options) in enumerate(((top + "docker-%s.scope" % container, ["-container", container[:12]]),
                                                (top + unit, ["-unit", unit.partition(".")[0]]), (top + "plain", None))):
            if kind % len(roots) != index and not IS_LONG:
                continue
            path = os.path.join(root, path)
            with contextlib.suppress(OSError):
                for one in (os.path.dirname(path), path):
                    if not os.path.isdir(one):
                        os.mkdir(one)
                        made.append(one)
                groups[tuple(options or ["-cgroup", path])] = path
    try:
        yield groups
    finally:
        for path in reversed(made):
            os.rmdir(path)


def check_groups(tap):
    """A process is moved into a group of a container, of a unit and of a path, of each version of cgroups, and is sampled with
    what it starts there; another one is not.
    """
    with made_cgroups() as groups:
        if not groups:
            tap.skip("cgroups", "none can be made")
            return
        for options, path in groups.items():
            below = os.path.join(path, "below")
            os.mkdir(below)
            try:
                with Program(TARGETS["calls"].path) as chosen, Program(TARGETS["alloca"].path) as other, \
                        stopped([chosen.pid, other.pid]):
                    with open(os.path.join(below, "cgroup.procs"), "w", encoding="ascii") as file:
                        file.write(str(chosen.pid))
                    # A busy machine may give it nothing for a second.
                    with Agent("-samples-per-second", 199, *options) as agent:
                        if agent.wait_started():
                            run_for([chosen.pid, other.pid], 0.3)
                        result = agent.stop()
                        tap.ok(result.status == 0 and {stack.comm for stack in result.stacks} == {"calls"},
                               "%s selects what is in %s" % (options[0], path), other.pid, result.log)
            finally:
                remove_group(below)
    both = run_agent("-unit", "no-such-unit-here", outputs=[])
    tap.ok(both.status == 2 and "no unit of this name runs" in both.log, "a unit that does not run is refused", both.log)


def check_user(tap):
    with tempfile.TemporaryDirectory() as directory:
        # The folder of the build may be root's alone.
        os.chmod(directory, 0o755)
        with Program(shutil.copy(TARGETS["calls"].path, directory), user=65534) as chosen, \
                Program(TARGETS["alloca"].path) as other, stopped([chosen.pid, other.pid]), \
                Agent("-samples-per-second", 199, "-user", "nobody") as agent:
            agent.wait_started()
            run_for([chosen.pid, other.pid], 0.3)
            result = agent.stop()
            comms = {stack.comm for stack in result.stacks}
    tap.ok(result.status == 0 and "calls" in comms and "alloca" not in comms, "-user profiles the processes of a user only",
           chosen.pid, other.pid, comms, result.log)


def check_selection(tap):
    """Agents side by side, each with another selection."""
    cpus = online_cpus()
    cgroup = make_cgroup()
    with Program(TARGETS["calls"].path) as chosen, Program(TARGETS["alloca"].path) as other, \
            contextlib.ExitStack() as stack:
        os.sched_setaffinity(chosen.pid, cpus[:1])
        os.sched_setaffinity(other.pid, cpus[-1:])

        def start(*options, **more):
            return stack.enter_context(Agent("-samples-per-second", 199, *options, **more))

        both = "%d,%d" % (chosen.pid, other.pid)
        agents = {
            "-pid profiles this process only": (start("-pid", chosen.pid), "calls"),
            "-comm profiles these processes only": (start("-comm", "nobody,alloca"), "alloca"),
            "the environment sets what the command line does not":
                (start(environment={"ALLFRAMES_COMM": "calls"}), "calls"),
            # By pid: other programs of these names may be running.
            "-cpus profiles these CPUs only": (start("-cpus", cpus[0], "-pid", both), "calls"),
        }
        name = "-cgroup profiles the tasks below it only"
        if cgroup:
            with open(os.path.join(cgroup, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(str(chosen.pid))
            agents[name] = (start("-cgroup", cgroup), "calls")
        with stopped([chosen.pid, other.pid]):
            started = [agent.wait_started() for agent, _ in agents.values()]
        run_for([chosen.pid, other.pid], 0.3)
        for title, (agent, comm) in agents.items():
            result = agent.stop()
            if title.startswith("-comm"):
                tap.ok("warn: -comm nobody: no process has this name now" in result.log and "-comm alloca" not in result.log,
                       "and a name that no process has is warned of", result.log)
            comms = {stack.comm for stack in result.stacks}
            if title.startswith("-cpus") and len(cpus) == 1:
                comms.discard("alloca")
            tap.ok(all(started) and comms == {comm}, title, comms, result.log)
    if cgroup:
        os.rmdir(cgroup)
    else:
        tap.skip(name, "no cgroup v2 to write to")


def check_threads(tap):
    """A program with threads, beside others that keep all CPUs busy, has all its samples. That the runs of the sampling
    program are counted is what check_probabilistic_off() relies on.
    """
    rate = 999
    with busy_cpus(len(online_cpus())) as others, Program(TARGETS["threads"].path) as program, \
            Agent("-pid", program.pid, "-samples-per-second", rate) as agent:
        with stopped([*others, program.pid]):
            agent.wait_started()
        expected = CpuTime(program, rate)
        runs = count_runs(agent.pid, 1)
        with stopped([*others, program.pid]):
            wanted = expected.samples()
            count = sum(agent.stop().stacks.values())
    tap.ok(0.8 * wanted < count, "-pid has the threads of the process in it",
           "%d samples, wanted %d" % (count, wanted))
    tap.ok(runs and runs >= 500 * len(online_cpus()), "on, the program runs at each tick", runs)


INTERVALS = 200 if IS_LONG else 100
INTERVAL_MS = 50


def check_probabilistic_share(tap):
    """The share of its CPU time for which a program that never sleeps is sampled, by two agents at once."""
    rate = 997
    seeds = {30: 7, 70: 11}
    with Program(TARGETS["calls"].path) as program, contextlib.ExitStack() as stack:
        agents = {threshold: stack.enter_context(Agent(
            "-pid", program.pid, "-samples-per-second", rate, "-probabilistic-threshold", threshold,
            "-probabilistic-interval", "%dms" % INTERVAL_MS, "-probabilistic-seed", seed))
                  for threshold, seed in seeds.items()}
        # So that it has about as much of each interval, beside other tests too, and the agents see each.
        for pid in (program.pid, *(agent.pid for agent in agents.values())):
            os.setpriority(os.PRIO_PROCESS, pid, -15)
        with stopped([program.pid]):
            for agent in agents.values():
                agent.wait_started()
        expected = CpuTime(program, rate)
        time.sleep(INTERVALS * INTERVAL_MS / 1000)
        with stopped([program.pid]):
            wanted = expected.samples()
            results = {threshold: agent.stop() for threshold, agent in agents.items()}
            counts = {threshold: sum(result.stacks.values()) for threshold, result in results.items()}
    for threshold, result in results.items():
        share = counts[threshold] / wanted
        sigma = math.sqrt(threshold / 100 * (1 - threshold / 100) / INTERVALS)
        switches = len(re.findall("sampling is (?:on|off)", result.log))
        tap.ok(abs(share - threshold / 100) <= 3 * sigma + 0.02 and switches > INTERVALS / 10,
               "probabilistic threshold %d: on for that share of %d intervals" %
               (threshold, INTERVALS),
               "share %.3f, 3 sigma %.3f, %d switches" % (share, 3 * sigma, switches))


def check_probabilistic_off(tap):
    """While it is off, no program runs: the kernel's own count of runs stands still."""
    for seed in range(200):
        with Agent("-probabilistic-threshold", 1, "-probabilistic-interval", "1h",
                   "-probabilistic-seed", seed, "-samples-per-second", 999, "-pid", os.getpid()) as agent:
            if not agent.wait_started():
                tap.ok(False, "off costs no BPF run", agent.log_text())
                return
            end = time.monotonic() + 2
            while "sampling is" not in agent.log_text() and time.monotonic() < end:
                time.sleep(0.02)
            if "sampling is off" not in agent.log_text():
                continue
            runs = count_runs(agent.pid, 2)
            tap.ok(runs == 0, "off costs no BPF run", "%s runs" % runs)
            return
    tap.ok(False, "off costs no BPF run", "no seed gave an interval that is off")


def count_runs(pid, seconds):
    """How often the kernel runs the sampling program of an agent; None if it has none."""
    path = "/proc/sys/kernel/bpf_stats_enabled"
    mine = {number for kind, number in bpf_objects_of(pid) if kind == "prog"}
    with open(path, encoding="ascii") as file:
        old = file.read()
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write("1")
        first = sampling_runs(mine)
        time.sleep(seconds)
        last = sampling_runs(mine)
    finally:
        with open(path, "w", encoding="ascii") as file:
            file.write(old)
    return None if first is None else last - first


def sampling_runs(numbers):
    found = [one.get("run_cnt", 0) for one in list_bpf("prog")
             if one["id"] in numbers and one.get("name") == "sample_entry"]
    return sum(found) if found else None


def main():
    tap = Tap()
    need_root(tap, "options")
    build_targets.build(["calls", "alloca", "threads", "recursion"])
    before = bpf_objects()
    check_usage(tap)
    check_privilege(tap)
    check_no_btf(tap)
    with busy_cpus(1) as busy, paced(busy):
        # Often enough for a program that is paced.
        one = ["-pid", *busy, "-samples-per-second", 199]
        check_surroundings(tap, one)
        check_outputs(tap, one)
        check_no_space(tap, one)
        check_signals(tap, before, one)
    check_two_agents(tap)
    check_selection(tap)
    check_groups(tap)
    check_user(tap)
    check_duration(tap)
    check_threads(tap)
    check_probabilistic_share(tap)
    check_probabilistic_off(tap)
    left = settle(before)
    tap.ok(not left, "after all this nothing is left loaded", left)
    tap.finish()


if __name__ == "__main__":
    main()
