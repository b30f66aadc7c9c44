# SPDX-License-Identifier: Apache-2.0
"""What the live tests share: starts the agent and the targets, reads the agent's files strictly,
and prints TAP. Standard library only. The tests run as root, some at the same time.
"""
import collections
import contextlib
import ctypes
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
AGENT = os.environ.get("ALLFRAMES_AGENT", os.path.join(ROOT, "build", "agent"))
OUTPUT = os.path.join(ROOT, "build", "integration")
IS_LONG = os.environ.get("ALLFRAMES_LONG") == "1"

# Limit for the stop of an agent, without the time that it waited for a CPU.
STOP_SECONDS = 5
# A step that takes longer than this hangs, on a busy machine too.
HANG_SECONDS = 120

sys.path.insert(0, os.path.join(ROOT, "integration"))
from sample_times import SampleTimes


class Tap:
    """Test results as TAP, with the plan at the end; a script that dies prints no plan."""

    def __init__(self):
        self._count = 0
        self._failed = 0

    def ok(self, condition, name, *diagnostics):
        """One result; @diagnostics are printed only if it is a failure."""
        self._count += 1
        name = name.replace("#", "number ")
        print("%s %d - %s" % ("ok" if condition else "not ok", self._count, name))
        if not condition:
            self._failed += 1
            for text in diagnostics:
                self.note(text)
        sys.stdout.flush()
        return bool(condition)

    def skip(self, name, why):
        self._count += 1
        print("ok %d - %s # SKIP %s" % (self._count, name, why))

    def never(self, unwanted, name, *diagnostics):
        """One result: nothing of @unwanted, what may never be seen, has been. If something was, the test
        is not tried again.
        """
        good = self.ok(not unwanted, name, *diagnostics)
        if not good:
            self.note("final: " + name)
        return good

    def note(self, text):
        for line in str(text).splitlines():
            print("# " + line)
        sys.stdout.flush()

    def finish(self):
        """Prints the plan and ends the script."""
        print("1..%d" % self._count)
        sys.exit(1 if self._failed else 0)


def need_root(tap, name):
    """Ends the script as skipped where the agent cannot run for want of privilege."""
    if os.geteuid() != 0:
        tap.skip(name, "needs root")
        tap.finish()


class Stack(collections.namedtuple("Stack", "comm frames")):
    """One line of a folded file without its count: frames are strings, root first."""

    __slots__ = ()

    @property
    def user_frames(self):
        return [frame for frame in self.frames if not frame.endswith("_[k]")]

    @property
    def errors(self):
        return [frame for frame in self.frames
                if frame.startswith("[error: ") or frame == "[truncated]"]

    @property
    def has_guess(self):
        return any(frame.endswith("_[?]") for frame in self.frames)

    @property
    def is_before_known(self):
        """The sample's process was not known yet, and the unwind from its copy was not done."""
        return "[error: process not known yet]" in self.frames

    @property
    def is_kernel_thread(self):
        return (all(frame.endswith("_[k]") for frame in self.frames)
                and self.frames[0].startswith("ret_from_fork"))

    @property
    def is_without_memory(self):
        """The sample is of a task that has no program any more, or not yet: on its way out, or in
        exec between the old program and the new one. The agents' own programs run there; the kernel's
        unwinder does not always get out of one, and never out of a retpoline's thunk.
        """
        return (all(frame.endswith("_[k]") for frame in self.frames)
                and (any(re.match(r"do_exit|.*execve|begin_new_exec|bpf_prog_\w+_process_(exec|exit)_", frame)
                         for frame in self.frames)
                     or re.match(r"\w*x86_indirect_thunk", self.frames[0]) is not None))

    @property
    def is_between_states(self):
        """An error while the kernel changes what is unwound: it writes the registers of a signal
        handler's first frame, or has replaced the old program's memory by an empty one, or copies
        a page of the stack. While it writes those of the code behind a handler there are none, and no
        other error will do.
        """
        if "[error: no user registers]" in self.frames and "restore_sigcontext_[k]" in self.frames:
            return True
        return bool(self.errors) and (self.is_in_page_copy or any(
            re.fullmatch(r"(\w*_)?setup_rt_frame_\[k\]|begin_new_exec_\[k\]", frame)
            for frame in self.frames))

    @property
    def is_in_page_copy(self):
        """The kernel is about to replace a page that the task shared with its fork: until it has
        done so the page is not there, and what lies in it cannot be read.
        """
        return any(re.match(r"(do_)?wp_page(_copy)?_\[k\]", frame) for frame in self.frames)

    def __str__(self):
        return ";".join((self.comm,) + tuple(self.frames))


