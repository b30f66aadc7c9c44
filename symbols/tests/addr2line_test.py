#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""What build/symbols says of addresses is what addr2line says.

Programs are built with debug data in the ways in which compilers and linkers leave it; names, inlined
chains, files and lines at random addresses of their functions are compared with `addr2line -f -i -C`
of binutils. Where the two differ elfutils' eu-addr2line is asked, then LLVM's reader: what one of them
says as we do is counted by what binutils does there; what none says is a difference, and under 0.1 % of
the addresses may be such.

usage: addr2line_test.py [PROGRAM...]
"""
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("integration", "scripts")]
import fetch_readers
import pythons

SYMBOLS = os.path.join(ROOT, "build/symbols")
SOURCES = os.path.join(ROOT, "symbols/tests/addr2line_sources")
IS_LONG = os.environ.get("ALLFRAMES_LONG") == "1"
ADDRESSES = 10000 if IS_LONG else 1000
MAX_SHARE = 0.001
SHOWN = 3
SHOWN_BYTES = 60

# Name: compiler and options, in which {program} is replaced; what runs afterwards. elfutils finds no
# unit without .debug_aranges, which Clang writes when it is told to.
PROGRAMS = {
    "gcc -O2 C": ["gcc -g -O2 calls.c -o {program} -lm"],
    "g++ -O0 DWARF 4": ["g++ -g -gdwarf-4 -O0 shop.cpp -o {program}"],
    "g++ -O2 DWARF 5": ["g++ -g -gdwarf-5 -O2 shop.cpp -o {program}"],
    "clang++ -O2 DWARF 5": ["clang++ -g -gdwarf-aranges -gdwarf-5 -O2 shop.cpp -o {program}"],
    "rustc -O3": ["rustc -g -C opt-level=3 words.rs -o {program}"],
    "g++ -O2 DWARF 4 dwz": ["g++ -g -gdwarf-4 -O2 shop.cpp -o {program}", "dwz {program}"],
    "g++ -O2 split DWARF 5": ["g++ -g -gdwarf-5 -gsplit-dwarf -O2 shop.cpp -o {program}"],
}
LONG_PROGRAMS = {
    "gcc -O0 C DWARF 2": ["gcc -g -gdwarf-2 -gstrict-dwarf -O0 calls.c -o {program} -lm"],
    "gcc -O3 C DWARF 3": ["gcc -g -gdwarf-3 -gstrict-dwarf -O3 calls.c -o {program} -lm"],
    "clang -O2 C": ["clang -g -gdwarf-aranges -O2 calls.c -o {program} -lm"],
    "g++ -O3 DWARF 4": ["g++ -g -gdwarf-4 -O3 shop.cpp -o {program}"],
    "g++ -O3 DWARF 5 gz": ["g++ -g -gdwarf-5 -gz -O3 shop.cpp -o {program}"],
    "g++ -O2 old gz": ["g++ -g -gz=zlib-gnu -O2 shop.cpp -o {program}"],
    "g++ -O2 LTO": ["g++ -g -flto -O2 shop.cpp -o {program}"],
    "g++ -O2 static": ["g++ -g -O2 -static shop.cpp -o {program}"],
    "g++ -O2 sections": ["g++ -g -O2 -ffunction-sections -Wl,--gc-sections shop.cpp -o {program}"],
    "g++ -O2 split DWARF 4": ["g++ -g -gdwarf-4 -gsplit-dwarf -O2 shop.cpp -o {program}"],
    "g++ -O2 debug file": [
        "g++ -g -O2 shop.cpp -o {program}",
        "objcopy --only-keep-debug {program} {program}.debug",
        "objcopy --strip-debug --add-gnu-debuglink={program}.debug {program}"],
    "g++ -O2 common file": [
        "g++ -g -gdwarf-4 -O2 shop.cpp -o {program}", "g++ -g -gdwarf-4 -O3 shop.cpp -o {program}.3",
        "cp {program} {program}.twin", "dwz -m {program}.common {program} {program}.3"],
    "clang++ -O0 DWARF 4": ["clang++ -g -gdwarf-aranges -gdwarf-4 -O0 shop.cpp -o {program}"],
    "clang++ -O3 DWARF 4": ["clang++ -g -gdwarf-aranges -gdwarf-4 -O3 shop.cpp -o {program}"],
    "clang++ -O2 LTO": ["clang++ -g -gdwarf-aranges -flto -fuse-ld=lld -O2 shop.cpp -o {program}"],
    "clang++ -O2 lld sections": ["clang++ -g -gdwarf-aranges -O2 -ffunction-sections -fuse-ld=lld "
                                 "-Wl,--gc-sections -Wl,--icf=all shop.cpp -o {program}"],
    "clang++ -O2 split DWARF 5": [
        "clang++ -g -gdwarf-aranges -gdwarf-5 -gsplit-dwarf -O2 -c shop.cpp -o {program}.o",
        "clang++ {program}.o -o {program}"],
    "g++ -O2 DWARF 4 package": [
        "g++ -g -gdwarf-4 -gsplit-dwarf -O2 shop.cpp -o {program}",
        "dwp -e {program} -o {program}.dwp", "rm {program}-shop.dwo"],
    "clang++ -O2 DWARF 5 package": [
        "clang++ -g -gdwarf-aranges -gdwarf-5 -gsplit-dwarf -O2 -c shop.cpp -o {program}.o",
        "clang++ {program}.o -o {program}", "llvm-dwp -e {program} -o {program}.dwp",
        "rm {program}.dwo"],
    "rustc -O0": ["rustc -g words.rs -o {program}"],
    "rustc LTO v0": ["rustc -g -C opt-level=2 -C lto -C symbol-mangling-version=v0 words.rs "
                     "-o {program}"],
    "cgo": ["go build -o {program} cgo.go"],
    "cgo -O0": ["go build -gcflags=all=-N -o {program} cgo.go"],
}


class Skip(Exception):
    pass


def build(commands, folder, name):
    """Path of the program; its sources are copied beside it, since dwz and .dwo files lie there."""
    program = os.path.join(folder, re.sub(r"\W", "_", name))
    for command in commands:
        words = [word.format(program=program) for word in command.split()]
        if not shutil.which(words[0]):
            raise Skip("there is no " + words[0])
        environment = dict(os.environ, CGO_ENABLED="1", GO111MODULE="off",
                           GOCACHE=os.path.join(folder, "go-cache"))
        subprocess.run(words, cwd=folder, check=True, env=environment, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return program


def read_functions(program):
    """(address, size, name) of each function in the symbol tables."""
    table = program + ".debug" if os.path.exists(program + ".debug") else program
    listing = subprocess.run(["readelf", "-sW", table], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True).stdout
    functions = []
    for line in listing.splitlines():
        words = line.split()
        if len(words) >= 8 and words[3] in ("FUNC", "IFUNC") and words[6] != "UND":
            functions.append((int(words[1], 16), int(words[2], 0), words[7]))
    return functions


def read_aliases(program):
    """Name as it was written -> addresses."""
    functions = read_functions(program)
    written = demangle([[(name, "")] for _, _, name in functions])
    aliases = {}
    for (address, _, _), ((name, _),) in zip(functions, written):
        aliases.setdefault(name, set()).add(address)
    return aliases


def are_aliases(aliases, ours, theirs):
    """Whether two answers differ in nothing but which of the names at one address the outermost has."""
    if len(ours) != len(theirs) or not ours or ours[:-1] != theirs[:-1] or ours[-1][1] != theirs[-1][1]:
        return False
    return bool(aliases.get(ours[-1][0], set()) & aliases.get(theirs[-1][0], set()))


def choose(program, count):
    """Addresses in functions that have a size: what is between them are bytes that nothing runs."""
    functions = [(start, size) for start, size, _ in read_functions(program) if size]
    # So that a function is met as often as another of its size, whatever else is linked.
    weights = [size for _, size in functions]
    return [start + random.randrange(size)
            for start, size in random.choices(functions, weights=weights, k=count)]


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
    for function, place in zip(lines[::2], lines[1::2]):
        place = re.sub(r" \((discriminator \d+|inlined by.*)\)$", "", place)
        place = re.sub(r":0$", ":?", re.sub(r"^(.*:\d+):\d+$", r"\1", place))
        # Of code without lines some give the name in the symbol table's STT_FILE, which is no path.
        place = re.sub(r"^[^/]*:\?$", "??:?", place)
        # elfutils says where the innermost is inlined in the same line.
        pairs.append((re.sub(r" inlined (at|from) .*$", "", function), place))
    return pairs


def demangle(answers):
    """The same with names by binutils: LLVM writes them otherwise."""
    names = sorted({function for answer in answers for function, _ in answer})
    output = subprocess.run(["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, check=True,
                            text=True).stdout
    meant = dict(zip(names, output.splitlines()))
    return [[(meant[function], place) for function, place in answer] for answer in answers]


def without_clone(answer):
    """Off the outermost name what compilers put behind it: LLVM takes symbols' names there."""
    if not answer:
        return answer
    function, place = answer[-1]
    return answer[:-1] + [(re.sub(r"( \[clone [^]]*\]|\.(cold|(part|isra|constprop|lto_priv)\.\d+))+$", "",
                                  function), place)]


