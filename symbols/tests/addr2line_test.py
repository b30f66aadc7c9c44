#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 3600 s
"""What build/symbols says of addresses is what addr2line says.

Programs and libraries are built with debug data in the ways in which compilers and linkers leave it; names,
inlined chains, files and lines at random addresses of .text are compared with `addr2line -f -i -C` of binutils
and, where that says otherwise, with elfutils' eu-addr2line. Some ways neither of them reads: they are asked of
a twin of the same code. For each program and for all together it is counted
- what is as one of both says, or function by function as one or the other does;
- what differs from both in nothing but the name of a function that has no linkage name, where ours is that of the
  symbol around the address (binutils takes that, too, but where functions are inlined there it gives it to
  another one of them);
- what lies in no function by the symbol tables, such as the bytes between functions, where LLVM's reader says
  as we do, and binutils takes the function before;
- by class, what only LLVM's reader says as we do, and names that stand for one address;
- what nobody says as we do.
The last two are under 0.1 % of each program, and of all together. The long tier takes the newest binutils and
elfutils, and counts the second, too, for all together: half of the short tier's programs are of the kind that has
such names, and are read by older readers. Without a compiler or a reader the long tier fails.

usage: addr2line_test.py [PROGRAM...]
"""
import bisect
import collections
import glob
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("integration", "scripts")]
import fetch_readers
import pythons

SYMBOLS = os.path.join(ROOT, "build/symbols")
SOURCES = os.path.join(ROOT, "testdata/addr2line")
IS_LONG = os.environ.get("ALLFRAMES_LONG") == "1"
DEBUG_FILES = "/usr/lib/debug"
ADDRESSES = 10000 if IS_LONG else 1000
MAX_SHARE = 0.001
# Of each address that is asked for.
DRAWS_MAX = 20
READERS = ["addr2line", "readelf", "c++filt", "llvm-symbolizer", "eu-addr2line"]
# So many functions are looked at before an address.
NEAR = 50
SHOWN = 3
SHOWN_BYTES = 60

# Not even the newest binutils and elfutils read split units, lists of ranges as Clang writes them in DWARF 5, or
# .zdebug sections: they are asked of a twin, which has the same code and debug data that they do read.
GCC_TWIN = "g++ -g -gdwarf-4 -O2 shop.cpp -o {program}.twin"
CLANG_TWIN = "clang++ -g -gdwarf-aranges -gdwarf-4 shop.cpp -o {program}.twin "
GO_TWIN = "GOEXPERIMENT=nodwarf5 "
GO_O0 = "CGO_CFLAGS='-g -O0' go build -gcflags='all=-N -l'"
LLD_SECTIONS = "-ffunction-sections -fuse-ld=lld -Wl,--gc-sections -Wl,--icf=all"

