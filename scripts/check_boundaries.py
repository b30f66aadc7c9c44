#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks files against the rules of CONTRIBUTING.md: includes, licences, names, sizes and the list of mutexes.

Prints one line per fault; exit status 1 if there was one.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 1000
MANY_LINES = 700

# Groups of folders, in order: a folder includes from itself and from the groups before its own, so members of a
# group never include each other. A folder has its subfolders with it, except those that are listed themselves. What
# stands in tests/, fuzz/ and tools/ may include all of its trade, which is the first folder of its path.
GROUPS = [
    ["ebpf/abi"],
    ["lib/base"],
    ["lib/model"],
    ["lib/host", "lib/isa"],
    ["lib/elf", "build/proto", "build/version.h", "build/system_calls.h"],
    ["interpreters", "stackdeltas/code", "symbols/cache"],
    ["interpreters/*", "stackdeltas", "symbols/dwarf"],
    ["symbols/build"],
    ["reporter", "symbols"],
    ["viewer", "viewer/open"],
    ["viewer/receive"],
    ["ebpf", "build/ebpf"],
    ["agent/runtimes", "agent/tracing"],
    ["agent/processes"],
    ["agent/unwind"],
    ["agent"],
]
# Folders that may include less than that: only these folders, beside themselves.
NARROWER = {
    "ebpf": ["ebpf/abi", "build/ebpf"],
    "integration/collector": ["lib/base"],
    "bench": ["ebpf/abi", "lib/base", "build/proto"],
}

# One home per library: a header matched by the pattern may be included by these paths only.
LIBRARY_HOMES = [
    (r"bpf/(libbpf|bpf|btf|libbpf_legacy)\.h|linux/perf_event\.h",
     ["agent/tracing/", "ebpf/tests/", "bench/"]),
    (r"bpf/.*", ["agent/tracing/", "ebpf/", "bench/"]),
    (r"libelf\.h|gelf\.h", ["symbols/dwarf/", "stackdeltas/tests/"]),
    (r"elfutils/.*|dwarf\.h", ["symbols/dwarf/", "symbols/tests/", "stackdeltas/tests/"]),
    (r"libiberty/.*", ["symbols/demangle."]),
    (r"grpc/.*", ["reporter/grpc_", "reporter/tests/grpc_", "reporter/fuzz/grpc_", "viewer/receive/", "integration/collector/"]),
    (r"protobuf-c/.*|build/proto/.*", ["reporter/otlp_", "reporter/pprof", "reporter/tests/", "viewer/open/", "viewer/receive/", "bench/otlp_"]),
    (r"openssl/.*", ["lib/host/file_id", "viewer/access_token"]),
    (r"xxhash\.h", ["lib/base/hash128."]),
    (r"microhttpd\.h|jansson\.h", ["viewer/"]),
    (r"n?curses\.h", ["agent/top/top_screen."]),
    (r"zlib\.h", ["lib/elf/debug_file", "lib/host/tests/", "lib/elf/tests/",
                  "symbols/tests/", "symbols/dwarf/tests/", "reporter/", "viewer/http_server", "viewer/open/gunzip",
                  "viewer/tests/", "viewer/open/tests/", "viewer/open/fuzz/", "lib/elf/fuzz/",
                  "integration/collector/", "bench/otlp_"]),
    (r"libdeflate\.h", ["lib/host/decompress", "lib/host/tests/", "lib/elf/tests/"]),
    (r"zstd.*\.h|lzma.*\.h", ["lib/host/decompress", "lib/host/tests/", "lib/elf/tests/"]),
]

