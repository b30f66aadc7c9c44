#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs libFuzzer programs and prints what each covered of the code it is for.

    run_fuzzers.py --seconds N [build/fuzz/FOLDER/fuzz/NAME_fuzz...]
    run_fuzzers.py --runs N [build/fuzz/FOLDER/fuzz/NAME_fuzz...]

Without a program it runs those of all FOLDER/fuzz/NAME_fuzz.c, which must have been built. The
output is TAP, with what was covered as comments.

A fuzzer starts from the files in testdata/seeds/NAME/, if there are any. With --seconds it starts
from the inputs of earlier runs, too (build/fuzz/FOLDER/fuzz/NAME_fuzz.corpus), and keeps new ones
there. With --runs it executes N inputs from a fixed start of its random numbers, twice as many in each further
round, and keeps none: neither the machine's speed nor an earlier run decides what it covers. Runs of hours are
scripts/fuzz_long.py's.

The code of a fuzzer is FOLDER/NAME.c, or what a line `covers: FILE.c FILE.c` in the fuzzer's source
says. As many run side by side as there are CPUs. One that has not covered enough runs again, from
what it has found.

Exit status 1 if an input crashed a fuzzer, ran out of memory or took too long (its file is named),
or if a fuzzer covered less than MIN_COVERED_PERCENT of the lines of its code.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIN_COVERED_PERCENT = 80
ROUNDS_MAX = 8
MAX_INPUT_BYTES = 1 << 16
INPUT_LIMIT_S = 10
MEMORY_LIMIT_MB = 1024
SHOWN_LINES = 60


def covered_files(program):
    """Source files, from the root, that fuzzer @program is for."""
    folder = pathlib.PurePath(*program.parts[2:-2])
    name = program.name.removesuffix("_fuzz")
    source = ROOT / folder / "fuzz" / f"{program.name}.c"
    files = []
    for line in source.read_text(encoding="utf-8").splitlines():
        match = re.search(r"\bcovers:\s*(.*?)\s*(\*/)?$", line)
        if match:
            files += [os.path.normpath(folder / file) for file in match.group(1).split()]
    missing = [file for file in files if not (ROOT / file).exists()]
    if missing:
        sys.exit(f"{source}: covers what is not there: {' '.join(missing)}")
    return files or [str(folder / f"{name}.c")]


def fuzz(program, corpus, limits):
    """Runs fuzzer @program, new inputs go to @corpus: (is clean, the end of its output)."""
    seeds = ROOT / "testdata" / "seeds" / program.name.removesuffix("_fuzz")
    command = [ROOT / program, *limits, f"-max_len={MAX_INPUT_BYTES}", f"-timeout={INPUT_LIMIT_S}",
               f"-rss_limit_mb={MEMORY_LIMIT_MB}", "-print_final_stats=1",
               f"-artifact_prefix={ROOT / program}.", corpus]
    if seeds.is_dir():
        command.append(seeds)
    environment = dict(os.environ, LLVM_PROFILE_FILE=f"{ROOT / program}.profraw")
    result = subprocess.run([str(word) for word in command], cwd=ROOT, env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return result.returncode == 0, result.stdout.decode(errors="replace")


def coverage(program):
    """Lines of the fuzzer's code, covered and all: {file: (covered, count)}."""
    profile = f"{ROOT / program}.profdata"
    subprocess.run(["llvm-profdata", "merge", "-o", profile, f"{ROOT / program}.profraw"],
                   check=True)
    wanted = covered_files(program)
    output = subprocess.run(["llvm-cov", "export", "-summary-only", f"-instr-profile={profile}", ROOT / program,
                             *(ROOT / name for name in wanted)], stdout=subprocess.PIPE, check=True).stdout
    lines = {}
    for file in json.loads(output)["data"][0]["files"]:
        name = os.path.relpath(os.path.join(ROOT, file["filename"]), ROOT)
        lines[name] = (file["summary"]["lines"]["covered"], file["summary"]["lines"]["count"])
    return {name: lines.get(name, (0, 0)) for name in wanted}


def last_executions(output):
    match = re.search(r"stat::number_of_executed_units:\s*(\d+)", output)
    return int(match.group(1)) if match else 0


def covered_percent(lines):
    covered = sum(pair[0] for pair in lines.values())
    count = sum(pair[1] for pair in lines.values())
    return 100 * covered / count if count else 0


@contextlib.contextmanager
def open_corpus(program, is_kept):
    """The folder for the inputs that @program finds: a temporary one if it is not kept."""
    if is_kept:
        corpus = ROOT / f"{program}.corpus"
        corpus.mkdir(exist_ok=True)
        yield corpus
    else:
        with tempfile.TemporaryDirectory(prefix="allframes-fuzz-") as directory:
            yield pathlib.Path(directory)


def fuzz_until_covered(program, seconds, runs):
    """Runs fuzzer @program until it has covered enough, ROUNDS_MAX times at most: (is clean, the end
    of its last output, coverage; None if it is not clean). A round takes @seconds, or else @runs
    executions, and each one twice as many as the one before."""
    with open_corpus(program, seconds is not None) as corpus:
        return fuzz_rounds(program, corpus, seconds, runs)


def fuzz_rounds(program, corpus, seconds, runs):
    for number in range(1, ROUNDS_MAX + 1):
        limits = [f"-max_total_time={seconds}"] if runs is None else [f"-runs={runs << (number - 1)}", f"-seed={number}"]
        is_clean, output = fuzz(program, corpus, limits)
        if not is_clean:
            return False, output, None
        lines = coverage(program)
        if covered_percent(lines) >= MIN_COVERED_PERCENT:
            break
    return True, output, lines


def report(number, program, is_clean, output, lines):
    """Prints how @program did, as result @number; True if all was good."""
    if not is_clean:
        print(f"not ok {number} - {program}: an input makes it fail")
        for line in output.splitlines()[-SHOWN_LINES:]:
            print(f"# {line}", flush=True)
        return False
    count = sum(pair[1] for pair in lines.values())
    percent = covered_percent(lines)
    is_good = percent >= MIN_COVERED_PERCENT
    print(f"{'ok' if is_good else 'not ok'} {number} - {program}: {last_executions(output)} inputs, "
          f"{percent:.1f} % of {count} lines covered"
          f"{'' if is_good else f', less than {MIN_COVERED_PERCENT} %'}")
    for name, (file_covered, file_count) in sorted(lines.items()):
        file_percent = 100 * file_covered / file_count if file_count else 0
        print(f"#   {file_percent:5.1f} % {name}", flush=True)
    return is_good


def find_programs():
    sources = [path for pattern in ("*/fuzz", "*/*/fuzz") for path in ROOT.glob(f"{pattern}/*_fuzz.c")]
    return sorted(pathlib.PurePath("build/fuzz") / path.relative_to(ROOT).with_suffix("")
                  for path in sources)


def main():
    parser = argparse.ArgumentParser()
    limit = parser.add_mutually_exclusive_group(required=True)
    limit.add_argument("--seconds", type=int)
    limit.add_argument("--runs", type=int)
    parser.add_argument("programs", nargs="*", type=pathlib.PurePath)
    arguments = parser.parse_args()
    programs = arguments.programs or find_programs()

    print(f"1..{len(programs)}", flush=True)
    all_good = True
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        fuzzed = {pool.submit(fuzz_until_covered, program, arguments.seconds, arguments.runs): program for program in programs}
        for number, finished in enumerate(concurrent.futures.as_completed(fuzzed), 1):
            all_good &= report(number, fuzzed[finished], *finished.result())
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
