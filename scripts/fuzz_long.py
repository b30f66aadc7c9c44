#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs libFuzzer programs for hours of CPU time, in as many runs as it takes.

    fuzz_long.py --hours N --folder DIRECTORY [build/fuzz/FOLDER/fuzz/NAME_fuzz...]

Each fuzzer gets an equal share of N hours, in slices; the one with the least CPU time is next. What has been done is in
DIRECTORY/done.json and counts for the next run, which continues there; so it may be stopped at any time (SIGINT, SIGTERM).

    DIRECTORY/corpora/NAME_fuzz     inputs that cover something new; merged when the share is used up
    DIRECTORY/findings/NAME_fuzz    inputs that made the fuzzer fail

A fuzzer with a finding rests until the finding is mended: a run first repeats all findings, and moves those that pass to the
corpus. Findings are judged by CPU time, so a machine that is busy, or a run that is stopped for a while, makes none.

It prints a table of CPU seconds, executions and findings. Exit status 1 if there are findings that are not mended.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import threading

from run_fuzzers import INPUT_LIMIT_S, MAX_INPUT_BYTES, MEMORY_LIMIT_MB, ROOT, find_programs, last_executions

SLICE_S = 60
SHOWN_LINES = 40


class Record:
    """What each fuzzer has done so far, in a file: {name: {cpu_seconds, executions, findings}}."""

    def __init__(self, path):
        self.path = path
        self.rows = {}
        with contextlib.suppress(FileNotFoundError):
            self.rows = json.loads(path.read_text(encoding="utf-8"))

    def row(self, name):
        return self.rows.setdefault(name, {"cpu_seconds": 0.0, "executions": 0, "findings": 0})

    def add(self, name, cpu_seconds, executions, findings):
        row = self.row(name)
        row["cpu_seconds"] = round(row["cpu_seconds"] + cpu_seconds, 1)
        row["executions"] += executions
        row["findings"] += findings
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(self.rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        beside.rename(self.path)


class Fuzzer:
    def __init__(self, program, folder):
        self.program = ROOT / program
        self.name = program.name
        self.corpus = folder / "corpora" / self.name
        self.findings = folder / "findings" / self.name
        for directory in (self.corpus, self.findings):
            directory.mkdir(parents=True, exist_ok=True)

    def open_findings(self):
        return sorted(path for path in self.findings.iterdir() if path.is_file())


# Processes that are ended when this one is.
running = set()
is_stopped = threading.Event()


def run(command, cpu_limit_s=None):
    """Runs @command: (exit status, output, CPU seconds)."""
    def limit():
        if cpu_limit_s:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_limit_s, cpu_limit_s))

    environment = dict(os.environ, LLVM_PROFILE_FILE=os.devnull)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([str(word) for word in command], cwd=ROOT, env=environment, stdout=output,
                                   stderr=subprocess.STDOUT, preexec_fn=limit)
        running.add(process)
        if is_stopped.is_set():
            process.terminate()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        running.discard(process)
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace"), usage.ru_utime + usage.ru_stime


def limits(timeout_s):
    return ["-print_funcs=0", f"-timeout={timeout_s}", f"-rss_limit_mb={MEMORY_LIMIT_MB}", f"-max_len={MAX_INPUT_BYTES}"]


def passes(fuzzer, path):
    """Whether the input in @path passes, and takes no more CPU time than an input may."""
    with tempfile.TemporaryDirectory(prefix="allframes-fuzz-") as directory:
        status, output, _ = run([fuzzer.program, *limits(0), f"-artifact_prefix={directory}/", path], INPUT_LIMIT_S)
    if status:
        print(f"# {path}")
        for line in output.splitlines()[-SHOWN_LINES:]:
            print(f"# {line}", flush=True)
    return not status


def repeat_findings(fuzzer):
    for path in fuzzer.open_findings():
        if passes(fuzzer, path):
            path.rename(fuzzer.corpus / path.name)


