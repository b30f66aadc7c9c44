#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 1800 s
"""What is read in Go's table is what Go itself says.

A program (go_oracle/) is compiled by every Go that is there, in all the ways in which the table stands
elsewhere or has other contents: stripped, position-independent, linked by other linkers, as a shared
library, as a plugin, without section headers, for arm64. It prints the frames at many addresses of
its own code, by runtime.CallersFrames(), and the sizes of frames; build/go_table must print the same.

usage: go_frames_test.py [VERSION...]

Fetches no toolchain: scripts/fetch_gos.py does. Without any but the machine's, that one is the test.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import fetch_gos

ORACLE = os.path.join(ROOT, "testdata/go_oracle")
GO_TABLE = os.path.join(ROOT, "build/go_table")
ARM64_ROOT = "/usr/aarch64-linux-gnu"
IS_LONG = os.environ.get("ALLFRAMES_LONG") == "1"
# Bytes from one address to the next. Odd, and on arm64 a multiple of an instruction.
STEP = 7 if IS_LONG else 61
# runtime.Callers() always left out the wrappers that pprof's expansion has up to here.
LAST_WITH_WRAPPERS = 20
SHOWN_DIFFERENCES = 3


class Skip(Exception):
    pass


def run(*command, **more):
    """What the command printed; linkers warn on stderr, which is shown of those that fail only."""
    result = subprocess.run(command, check=False, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    if result.returncode:
        sys.stderr.write(result.stderr)
        result.check_returncode()
    return result.stdout


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip("there is no " + tool)


class Go:
    """A toolchain, and programs built by it in @folder."""

    def __init__(self, root, folder):
        self.root = root
        self.go = os.path.join(root, "bin/go") if root else fetch_gos.machines_go()
        self.environment = {**os.environ, "GOTOOLCHAIN": "local", "GO111MODULE": "on",
                            "GOCACHE": os.path.expanduser("~/.cache/allframes/go-build"),
                            "CGO_ENABLED": "0", "GOENV": "off"}
        for name in "GOROOT", "GOFLAGS":
            self.environment.pop(name, None)
        if root:
            self.environment["GOROOT"] = str(root)
        self.version = re.search(r"go1\.(\d+)\S*", run(self.go, "version", env=self.environment))
        self.minor = int(self.version.group(1))
        self.folder = os.path.join(folder, self.version.group())
        shutil.copytree(ORACLE, self.folder)
        os.remove(os.path.join(self.folder, "load.c"))
        language = "go 1.18\n" if self.minor >= 18 else ""
        with open(os.path.join(self.folder, "go.mod"), "w", encoding="ascii") as file:
            file.write("module oracle\n" + language)

    def build(self, name, *options, link="", package=".", **environment):
        """Compiles the oracle as @name with linker flags @link; its path."""
        path = os.path.join(self.folder, name)
        # The runtime's own functions may be called only like this from 1.23 on.
        link += " -checklinkname=0" if self.minor >= 23 else ""
        run(self.go, "build", "-ldflags=" + link, "-o", path, *options, package, cwd=self.folder,
            env={**self.environment, **environment})
        return path


def plain(go):
    return [go.build("plain")]


def stripped(go):
    return [go.build("stripped", link="-s -w")]


def optimized_not_at_all(go):
    """The long tier compiles the standard library so as well."""
    return [go.build("slow", "-gcflags=%s-N -l" % ("all=" if IS_LONG else ""))]


def position_independent(go):
    return [go.build("pie", "-buildmode=pie")]


def take_section_headers_out(path):
    """Leaves nothing to find the table by but the contents of segments."""
    with open(path, "r+b") as file:
        for e_field, size in (0x28, 8), (0x3c, 4):
            file.seek(e_field)
            file.write(bytes(size))
    return [path]


def without_section_headers(go):
    return take_section_headers_out(go.build("bare", link="-s -w"))


def position_independent_without_section_headers(go):
    return take_section_headers_out(go.build("bare-pie", "-buildmode=pie"))


def externally_linked_without_section_headers(go):
    need("gcc")
    return take_section_headers_out(
        go.build("bare-external", "-tags=oracle_shared", "-buildmode=pie",
                 link="-linkmode=external", CGO_ENABLED="1"))


def externally_linked(go):
    need("gcc")
    return [go.build("external", "-tags=oracle_shared", link="-linkmode=external",
                     CGO_ENABLED="1")]


def externally_linked_pie(go):
    need("gcc")
    return [go.build("external-pie", "-tags=oracle_shared", "-buildmode=pie",
                     link="-linkmode=external -s -w", CGO_ENABLED="1")]


def linked_by_lld(go):
    need("gcc", "ld.lld")
    return [go.build("lld", "-tags=oracle_shared", "-buildmode=pie",
                     link="-linkmode=external -extldflags=-fuse-ld=lld", CGO_ENABLED="1")]


def with_packed_relocations(go):
    need("gcc")
    if "pack-relative-relocs" not in run("gcc", "-Wl,--help"):
        raise Skip("the linker has no packed relocations")
    return [go.build("relr", "-tags=oracle_shared", "-buildmode=pie", CGO_ENABLED="1",
                     link="-linkmode=external -extldflags=-Wl,-z,pack-relative-relocs")]


def shared_library(go):
    need("gcc")
    library = go.build("liboracle.so", "-tags=oracle_shared", "-buildmode=c-shared",
                       CGO_ENABLED="1")
    load = os.path.join(go.folder, "load")
    run("gcc", "-o", load, os.path.join(ORACLE, "load.c"), "-ldl")
    return [library, load, library]


def plugin(go):
    need("gcc")
    if go.minor < 16:
        raise Skip("its inline trees are told of by symbols only, and not read")
    library = go.build("oracle.plugin", "-buildmode=plugin", CGO_ENABLED="1")
    loader = go.build("plugin-loader", package="./loader", CGO_ENABLED="1")
    return [library, loader, library]


def arm64(go):
    need("qemu-aarch64-static")
    path = go.build("arm64", GOARCH="arm64")
    return [path, "qemu-aarch64-static", path]


def arm64_pie_stripped(go):
    need("qemu-aarch64-static")
    if not os.path.exists(ARM64_ROOT + "/lib/ld-linux-aarch64.so.1"):
        raise Skip("there is no dynamic linker for arm64")
    path = go.build("arm64-pie", "-buildmode=pie", link="-s -w", GOARCH="arm64")
    return [path, "qemu-aarch64-static", "-L", ARM64_ROOT, path]


VARIANTS = [plain, stripped, optimized_not_at_all, position_independent, without_section_headers,
            position_independent_without_section_headers,
            externally_linked_without_section_headers, externally_linked, externally_linked_pie, linked_by_lld,
            with_packed_relocations, shared_library, plugin, arm64,
            arm64_pie_stripped]
# Two ways together of which others try each by itself.
LONG_VARIANTS = [without_section_headers, externally_linked_without_section_headers, externally_linked_pie, arm64_pie_stripped]
# The short tier: the machine's Go in all other ways, these in one each.
SHORT = {"1.16.15": [stripped], "1.18.10": [externally_linked_pie], "1.24.0": [position_independent]}


def frames_of(fields, keeps_outermost):
    """The frames without those that Go leaves out, which are marked with !."""
    frames = [fields[i:i + 3] for i in range(0, len(fields), 3)]
    if keeps_outermost and frames:
        frames[-1][0] = frames[-1][0].lstrip("!")
    return [frame for frame in frames if not frame[0].startswith("!")]


def anchor_of(path):
    for line in run(GO_TABLE, "-functions", path).splitlines():
        fields = line.split("\t")
        if re.search(r"(^main|^oracle|plugin/\S*)\.anchor$", fields[4]):
            return int(fields[0], 16)
    raise RuntimeError("there is no function anchor in " + path)


def compare(path, told, keeps_outermost):
    """Differences as texts, and how many addresses were compared, with inlined functions, with sizes."""
    lines = told.splitlines()
    bias = int(lines[0], 16) - anchor_of(path)
    wanted = [line.split("\t") for line in lines[1:]]
    asked = "".join("%x\n" % (int(fields[0], 16) - bias) for fields in wanted)
    found = subprocess.run([GO_TABLE, "-frames", path], input=asked, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    assert len(found) == len(wanted), (len(found), len(wanted))
    differences, inlined, sizes = [], 0, 0
    for want, line in zip(wanted, found):
        have = line.split("\t")
        want_frames = frames_of(want[2:], False)
        inlined += len(want_frames) > 1
        sizes += want[1] != "-"
        if want_frames != frames_of(have[2:], keeps_outermost) or want[1] not in ("-", have[1]):
            differences.append("%s, not %s" % (have, want))
    return differences, len(wanted), inlined, sizes


def check(go, variant):
    """The result as a line of TAP without its number, and further lines."""
    name = "%s %s" % (go.version.group(), variant.__name__.replace("_", " "))
    try:
        path, *command = variant(go)
        told = run(*(command or [path]), str(STEP), env=go.environment)
        differences, count, inlined, sizes = compare(path, told, go.minor <= LAST_WITH_WRAPPERS)
    except Skip as why:
        return True, "ok %%d - %s # SKIP %s" % (name, why), []
    except subprocess.CalledProcessError as error:
        return False, "not ok %%d - %s: %s" % (name, error), []
    # That so many were told of shows that the oracle does its work.
    is_good = not differences and count > 5000 and sizes > count / 2
    if variant != optimized_not_at_all:
        is_good &= inlined > count / 20
    text = "%s %%d - %s: %d addresses, %d with inlined functions, %d sizes, %d differences" % (
        "ok" if is_good else "not ok", name, count, inlined, sizes, len(differences))
    return is_good, text, differences[:SHOWN_DIFFERENCES]


def toolchains(versions):
    """GOROOTs; None for the machine's go."""
    roots = [fetch_gos.fetch(version) for version in versions]
    if roots:
        return roots
    roots = [None] if fetch_gos.machines_go() else []
    return roots + [fetch_gos.DIRECTORY / version
                    for version in (fetch_gos.VERSIONS if IS_LONG else SHORT)
                    if fetch_gos.is_fetched(version)]


def main():
    number, is_good = 0, True
    roots = toolchains(sys.argv[1:])
    if not roots:
        print("1..0 # SKIP there is no go on this machine")
        return 0
    for root in roots:
        with tempfile.TemporaryDirectory() as folder:
            go = Go(root, folder)
            if go.minor < fetch_gos.ORACLE_FROM:
                continue
            is_whole = IS_LONG or root is None or sys.argv[1:]
            for variant in VARIANTS if is_whole else SHORT[root.name]:
                if variant in LONG_VARIANTS and not (IS_LONG or sys.argv[1:]):
                    continue
                is_same, text, more = check(go, variant)
                number += 1
                is_good &= is_same
                print(text % number, *("# " + line for line in more), sep="\n", flush=True)
    print("1..%d" % number)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
