#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what CONTRIBUTING.md says of files: who may include whom, licences, names and sizes.

Prints one line per fault; exit status 1 if there was one.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 1000
MANY_LINES = 700

# What a folder may include beside itself, agent/base and ebpf/abi. The longest match of a path
# counts; a path that ends in .h allows that header only.
ALLOWED = {
    "agent/base": [],
    "agent/host": [],
    "agent/tracing": ["build/ebpf"],
    "agent/runtimes": ["agent/host", "stackdeltas", "interpreters"],
    "agent/processes": ["agent/host", "agent/runtimes", "stackdeltas", "interpreters", "symbols",
                        "reporter/reporter.h"],
    "agent/walks": ["ebpf/host", "agent/host", "agent/processes", "agent/runtimes", "stackdeltas",
                    "interpreters", "symbols"],
    "agent": ["agent/walks", "agent/host", "agent/tracing", "agent/processes", "agent/runtimes",
              "stackdeltas",
              "interpreters", "symbols", "reporter", "viewer", "build/version.h"],
    "stackdeltas": ["agent/host"],
    "symbols": ["agent/host"],
    "interpreters": ["agent/host"],
    "reporter": ["build/proto"],
    "viewer": ["reporter", "build/proto"],
    "ebpf": ["build/ebpf/language_%s.h" % part for part in ("labels", "programs", "states", "steps")],
    "ebpf/abi": [],
    "bench": ["build/proto"],
    "integration/collector": [],
}

# One home per library: a header matched by the pattern may be included by these paths only.
LIBRARY_HOMES = [
    (r"bpf/(libbpf|bpf|btf|libbpf_legacy)\.h|linux/perf_event\.h",
     ["agent/tracing/", "ebpf/tests/", "bench/"]),
    (r"bpf/.*", ["agent/tracing/", "ebpf/", "bench/"]),
    (r"libelf\.h|gelf\.h", ["symbols/dwarf_", "stackdeltas/tests/"]),
    (r"elfutils/.*|dwarf\.h", ["symbols/dwarf_", "symbols/tests/", "stackdeltas/tests/"]),
    (r"libiberty/.*", ["symbols/demangle."]),
    (r"grpc/.*", ["reporter/grpc_", "reporter/tests/grpc_", "integration/collector/"]),
    (r"protobuf-c/.*|build/proto/.*", ["reporter/otlp_", "reporter/pprof", "reporter/tests/", "viewer/decode_budget",
                                         "viewer/open_", "viewer/symbol_upload", "bench/otlp_"]),
    (r"openssl/.*", ["agent/host/file_id"]),
    (r"xxhash\.h", ["agent/base/hash128."]),
    (r"microhttpd\.h|jansson\.h", ["viewer/"]),
    (r"zlib\.h", ["agent/host/debug_file", "agent/host/tests/",
                  "symbols/tests/", "reporter/", "viewer/http_server", "viewer/gunzip",
                  "viewer/tests/", "integration/collector/", "bench/otlp_"]),
    (r"libdeflate\.h", ["agent/host/decompress", "agent/host/tests/"]),
    (r"zstd.*\.h|lzma.*\.h", ["agent/host/decompress", "agent/host/tests/"]),
]

SOURCE_SUFFIXES = {".c", ".h", ".py", ".sh", ".proto", ".rs", ".cpp", ".go", ".S"}
# Generated headers are found below build/, which is a root of includes like the repository's.
GENERATED = re.compile(r"proto/.*\.pb-c\.h|ebpf/.*\.skel\.h|version\.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def list_files():
    output = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    names = [name.decode() for name in output.split(b"\0") if name]
    return [name for name in names if (ROOT / name).is_file()]


def folder_of(name):
    """The entry of ALLOWED that file @name belongs to; None if there is none."""
    matches = [folder for folder in ALLOWED if name.startswith(folder + "/")]
    return max(matches, key=len, default=None)


def may_include(name, included):
    folder = folder_of(name)
    if folder is None:
        return True
    own = folder_of(included) or included
    if own in (folder, "agent/base", "ebpf/abi"):
        return folder != "ebpf" and folder != "ebpf/abi" or own.startswith("ebpf")
    for allowed in ALLOWED[folder]:
        if included == allowed or (not allowed.endswith(".h") and
                                   included.startswith(allowed + "/")):
            return True
    return False


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
                           r"ebpf/(architecture|cached_mapping|guess_caller|helpers|jit_entry|kernel_types|languages|native_step|"
                           r"new_code|process_mappings|read_window|rule_lookup|safe_reads|state|tables|uprobes)\.bpf\.h$")


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


def check_names(name, names):
    path = pathlib.PurePath(name)
    if path.suffix != ".c" or folder_of(name) in (None, "bench") or name.endswith(".bpf.c"):
        return
    if path.name == "main.c" or {"tests", "fuzz", "tools"} & set(path.parts):
        return
    if str(path.with_suffix(".h")) not in names:
        yield f"{name}: has no header of its name"


def main():
    names = list_files()
    includes = {}
    faults = []
    for name in names:
        path = pathlib.PurePath(name)
        if path.suffix not in SOURCE_SUFFIXES and path.name != "Makefile":
            continue
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
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
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
