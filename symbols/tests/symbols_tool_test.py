#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build/symbols as its users call it: what it says of files and of what lies beside them, its options, what is
no address, damaged files.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("integration", "scripts")]
import fetch_gos
from harness import Tap

SYMBOLS = os.path.join(ROOT, "build/symbols")
USAGE, UNREADABLE = 2, 1
SOURCE = "int main(int count, char **words) { return count * count + !words; }\n"
DAMAGED_COUNT = 300 if os.environ.get("ALLFRAMES_LONG") == "1" else 20
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


def build(path, *flags, source=SOURCE):
    subprocess.run(["gcc", "-g", "-O2", "-x", "c", "-", "-o", path, *flags], input=source, text=True,
                   check=True)
    return path


def address_of_main(program):
    listing = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in listing.splitlines() if line.endswith(" T main"))


def check_options(tap, folder, program, address):
    """-symtab, -here, -o and -stats."""
    where = "%x" % address
    full, symtab = run("-fi", program, where), run("-fi", "-symtab", program, where)
    tap.ok(full.stdout.startswith("main\n") and re.search(r"<stdin>:1\n", full.stdout),
           "with debug data: function, file and line", full)
    tap.ok(symtab.returncode == 0 and symtab.stdout == "main\n??:?\n", "-symtab: the function alone",
           symtab)
    here = run("-fi", "-here", program, where)
    tap.ok(here.stdout == full.stdout and not here.returncode, "-here: the same by this process", here)
    kept = os.path.join(folder, "kept")
    result = run("-fi", "-o", kept, program, where)
    with open(kept, "rb") as file:
        data = file.read()
    stats = run("-stats", program, program)
    claimed = re.findall(r": (\d+) bytes of symbol cache in [0-9.]+ s ", stats.stdout)
    tap.ok(result.stdout == full.stdout and b"main\0" in data and claimed == [str(len(data))] * 2,
           "-o keeps the symbol cache, -stats has its bytes, of each file", result, stats, len(data))
    rows = [int(number) for number in re.findall(r"(\d+) rows of", stats.stdout)]
    tap.ok(len(rows) == 6 and all(rows), "-stats: rows of functions, lines and symbols", stats)
    result = run("-f", "-o", os.path.join(folder, "none", "kept"), program, where)
    tap.ok(result.returncode == UNREADABLE and not result.stdout and result.stderr.count("\n") == 1,
           "-o: a file that cannot be written is said so", result)


def says(tap, name, path, *wanted, unwanted=()):
    result = run(path)
    tap.ok(result.returncode == 0 and all(re.search(text, result.stdout) for text in wanted)
           and not any(re.search(text, result.stdout) for text in unwanted), "of a file: " + name,
           result.stdout, result.stderr)


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search("Build ID: ([0-9a-f]+)", text)[1]


def check_report(tap, folder, program):
    says(tap, "ids, symbols, units by version", program, "  build id %s\n" % build_id(program),
         r"  file id [0-9a-f]{32}\n", "  no debug file\n", r"  \d+ functions in its symbol tables\n",
         r"  DWARF in it: 1 units of version 5, \d+ bytes\n", r"bytes of symbol cache in",
         unwanted=["split", "common file", "Go"])
    old = build(os.path.join(folder, "old"), "-gdwarf-3", "-gz", "-Wl,--build-id=none")
    says(tap, "DWARF 3, packed, no build id", old, "  no build id\n",
         r"DWARF in it, packed by zlib: 1 units of version 3,")
    for version in 4, 5:
        split = build(os.path.join(folder, "split%d" % version), "-gsplit-dwarf", "-gdwarf-%d" % version)
        says(tap, "split DWARF %d" % version, split, r"units of version %d" % version, "split: the rest is in")
    debug, stripped = os.path.join(folder, "stripped.debug"), os.path.join(folder, "stripped")
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink=" + debug, program, stripped],
                   check=True)
    says(tap, "its debug file", stripped, "  debug file %s\n" % debug,
         r"\d+ functions in the debug file's", "DWARF in the debug file: 1 units")
    os.remove(debug)
    says(tap, "no DWARF", stripped, "  no debug file\n", "  no DWARF in it\n", "no function or line by DWARF")