def what_differs(ours, theirs):
    """What binutils does that another reader does not."""
    if len(ours) != len(theirs):
        return "has other chains"
    if [place for _, place in ours] == [place for _, place in theirs]:
        return "names functions that have no linkage name by a symbol around them, or the reverse"
    if all(a == b or b.endswith(":?") for (_, a), (_, b) in zip(ours, theirs)):
        return "has no lines"
    return "has other files or lines"


def newest(program, *command):
    """@command over @program, by the newest readers if there are any."""
    if not (IS_LONG and fetch_readers.ROOT.exists()):
        return command
    return pythons.enter(str(fetch_readers.ROOT), [os.path.dirname(program)], *command)


def compare(program):
    """(addresses, equal, classes of explained ones, those that nobody says as we do)."""
    addresses = choose(program, ADDRESSES)
    ours = ask([SYMBOLS, "-afiC", program, "-"], addresses)
    # What dwz has moved to another file, the others do not find: they get what was there before.
    program = program + ".twin" if os.path.exists(program + ".twin") else program
    binutils = ask(newest(program, "addr2line", "-afiC", "-e", program), addresses)
    if not len(addresses) == len(ours) == len(binutils):
        raise AssertionError("not as many answers as questions")
    odd = [i for i in range(len(addresses)) if ours[i] != binutils[i]]
    asked = [addresses[i] for i in odd]
    llvm = ask(["llvm-symbolizer", "--output-style=GNU", "--functions=linkage", "--inlines",
                "--no-demangle", "--addresses", "-e", program], asked) if odd else []
    llvm = [without_clone(answer) for answer in demangle(llvm)]
    elfutils = ask(newest(program, "eu-addr2line", "-afiC", "-e", program), asked) if odd else []
    aliases = read_aliases(program) if odd else {}
    classes, unexplained = {}, []
    for k, i in enumerate(odd):
        if ours[i] == elfutils[k]:
            key = what_differs(ours[i], binutils[i]) + ", unlike elfutils"
        elif without_clone(ours[i]) == llvm[k]:
            key = what_differs(ours[i], binutils[i]) + ", unlike LLVM"
        elif are_aliases(aliases, ours[i], binutils[i]):
            key = "takes another of the names that a symbol table has for an address"
        else:
            unexplained.append((addresses[i], ours[i], binutils[i], llvm[k], elfutils[k]))
            continue
        classes[key] = classes.get(key, 0) + 1
    return len(addresses), len(addresses) - len(odd), classes, unexplained


