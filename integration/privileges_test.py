#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a running agent and its host processes may do: the capabilities that docs/security.md lists and no others, in all
threads, and none of the system calls that an attacker would make who has taken one of them over. The calls are made by
integration/targets/intruder.c in the threads themselves.
"""
import collections
import contextlib
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from anonymous_code_test import build
from harness import ROOT, Agent, Program, Tap, free_port, need_root
from process_states import children, wait_for

DOCUMENT = os.path.join(ROOT, "docs", "security.md")
CAPABILITIES = os.path.join(os.sep, "usr", "include", "linux", "capability.h")
RATE = 99
NOBODY = 65534
# Calls of intruder.c that fail in every process of the agent, and those that fail in its host processes too.
NEVER = {"fork", "run", "write_file", "write_memory", "rename", "write_process", "trace", "signal", "unshare", "namespace", "mount", "user", "key", "module",
         "rings", "code"}
NEVER_IN_HOSTS = NEVER | {"socket", "bpf", "perf"}
# Calls that fail in those that cannot read memory of other processes, whatever they can open; and in those that open nothing.
NO_MEMORY = NEVER_IN_HOSTS | {"read_process", "read_memory", "seek_memory"}
NO_FILES = NEVER_IN_HOSTS | {"open_memory"}
# Host processes by name, and what fails in them beside that.
HOSTS = {"runtimes": NO_FILES, "files": NO_MEMORY, "proc": NO_MEMORY, "parse": NO_MEMORY | NO_FILES}


def capability_numbers():
    with open(CAPABILITIES, encoding="ascii") as file:
        return {name: int(number) for name, number in re.findall(r"^#define\s+(CAP_\w+)\s+(\d+)$", file.read(), re.M)}


NUMBERS = capability_numbers()


def documented(heading):
    """The capabilities that docs/security.md has in the first table below @heading."""
    with open(DOCUMENT, encoding="utf-8") as file:
        table = re.search(r"(^\|.*\n)+", file.read().split(heading + "\n", 1)[1], re.M)[0]
    return set(re.findall(r"^\| `(CAP_\w+)`", table, re.M))


def names_of(mask):
    return {name for name, number in NUMBERS.items() if mask >> number & 1}


def states(pid):
    """Fields of /proc/PID/task/TID/status of each thread: [{name: text}]."""
    found = []
    for tid in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                open("/proc/%d/task/%s/status" % (pid, tid), encoding="utf-8", errors="replace") as file:
            found.append(dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line))
    return found


def name_of(pid):
    with contextlib.suppress(OSError), open("/proc/%d/comm" % pid, encoding="utf-8", errors="replace") as file:
        return file.read().strip()
    return ""


def own_capabilities():
    """Those of this test, which nobody that it starts can exceed."""
    return names_of(int(states(os.getpid())[0]["CapPrm"], 16))


def is_confined(state, capabilities):
    own = own_capabilities()
    sets = {field: names_of(int(state[field], 16)) for field in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")}
    # Only who may set process capabilities can take from the bounding set.
    return (sets["CapPrm"] == sets["CapEff"] == capabilities & own and not sets["CapInh"] and not sets["CapAmb"]
            and ("CAP_SETPCAP" not in own or sets["CapBnd"] == capabilities & own)
            and state["NoNewPrivs"] == "1" and state["Seccomp"] == "2")


def check_state(tap, name, pid, capabilities):
    found = states(pid)
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        # Kernels of some distributions then want more for perf events.
        if int(file.read()) > 2 and "CAP_PERFMON" in capabilities and found:
            capabilities = capabilities | (names_of(int(found[0]["CapEff"], 16)) & {"CAP_SYS_ADMIN"})
    unlike = [(state["Name"], {field: state[field] for field in ("CapPrm", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp")})
              for state in found if not is_confined(state, capabilities)]
    tap.ok(found and not unlike, "%s: all threads have these capabilities and a filter: %s"
           % (name, " ".join(sorted(capabilities))), "%d threads" % len(found), unlike)


def intrude(pid):
    """Results of the calls in the threads of @pid: {call: [result]}."""
    result = subprocess.run([INTRUDER, str(pid)], stdout=subprocess.PIPE, check=False)
    found = collections.defaultdict(list)
    for line in result.stdout.decode().splitlines():
        _, name, value = line.split()
        found[name].append(int(value))
    return found


def check_calls(tap, name, pid, refused):
    """None of the calls @refused is made in any thread of @pid."""
    found = intrude(pid)
    made = {call: found[call] for call in refused if not found[call] or max(found[call]) >= 0}
    tap.ok(not made, "%s: none of %d threads can do this: %s"
           % (name, len(found["run"]), " ".join(sorted(refused))), made)
    return found


def check_control(tap):
    """The same code in a process that nobody confines."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        time.sleep(0.1)
        found = intrude(process.pid)
        process.kill()
    with contextlib.suppress(FileNotFoundError):
        os.unlink("/tmp/allframes-intruder")
    possible = {call for call, results in found.items() if max(results) >= 0}
    tap.ok({"socket", "fork", "write_file", "write_memory", "read_process", "open_memory", "read_memory", "seek_memory", "code",
            "user"} <= possible,
           "a process that is not confined can do these things", found)


def hosts_of(agent):
    return {name_of(pid): pid for pid in children(agent.pid)}


def check_launcher(tap, pid, directory):
    """It keeps its rights, so it must hear nobody but the agent."""
    links = [os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)]
    others = set(links) - {"/dev/null", "/var/tmp", "/tmp", os.path.join(directory, "cache")}
    tap.ok(len(others) == 1 and "".join(others).startswith("socket:") and sum("socket:" in link for link in links) == 1,
           "the launcher has one socket, no file, and the folders that are listed", links)