# Name: compiler and options, in which {program} is replaced; what runs afterwards. elfutils finds no
# unit without .debug_aranges, which Clang writes when it is told to.
PROGRAMS = {
    "gcc -O2 C": ["gcc -g -O2 calls.c -o {program} -lm"],
    "g++ -O2 DWARF 5": ["g++ -g -gdwarf-5 -O2 shop.cpp -o {program}"],
    "clang++ -O2 DWARF 5": ["clang++ -g -gdwarf-aranges -gdwarf-5 -O2 shop.cpp -o {program}",
                            CLANG_TWIN + "-O2"],
    "rustc -O3": ["rustc -g -C opt-level=3 words.rs -o {program}"],
    "g++ -O2 DWARF 4 dwz": ["g++ -g -gdwarf-4 -O2 shop.cpp -o {program}", "dwz {program}"],
    "g++ -O2 split DWARF 5": ["g++ -g -gdwarf-5 -gsplit-dwarf -O2 shop.cpp -o {program}", GCC_TWIN],
}
LONG_PROGRAMS = {
    "g++ -O0 DWARF 4": ["g++ -g -gdwarf-4 -O0 shop.cpp -o {program}"],
    "g++ -O3 DWARF 5 gz": ["g++ -g -gdwarf-5 -gz -O3 shop.cpp -o {program}"],
    "gcc -O0 C DWARF 2": ["gcc -g -gdwarf-2 -gstrict-dwarf -O0 calls.c -o {program} -lm"],
    "gcc -O3 C DWARF 3": ["gcc -g -gdwarf-3 -gstrict-dwarf -O3 calls.c -o {program} -lm"],
    "clang -O2 C": ["clang -g -gdwarf-aranges -O2 calls.c -o {program} -lm"],
    "g++ -O3 DWARF 4": ["g++ -g -gdwarf-4 -O3 shop.cpp -o {program}"],
    "g++ -O0 DWARF 5": ["g++ -g -gdwarf-5 -O0 shop.cpp -o {program}"],
    "g++ -O2 old gz": ["g++ -g -gz=zlib-gnu -O2 shop.cpp -o {program}", GCC_TWIN],
    "g++ -O2 LTO": ["g++ -g -flto -O2 shop.cpp -o {program}"],
    # Binutils and elfutils that are fetched unpack it themselves; LLVM before version 15 does not.
    "g++ -O2 zstd": ["g++ -g -O2 shop.cpp -o {program}", "cp {program} {program}.plain",
                     "objcopy --compress-debug-sections=zstd {program}"],
    "g++ -O2 library": ["g++ -g -O2 -shared -fPIC shop.cpp -o {program}"],
    "clang++ -O3 library": ["clang++ -g -gdwarf-aranges -O3 -shared -fPIC shop.cpp -o {program}",
                            CLANG_TWIN + "-O3 -shared -fPIC"],
    "g++ -O2 DWARF 5 dwz": ["g++ -g -gdwarf-5 -O2 shop.cpp -o {program}", "dwz {program}"],
    "g++ -O2 static": ["g++ -g -O2 -static shop.cpp -o {program}"],
    "g++ -O2 sections": ["g++ -g -O2 -ffunction-sections -Wl,--gc-sections shop.cpp -o {program}"],
    "g++ -O2 split DWARF 4": ["g++ -g -gdwarf-4 -gsplit-dwarf -O2 shop.cpp -o {program}", GCC_TWIN],
    "g++ -O2 debug file": [
        "g++ -g -O2 shop.cpp -o {program}",
        "objcopy --only-keep-debug {program} {program}.debug",
        "objcopy --strip-debug --add-gnu-debuglink={program}.debug {program}"],
    "g++ -O2 common file": [
        "g++ -g -gdwarf-4 -O2 shop.cpp -o {program}", "g++ -g -gdwarf-4 -O3 shop.cpp -o {program}.3",
        "cp {program} {program}.twin", "dwz -m {program}.common {program} {program}.3"],
    "g++ -O2 common file DWARF 5": [
        "g++ -g -gdwarf-5 -O2 shop.cpp -o {program}", "g++ -g -gdwarf-5 -O3 shop.cpp -o {program}.3",
        "cp {program} {program}.twin", "dwz --dwarf-5 -m {program}.common {program} {program}.3"],
    "g++ -O2 packed common file": [
        "g++ -g -gdwarf-4 -O2 shop.cpp -o {program}", "g++ -g -gdwarf-4 -O3 shop.cpp -o {program}.3",
        "cp {program} {program}.twin", "dwz -m {program}.common {program} {program}.3",
        "objcopy --compress-debug-sections=zlib {program}.common"],
    "clang++ -O0 DWARF 4": ["clang++ -g -gdwarf-aranges -gdwarf-4 -O0 shop.cpp -o {program}"],
    "clang++ -O3 DWARF 4": ["clang++ -g -gdwarf-aranges -gdwarf-4 -O3 shop.cpp -o {program}"],
    "clang++ -O2 LTO": ["clang++ -g -gdwarf-aranges -flto -fuse-ld=lld -O2 shop.cpp -o {program}",
                        CLANG_TWIN + "-flto -fuse-ld=lld -O2"],
    "clang++ -O2 lld sections": ["clang++ -g -gdwarf-aranges -O2 " + LLD_SECTIONS + " shop.cpp -o {program}",
                                 CLANG_TWIN + "-O2 " + LLD_SECTIONS],
    "clang++ -O2 split DWARF 5": [
        "clang++ -g -gdwarf-aranges -gdwarf-5 -gsplit-dwarf -O2 -c shop.cpp -o {program}.o",
        "clang++ {program}.o -o {program}", CLANG_TWIN + "-O2"],
    "clang++ -O2 split DWARF 4": [
        "clang++ -g -gdwarf-aranges -gdwarf-4 -gsplit-dwarf -O2 -c shop.cpp -o {program}.o",
        "clang++ {program}.o -o {program}", CLANG_TWIN + "-O2"],
    "g++ -O2 DWARF 4 package": [
        "g++ -g -gdwarf-4 -gsplit-dwarf -O2 shop.cpp -o {program}",
        "dwp -e {program} -o {program}.dwp", "rm {program}-shop.dwo", GCC_TWIN],
    "clang++ -O2 DWARF 5 package": [
        "clang++ -g -gdwarf-aranges -gdwarf-5 -gsplit-dwarf -O2 -c shop.cpp -o {program}.o",
        "clang++ {program}.o -o {program}", "llvm-dwp -e {program} -o {program}.dwp",
        "rm {program}.dwo", CLANG_TWIN + "-O2"],
    "rustc -O0": ["rustc -g words.rs -o {program}"],
    "rustc -O2": ["rustc -g -C opt-level=2 words.rs -o {program}"],
    "rustc LTO v0": ["rustc -g -C opt-level=2 -C lto -C symbol-mangling-version=v0 words.rs "
                     "-o {program}"],
    "cgo": ["go build -o {program} cgo.go", GO_TWIN + "go build -o {program}.twin cgo.go"],
    "cgo -O0": [GO_O0 + " -o {program} cgo.go", GO_TWIN + GO_O0 + " -o {program}.twin cgo.go"],
    "cgo -O3": ["CGO_CFLAGS='-g -O3' go build -o {program} cgo.go",
                GO_TWIN + "CGO_CFLAGS='-g -O3' go build -o {program}.twin cgo.go"],
}
# Files that are there. The C library has its debug file by its build id.
LONG_FILES = {
    "the agent": "build/agent",
    "the C library": "/lib/x86_64-linux-gnu/libc.so.6",
    "rustc's library": "{rust}/libstd-*.so",
}


