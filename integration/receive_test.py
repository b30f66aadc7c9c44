#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for senders, servers and time-outs
"""`agent -receive`: agents of other machines (by name: all run here) send to one that shows them on its page; with
TLS and a token, after a restart, and beside clients that mean no good; names come from what `agent -upload-symbols`
sends. Prints TAP.
"""
import collections
import concurrent.futures
import contextlib
import os
import re
import resource
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
from harness import HANG_SECONDS, OUTPUT, STOP_SECONDS, Agent, Program, Tap, need_root, run_agent
from otlp_collector import Certificates, sending_warnings
from protobuf_wire import field
from sampled import paced, sample_run, signal_all
from viewer_pages import Api, count_with

RATE = 997
LEAST_SAMPLES = 200
# CPU time of a program, for more than LEAST_SAMPLES of it; of one that gets its names: several intervals between reports.
CPU_SECONDS, NAMED_SECONDS = 0.3, 1
ADDRESSES = re.compile(r" to (http://\S+) with what is sent to (\S+) \((TLS|plain text)\)")
IDLE_CONNECTIONS = 1000
CONNECTIONS_AT_ONCE = 100
# A connection that ends so soon was ended for the flood, and not for its silence.
SOON_SECONDS = 7
MAX_GROWTH = 60 << 20
MAX_CPU_SECONDS = 5
TOKEN = "correct-horse-battery-staple"
# Frames of HTTP/2 (RFC 9113).
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_DATA, FRAME_HEADERS, FRAME_SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS = 1, 4
UPLOAD_METHOD = "/allframes.symbols.v1.SymbolsService/Upload"
METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"


class Receiver:
    """A running agent that receives, and nothing of its own to show."""

    def __init__(self, agent):
        self.agent = agent
        url, self.address, self.how = ADDRESSES.search(agent.log_text()).groups()
        self.api = Api(url + "/")

    def hosts(self):
        """Samples by machine."""
        return {row["host"]: row["count"] for row in self.api.get("facets")["hosts"]}

    def wait_for(self, host, count, seconds=HANG_SECONDS):
        """The samples of @host when there are @count, or that time is over."""
        end = time.monotonic() + seconds
        while self.hosts().get(host, 0) < count and time.monotonic() < end:
            time.sleep(0.1)
        return self.hosts().get(host, 0)

    def memory(self):
        with open("/proc/%d/status" % self.agent.pid, encoding="ascii", errors="replace") as file:
            return int(re.search(r"^RssAnon:\s*(\d+) kB", file.read(), re.M)[1]) << 10

    def cpu_seconds(self):
        with open("/proc/%d/stat" % self.agent.pid, encoding="ascii", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connect(self):
        host, port = self.address.rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout=HANG_SECONDS)


@contextlib.contextmanager
def receiving(tap, *options):
    """An agent that receives; it samples a program that there is not."""
    with Agent("-viewer", "127.0.0.1:0", "-comm", "nobody", "-receive", "127.0.0.1:0", *options,
               "-log-level", "debug", outputs=[]) as agent:
        if not tap.ok(agent.wait_started() and ADDRESSES.search(agent.log_text()),
                      "the agent says where it receives: %s" % " ".join(options),
                      agent.log_text()):
            tap.finish()
        yield Receiver(agent)


def sender_options(address, host, *more):
    return ["-collection-agent", address, "-tags", "host.name:" + host, "-reporter-interval", "500ms",
            "-reporter-jitter", "0", "-with-cpu", *more]


def send(address, host, programs, *more, seconds=CPU_SECONDS):
    """A run that sends what each of @programs does in @seconds of CPU time: its result, with the folded
    stacks of the same samples. The programs are stopped afterwards.
    """
    pids = [program.pid for program in programs]
    result = sample_run(pids, RATE, seconds, *sender_options(address, host, *more))
    signal_all(pids, signal.SIGSTOP)
    return result