def cut(text):
    return text if len(text) <= SHOWN_BYTES else text[:SHOWN_BYTES // 2] + ".." + text[-SHOWN_BYTES // 2:]


def show(unexplained):
    for address, *answers in unexplained[:SHOWN]:
        print(f"# {address:#x}")
        for who, answer in zip(["ours", "binutils", "LLVM", "elfutils"], answers):
            print(f"#   {who}: " + "; ".join(f"{cut(function)} {place}" for function, place in answer))


def test(number, name, commands, folder, totals):
    """True unless it fails. What each reader says as we do is added to @totals."""
    try:
        program = build(commands, folder, name) if commands else name
        total, equal, classes, unexplained = compare(program)
    except Skip as skip:
        print(f"ok {number} - {name} # SKIP {skip}")
        return True
    except subprocess.CalledProcessError as error:
        print("# " + str(error.stderr or error)[:2000].replace("\n", "\n# "))
        print(f"not ok {number} - {name}: {error.cmd[0]} failed")
        return False
    totals.update({"": total, "as binutils says": equal, "as nobody else says": len(unexplained)})
    totals.update({"binutils " + key: count for key, count in classes.items()})
    print(f"# {name}: {equal} of {total} as binutils says")
    for key, count in sorted(classes.items(), key=lambda item: -item[1]):
        print(f"#   {count}: binutils {key}")
    is_good = len(unexplained) <= MAX_SHARE * total
    show(unexplained)
    print(f"{'ok' if is_good else 'not ok'} {number} - {name}: "
          f"{len(unexplained)} of {total} as nobody else says")
    return is_good


def main():
    programs = {name: None for name in sys.argv[1:]} or dict(PROGRAMS)
    if IS_LONG and not sys.argv[1:]:
        programs.update(LONG_PROGRAMS)
    random.seed(8)
    print(f"1..{len(programs)}")
    for tool in ("addr2line", "readelf", "llvm-symbolizer", "eu-addr2line"):
        if not shutil.which(tool):
            for number, name in enumerate(programs, 1):
                print(f"ok {number} - {name} # SKIP there is no {tool}")
            return 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
        totals = collections.Counter()
        results = [test(number, name, commands, folder, totals)
                   for number, (name, commands) in enumerate(programs.items(), 1)]
    print(f"# all: {totals.pop('', 0)} addresses")
    for key, count in totals.most_common():
        print(f"#   {count} {key}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