class Missing(Exception):
    """What a program is built with, or the file itself, is not on this machine."""


def build(commands, folder, name):
    """Path of the program; its sources are copied beside it, since dwz and .dwo files lie there."""
    program = os.path.join(folder, re.sub(r"\W", "_", name))
    for command in commands:
        words = [word.format(program=program) for word in shlex.split(command)]
        environment = dict(os.environ, CGO_ENABLED="1", GO111MODULE="off",
                           GOCACHE=os.path.join(folder, "go-cache"))
        while re.match(r"[A-Z_]+=", words[0]):
            variable, _, value = words.pop(0).partition("=")
            environment[variable] = value
        if not shutil.which(words[0]):
            raise Missing("there is no " + words[0])
        subprocess.run(words, cwd=folder, check=True, env=environment, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return program


def copy_file(pattern, folder):
    """A copy of the file that a pattern of LONG_FILES means, beside its debug file if it has one."""
    rust = "none"
    if "{rust}" in pattern and shutil.which("rustc"):
        rust = subprocess.run(["rustc", "--print", "target-libdir"], check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()
    found = glob.glob(os.path.join(ROOT, pattern.format(rust=rust)))
    if not found:
        raise Missing("there is no " + pattern)
    copy = shutil.copy(found[0], folder)
    notes = subprocess.run(["readelf", "-n", copy], check=True, stdout=subprocess.PIPE, text=True).stdout
    identity = re.search("Build ID: ([0-9a-f]{3,})", notes)
    debug = identity and f"{DEBUG_FILES}/.build-id/{identity[1][:2]}/{identity[1][2:]}.debug"
    if debug and os.path.exists(debug):
        shutil.copy(debug, copy + ".debug")
    return copy


def find_debug_file(program):
    """Its own path where there is none."""
    notes = subprocess.run(["readelf", "-n", program], check=True, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]{2})([0-9a-f]+)", notes)
    paths = [program + ".debug"]
    if build_id:
        paths.append(os.path.join(DEBUG_FILES, ".build-id", build_id[1], build_id[2] + ".debug"))
    return next(filter(os.path.exists, paths), program)


def read_functions(program):
    """(address, size, name) of each function in the symbol tables."""
    table = find_debug_file(program)
    listing = subprocess.run(["readelf", "-sW", table], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True).stdout
    functions = []
    for line in listing.splitlines():
        words = line.split()
        if len(words) >= 8 and words[3] in ("FUNC", "IFUNC") and words[6] != "UND":
            functions.append((int(words[1], 16), int(words[2], 0), words[7]))
    return functions


class Symbols:
    """The functions in the symbol tables, by their names as they were written."""

    def __init__(self, program):
        functions = read_functions(program)
        written = demangle([[(name, "")] for _, _, name in functions])
        self._functions = sorted((start, size, name) for (start, size, _), ((name, _),)
                                 in zip(functions, written))
        self._addresses = {}
        for start, _, name in self._functions:
            self._addresses.setdefault(name, set()).add(start)

    def names_at(self, address):
        """Names of the functions that hold @address by their sizes."""
        end = bisect.bisect_right(self._functions, (address, 1 << 64))
        # Nested functions begin near each other.
        return {name for start, size, name in self._functions[max(0, end - NEAR):end]
                if start <= address < start + size}

    def are_aliases(self, ours, theirs):
        """Whether two answers differ in nothing but which of the names at one address the outermost has."""
        if len(ours) != len(theirs) or not ours or ours[:-1] != theirs[:-1] or ours[-1][1] != theirs[-1][1]:
            return False
        return bool(self._addresses.get(ours[-1][0], set()) & self._addresses.get(theirs[-1][0], set()))


def find_text(program):
    """Address and bytes of .text."""
    listing = subprocess.run(["readelf", "-SW", program], check=True, stdout=subprocess.PIPE,
                             text=True).stdout
    match = re.search(r"\s\.text\s+\w+\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", listing)
    return int(match[1], 16), int(match[2], 16)


def describe_code(program):
    """What is equal in programs of the same code: where .text and its functions are."""
    start, size = find_text(program)
    return start, size, sorted(function for function in read_functions(program)
                               if start <= function[0] < start + size)


def choose(program, symbols, count):
    """Addresses anywhere in .text: @count that lie in functions, and those beside that were drawn on the way."""
    start, size = find_text(program)
    addresses, inside = [], 0
    while inside < count and len(addresses) < DRAWS_MAX * count:
        addresses.append(start + random.randrange(size))
        inside += bool(symbols.names_at(addresses[-1]))
    return addresses


def ask(command, addresses):
    """Lines for each address, as pairs (function, file:line)."""
    text = "".join(f"{address:#x}\n" for address in addresses)
    # elfutils' answers stand although it ends with 1.
    output = subprocess.run(command, input=text, stdout=subprocess.PIPE, check=False, text=True,
                            errors="replace", stderr=subprocess.DEVNULL).stdout
    answers = []
    for line in output.splitlines():
        if re.fullmatch(r"0x[0-9a-fA-F]+", line):
            answers.append([])
        elif line:
            answers[-1].append(line)
    return [tidy(lines) for lines in answers]


def tidy(lines):
    """Takes off what is no part of the answer: discriminators, and how nothing is written."""
    pairs = []
    for function, location in zip(lines[::2], lines[1::2]):
        location = re.sub(r" \((discriminator \d+|inlined by.*)\)$", "", location)
        location = re.sub(r":0$", ":?", re.sub(r"^(.*:\d+):\d+$", r"\1", location))
        # Of code without lines some give the name in the symbol table's STT_FILE, which is no path.
        location = re.sub(r"^[^/]*:\?$", "??:?", location)
        # elfutils says where the innermost is inlined in the same line.
        pairs.append((re.sub(r" inlined (at|from) .*$", "", function), location))
    return pairs


def demangle(answers):
    """The same with names by binutils: LLVM writes them otherwise."""
    names = sorted({function for answer in answers for function, _ in answer})
    output = subprocess.run(["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, check=True,
                            text=True).stdout
    meant = dict(zip(names, output.splitlines()))
    return [[(meant[function], location) for function, location in answer] for answer in answers]


def without_clone(answer):
    """Off the outermost name what compilers put behind it: LLVM takes symbols' names there."""
    if not answer:
        return answer
    function, location = answer[-1]
    return answer[:-1] + [(re.sub(r"( \[clone [^]]*\]|\.(cold|(part|isra|constprop|lto_priv)\.\d+))+$", "",
                                  function), location)]


def what_differs(ours, theirs):
    """What binutils does that another reader does not."""
    if len(ours) != len(theirs):
        return "has other chains"
    if [location for _, location in ours] == [location for _, location in theirs]:
        return "names functions that have no linkage name by a symbol around them, or the reverse"
    if all(a == b or b.endswith(":?") for (_, a), (_, b) in zip(ours, theirs)):
        return "has no lines"
    return "has other files or lines"


def newest(program, *command):
    """@command over @program, by the newest readers if there are any."""
    if not fetch_readers.ROOT.exists():
        return command
    shared = [os.path.dirname(program)] + [DEBUG_FILES] * os.path.isdir(DEBUG_FILES)
    return pythons.enter(str(fetch_readers.ROOT), shared, *command)


def ask_llvm(program, addresses):
    answers = ask(["llvm-symbolizer", "--output-style=GNU", "--functions=linkage", "--inlines",
                   "--no-demangle", "--addresses", "-e", program], addresses)
    # c++filt shows which of its builds a crate of Rust is of.
    return [[(re.sub(r"\[[0-9a-f]{14,16}\]", "", name), location) for name, location in without_clone(answer)]
            for answer in demangle(answers)]


class Comparison:
    """What was found at random addresses: how many are as binutils or elfutils say, in which way; the other ones
    by class, of which some are shown by the symbol table; and those that nobody says as we do. Those in no
    function, padding above all, stand apart.
    """

    def __init__(self, addresses=0):
        self.addresses = addresses
        self.equal = collections.Counter()
        self.outside = collections.Counter()
        self.named = collections.Counter()
        self.classes = collections.Counter()
        self.unexplained = []

    @property
    def doubtful(self):
        return self.classes.total() + len(self.unexplained)

    def add(self, other):
        self.addresses += other.addresses
        self.equal += other.equal
        self.outside += other.outside
        self.named += other.named
        self.classes += other.classes
        self.unexplained += other.unexplained


AS_SYMBOL = "the same, but for the outermost as the symbol table names it"


def how_equal(ours, binutils, elfutils, symbol_names):
    """In which way @ours is what the two say; None if it is not."""
    if ours == binutils:
        return "as binutils says"
    if ours == elfutils:
        return "as elfutils says"
    others = [answer for answer in (binutils, elfutils) if len(answer) == len(ours)]
    if not others or any(ours[i] not in [answer[i] for answer in others] for i in range(len(ours) - 1)):
        return None
    name, location = ours[-1]
    if ours[-1] in [answer[-1] for answer in others]:
        return "as one of both says of each function"
    # Of functions without a linkage name: binutils itself says so where nothing is inlined into them.
    if name in symbol_names and location in [answer[-1][1] for answer in others]:
        return AS_SYMBOL
    return None


def is_repeated(ours, binutils, llvm, symbol_names):
    """Whether @ours is as LLVM says and differs from what binutils says in names that are the symbol's around
    the address: binutils gives it to the innermost function without a linkage name, too.
    """
    return (without_clone(ours) == llvm and len(ours) == len(binutils) > 1
            and all(one == other or i in (0, len(ours) - 1) and one[1] == other[1]
                    for i, (one, other) in enumerate(zip(ours, binutils)))
            and binutils[0][0] in symbol_names and ours[-1][0] in symbol_names)


def judge(found, symbols, address, ours, binutils, elfutils, llvm):
    """Adds one answer to @found."""
    names = symbols.names_at(address)
    how = how_equal(ours, binutils, elfutils, names)
    if not names and (how or without_clone(ours) == llvm):
        found.outside[how or "as LLVM says"] += 1
    elif how == AS_SYMBOL:
        found.named[how] += 1
    elif how:
        found.equal[how] += 1
    elif is_repeated(ours, binutils, llvm, names):
        found.named["the same, but that binutils names the innermost as the symbol table does the outermost, and "
                    "LLVM does not"] += 1
    elif without_clone(ours) == llvm:
        found.classes["LLVM says as we do: binutils " + what_differs(ours, binutils)] += 1
    elif symbols.are_aliases(ours, binutils):
        found.classes["takes another of the names that a symbol table has for an address"] += 1
    else:
        found.unexplained.append((address, ours, binutils, llvm, elfutils))


def compare(program):
    """The Comparison of random addresses."""
    symbols = Symbols(program)
    addresses = choose(program, symbols, ADDRESSES)
    ours = ask([SYMBOLS, "-afiC", program, "-"], addresses)
    if os.path.exists(program + ".twin"):
        if describe_code(program) != describe_code(program + ".twin"):
            raise AssertionError("the twin has other code")
        program += ".twin"
    binutils = ask(newest(program, "addr2line", "-afiC", "-e", program), addresses)
    if not len(addresses) == len(ours) == len(binutils):
        raise AssertionError("not as many answers as questions")
    odd = [i for i in range(len(addresses)) if ours[i] != binutils[i]]
    asked = [addresses[i] for i in odd]
    elfutils = dict(zip(odd, ask(newest(program, "eu-addr2line", "-afiC", "-e", program), asked)
                        if odd else []))
    plain = program + ".plain" if os.path.exists(program + ".plain") else program
    llvm = dict(zip(odd, ask_llvm(plain, asked) if odd else []))
    found = Comparison()
    for i, address in enumerate(addresses):
        judge(found, symbols, address, ours[i], binutils[i], elfutils.get(i, ()), llvm.get(i, ()))
    found.addresses = len(addresses) - found.outside.total()
    return found


def cut(text):
    return text if len(text) <= SHOWN_BYTES else text[:SHOWN_BYTES // 2] + ".." + text[-SHOWN_BYTES // 2:]


def show(unexplained):
    for address, *answers in unexplained[:SHOWN]:
        print(f"# {address:#x}")
        for who, answer in zip(["ours", "binutils", "LLVM", "elfutils"], answers):
            print(f"#   {who}: " + "; ".join(f"{cut(function)} {location}" for function, location in answer))


def test(number, name, commands, folder, totals):
    """True unless it fails. What was found is added to @totals."""
    try:
        program = build(commands, folder, name) if isinstance(commands, list) else copy_file(commands, folder)
        found = compare(program)
    except Missing as missing:
        print(f"{'not ok' if IS_LONG else 'ok'} {number} - {name}{'' if IS_LONG else ' # SKIP'}: {missing}")
        return not IS_LONG
    except subprocess.CalledProcessError as error:
        print("# " + str(error.stderr or error)[:2000].replace("\n", "\n# "))
        print(f"not ok {number} - {name}: {error.cmd[0]} failed")
        return False
    totals.append(found)
    is_good = found.addresses >= ADDRESSES and found.doubtful <= MAX_SHARE * found.addresses
    show(found.unexplained)
    print_found(found)
    print(f"{'ok' if is_good else 'not ok'} {number} - {name}: {found.doubtful} of "
          f"{found.addresses} differ, and {found.named.total()} as the symbol table shows")
    return is_good


def print_found(found):
    print(f"# {found.addresses} addresses in functions, {found.outside.total()} in none")
    for title, counts in ("", found.equal), ("", found.named), ("", found.classes), ("in no function: ", found.outside):
        for key, count in counts.most_common():
            print(f"#   {count} {title}{key}")
    print(f"#   {len(found.unexplained)} as nobody else says")


def main():
    all_programs = dict(PROGRAMS)
    if IS_LONG:
        all_programs.update(LONG_PROGRAMS)
        all_programs.update(LONG_FILES)
        fetch_readers.fetch()
    # Names of tests, or files.
    known = {**PROGRAMS, **LONG_PROGRAMS, **LONG_FILES}
    programs = {name: known.get(name, name) for name in sys.argv[1:]} or all_programs
    random.seed(8)
    missing = [tool for tool in READERS if not shutil.which(tool)]
    if missing:
        print(f"1..1\n{'not ok' if IS_LONG else 'ok'} 1 - names as others say"
              f"{'' if IS_LONG else ' # SKIP'}: there is no {missing[0]}")
        return IS_LONG
    print(f"1..{len(programs) + 1}")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
        totals = []
        results = [test(number, name, commands, folder, totals)
                   for number, (name, commands) in enumerate(programs.items(), 1)]
    found = Comparison()
    for one in totals:
        found.add(one)
    print_found(found)
    differences = found.doubtful + (found.named.total() if IS_LONG else 0)
    results.append(differences <= MAX_SHARE * found.addresses)
    print(f"{'ok' if results[-1] else 'not ok'} {len(results)} - all together: {differences} of "
          f"{found.addresses} differ")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