def check_machines(tap, receiver, directory):
    """Two machines send, and each one's samples are there, all of them and under its name."""
    calls = TARGETS["calls"].path
    with Program(calls) as one, Program(TARGETS["syscalls"].path) as two:
        sent = {"web-1": send(receiver.address, "web-1", [one, two], "-disable-tls", "-symbolize",
                              "full", seconds=NAMED_SECONDS),
                "web-2": send(receiver.address, "web-2", [one, two], "-disable-tls")}
    totals = {host: sum(result.stacks.values()) for host, result in sent.items()}
    for host, result in sent.items():
        got = receiver.wait_for(host, totals[host])
        stacks = receiver.api.stacks(host=host)
        tap.ok(result.status == 0 and got == totals[host] == sum(stacks.values()) > LEAST_SAMPLES
               and not sending_warnings(result.log), "all samples of %s are there" % host, got,
               totals[host], result.log[-1500:])
        by_comm = [collections.Counter(), collections.Counter()]
        for counts, counter in zip((stacks, result.stacks), by_comm):
            for stack, count in counts.items():
                counter[stack.comm] += count
        tap.ok(by_comm[0]["calls"] == by_comm[1]["calls"] > 0
               and by_comm[0]["syscalls"] == by_comm[1]["syscalls"] > 0,
               "by program: " + host, *by_comm)
    stacks = receiver.api.stacks(host="web-1", comm="calls")
    total = sum(stacks.values())
    # Names of the first half second may have come too late to be sent.
    tap.ok(count_with(stacks, "main") > 0.5 * total, "names are shown as they were sent", total,
           list(stacks)[:3])
    stacks = receiver.api.stacks(host="web-2", comm="calls")
    tap.ok(not count_with(stacks, "main") and all(
        frame.startswith(("calls+0x", "lib", "ld-", "[")) or "_[k]" in frame
        for stack in stacks for frame in stack.frames), "what had no name is file and address",
           list(stacks)[:3])
    check_views(tap, receiver, totals, directory)


def check_views(tap, receiver, totals, directory):
    """What else the page says of them: times, filters, totals, exports, by machine."""
    status = receiver.api.get("status")
    both = sum(totals.values())
    tap.ok(receiver.hosts() == totals and status["samples"] == both == status["totals"]["samples"]
           and status["totals"]["complete"] > 0.9 * both, "nothing else is there", status)
    first, now = status["first_ms"], status["now_ms"]
    tap.ok(now - 60000 < first < now and first >= -1000, "at their times", first, now)
    cpus = {row["cpu"] for row in receiver.api.get("facets")["cpus"]}
    tap.ok(cpus and max(cpus) < os.cpu_count(), "with their CPUs", cpus)
    path = os.path.join(directory, "both.otlp")
    with open(path, "wb") as file:
        file.write(receiver.api.fetch("api/export?format=otlp"))
    with Agent("-open", path, "-viewer", "127.0.0.1:0", outputs=[]) as agent:
        end = time.monotonic() + 20
        while not (found := re.search(r" at (http://\S+);", agent.log_text())) \
                and time.monotonic() < end:
            time.sleep(0.05)
        hosts = Api(found[1] + "/").get("facets")["hosts"] if found else []
    tap.ok({row["host"]: row["count"] for row in hosts} == totals,
           "the export names the machines", hosts, agent.command)


