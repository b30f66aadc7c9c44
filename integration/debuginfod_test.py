#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""With -debuginfod, debug files that are not on the machine come from a server, elfutils' own here, by its client
and its cache; without it nobody is asked. What a server gives for another build id is not believed, one that
never answers holds nothing up, and the client ends with the agent.
"""
import glob
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import HANG_SECONDS, OUTPUT, ROOT, STOP_SECONDS, Agent, Program, Tap, need_root
from sampled import run_for, stopped

SOURCE = os.path.join(ROOT, "integration", "targets", "inlined.cpp")
RATE = 197
CPU_SECONDS = 0.25


def run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    return re.search("Build ID: ([0-9a-f]+)", text)[1]


def build(directory, name, *flags):
    """A program without debug data, and its debug file in the server's folder: (path, build id)."""
    program = os.path.join(directory, name)
    run("g++", "-O2", "-g", "-Wl,--build-id=sha1", *flags, "-o", program, SOURCE)
    run("objcopy", "--only-keep-debug", program, os.path.join(directory, "served", name + ".debug"))
    run("strip", "--strip-all", program)
    return program, build_id(program)


class Server:
    """A debuginfod that serves a folder."""

    def __init__(self, directory):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port = taken.getsockname()[1]
        self._log_path = os.path.join(directory, "log")
        self._log = open(self._log_path, "w+b")
        self._process = subprocess.Popen(
            ["debuginfod", "-F", "-v", "-p", str(self.port), "-d", os.path.join(directory, "index"),
             os.path.join(directory, "served")], stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.port

    def _gives(self, identity):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            connection.request("GET", "/buildid/%s/debuginfo" % identity, headers={"User-Agent": "waiting"})
            return connection.getresponse().status == 200
        except OSError:
            return False

    def wait_for(self, identity):
        end = time.monotonic() + HANG_SECONDS
        while not self._gives(identity):
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError("debuginfod does not serve: " + self.log_text()[-2000:])
            time.sleep(0.1)

    def log_text(self):
        with open(self._log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def asked(self):
        """What clients other than this test have asked for."""
        return [line for line in self.log_text().split("\n") if "GET /buildid" in line and "waiting" not in line]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._log.close()


def profile(program, cache, urls, *options, fetched=None):
    """The result of a run over @program, which goes on until the debug file of build id @fetched came and was
    read, if given, and its stacks.
    """
    environment = {"DEBUGINFOD_URLS": urls, "DEBUGINFOD_CACHE_PATH": cache, "DEBUGINFOD_TIMEOUT": "1000"}
    with stopped([program.pid]), Agent(
            "-samples-per-second", RATE, "-with-lines", "-log-level", "debug", "-pid", program.pid, *options,
            environment=environment) as agent:
        agent.wait_started()
        run_for([program.pid], CPU_SECONDS)
        end = time.monotonic() + HANG_SECONDS
        while fetched and not os.path.exists(os.path.join(cache, fetched, "debuginfo")):
            if time.monotonic() > end:
                break
            time.sleep(0.1)
        run_for([program.pid], CPU_SECONDS)
        result = agent.stop()
        return result, result.stacks if result.status == 0 else {}


def has_lines(stacks):
    whole = sum(count for stack, count in stacks.items()
                if re.search(r"outer.*inlined\.cpp.*;.*middle.*;.*inner.*inlined\.cpp:\d+\)_\[i\]", str(stack)))
    return whole > sum(stacks.values()) / 2


def check_fetched(tap, directory, server, program, identity):
    cache = os.path.join(directory, "cache")
    result, stacks = profile(program, cache, server.url)
    tap.ok(result.status == 0 and stacks and not has_lines(stacks), "off by default: no lines",
           result.log[-2000:])
    tap.ok(not server.asked(), "and nobody is asked", server.asked())
    result, stacks = profile(program, cache, server.url, "-debuginfod", fetched=identity)
    tap.ok(has_lines(stacks), "-debuginfod: functions, inlined ones and lines",
           [str(stack) for stack in list(stacks)[:3]], result.log[-2000:], server.log_text()[-1000:])
    tap.ok(result.metrics["debug_files_fetched"] >= 1 and any(identity in line for line in server.asked()),
           "a debug file was fetched", result.metrics, server.asked())
    asked = len(server.asked())
    result, stacks = profile(program, cache, server.url, "-debuginfod")
    tap.ok(has_lines(stacks), "a second run has the lines out of the client's cache", result.log[-2000:])
    tap.ok(not any(identity in line for line in server.asked()[asked:]), "and asks for that file no more",
           server.asked()[asked:])


def check_lying(tap, directory, program, identity, other):
    """The cache has another program's debug file under the build id."""
    cache = os.path.join(directory, "forged")
    os.makedirs(os.path.join(cache, identity))
    shutil.copy(other, os.path.join(cache, identity, "debuginfo"))
    result, stacks = profile(program, cache, "http://127.0.0.1:1", "-debuginfod")
    tap.ok(result.status == 0 and stacks and not has_lines(stacks),
           "a debug file of another build id is not believed", result.log[-2000:])


def check_hanging(tap, directory, program):
    """A server that takes connections and says nothing."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        result, stacks = profile(program, os.path.join(directory, "empty"),
                                 "http://127.0.0.1:%d" % silent.getsockname()[1], "-debuginfod")
    tap.ok(result.status == 0 and any("outer" in str(stack) or "inl" in str(stack) for stack in stacks)
           and result.stop_seconds < STOP_SECONDS, "a server that never answers holds nothing up",
           "%.1f s" % result.stop_seconds, result.log[-2000:])


def check_bound(tap, directory, program):
    """The client waits for such a server when the agent is killed."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.settimeout(HANG_SECONDS)
        environment = {"DEBUGINFOD_URLS": "http://127.0.0.1:%d" % silent.getsockname()[1],
                       "DEBUGINFOD_CACHE_PATH": os.path.join(directory, "killed"), "DEBUGINFOD_TIMEOUT": "1000"}
        with Agent("-samples-per-second", RATE, "-with-lines", "-pid", program.pid, "-debuginfod",
                   environment=environment) as agent:
            agent.wait_started()
            connection, _ = silent.accept()
            with connection:
                clients = children_of(agent.process.pid, "debuginfod-find")
                agent.process.kill()
                agent.process.wait()
                end = time.monotonic() + HANG_SECONDS
                while any(map(is_running, clients)) and time.monotonic() < end:
                    time.sleep(0.05)
                left = [pid for pid in clients if is_running(pid)]
    tap.ok(clients and not left, "the client ends with an agent that is killed", clients, left)


def children_of(pid, comm):
    """Process ids of the children of @pid whose name begins with @comm."""
    found = []
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                fields = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields.get("PPid") == str(pid) and fields["Name"].startswith(comm[:15]):
            found.append(int(fields["Pid"]))
    return found


def is_running(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def check_refused(tap):
    for what, environment in (("no server", {"DEBUGINFOD_URLS": ""}),
                              ("no debuginfod-find", {"DEBUGINFOD_URLS": "http://127.0.0.1:1", "PATH": "/nowhere"})):
        with Agent("-debuginfod", "-duration", "1s", environment=environment) as agent:
            result = agent.wait()
        tap.ok(result.status == 2 and what in result.log, "-debuginfod with %s is wrong usage" % what, result.log)


def main():
    tap = Tap()
    need_root(tap, "debug files from servers")
    os.makedirs(OUTPUT, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="allframes-debuginfod-") as directory:
        os.mkdir(os.path.join(directory, "served"))
        path, identity = build(directory, "inl_served")
        build(directory, "inl_other", "-funroll-loops")
        with Server(directory) as server, Program(path) as program:
            server.wait_for(identity)
            check_fetched(tap, directory, server, program, identity)
            check_lying(tap, directory, program, identity, os.path.join(directory, "served", "inl_other.debug"))
            check_hanging(tap, directory, program)
            check_bound(tap, directory, program)
    check_refused(tap)
    tap.finish()


if __name__ == "__main__":
    main()
