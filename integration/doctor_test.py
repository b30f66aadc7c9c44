#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`agent -doctor` beside programs that it should know, one that it should not, and one without symbols; and where
the agent may not run. Prints TAP.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
import gos
import javas
import pythons
from harness import AGENT, Agent, Program, Tap, need_root, run_agent
from sampled import signal_all, stopped, wait_cpu

# A CPython of the future may look like this.
UNKNOWN_PYTHON = """
const unsigned long Py_Version = 0x036300f0;
volatile unsigned long turns;

__attribute__((noinline)) void _PyEval_EvalFrameDefault(void)
{
	for (int i = 0; i < 1000; i++)
		turns++;
}

int main(void)
{
	for (;;)
		_PyEval_EvalFrameDefault();
}
"""
STRIPPED = """
static volatile unsigned long turns;

static __attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 1000; i++)
		turns++;
}

int main(void)
{
	for (;;)
		work();
}
"""


# The subjects of the lines about the kernel and the privileges.
KERNEL_THINGS = ["kernel ", "(BTF)", "bpf(2)", "BPF ring buffers", "perf events", "kernel's functions", "lockdown",
                 "CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_CHECKPOINT_RESTORE",
                 "CAP_SYSLOG"]


def compile_program(directory, name, source, *options):
    path = os.path.join(directory, name)
    subprocess.run(["gcc", "-O1", "-g0", "-x", "c", "-", "-o", path, *options],
                   input=source.encode(), check=True)
    return path


def row_of(text, pid):
    """The lines of @pid in the table of processes."""
    match = re.search(r"^ +%d  \S.* %%.*\n(?: {11}.*\n)?" % pid, text, re.M)
    return match[0] if match else ""


def runtime_of(text, pid):
    match = re.search(r"^  (?:ok|bad|part) +%d  .*$" % pid, text, re.M)
    return match[0] if match else ""


def ask_doctor(pids, *options):
    """The result of a doctor that looks at the processes @pids, which are stopped until it samples."""
    with stopped(pids), Agent("-doctor", "-pid", ",".join(map(str, pids)), *options, outputs=[]) as agent:
        agent.wait_started()
        signal_all(pids, signal.SIGCONT)
        return agent.wait()


def check_whole(tap, directory):
    with contextlib.ExitStack() as stack:
        def start(*command, **more):
            """Starts a program and stops it, so that the next one gets ready as well."""
            program = stack.enter_context(Program(*command, **more))
            if "ready" in more:
                wait_cpu([program.pid], 0.1)
            os.kill(program.pid, signal.SIGSTOP)
            return program

        unknown = start(compile_program(directory, "python9", UNKNOWN_PYTHON, "-rdynamic"), ready=False)
        stripped = start(compile_program(directory, "stripped", STRIPPED, "-s"), ready=False)
        lua = start(compile_program(directory, "lua5.4", STRIPPED, "-s"), ready=False)
        known = {}
        for interpreter in list(pythons.of_machine().values())[-1:]:
            known["CPython"] = start(*interpreter.target("calls")).pid
        for machine in list(javas.of_machine().values())[-1:]:
            target = {target.name: target for target in javas.build(["Calls"])}["Calls"]
            known["HotSpot"] = start(*machine.target(target, "plain")).pid
        for go in list(gos.at_hand(False).values())[:1]:
            command = go.build(gos.find_targets(["calls"])["calls"], "plain")
            known["Go"] = start(*command, ready=False).pid
        pids = [unknown.pid, stripped.pid, lua.pid, *known.values()]
        result = ask_doctor(pids, "-duration", "3s", "-samples-per-second", 97)
    text = result.output
    tap.ok(result.status == 0, "the doctor ends well", result.status, result.log)
    tap.ok("Kernel and privileges\n  ok " in text and "the kernel programs load with" in text,
           "it says what the kernel has", text)
    missing = [thing for thing in KERNEL_THINGS if not re.search("^  ok    .*" + re.escape(thing), text, re.M)]
    tap.ok(not missing, "each thing in a line of its own", *missing, text)
    tap.ok(re.search(r"^Sampling\n  .*samples", text, re.M), "how much was sampled", text)
    for name, pid in known.items():
        row = runtime_of(text, pid)
        tap.ok(row.startswith("  ok") and name in row and "frames" in row and "names" in row,
               "%s is attached to, and what is known of its frames is said" % name, row, text)
        tap.ok(re.search(r" (100\.0|9\d\.\d) % ", row_of(text, pid)),
               "%s: the stacks of it are whole" % name, row_of(text, pid), text)
    row = runtime_of(text, lua.pid)
    tap.ok(row.startswith("  part") and "Lua" in row and "native frames, and names from perf maps" in row,
           "a runtime that is not supported is known by its file's name", row, text)
    row = runtime_of(text, unknown.pid)
    tap.ok(row.startswith("  bad") and "CPython 3.99" in row and "native frames only" in row,
           "a version that is not known is told of", row, text)
    tap.ok(row_of(text, stripped.pid), "programs have a row each", text)
    tap.ok(re.search(r"/stripped +\d+ +[\d.]+ % +[\d.]+ %\n(?: {11}.*\n)?"
                     r" {11}no symbol at the address\. (Install|Keep)", text),
           "what lacks names is told how to get them", text)
    wide = [line for line in text.splitlines() if len(line) > 160]
    tap.ok(not wide, "lines are not too long", *wide)