def check_restart(tap):
    """The receiver is killed and comes back: what was sent meanwhile comes then."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as probe:
        address = "127.0.0.1:%d" % probe.getsockname()[1]
    with Program(TARGETS["calls"].path) as program, paced([program.pid]), \
            Agent("-pid", program.pid, "-samples-per-second", RATE,
                  *sender_options(address, "web-3", "-disable-tls")) as sender:
        tap.ok(sender.wait_started(), "a sender whose receiver is not there yet starts",
               sender.log_text())
        with receiving(tap, "-receive", address) as receiver:
            tap.ok(receiver.wait_for("web-3", LEAST_SAMPLES) >= LEAST_SAMPLES, "its samples come",
                   sender.log_text())
            receiver.agent.process.kill()
            receiver.agent.process.wait()
        time.sleep(1)
        with receiving(tap, "-receive", address) as receiver:
            before = receiver.wait_for("web-3", LEAST_SAMPLES)
            result = sender.stop(signal.SIGTERM)
            tap.ok(before >= LEAST_SAMPLES and result.status == 0,
                   "and so they do when it was killed and is there again", before,
                   result.log[-1500:])


def hurry(pid):
    """Each thread of a process goes before those of other tests."""
    for tid in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, int(tid), -10)


def is_ended(connection, seconds):
    """Whether the other side ends it in that time."""
    connection.settimeout(max(seconds, 0.001))
    try:
        return not connection.recv(1)
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def wait_served(receiver):
    """Waits until the receiver keeps a connection, as it does when it has seen that the others have ended."""
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError), receiver.connect() as connection:
            if not is_ended(connection, 0.5):
                return


def check_flood(tap, receiver, program, options):
    """More connections than may be are all ended; who comes then is served."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # The agent ends silent connections after 10 s, so a slow agent never holds too many.
    hurry(receiver.agent.pid)
    end = time.monotonic() + HANG_SECONDS
    with contextlib.ExitStack() as stack:
        # The last one that was open before the agent said that there are too many, and when it was made.
        newest, last, last_time, count = None, None, 0, 0
        while "too many connections" not in receiver.agent.log_text() and time.monotonic() < end:
            last, last_time = newest, time.monotonic()
            with contextlib.suppress(OSError):
                for _ in range(CONNECTIONS_AT_ONCE):
                    newest = stack.enter_context(receiver.connect())
                    count += 1
        tap.ok("too many connections" in receiver.agent.log_text() and last
               and is_ended(last, last_time + SOON_SECONDS - time.monotonic()),
               "a flood of connections is ended", count, receiver.agent.log_text()[-500:])
    wait_served(receiver)
    result = send(receiver.address, "after", [program], *options)
    total = sum(result.stacks.values())
    tap.ok(receiver.wait_for("after", total) == total > 0, "and who comes then is served",
           result.log[-1500:])


def check_token(tap, certificates):
    token_file = certificates.path("token")
    with open(token_file, "w", encoding="ascii", opener=lambda path, flags: os.open(
            path, flags, 0o600)) as file:
        file.write(TOKEN + "\n")
    with open(certificates.path("bearer"), "w", encoding="ascii") as file:
        file.write("Bearer " + TOKEN)
    first = certificates.make("first")
    files = [certificates.path(name) for name in ("server.pem", "server.key")]
    for source, target in zip(first, files):
        shutil.copy(source, target)
    with receiving(tap, "-receive-tls-cert", files[0], "-receive-tls-key", files[1],
                   "-receive-token-file", token_file) as receiver, \
            Program(TARGETS["calls"].path) as program:
        tap.ok(receiver.how == "TLS", "it says that it talks TLS", receiver.how)
        tls = ["-tls-ca", certificates.ca]
        bearer = ["-header", "authorization=@" + certificates.path("bearer")]
        result = send(receiver.address, "safe", [program], *tls, *bearer)
        total = sum(result.stacks.values())
        tap.ok(receiver.wait_for("safe", total) == total > 0, "with TLS and the token all comes",
               receiver.hosts(), total, result.log[-1500:])
        check_flood(tap, receiver, program, [*tls, *bearer])
        for name, options, words in (
                ("no token", tls, "the token is missing or wrong"),
                ("a wrong token", [*tls, "-header", "authorization=Bearer wrong"],
                 "the token is missing or wrong"),
                ("no TLS", [*bearer, "-disable-tls"], "")):
            result = send(receiver.address, "unsafe", [program], *options)
            lines = sending_warnings(result.log)
            tap.ok(not receiver.hosts().get("unsafe") and lines and words in lines[0],
                   "with %s nothing comes, and the sender says why" % name, receiver.hosts(),
                   *lines)
            result = upload(receiver.address, TARGETS["calls"].path, options=options)
            tap.ok(result.status == 1 and words in result.log,
                   "with %s no symbols are taken either" % name, result.log)
        stranger = certificates.make("stranger", ca="other")
        for source, target in zip(stranger, files):
            shutil.copy(source, target)
        result = send(receiver.address, "late", [program], *tls, *bearer)
        tap.ok(not receiver.hosts().get("late") and sending_warnings(result.log),
               "a certificate that changes on disk is the one of the next connection",
               receiver.hosts(), result.log[-1500:])
        result = send(receiver.address, "later", [program], "-tls-ca", certificates.path("other.pem"),
                      *bearer)
        total = sum(result.stacks.values())
        tap.ok(receiver.wait_for("later", total) == total > 0, "and good for who trusts it",
               result.log[-1500:])