# They stand for a language's frames of one native frame; the native ones go on.
INTERPRETER_ERRORS = ("[error: interpreted frames unreadable]",
                      "[error: interpreter's thread not found]",
                      "[error: memory does not answer]")


def parse_folded(text):
    """Counter of Stack from a folded file. Raises ValueError at anything that is not its format."""
    stacks = collections.Counter()
    if text and not text.endswith("\n"):
        raise ValueError("the last line is cut off")
    # Not splitlines(): names may hold what Unicode calls a line end.
    for number, line in enumerate(text.split("\n")[:-1], 1):
        match = re.fullmatch(r"([^\n]*) ([1-9][0-9]*)", line)
        if not match:
            raise ValueError("line %d has no count: %r" % (number, line))
        comm, *frames = match[1].split(";")
        if not frames or "" in frames:
            raise ValueError("line %d has an empty frame: %r" % (number, line))
        in_user = [not frame.endswith("_[k]") for frame in frames]
        if sorted(in_user, reverse=True) != in_user:
            raise ValueError("line %d has user frames below kernel frames: %r" % (number, line))
        for frame in frames[1:]:
            if (frame.startswith("[error: ") and frame not in INTERPRETER_ERRORS
                    or frame == "[truncated]"):
                raise ValueError("line %d goes on above its error: %r" % (number, line))
        stack = Stack(comm, tuple(frames))
        if stack in stacks:
            raise ValueError("line %d stands there twice: %r" % (number, line))
        stacks[stack] = int(match[2])
    return stacks


# Behind a function of C, C++ or their assembly, in stacks with lines.
_NATIVE_LINE = re.compile(r" \([^()]*\.(?:[chS]|cc|cpp|cxx|hh|hpp|hxx|inc|def)(?::\d+)?\)")


def without_native_lines(stacks):
    """@stacks of a run with -with-lines as if native code had no debug data, which the same program
    has on one machine and not on another: its inlined functions are left out, its lines as well.
    """
    merged = collections.Counter()
    for stack, count in stacks.items():
        frames = []
        for frame in stack.frames:
            line = _NATIVE_LINE.search(frame)
            if not line:
                frames.append(frame)
            elif frame[line.end():] != "_[i]":
                frames.append(frame[:line.start()] + frame[line.end():])
        merged[Stack(stack.comm, tuple(frames))] += count
    return merged


class AgentResult:
    """What a finished agent left: status, stderr, stdout, and its folded file if there is one. @times: when
    its samples came, SampleTimes, of an agent that is timed.
    """

    def __init__(self, status, output, log, folded_path, seconds, times=None):
        self.status = status
        self.output = output
        self.log = log
        self.seconds = seconds
        # From the signal to the end, without the time that its threads waited for a CPU; see Agent.stop().
        self.stop_seconds = None
        self.times = times
        self._folded_path = folded_path

    @property
    def stacks(self):
        with open(self._folded_path, encoding="utf-8", errors="surrogateescape",
                  newline="\n") as file:
            return parse_folded(file.read())

    @property
    def metrics(self):
        """The agent's metrics by name; needs -log-level debug. What is not there was 0."""
        found = re.findall(r"^debug: (\w+): (\d+) \w+$", self.log, re.M)
        return collections.Counter({name: int(value) for name, value in found})

    @property
    def last_line(self):
        """Of what is said above debug: a thread that is left behind at the end may still say something there."""
        lines = [line for line in self.log.splitlines() if not line.startswith("debug: ")]
        return lines[-1] if lines else ""