def check_sampling(tap, directory):
    """With a page, a collector that is not there and a cache, so that there are all kinds of threads."""
    sampling = documented("## Capabilities of the agent")
    host_sets = {name: documented("### " + name) for name in HOSTS}
    options = ["-samples-per-second", RATE, "-viewer", "127.0.0.1:0", "-collection-agent", "127.0.0.1:%d" % free_port(),
               "-disable-tls", "-cache-dir", os.path.join(directory, "cache"), "-reporter-interval", "500ms"]
    with Program(build("run_time_code")) as program, Agent(*options, outputs=[]) as agent:
        if not agent.wait_started():
            raise RuntimeError(agent.log_text())
        wait_for(lambda: {*HOSTS, "launcher"} <= set(hosts_of(agent)))
        hosts = hosts_of(agent)
        tap.ok({*HOSTS, "launcher"} <= set(hosts), "there are all kinds of host processes, and the launcher", hosts)
        check_state(tap, "the agent", agent.pid, sampling)
        for name, pid in hosts.items():
            if name in HOSTS:
                check_state(tap, name, pid, host_sets[name])
        check_launcher(tap, hosts["launcher"], directory)
        check_calls(tap, "the agent", agent.pid, NEVER | {"read_process"})
        for name, refused in HOSTS.items():
            found = check_calls(tap, name, hosts[name], refused)
            if "open_memory" not in refused:
                tap.ok(found["open_memory"] and min(found["open_memory"]) >= 0, "%s: what it cannot read it can open" % name,
                       found["open_memory"])
        result = agent.stop()
    os.unlink("/tmp/perf-%d.map" % program.pid)
    tap.ok(result.status == 0 and "going on without" not in result.log, "the agent has gone on", result.log[-2000:])


def check_files_only(tap, directory):
    """Without page and collector there is no network."""
    path = os.path.join(directory, "stacks.folded")
    with Agent("-samples-per-second", RATE, outputs=[path]) as agent:
        agent.wait_started()
        check_calls(tap, "an agent that writes a file", agent.pid, NEVER | {"socket"})
        result = agent.stop()
    tap.ok(result.status == 0 and os.path.getsize(path), "the file is written", result.log[-2000:])


def check_folder_of_another(tap, directory):
    """A file in a folder of another user, over a file of that user."""
    folder = os.path.join(directory, "nobody")
    os.mkdir(folder, 0o700)
    path = os.path.join(folder, "stacks.folded")
    with open(path, "wb"):
        pass
    os.chown(path, NOBODY, NOBODY)
    os.chown(folder, NOBODY, NOBODY)
    old = os.stat(path).st_ino
    with Agent("-samples-per-second", RATE, outputs=[path]) as agent:
        agent.wait_started()
        check_state(tap, "an agent that writes to another user's folder", agent.pid,
                    documented("## Capabilities of the agent"))
        result = agent.stop()
    # An idle machine may have no sample in so short a time: then the file is new, and empty.
    tap.ok(result.status == 0 and os.stat(path).st_ino != old, "it is written", result.log[-2000:])


def low_port():
    """A port that only privileged processes may have, and that is free."""
    for port in range(1023, 600, -1):
        with contextlib.suppress(OSError), socket.socket() as tried:
            tried.bind(("127.0.0.1", port))
            return port
    return None


def check_low_port(tap):
    address = "127.0.0.1:%d" % low_port()
    with Agent("-samples-per-second", RATE, "-viewer", address, outputs=[]) as agent:
        started = agent.wait_started()
        check_state(tap, "an agent with a page at a low port", agent.pid,
                    documented("## Capabilities of the agent") | {"CAP_NET_BIND_SERVICE"})
        result = agent.stop()
    tap.ok(started and result.status == 0, "the page is there", result.log[-2000:])


def check_command(tap, directory):
    path = os.path.join(directory, "command.folded")
    with Agent("-samples-per-second", RATE, "-output", path, "--", "sleep", "1000", outputs=[]) as agent:
        started = agent.wait_started()
        check_state(tap, "an agent with a command", agent.pid, documented("## Capabilities of the agent") | {"CAP_KILL"})
        check_calls(tap, "an agent with a command", agent.pid, NEVER)
        result = agent.stop(signal.SIGTERM)
    tap.ok(started and result.status == 128 + signal.SIGTERM, "the signal is the command's", result.status, result.log[-2000:])


def check_open(tap, directory):
    path = os.path.join(directory, "opened.folded")
    with open(path, "w", encoding="ascii") as file:
        file.write("a;b;c 3\n")
    os.chmod(path, 0)
    os.chown(path, NOBODY, NOBODY)
    with Agent("-open", path, "-viewer", "127.0.0.1:0", outputs=[]) as agent:
        wait_for(lambda: "showing" in agent.log_text() or agent.process.poll() is not None)
        check_state(tap, "-open", agent.pid, {"CAP_DAC_READ_SEARCH"})
        check_calls(tap, "-open", agent.pid, NEVER | {"read_process"})
        result = agent.stop(signal.SIGTERM)
    tap.ok(result.status == 0, "-open has gone on", result.log[-2000:])


def main():
    global INTRUDER
    tap = Tap()
    need_root(tap, "privileges")
    if platform.machine() != "x86_64":
        tap.skip("privileges", "system calls are put into x86-64 threads only")
        tap.finish()
    INTRUDER = build("intruder")
    check_control(tap)
    with tempfile.TemporaryDirectory(prefix="allframes-privileges-") as directory:
        os.chmod(directory, 0o755)
        check_sampling(tap, directory)
        check_files_only(tap, directory)
        check_folder_of_another(tap, directory)
        check_low_port(tap)
        check_command(tap, directory)
        check_open(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