def upload(address, *paths, options=("-disable-tls",), **more):
    files = [option for path in paths for option in ("-upload-symbols", path)]
    return run_agent("-collection-agent", address, *options, *files, outputs=[], **more)


def named_parts(receiver, host):
    """By program, the share of the samples of @host that have main(); where an unwind broke off it cannot be there."""
    parts = {}
    for comm in ("calls", "calls_stripped"):
        stacks = {stack: count for stack, count in receiver.api.stacks(host=host, comm=comm).items()
                  if not any(frame.startswith("[error") for frame in stack.frames)}
        parts[comm] = count_with(stacks, "main") / max(sum(stacks.values()), 1)
    return parts


def check_uploads(tap, directory, readable, meanwhile):
    """Native functions of other machines get their names from files of theirs that somebody uploads. Anybody can
    read what is in @readable: nobody can in a clone that lies in /root. @meanwhile is called while an upload waits.
    """
    calls, stripped = TARGETS["calls"], TARGETS["calls_stripped"]
    damaged = os.path.join(directory, "damaged")
    with open(calls.path, "rb") as source, open(damaged, "wb") as file:
        file.write(source.read()[:3000])
    cache = os.path.join(directory, "cache")
    with receiving(tap, "-cache-dir", cache) as receiver:
        with Program(calls.path) as one, Program(stripped.path) as two:
            sent = send(receiver.address, "web-4", [one, two], "-disable-tls")
        total = sum(sent.stacks.values())
        tap.ok(receiver.wait_for("web-4", total) == total
               and named_parts(receiver, "web-4") == {"calls": 0, "calls_stripped": 0},
               "without uploads there are no names", named_parts(receiver, "web-4"))
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        debug_file = os.path.join(readable, "calls.debug")
        subprocess.run(["objcopy", "--only-keep-debug", stripped.twin, debug_file], check=True)
        result = upload(receiver.address, shutil.copy(calls.path, readable), debug_file, prefix=nobody)
        tap.ok(result.status == 0 and not sending_warnings(result.log)
               and result.log.count("its symbols are sent") == 2,
               "anybody can upload files", result.status, result.log)
        parts = named_parts(receiver, "web-4")
        # A sample in the dynamic linker has no main() yet.
        tap.ok(min(parts.values()) > 0.98, "and their functions have names: by file id, and by the build "
               "id of its debug file what was stripped", parts,
               list(receiver.api.stacks(host="web-4", comm="calls"))[:3], sent.log[-700:])
        secret = os.path.join(readable, "secret")
        shutil.copy(calls.path, secret)
        os.chmod(secret, 0)
        result = upload(receiver.address, secret, prefix=nobody)
        tap.ok(result.status == 1 and "Permission denied" in result.log,
               "what may not be read is told", result.log)
        result = upload(receiver.address, "/etc/passwd", calls.path, damaged, "/nonexistent")
        lines = sending_warnings(result.log)
        tap.ok(result.status == 1 and len(lines) == 3
               and [line.split(": ")[1] for line in lines] == ["/etc/passwd", damaged, "/nonexistent"]
               and result.log.count("its symbols are sent") == 1,
               "each file that is none is told, the others are sent", result.log)
        receiver.agent.stop(signal.SIGTERM)
    with receiving(tap, "-cache-dir", cache) as receiver:
        with Program(calls.path) as one, Program(stripped.path) as two:
            sent = send(receiver.address, "web-5", [one, two], "-disable-tls")
        total = sum(sent.stacks.values())
        receiver.wait_for("web-5", total)
        parts = named_parts(receiver, "web-5")
        tap.ok(min(parts.values()) > 0.98, "they are kept for the next start", parts)
        for name, request in (("garbage", b"\xff" * 1000), ("an empty chunk", b""),
                              ("a chunk of nothing", b"\x09" + b"\1" * 8 + b"\x12\3abc\x20\5\x32\5abcde")):
            answer = ask(receiver, call(request, UPLOAD_METHOD))
            tap.ok(re.search(rb"grpc-status\x013", answer) and receiver.agent.process.poll() is None,
                   "%s is refused" % name, answer[-300:])
        with busy_slots(tap, receiver, calls.path):
            meanwhile()


