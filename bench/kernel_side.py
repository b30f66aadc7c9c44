# SPDX-License-Identifier: Apache-2.0
"""Times of BPF programs, from the kernel's statistics."""
import json
import subprocess
import time

from tools import bench_cpu, path, start_alone, undisturbed
import harness

RATE = 4999
SECONDS = 2


def _programs():
    text = subprocess.run([harness.bpftool(), "-j", "prog", "list"], stdout=subprocess.PIPE,
                          check=True).stdout
    return {one["id"]: one for one in json.loads(text)}


def _measure(name, pid):
    """(ns, runs) of some seconds of the one program @name of process @pid."""
    mine = harness.bpf_objects_of(pid)
    found = [one for number, one in _programs().items()
             if ("prog", number) in mine and one.get("name") == name]
    assert len(found) == 1, "%d programs called %s" % (len(found), name)
    number = found[0]["id"]
    first = _programs()[number]
    time.sleep(SECONDS)
    last = _programs()[number]
    runs = last["run_cnt"] - first.get("run_cnt", 0)
    return last["run_time_ns"] - first.get("run_time_ns", 0), runs


def agent_ns(command):
    """Mean time of the agent's programs for a sample of @command, which runs for ever."""
    with start_alone(command) as program:
        with harness.Agent("-pid", program.pid, "-cpus", bench_cpu(), "-samples-per-second",
                           RATE) as agent:
            if not agent.wait_started():
                raise RuntimeError(agent.log_text())
            # The first samples find tables that are not loaded yet.
            time.sleep(0.5)
            with undisturbed(program):
                time_ns, runs = _measure("sample_entry", agent.pid)
            _check(agent.stop(), command)
            return time_ns / runs


def _check(result, command):
    """The walks did what they were timed for: all went to the end, none was cut."""
    stacks = result.stacks
    total = sum(stacks.values())
    good = sum(count for stack, count in stacks.items()
               if not stack.errors and len(stack.user_frames) >= int(command[1]))
    assert good > 0.95 * total, "%d of %d stacks are whole: %s" % (
        good, total, next((str(stack) for stack in stacks if stack.errors), ""))


def base_ns(program_name, command):
    """Mean time of a program of base_walk.bpf.c for @command."""
    with start_alone(command) as program:
        base = subprocess.Popen([path("base_walk"), path("base_walk.bpf.o"), program_name,
                                 str(program.pid), str(RATE)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
        try:
            assert base.stdout.readline() == "ready\n"
            with undisturbed(program):
                time_ns, runs = _measure(program_name, base.pid)
            frames, _ = base.communicate("", timeout=10)
        finally:
            base.kill()
            base.wait()
    if program_name == "base_user":
        assert float(frames) > 0.9 * int(command[1]), "bpf_get_stack found " + frames
    return time_ns / runs
