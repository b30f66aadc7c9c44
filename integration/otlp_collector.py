# SPDX-License-Identifier: Apache-2.0
"""The test collector for live tests: started, stopped and read; and certificates made on the spot."""
import collections
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from harness import HANG_SECONDS, ROOT, Program

COLLECTOR = os.path.join(ROOT, "build", "collector")
BROKEN_RULES_STATUS = 3


def warnings(log):
    """Lines of an agent's log that are warnings or errors."""
    return [line for line in log.splitlines() if line.startswith(("warn: ", "error: "))]


# Warnings that say nothing about sending: names of local outputs that came too late, files and memory of other programs on
# this machine, and a selection that selects nobody.
_NOT_OF_SENDING = re.compile("the stop came before the debug data|its programs show native frames only|"
                             "no unwind rows|its stacks will be cut|its mappings are not loaded|"
                             "process event queue overflowed|no process has this name now|"
                             "its memory( or a file of it)? does not answer")


def sending_warnings(log):
    """The warnings about sending."""
    return [line for line in warnings(log) if not _NOT_OF_SENDING.search(line)]


def parse_stacks(text):
    """Counter of stacks, texts of frames root first without a process's name, from folded text."""
    stacks = collections.Counter()
    for line in text.split("\n")[:-1]:
        stack, _, count = line.rpartition(" ")
        stacks[stack] += int(count)
    return stacks


def without_comm(stacks):
    """A Counter of harness.Stack as parse_stacks() has it: OTLP carries no process's name here."""
    merged = collections.Counter()
    for stack, count in stacks.items():
        merged[";".join(stack.frames)] += count
    return merged


class Received:
    """What a collector got: its report, its folded stacks, its exit status and what it printed."""

    def __init__(self, directory, status=None, log=""):
        with open(os.path.join(directory, "report.json"), encoding="utf-8") as file:
            self.report = json.load(file)
        with open(os.path.join(directory, "stacks.folded"), encoding="utf-8",
                  newline="\n") as file:
            self.stacks = parse_stacks(file.read())
        self.status = status
        self.log = log

    def __getattr__(self, name):
        return self.report[name]

    def broken(self):
        """Text for people: every rule that was broken."""
        return "\n".join("rule %s, %s: %d times: %s" % (number, one["rule"], one["count"],
                                                        one["example"])
                         for number, one in self.report["broken_rules"].items())

    def values(self, owner, key):
        """The values (some, if they are many) of attribute @key of @owner; empty if none."""
        for one in self.report["attributes"]:
            if (one["owner"], one["key"]) == (owner, key):
                return set(one["values"])
        return set()


class Collector(Program):
    """A running build/collector. Used as a context: leaving it kills what still runs."""

    def __init__(self, *options, listen="127.0.0.1:0"):
        self.directory = tempfile.mkdtemp(prefix="allframes-collector-")
        self.saved = os.path.join(self.directory, "saved")
        self._log = open(os.path.join(self.directory, "log"), "w+b")
        self._report = os.path.join(self.directory, "report.json")
        super().__init__(COLLECTOR, "-listen", listen, "-save", self.saved, "-report",
                         self._report, "-folded", os.path.join(self.directory, "stacks.folded"),
                         *options, ready=False, stderr=self._log)
        self.address = self._read_address()

    def _read_address(self, seconds=HANG_SECONDS):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            self.__exit__()
            raise RuntimeError("the collector does not start")
        line = self.process.stdout.readline().decode().strip()
        if not re.fullmatch(r".+:\d+", line):
            log = self.log_text()
            self.__exit__()
            raise RuntimeError("the collector does not start: " + log)
        return line

    def __exit__(self, *_):
        super().__exit__()
        self._log.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def log_text(self):
        with open(self._log.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def look(self, seconds=HANG_SECONDS):
        """What it has got up to now."""
        if os.path.exists(self._report):
            os.remove(self._report)
        self.process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + seconds
        while not os.path.exists(self._report):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError("the collector writes no report: " + self.log_text())
            time.sleep(0.02)
        return Received(self.directory)

    def wait_for(self, condition, seconds=HANG_SECONDS):
        """Looks until @condition of what it has got is true; what it has got then, or at the end."""
        end = time.monotonic() + seconds
        while True:
            received = self.look()
            if condition(received) or time.monotonic() > end:
                return received
            time.sleep(0.1)

    def stop(self, seconds=HANG_SECONDS):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(seconds)
        return Received(self.directory, self.process.returncode, self.log_text())

    def saved_files(self):
        """Every request, decompressed, in the order in which they came."""
        return [os.path.join(self.saved, name) for name in sorted(os.listdir(self.saved))]


def read_requests(files, *options):
    """What the collector makes of requests in files."""
    with tempfile.TemporaryDirectory(prefix="allframes-collector-") as directory:
        result = subprocess.run(
            [COLLECTOR, "-report", os.path.join(directory, "report.json"),
             "-folded", os.path.join(directory, "stacks.folded"), *options, *files],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)
        if result.returncode not in (0, BROKEN_RULES_STATUS):
            raise RuntimeError(result.stdout)
        return Received(directory, result.returncode, result.stdout)


def free_address():
    """127.0.0.1 and a port that nobody has right now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return "127.0.0.1:%d" % one.getsockname()[1]


class Certificates:
    """A certificate authority for tests; paths of PEM files. Used as a context."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="allframes-certificates-")
        self.ca = self._make_ca("ca")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def _openssl(self, *words):
        subprocess.run(["openssl", *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True, cwd=self.directory)

    def _make_ca(self, name):
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                      "-nodes", "-subj", "/CN=" + name, "-days", "2", "-keyout", name + ".key",
                      "-out", name + ".pem")
        return self.path(name + ".pem")

    def other_ca(self):
        return self._make_ca("other")

    def make(self, name, ca="ca", is_expired=False, address="127.0.0.1"):
        """Paths of certificate and key for @address, signed by @ca."""
        with open(self.path(name + ".ext"), "w", encoding="ascii") as file:
            file.write("subjectAltName=IP:%s\n" % address)
        self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                      "-nodes", "-subj", "/CN=" + name, "-keyout", name + ".key", "-out",
                      name + ".csr")
        # A negative number of days: not valid any more.
        days = ["-days", "-1"] if is_expired else ["-days", "2"]
        self._openssl("x509", "-req", "-in", name + ".csr", "-CA", ca + ".pem", "-CAkey",
                      ca + ".key", "-CAcreateserial", "-extfile", name + ".ext", *days, "-out",
                      name + ".pem")
        return self.path(name + ".pem"), self.path(name + ".key")