class Agent:
    """A running agent. Used as a context: leaving it kills what still runs.

    Unless @outputs says otherwise it writes a folded file, which AgentResult.stacks reads; with @is_timed also
    an .otlp file, for AgentResult.times.
    """

    def __init__(self, *options, outputs=None, environment=None, prefix=(), agent=AGENT, is_timed=False):
        self._directory = tempfile.mkdtemp(prefix="allframes-test-")
        self.folded_path = os.path.join(self._directory, "stacks.folded")
        self._timed_path = os.path.join(self._directory, "stacks.otlp") if is_timed else None
        outputs = [self.folded_path] if outputs is None else outputs
        outputs = [*outputs, self._timed_path] if is_timed else outputs
        self.command = [*prefix, agent, *map(str, options)]
        for path in outputs:
            self.command += ["-output", path]
        self._log = open(os.path.join(self._directory, "log"), "w+b")
        self._stdout = open(os.path.join(self._directory, "stdout"), "w+b")
        environment = {name: value for name, value in {**os.environ, **(environment or {})}.items()
                       if name not in ("ALLFRAMES_LONG", "ALLFRAMES_AGENT")}
        self._start = time.monotonic()
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                        stdout=self._stdout, stderr=self._log, env=environment,
                                        preexec_fn=die_with_parent)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._log.close()
        self._stdout.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def pid(self):
        return self.process.pid

    def log_text(self):
        self._log.flush()
        with open(self._log.name, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()

    def log_bytes(self):
        return os.stat(self._log.name).st_size

    def wait_started(self, seconds=HANG_SECONDS):
        """Waits for the start line; False if the agent ended or nothing came in time."""
        return self._wait_log(START_LINE.search, seconds, 0.02)

    def wait_logged(self, text, count=1):
        """Waits until @text is @count times in the log; False if it does not come."""
        return self._wait_log(lambda log: log.count(text) >= count, HANG_SECONDS, 0.005)

    def _wait_log(self, is_there, seconds, pause_seconds):
        end = time.monotonic() + seconds
        while not is_there(self.log_text()):
            if time.monotonic() > end or self.process.poll() is not None:
                return False
            time.sleep(pause_seconds)
        return True

    def wait_attached(self, pids, seconds=HANG_SECONDS):
        """Waits until the runtimes of @pids are attached to and their languages loaded, or that time is over; needs
        -log-level debug. Returns the CPU time that it took in microseconds, by pid.
        """
        end = time.monotonic() + seconds
        while True:
            found = re.findall(r"^debug: process (\d+): attached to .* in (\d+) us$",
                               self.log_text(), re.M)
            times = {int(pid): int(time_us) for pid, time_us in found if int(pid) in pids}
            if len(times) == len(pids) and self.has_languages() or time.monotonic() > end:
                return times
            time.sleep(0.05)

    def has_languages(self):
        """Whether the unwinders of all languages that were found so far are loaded or refused; needs -log-level debug."""
        text = self.log_text()
        wanted = re.findall(r"^debug: the unwinder of (\w+) is wanted$", text, re.M)
        done = re.findall(r"^debug: the unwinder of (\w+) is loaded$|; programs in (\w+) show native frames only$", text, re.M)
        return set(wanted) <= {name for names in done for name in names}

    def wait(self, seconds=HANG_SECONDS):
        """Waits for the end. Raises subprocess.TimeoutExpired if it does not come."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            print("# final: the agent still ran after %d s" % seconds)
            raise
        if -status in CRASH_SIGNALS:
            print("# final: the agent was ended by signal %d" % -status)
        taken = time.monotonic() - self._start
        with open(self._stdout.name, encoding="utf-8", errors="surrogateescape") as file:
            output = file.read()
        times = None
        if self._timed_path and status == 0:
            with open(self._timed_path, "rb") as file:
                times = SampleTimes(file.read())
        return AgentResult(status, output, self.log_text(), self.folded_path, taken, times)

    def stop(self, number=signal.SIGINT, seconds=HANG_SECONDS):
        """Sends a signal and waits for the end."""
        before = cpu_waits(self.pid)
        after = dict(before)
        start = time.monotonic()
        self.process.send_signal(number)
        while self.process.poll() is None and time.monotonic() < start + seconds:
            time.sleep(0.02)
            after.update(cpu_waits(self.pid))
        taken = time.monotonic() - start
        result = self.wait(1)
        result.stop_seconds = taken - (sum(after.values()) - sum(before.values()))
        return result


# Signals that end an agent because of a fault of its own.
CRASH_SIGNALS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)

# It comes right before the sampling is switched on.
START_LINE = re.compile(r"^info: sampling .* times a second", re.M)


def run_agent(*options, seconds=HANG_SECONDS, **more):
    """Runs the agent to its end. The files are read before they go: see AgentResult.stacks."""
    with Agent(*options, **more) as agent:
        result = agent.wait(seconds)
        if os.path.exists(agent.folded_path):
            stacks = result.stacks
            result = FinishedResult(result, stacks)
        return result


class FinishedResult(AgentResult):
    """An AgentResult whose folded file has been read and is gone."""

    def __init__(self, result, stacks):
        super().__init__(result.status, result.output, result.log, None, result.seconds, result.times)
        self.stop_seconds = result.stop_seconds
        self._stacks = stacks

    @property
    def stacks(self):
        return self._stacks


PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def die_with_parent(number=signal.SIGKILL):
    """For preexec_fn: a test that is killed leaves nothing running. @number: the signal that ends the program."""
    _libc.prctl(PR_SET_PDEATHSIG, number)


def allow_core():
    """For preexec_fn: SIGQUIT leaves a core file, also where a shell started us in the background."""
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    die_with_parent()


class ProcessGroups:
    """Programs that run until the context ends. Each has a process group of its own, so that shells
    and what they have started end together.
    """

    def __init__(self):
        self._processes = []

    def start(self, command):
        self._processes.append(subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_parent))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self._processes:
            os.killpg(process.pid, 9)
            process.wait()


class Program:
    """A program under profile, killed when the context is left.

    With @ready the constructor returns once the program has printed "ready"; what it printed until then is in output.
    """

    def __init__(self, *command, ready=True, seconds=HANG_SECONDS, preexec_fn=die_with_parent, **more):
        self.output = b""
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, preexec_fn=preexec_fn, **more)
        if ready and not self.wait_ready(seconds):
            self.__exit__()
            raise RuntimeError("%s did not get ready" % command[0])

    def wait_ready(self, seconds=HANG_SECONDS):
        """Waits for "ready"; False if the program ended or nothing came in time."""
        end = time.monotonic() + seconds
        self.output = b""
        while b"ready\n" not in self.output:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return False
            part = os.read(self.process.stdout.fileno(), 4096)
            if not part:
                return False
            self.output += part
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    @property
    def pid(self):
        return self.process.pid


# --- where stacks may end ---

NEW_THREAD_BYTES = 16
_ENTRY_NAMES = re.compile(r"_start|_*clone3?(@.*)?|_dl_start_user|_dl_relocate_static_pie")


class StackEnds:
    """Judges whether a stack's outermost user frame is its thread's entry, by names and by files.

    A frame without a name (`file+0xaddress`) is an entry if it lies at the file's ELF entry point,
    or where the file's unwind table, as readelf shows it, says that there is no return address.
    """

    def __init__(self, directories=(), entries=()):
        """@directories: where files lie, beside the usual ones. @entries: names of more entries."""
        self._entries = entries
        self._directories = list(directories) + [
            "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64",
            "/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/usr/lib/gcc/x86_64-linux-gnu/12",
            OUTPUT]
        self._ranges = {}

    def is_complete(self, stack):
        """True if @stack has its thread's entry outermost, and no error and no guess. A task
        without memory (Stack.is_without_memory) has no user stack that could be complete.
        """
        if stack.is_kernel_thread:
            return True
        users = stack.user_frames
        if not users or stack.errors or stack.has_guess:
            return False
        return self.is_entry(users[0]) or (len(users) == 1 and self._is_within(users[0], _new_thread_ranges_of))

    def is_entry(self, frame):
        if _ENTRY_NAMES.fullmatch(frame) or frame in self._entries:
            return True
        return self._is_within(frame, _entry_ranges_of)

    def is_plt(self, frame):
        """True if @frame is a jump that the linker has put between a call and its function."""
        return self._is_within(frame, plt_ranges)

    def add_directory(self, directory):
        self._directories.append(directory)

    def _is_within(self, frame, ranges_of):
        match = re.fullmatch(r"(.+)\+0x([0-9a-f]+)", frame)
        return bool(match) and any(start <= int(match[2], 16) < end
                                   for start, end in self._ranges_in(match[1], ranges_of))

    def _ranges_in(self, name, ranges_of):
        """The address ranges that @ranges_of finds in the files called @name."""
        if (name, ranges_of) not in self._ranges:
            ranges = []
            for path in {os.path.realpath(os.path.join(directory, name))
                         for directory in self._directories}:
                if os.path.isfile(path):
                    ranges += ranges_of(path)
            self._ranges[name, ranges_of] = ranges
        return self._ranges[name, ranges_of]


def _entry_ranges_of(path):
    with open(path, "rb") as file:
        header = file.read(64)
    if header[:4] != b"\x7fELF":
        return []
    entry = struct.unpack_from("<Q", header, 24)[0]
    ranges = [(entry, entry + 0x40)] if entry else []
    # Threads start in the C library; for a program's megabytes the entry point is enough.
    if re.match(r"(libc|ld-linux)[-.]", os.path.basename(path)):
        ranges += undefined_return_ranges(path)
    return ranges


def _new_thread_ranges_of(path):
    """Where a new thread is in the few instructions of clone() from the system call to those that the table has for it alone."""
    if not re.match(r"libc[-.]", os.path.basename(path)):
        return []
    return [(start - NEW_THREAD_BYTES, start) for start, _ in undefined_return_ranges(path)]


def free_port():
    """A TCP port of this machine that nobody uses now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def plt_ranges(path):
    """Address ranges of the .plt and .iplt sections of @path."""
    text = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return [(int(start, 16), int(start, 16) + int(size, 16)) for start, size in
            re.findall(r"\s(?:\.plt\S*|\.iplt)\s+PROGBITS\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", text)]


def undefined_return_ranges(path):
    """Address ranges of @path in which its .eh_frame says that the return address is undefined."""
    # readelf has a non-zero status where it looks for separate debug information in vain.
    text = subprocess.run(["readelf", "--debug-dump=frames-interp", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout
    ranges = []
    start, end, column, open_start = None, None, None, None

    def close(address):
        nonlocal open_start
        if open_start is not None:
            ranges.append((open_start, address))
        open_start = None

    for line in text.splitlines():
        header = re.search(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        if header:
            close(end)
            start, end = int(header[1], 16), int(header[2], 16)
        elif " CIE " in line:
            close(end)
            start = None
        elif line.strip().startswith("LOC"):
            words = line.split()
            column = words.index("ra") if "ra" in words else None
        elif start is not None and column is not None and re.match("[0-9a-f]{16} ", line):
            words = line.split()
            address = int(words[0], 16)
            if words[column] == "u" and open_start is None:
                open_start = address
            elif words[column] != "u":
                close(address)
    close(end)
    return ranges


# --- the machine ---

def online_cpus():
    """Numbers of the online CPUs."""
    with open("/sys/devices/system/cpu/online", encoding="ascii") as file:
        text = file.read().strip()
    cpus = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def children_of(pid):
    """The process ids of those that the main thread of @pid has started; none if it is gone."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
            return list(map(int, file.read().split()))
    except FileNotFoundError:
        return []


def path_without_ccache():
    """The PATH, in which `gcc` is a compiler: ccache starts none for what it has compiled before."""
    return ":".join(folder for folder in os.environ["PATH"].split(":") if "ccache" not in folder)


def host_seconds(*kinds):
    """The time of all CPUs of these kinds: those of /proc/stat."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = dict(zip(("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"), map(int, file.readline().split()[1:])))
    return sum(ticks[kind] for kind in kinds) / os.sysconf("SC_CLK_TCK")


def stolen_seconds():
    """The time of all CPUs that the hypervisor gave to others. It is in the costs of processes, and not in the kernel's times of them."""
    return host_seconds("steal")


def run_seconds(pid):
    """The time for which the main thread of a process had a CPU."""
    with open("/proc/%d/schedstat" % pid, encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def cpu_seconds(pid):
    """User and system time of a process, threads included; children not."""
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="surrogateescape") as file:
        fields = file.read().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def thread_seconds(pid, name):
    """User and system time of the threads of a process that have this name."""
    ticks = 0
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, tid), encoding="utf-8",
                  errors="surrogateescape") as file:
            comm, _, rest = file.read().partition("(")[2].rpartition(")")
        if comm == name:
            ticks += sum(map(int, rest.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def cpu_waits(pid):
    """{tid: seconds}: how long each thread of process @pid has been runnable without a CPU."""
    waits = {}
    try:
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/schedstat" % (pid, tid), encoding="ascii") as file:
                waits[tid] = int(file.read().split()[1]) / 1e9
    except OSError:
        # The process, or the thread, is gone.
        pass
    return waits


def rss_anon_bytes(pid):
    """The memory of a process that no file backs."""
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
        return int(re.search(r"^RssAnon:\s*(\d+) kB", file.read(), re.M)[1]) << 10


def list_bpf(kind):
    """All BPF programs or maps (@kind: "prog", "map") that are loaded now, as `bpftool` lists them: dicts."""
    text = subprocess.run([bpftool(), "-j", kind, "list"], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(text or b"[]")


def bpf_objects():
    """The BPF programs and maps that are loaded now, as (kind, id). Program arrays are left out: the kernel leaks one,
    empty, if it is opened and closed (as bpftool does with every map) just while its last owner gives it up.
    """
    return {(kind, one["id"]) for kind in ("prog", "map") for one in list_bpf(kind)
            if one["type"] != "prog_array"}


def bpf_objects_of(pid):
    """The BPF programs and maps of which process @pid has descriptors, as (kind, id)."""
    ids = set()
    directory = "/proc/%s/fdinfo" % pid
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            # A descriptor may be closed meanwhile; the others count all the same.
            with contextlib.suppress(OSError), open(os.path.join(directory, name), encoding="ascii") as file:
                ids |= {(kind, int(number))
                        for kind, number in re.findall(r"^(prog|map)_id:\s*(\d+)$", file.read(), re.M)}
    return ids


def bpf_programs_of(pid):
    """The names, at most 15 characters long, of the BPF programs that use the maps of process @pid."""
    maps = {number for kind, number in bpf_objects_of(pid) if kind == "map"}
    return {one["name"] for one in list_bpf("prog") if maps & set(one.get("map_ids", ()))}


def bpf_objects_without_owner(before):
    """What is loaded beyond @before and no running process holds; another agent may be at work."""
    extra = bpf_objects() - before
    programs = list_bpf("prog") if extra else []
    owned = set()
    for pid in filter(str.isdigit, os.listdir("/proc") if extra else []):
        owned |= bpf_objects_of(pid)
    # A language's program is held by the map that lists it, not by a descriptor: its agent is the one that holds the
    # maps it uses. That agent may have been there before, and have loaded it since.
    owned |= {("prog", one["id"]) for one in programs if {("map", number) for number in one.get("map_ids", ())} & owned}
    # Maps within maps are held by nobody's descriptor, so they may be the other's.
    return {one for one in extra - owned if not extra & owned or one[0] == "prog"}


def take_count(option, default):
    """The number behind @option, if the command line begins with that, else @default; the other
    arguments.
    """
    arguments = sys.argv[1:]
    if arguments[:1] != [option]:
        return default, arguments
    if len(arguments) < 2 or not arguments[1].isdigit():
        sys.exit("%s: %s wants a number" % (os.path.basename(sys.argv[0]), option))
    return int(arguments[1]), arguments[2:]


def bpftool():
    return shutil.which("bpftool") or "/usr/sbin/bpftool"


def share(part, whole):
    """Per cent, as text."""
    return "%.3f %%" % (100.0 * part / whole) if whole else "none"