def upload_request(number, size):
    """The first chunk of an upload that never ends."""
    return b"\x09" + number.to_bytes(8, "little") + field(2, b"abc") + field(4, size) + field(6, b"x")


@contextlib.contextmanager
def busy_slots(tap, receiver, path):
    """Who comes when all slots are taken waits until one rests: for half a minute, in which other checks are done."""
    for number in range(1, 5):
        answer = ask(receiver, call(upload_request(number, 1000), UPLOAD_METHOD))
        tap.ok(re.search(rb"grpc-status\x010", answer), "upload %d begins" % number, answer[-300:])
    answer = ask(receiver, call(upload_request(5, 1000), UPLOAD_METHOD))
    tap.ok(b"others upload symbols now" in answer, "there are four slots", answer[-300:])
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(upload, receiver.address, path)
        yield
        result = waiting.result()
    tap.ok(result.status == 0 and 15 < result.seconds < 90,
           "who comes meanwhile waits, and is served", result.seconds, result.log)


def check_refused_uploads(tap, receiver, path):
    """@receiver has no -cache-dir."""
    result = upload(receiver.address, path)
    tap.ok(result.status == 1 and "-cache-dir" in result.log and len(sending_warnings(result.log)) == 1,
           "who has nowhere to keep symbols says so", result.log)
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as probe:
        address = "127.0.0.1:%d" % probe.getsockname()[1]
    result = upload(address, path)
    tap.ok(result.status == 1 and address in result.log and len(sending_warnings(result.log)) == 1
           and result.seconds < 30, "where nobody listens that is told", result.seconds, result.log)


def frame(kind, flags, stream, content):
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") \
        + content


def call(content, method=METHOD, length=None, headers=()):
    """The bytes of a whole call with a message of @content."""
    fields = {":method": "POST", ":scheme": "http", ":path": method, ":authority": "x",
              "te": "trailers", "content-type": "application/grpc", **dict(headers)}
    block = b"".join(b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)])
                     + value.encode() for name, value in fields.items())
    message = b"\0" + (len(content) if length is None else length).to_bytes(4, "big") + content
    data = b"".join(frame(FRAME_DATA, 0, 1, message[i:i + 16384])
                    for i in range(0, len(message), 16384))
    return PREFACE + frame(FRAME_SETTINGS, 0, 0, b"") \
        + frame(FRAME_HEADERS, END_HEADERS, 1, block) + data + frame(FRAME_DATA, END_STREAM, 1, b"")


def profile_request(unit, count, age_seconds=0):
    """A request of one sample of a stack without frames: @count, in @unit."""
    now = time.time_ns() - age_seconds * 10 ** 9
    sample = field(4, field(0, count)[1:])
    profile = field(1, field(2, 1)) + field(2, sample) + b"\x19" + now.to_bytes(8, "little")
    host = field(1, b"host.name") + field(2, field(1, b"odd"))
    resource = field(1, field(1, host)) + field(2, field(2, profile))
    return field(1, resource) + field(2, field(5, b"") + field(5, unit))


def check_odd_profiles(tap, receiver):
    """What is not shown is told."""
    for name, request, words, taken in (
            ("a sample", profile_request(b"count", 3), b"", 3),
            ("a sample of ten minutes ago", profile_request(b"count", 3, 600), b"", 3),
            ("heap bytes", profile_request(b"bytes", 3), b"only numbers of samples", 0),
            ("time that nothing divides", profile_request(b"nanoseconds", 3),
             b"only numbers of samples", 0),
            ("a million samples", profile_request(b"count", 1000000),
             b"more than 262144 samples", 0),
            ("a sample of last week", profile_request(b"count", 3, 7 * 86400),
             b"older than what is shown", 0)):
        before = receiver.hosts().get("odd", 0)
        answer = ask(receiver, call(request))
        tap.ok(words in answer and receiver.hosts().get("odd", 0) == before + taken,
               "%s: %d are taken" % (name, taken), answer[-300:], receiver.hosts())