def check_common_file(tap, folder, version, *flags):
    """What dwz has moved to another file is found there, and is not believed of another build."""
    name = "dwz's common file of DWARF %d" % version
    if not shutil.which("dwz"):
        tap.skip(name, "no dwz")
        return
    # Much that both have, so that dwz moves it.
    text = "".join("struct s%d { long a_member_of_some_length, another_one_of_%d; } v%d;\n" % (i, i, i)
                   for i in range(40))
    text += "static inline int in_common_%s(int x) { return x * x + 7; }\n"
    text += "int main(int count, char **words) { return in_common_%s(count) + !words; }\n"
    programs = []
    for twin in "one", "two":
        programs.append(build(os.path.join(folder, twin), "-gdwarf-%d" % version, source=text.replace("%s", "name")))
    common = os.path.join(folder, "common")
    where = "%x" % address_of_main(programs[0])
    before = run("-fi", programs[0], where).stdout
    # By its name, which counts from the program's folder.
    result = subprocess.run(["dwz", *flags, "-m", "common", "one", "two"], cwd=folder, check=False, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        tap.skip(name, "dwz: " + result.stdout.strip())
        return
    listing = subprocess.run(["readelf", "-SW", programs[0]], stdout=subprocess.PIPE, text=True, check=True).stdout
    tap.ok((".debug_sup" if version == 5 else ".gnu_debugaltlink") in listing, name + " is there", listing)
    whole = run("-fi", programs[0], where)
    tap.ok("in_common_name\n" in whole.stdout and "main\n" in whole.stdout and whole.stdout == before,
           name + ": names are found in it", whole)
    says(tap, name, programs[0], "dwz's common file %s: taken\n" % common)
    if version == 5:
        identity = subprocess.run(["objcopy", "-O", "binary", "--only-section=.debug_sup", "--set-section-flags",
                                   ".debug_sup=alloc", common, "/dev/stdout"], check=True,
                                  stdout=subprocess.PIPE).stdout[-20:]
    else:
        identity = bytes.fromhex(build_id(common))
    with open(common, "r+b") as file:
        data = bytearray(file.read())
        at = data.index(identity)
        data[at] ^= 1
        file.seek(0)
        file.write(data)
    for how in [], ["-here"]:
        stale = run("-fi", *how, programs[0], where)
        tap.ok(stale.returncode == 0 and "in_common_name" not in stale.stdout
               and stale.stdout == "main\n??:?\n" and "common is of another build\n" in stale.stderr,
               "%s of another build is refused %s" % (name, " ".join(how)), stale)
    says(tap, name + " of another build", programs[0], "of another build, so that no DWARF is read\n",
         "no function or line by DWARF")
    os.remove(common)
    says(tap, name + " that is gone", programs[0], "dwz's common file %s: not there\n" % common)
    gone = run("-fi", programs[0], where)
    tap.ok(gone.returncode == 0 and "in_common_name" not in gone.stdout and "common is not there\n" in gone.stderr,
           name + " that is gone has no names", gone)


def section_offset(program, name):
    listing = subprocess.run(["readelf", "-SW", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(re.search(r" %s +PROGBITS +\w+ (\w+)" % re.escape(name), listing)[1], 16)


def check_reasons(tap, folder, program, address):
    """Why DWARF cannot be read, in libdw's words."""
    path = os.path.join(folder, "no_dwarf")
    for section, reason in (".debug_info", "unit 1: invalid DWARF version"), (".debug_line", "files: invalid"):
        with open(program, "rb") as file:
            data = bytearray(file.read())
        at = section_offset(program, section)
        data[at + 4:at + 6] = b"\xff\xff"
        with open(path, "wb") as file:
            file.write(data)
        for how in [], ["-here"]:
            result = run("-f", *how, path, "%x" % address)
            tap.ok(result.returncode == 0 and result.stdout == "main\n??:?\n" and result.stderr.count("\n") == 1
                   and "not all DWARF is read: " in result.stderr and reason in result.stderr,
                   "why DWARF is not read: %s %s" % (section, " ".join(how)), result)
    result = run("-f", program, "%x" % address)
    tap.ok(not result.stderr, "of DWARF that is read there is nothing to say", result)


def check_go(tap, folder):
    """A stripped file of Go is named by Go's own table."""
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.path.exists(go):
        tap.skip("stripped files of Go", "no go")
        return
    source, program = os.path.join(folder, "main.go"), os.path.join(folder, "of_go")
    with open(source, "w", encoding="utf-8") as file:
        file.write("package main\n\nfunc main() {\n\tprintln(1)\n}\n")
    environment = dict(os.environ, CGO_ENABLED="0", GO111MODULE="off", GOFLAGS="", GOCACHE=str(fetch_gos.BUILD_CACHE))
    whole = program + ".whole"
    for path, flags in (whole, ""), (program, "-s -w"):
        subprocess.run([go, "build", "-ldflags=" + flags, "-o", path, source], check=True, env=environment,
                       cwd=folder)
    listing = subprocess.run(["nm", whole], stdout=subprocess.PIPE, text=True, check=True).stdout
    tap.ok(listing.count("\n") > 100, "the program of Go has symbols before it is stripped")
    says(tap, "code of Go", program, "no function in its symbol tables", "no DWARF in it",
         r"code of Go, by go1\.\S+: its table of functions has names, files and lines")
    addresses = [line.split()[0] for line in listing.splitlines() if line.endswith(" T main.main")]
    result = run("-fi", program, *addresses)
    tap.ok(result.stdout == "main.main\n%s:3\n" % source and not result.stderr,
           "a stripped file of Go is named by Go's table", result, addresses)


def main():
    tap = Tap()
    random.seed(8)
    with tempfile.TemporaryDirectory(prefix="allframes-symbols-") as folder:
        program = build(os.path.join(folder, "program"))
        address = address_of_main(program)
        check_usage(tap, program)
        check_lines(tap, program, address)
        check_options(tap, folder, program, address)
        check_report(tap, folder, program)
        check_common_file(tap, folder, 4)
        check_common_file(tap, folder, 5, "--dwarf-5")
        check_reasons(tap, folder, program, address)
        check_go(tap, folder)
        check_files(tap, folder)
        check_damaged(tap, folder, program, address)
    tap.finish()


if __name__ == "__main__":
    main()