SOURCE_SUFFIXES = {".c", ".h", ".py", ".sh", ".proto", ".rs", ".cpp", ".go", ".S"}
# Generated headers are found below build/, which is a root of includes like the repository's.
GENERATED = re.compile(r"proto/.*\.pb-c\.h|ebpf/.*\.skel\.h|version\.h|system_calls\.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def list_files():
    output = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    names = [name.decode() for name in output.split(b"\0") if name]
    return [name for name in names if (ROOT / name).is_file()]


LISTED = {folder: rank for rank, group in enumerate(GROUPS) for folder in group}
ASIDE = {"tests", "fuzz", "tools"}


def folder_of(name):
    """The listed folder that file @name belongs to; None if there is none."""
    parts = name.split("/")
    if parts[0] == "interpreters" and len(parts) > 2 and parts[1] not in ASIDE:
        return "/".join(parts[:2])
    matches = [folder for folder in [*LISTED, *NARROWER]
               if name == folder or name.startswith(folder + "/")]
    return max(matches, key=len, default=None)


def rank_of(folder):
    is_language = folder.startswith("interpreters/")
    return LISTED.get("interpreters/*" if is_language else folder, len(GROUPS))


def may_include(name, included):
    folder = folder_of(name)
    other = folder_of(included) or included
    if folder is None or other == folder:
        return True
    if folder in NARROWER:
        return other in NARROWER[folder]
    if ASIDE & set(name.split("/")) and name.split("/")[0] == included.split("/")[0]:
        return True
    return rank_of(other) < rank_of(folder)


def check_includes(name, lines, includes):
    """Faults of the includes of one C file; adds what it includes to @includes."""
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, included = match.groups()
        if quote == '"' and GENERATED.fullmatch(included):
            included = "build/" + included
        where = f"{name}:{number}"
        for pattern, homes in LIBRARY_HOMES:
            if re.fullmatch(pattern, included):
                if not any(name.startswith(home) for home in homes):
                    yield f"{where}: <{included}> belongs to {' and '.join(homes)}"
                break
        if quote == "<":
            continue
        if not included.startswith("build/") and not (ROOT / included).is_file():
            yield f'{where}: "{included}" is no path from the repository root'
            continue
        includes.setdefault(name, []).append(included)
        if not may_include(name, included):
            yield f"{where}: {folder_of(name)} may not include {included}"


def check_cycles(includes):
    finished = set()
    path = []

    def visit(name):
        if name in finished:
            return
        if name in path:
            yield "cycle of includes: " + " > ".join(path[path.index(name):] + [name])
            return
        path.append(name)
        for included in includes.get(name, []):
            yield from visit(included)
        path.pop()
        finished.add(name)

    for name in includes:
        yield from visit(name)


# The unwinder's sources, which are part of the kernel programs and, by ebpf/host, of the agent.
# Of languages, all headers are but those of labels.
ON_BOTH_SIDES = re.compile(r"ebpf/(abi|host)/|ebpf/(\w+)/\2_(?!labels)\w+\.bpf\.h$|"
                           r"ebpf/(architecture|cached_mapping|code_copy|guess_caller|helpers|jit_entry|kernel_types|languages|native_step|"
                           r"new_code|process_mappings|read_window|regex_code|rule_lookup|safe_reads|signal_trampoline|state|tables|"
                           r"uprobes)\.bpf\.h$")


def expected_license(name):
    if ON_BOTH_SIDES.match(name):
        return "GPL-2.0-only OR Apache-2.0"
    is_kernel_side = name.startswith("ebpf/") or name.endswith((".bpf.c", ".bpf.h"))
    return "GPL-2.0-only" if is_kernel_side else "Apache-2.0"


def check_license(name, lines):
    first = lines[1] if lines and lines[0].startswith("#!") else lines[0] if lines else ""
    license_text = expected_license(name)
    if not re.search(rf"SPDX-License-Identifier: {re.escape(license_text)}(\s*\*/)?\s*$", first):
        yield f"{name}:1: the first line does not say SPDX-License-Identifier: {license_text}"


def check_languages(names):
    """Each row of the list of languages is read by the Makefile, and has its folders."""
    with open(ROOT / "ebpf/abi/languages.h", encoding="utf-8") as file:
        text = file.read()
    rows = re.findall(r"^\s*X\(\d", text, re.M)
    languages = re.findall(r"^\tX\([0-9]*, [A-Z0-9_]*, ([a-z0-9_]*),", text, re.M)
    if not rows or len(rows) != len(languages):
        yield "ebpf/abi/languages.h: the Makefile reads %d of %d rows" % (len(languages), len(rows))
    for language in languages:
        for needed in ("ebpf/{0}/{0}_state.bpf.h", "ebpf/{0}/{0}_step.bpf.h", "ebpf/{0}/{0}_unwind.bpf.c", "interpreters/{0}/{0}.h"):
            if needed.format(language) not in names:
                yield "ebpf/abi/languages.h: %s has no %s" % (language, needed.format(language))


# The text of a file, since the call may be on a line of its own.
READ_INTO_MAP = re.compile(r"bpf_probe_read_user\(\s*&?\w+->")


def check_user_reads(name, text):
    """Kernels 5.19 to 6.3 may hang in reads of user memory straight into a map value (ebpf/safe_reads.bpf.h)."""
    if name.startswith("ebpf/"):
        for match in READ_INTO_MAP.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{name}:{line}: reads user memory into a map value: read it to the BPF stack first"


# Mutexes as variables and members; parameters and pointers are none.
MUTEX = re.compile(r"^\s*(?:static\s+)?pthread_mutex_t \w+(?:\[\w+\])?(?: = \w+)?;", re.M)
LISTED_MUTEX = re.compile(r"^\| `([\w/]+\.[ch])`(?: \((\d+)\))? \|", re.M)


def count_mutexes(name, text):
    """How many mutexes the file has; 0 for files that the list leaves out."""
    parts = name.split("/")
    if not name.endswith((".c", ".h")) or parts[0] in ("bench", "integration") or ASIDE & set(parts):
        return 0
    return len(MUTEX.findall(text))


def check_mutexes(found):
    """agent/NOTES.md lists the files with mutexes, and how many there are in each: @found."""
    text = (ROOT / "agent/NOTES.md").read_text(encoding="utf-8")
    section = re.search(r"^## Locks\n(.*)", text, re.M | re.S)
    listed = {name: int(count or 1) for name, count in LISTED_MUTEX.findall(section[1] if section else "")}
    for name in sorted(found.keys() | listed.keys()):
        if found.get(name, 0) != listed.get(name, 0):
            yield "%s: has %d mutexes, and agent/NOTES.md lists %d" % (name, found.get(name, 0), listed.get(name, 0))


def check_names(name, names):
    path = pathlib.PurePath(name)
    if path.suffix != ".c" or folder_of(name) in (None, "bench") or name.endswith(".bpf.c"):
        return
    if path.name == "main.c" or ASIDE & set(path.parts):
        return
    if str(path.with_suffix(".h")) not in names:
        yield f"{name}: has no header of its name"


def main():
    names = list_files()
    includes = {}
    mutexes = {}
    faults = []
    for name in names:
        path = pathlib.PurePath(name)
        if path.suffix not in SOURCE_SUFFIXES and path.name != "Makefile":
            continue
        text = (ROOT / name).read_text(encoding="utf-8")
        lines = text.splitlines()
        mutexes[name] = count_mutexes(name, text)
        faults += check_user_reads(name, text)
        faults += check_license(name, lines)
        # Targets stand for other people's programs: they see nothing of ours, from no root.
        if path.suffix in (".c", ".h") and not name.startswith("integration/targets/"):
            faults += check_includes(name, lines, includes)
            faults += check_names(name, set(names))
            if len(lines) > MAX_LINES:
                faults.append(f"{name}: {len(lines)} lines; over {MAX_LINES} a file has two jobs")
            elif len(lines) > MANY_LINES:
                print(f"warning: {name}: {len(lines)} lines; does it have two jobs?")
    faults += check_cycles(includes)
    faults += check_languages(set(names))
    faults += check_mutexes(mutexes)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
