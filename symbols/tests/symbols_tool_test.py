#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 300 s
"""build/symbols as its users call it: wrong options, what is no address, damaged files."""
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "integration"))
from harness import Tap

SYMBOLS = os.path.join(ROOT, "build/symbols")
USAGE, UNREADABLE = 2, 1
SOURCE = "int main(int count, char **words) { return count * count + !words; }\n"
DAMAGED_COUNT = 60
DAMAGED_BYTES = 40
TIME_LIMIT_S = 60


def run(*arguments, text=""):
    return subprocess.run([SYMBOLS, *arguments], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", check=False,
                          timeout=TIME_LIMIT_S)


def check_usage(tap, program):
    for arguments in ([], ["-x", program], ["-o"], ["-fq", program, "1"]):
        result = run(*arguments)
        tap.ok(result.returncode == USAGE and "usage:" in result.stderr and not result.stdout,
               "wrong options end with the usage: %s" % " ".join(arguments[:1]), result)
    for word in ("main", "", "0x", "-i", "12 13", "-1", "f" * 17):
        result = run("-f", program, "0x1000", word)
        tap.ok(result.returncode == USAGE and "no hexadecimal address" in result.stderr
               and not result.stdout, "what is no address is wrong usage: '%s'" % word, result)


def check_lines(tap, program, address):
    lines = ["%x" % address, "", "no address", "0x%x%s" % (address, " " * 300)]
    result = run("-f", program, "-", text="\n".join(lines) + "\n")
    functions = result.stdout.splitlines()[::2]
    tap.ok(result.returncode == 0 and functions == ["main", "??", "??", "main"],
           "each line of stdin has one answer, whatever it is", result)


def check_files(tap, folder):
    pipe, text = os.path.join(folder, "pipe"), os.path.join(folder, "text")
    os.mkfifo(pipe)
    with open(text, "w", encoding="utf-8") as file:
        file.write("no program\n")
    for path in (pipe, text, folder, "/dev/zero", os.path.join(folder, "none")):
        result = run("-f", path, "1000")
        tap.ok(result.returncode == UNREADABLE and not result.stdout
               and result.stderr.count("\n") == 1 and result.stderr.count(path) == 1,
               "one line says why a file is not read: " + os.path.basename(path), result)


def check_damaged(tap, folder, program, address):
    """Files that are cut or have other bytes: an answer or an error, and never more than that."""
    with open(program, "rb") as file:
        whole = file.read()
    path, wrong, said_nothing = os.path.join(folder, "damaged"), [], 0
    for i in range(DAMAGED_COUNT):
        data = bytearray(whole[:random.randrange(len(whole))] if i % 2 else whole)
        for _ in range(0 if i % 2 else DAMAGED_BYTES):
            data[random.randrange(len(data))] = random.randrange(256)
        with open(path, "wb") as file:
            file.write(data)
        result = run("-fi", path, "%x" % address)
        said_nothing += "no name or line" in result.stderr
        if result.returncode not in (0, UNREADABLE) or bool(result.stdout) == result.returncode:
            wrong.append(result)
    tap.ok(not wrong, "damaged files have an answer or an error", *wrong[:3])
    tap.ok(said_nothing, "of files that are cut it is said that no name is in them", said_nothing)


def main():
    tap = Tap()
    random.seed(8)
    with tempfile.TemporaryDirectory(prefix="allframes-symbols-") as folder:
        program = os.path.join(folder, "program")
        subprocess.run(["gcc", "-g", "-O2", "-x", "c", "-", "-o", program], input=SOURCE, text=True,
                       check=True)
        listing = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout
        address = next(int(line.split()[0], 16) for line in listing.splitlines()
                       if line.endswith(" T main"))
        check_usage(tap, program)
        check_lines(tap, program, address)
        check_files(tap, folder)
        check_damaged(tap, folder, program, address)
    tap.finish()


if __name__ == "__main__":
    main()