def check_one_process(tap):
    if not build_targets.build(["calls"]):
        tap.skip("-doctor -pid", "no compiler")
        return
    path = build_targets.TARGETS["calls"].path
    with Program(path) as one, Program(path) as other:
        with stopped([other.pid]):
            result = ask_doctor([one.pid], "-duration", "1s")
    tap.ok(result.status == 0 and row_of(result.output, one.pid)
           and not row_of(result.output, other.pid), "-pid: of that process alone",
           result.log, result.output)
    tap.ok(result.seconds < 20, "-duration: for as long as asked", result.seconds)


def check_without(tap, directory):
    agent = os.path.join(directory, "agent")
    shutil.copy(AGENT, agent)
    os.chmod(agent, 0o755)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
              "--bounding-set=-all"]
    result = run_agent("-doctor", outputs=[], prefix=nobody, agent=agent)
    tap.ok(result.status == 3 and re.search(r"^  bad .*root", result.output, re.M),
           "without privileges it says so, and what is needed", result.status, result.output)
    things = [thing for thing in KERNEL_THINGS if thing in result.output]
    tap.ok(len(things) > 6 and "CAP_SYS_PTRACE is missing" in result.output,
           "and what else is in the way", *things, result.output)
    # Without this one the agent starts.
    without = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    result = run_agent("-doctor", "-duration", "300ms", "-pid", os.getpid(), outputs=[], prefix=without)
    tap.ok(re.search(r"^  bad   CAP_SYS_PTRACE is missing: .*names", result.output, re.M)
           and "  ok    CAP_BPF\n" in result.output, "a capability that is missing is told of",
           result.status, result.output)
    hide = ["unshare", "--mount", "sh", "-c",
            'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh"]
    result = run_agent("-doctor", outputs=[], prefix=hide)
    tap.ok(result.status == 3 and "CONFIG_DEBUG_INFO_BTF" in result.output,
           "and without what the kernel must have", result.status, result.output)
    for more in (["-viewer", "127.0.0.1:0"], ["-output", "x.folded"],
                 ["-collection-agent", "127.0.0.1:4317", "-disable-tls"], ["-open", "x.folded"]):
        result = run_agent("-doctor", *more, outputs=[])
        tap.ok(result.status == 2 and "leave out " in result.log,
               "-doctor and %s are refused together" % more[0], result.status, result.log)


def main():
    tap = Tap()
    need_root(tap, "-doctor")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        check_without(tap, directory)
        check_one_process(tap)
        check_whole(tap, directory)
    tap.finish()


if __name__ == "__main__":
    main()