def fuzz_slice(fuzzer, seconds):
    """Runs @fuzzer for @seconds: (CPU seconds, executions, findings)."""
    seeds = ROOT / "testdata" / "seeds" / fuzzer.name.removesuffix("_fuzz")
    before = set(fuzzer.open_findings())
    status, output, cpu_seconds = run([fuzzer.program, *limits(INPUT_LIMIT_S), f"-max_total_time={seconds}", "-print_final_stats=1",
                                       f"-artifact_prefix={fuzzer.findings}/", fuzzer.corpus,
                                       *([seeds] if seeds.is_dir() else [])])
    found = 0
    new = set(fuzzer.open_findings()) - before
    if status and not new and not is_stopped.is_set():
        raise RuntimeError(f"{fuzzer.name} ended with status {status}, without an input:\n{output[-2000:]}")
    for path in new:
        is_sound = path.name.startswith("slow-unit-") or passes(fuzzer, path)
        # A run that was stopped has not judged it. A real time-out comes again.
        if is_sound or (is_stopped.is_set() and path.name.startswith("timeout-")):
            path.unlink()
        else:
            found += 1
    return cpu_seconds, last_executions(output), found


def merge(fuzzer):
    """Leaves the inputs in the corpus that cover something that the others do not: CPU seconds."""
    with tempfile.TemporaryDirectory(dir=fuzzer.corpus.parent, prefix=f".{fuzzer.name}-") as directory:
        merged = pathlib.Path(directory) / "merged"
        merged.mkdir()
        status, _, cpu_seconds = run([fuzzer.program, "-merge=1", *limits(INPUT_LIMIT_S), f"-artifact_prefix={directory}/",
                                      merged, fuzzer.corpus])
        if status == 0 and any(merged.iterdir()) and not is_stopped.is_set():
            fuzzer.corpus.rename(pathlib.Path(directory) / "old")
            merged.rename(fuzzer.corpus)
    return cpu_seconds


def fuzz_all(fuzzers, record, share_s):
    """Gives each of @fuzzers @share_s of CPU time, less what @record says that it has had."""
    def work(fuzzer, seconds):
        result = fuzz_slice(fuzzer, seconds)
        if record.row(fuzzer.name)["cpu_seconds"] + result[0] >= share_s and not is_stopped.is_set():
            merge(fuzzer)
        return fuzzer, result

    waiting, pending = list(fuzzers), set()
    slots = os.cpu_count()
    with concurrent.futures.ThreadPoolExecutor(slots) as pool:
        while (waiting or pending) and not (is_stopped.is_set() and not pending):
            waiting.sort(key=lambda fuzzer: record.row(fuzzer.name)["cpu_seconds"])
            while waiting and len(pending) < slots and not is_stopped.is_set():
                fuzzer = waiting.pop(0)
                left = share_s - record.row(fuzzer.name)["cpu_seconds"]
                if left >= 1 and not fuzzer.open_findings():
                    pending.add(pool.submit(work, fuzzer, max(1, int(min(SLICE_S, left)))))
            finished, pending = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in finished:
                fuzzer, result = future.result()
                record.add(fuzzer.name, *result)
                waiting.append(fuzzer)


def print_table(fuzzers, record):
    print(f"{'fuzzer':32} {'CPU s':>9} {'executions':>12} {'findings':>8} {'open':>5}")
    total = [0.0, 0, 0, 0]
    for fuzzer in fuzzers:
        row = record.row(fuzzer.name)
        values = (row["cpu_seconds"], row["executions"], row["findings"], len(fuzzer.open_findings()))
        total = [one + other for one, other in zip(total, values)]
        print(f"{fuzzer.name:32} {values[0]:9.1f} {values[1]:12} {values[2]:8} {values[3]:5}")
    print(f"{'all':32} {total[0]:9.1f} {total[1]:12} {total[2]:8} {total[3]:5}   {total[0] / 3600:.2f} CPU hours", flush=True)
    return total[3]


def stop(_signal, _frame):
    is_stopped.set()
    for process in list(running):
        with contextlib.suppress(ProcessLookupError):
            process.terminate()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=float, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("programs", nargs="*", type=pathlib.PurePath)
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    fuzzers = [Fuzzer(program, folder) for program in arguments.programs or find_programs()]
    record = Record(folder / "done.json")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    for fuzzer in fuzzers:
        repeat_findings(fuzzer)
    fuzz_all(fuzzers, record, arguments.hours * 3600 / len(fuzzers))
    return 1 if print_table(fuzzers, record) else 0


if __name__ == "__main__":
    sys.exit(main())