def ask(receiver, request, seconds=5):
    """What comes back for @request until nothing more does, or its trailers are there."""
    answer = b""
    with receiver.connect() as connection, contextlib.suppress(OSError):
        connection.settimeout(seconds)
        connection.sendall(request)
        while b"grpc-status" not in answer and (chunk := connection.recv(65536)):
            answer += chunk
    return answer


def check_bad_clients(tap, receiver):
    """Garbage, half calls, many connections: none of it costs anything, and good ones get through."""
    # Memory that was in use before is not their cost.
    before = receiver.memory()
    cpu_before = receiver.cpu_seconds()
    requests = (
        ("a message that is none", call(b"\xff" * 1000), b"it is no OTLP profile"),
        ("another method", call(b"", "/a.b/C"), b"only profiles and symbols are taken here"),
        ("a message of 4 GB", call(b"x" * 100, length=0xffffffff), b""),
        ("a call without a message", PREFACE + frame(FRAME_SETTINGS, 0, 0, b"") + call(
            b"")[len(PREFACE) + 9:].split(b"\0\0\0\0\0")[0], b""),
        ("a header of 16 kB", call(b"", headers={"x-%d" % i: "y" * 127 for i in range(
            200)}), b""),
        ("no HTTP/2", b"GET / HTTP/1.1\r\n\r\n", b""),
        ("random bytes", os.urandom(65536), b""))
    # Side by side: some of them get no answer.
    with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
        answers = list(pool.map(lambda one: ask(receiver, one[1], 2), requests))
    for (name, _, words), answer in zip(requests, answers):
        tap.ok(words in answer and receiver.agent.process.poll() is None, "%s is refused" % name,
               answer[-300:])
    with contextlib.ExitStack() as stack:
        for i in range(IDLE_CONNECTIONS):
            connection = stack.enter_context(receiver.connect())
            # Every other one begins a call and says no more.
            if i % 2:
                with contextlib.suppress(OSError):
                    connection.sendall(call(b"x" * 100, length=1 << 20)[:-9])
        with Program(TARGETS["calls"].path) as program:
            result = send(receiver.address, "good", [program], "-disable-tls")
        total = sum(result.stacks.values())
        got = receiver.wait_for("good", total)
        tap.ok(got == total > 0, "beside %d connections that do nothing a good one comes in"
               % IDLE_CONNECTIONS, got, total, result.log[-1500:])
        grown = receiver.memory() - before
        tap.ok(grown < MAX_GROWTH, "they take less than %d MB" % (MAX_GROWTH >> 20), grown)
        tap.note("%.1f MB, %.2f s of CPU time" % (grown / 1e6,
                                                 receiver.cpu_seconds() - cpu_before))
    used = receiver.cpu_seconds() - cpu_before
    tap.ok(used < MAX_CPU_SECONDS, "and little time", used)


def main():
    tap = Tap()
    need_root(tap, "-receive")
    build_targets.build(["calls", "calls_stripped", "syscalls"])
    directory = os.path.join(OUTPUT, "receive")
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    with receiving(tap) as receiver:
        check_machines(tap, receiver, directory)
        check_refused_uploads(tap, receiver, TARGETS["calls"].path)
        check_odd_profiles(tap, receiver)
        check_bad_clients(tap, receiver)
        with receiver.connect() as connection:
            connection.sendall(call(b"x" * 100, length=1 << 20)[:-9])
            time.sleep(0.5)
            result = receiver.agent.stop(signal.SIGTERM)
        tap.ok(result.status == 0 and not sending_warnings(result.log)
               and result.stop_seconds < STOP_SECONDS,
               "it ends in order, and does not wait for who has not said all", result.stop_seconds,
               result.status, *sending_warnings(result.log))
    def check_others():
        check_restart(tap)
        with Certificates() as certificates:
            certificates.other_ca()
            check_token(tap, certificates)

    with tempfile.TemporaryDirectory(prefix="allframes-uploads-") as readable:
        os.chmod(readable, 0o755)
        check_uploads(tap, directory, readable, check_others)
    tap.finish()


if __name__ == "__main__":
    main()
