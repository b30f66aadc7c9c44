#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the targets, programs whose call chains are known, into build/integration/.

`build_targets.py [NAME...]` builds all or some; what is newer than its source stays. A target
whose compiler is not on this machine is left out: build() returns those that stand.
"""
import fcntl
import functools
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.path.join(ROOT, "integration", "targets")
OUTPUT = os.path.join(ROOT, "build", "integration")

C = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fomit-frame-pointer",
     "-fno-optimize-sibling-calls", "-fno-stack-protector", "-pthread"]
CLANG = ["clang", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fomit-frame-pointer",
         "-fno-optimize-sibling-calls", "-pthread"]
CXX = ["g++", "-O2", "-fomit-frame-pointer"]
RUST = ["rustc", "--edition", "2021", "-C", "opt-level=2"]

COLOURS = ["red", "blue"]
# Their files have one file id (the first and the last 4096 bytes and the size are equal).
TWINS = ["one", "two"]
FILLED = ["fill%02d" % i for i in range(24)]
HOPS = ["libhop%d.so" % i for i in range(5)]
LINK_HERE = ["-L" + OUTPUT, "-Wl,-rpath,$ORIGIN"]


class Target:
    """One program or shared object: how it is made, and from which source its chains come."""

    def __init__(self, name, source, command, flags=(), needs=(), strip=None, pad_bytes=0,
                 filler=0):
        assert len(name) <= 15, "the name must fit into a comm"
        self.name = name
        self.source = os.path.join(SOURCES, source)
        self.command = list(command)
        self.flags = list(flags)
        self.needs = list(needs)
        self.strip = strip
        self.pad_bytes = pad_bytes
        self.filler = filler

    @property
    def path(self):
        return os.path.join(OUTPUT, self.name)

    @property
    def twin(self):
        """The program with its symbols: the stripped one's twin, else the program itself."""
        return self.path + ".twin" if self.strip else self.path


def _c(name, source, *flags, **more):
    return Target(name, source + ".c", C, flags, **more)


def _clang(name, source, *flags, **more):
    return Target(name, source + ".c", CLANG, flags, **more)


def has_avx2():
    """Whether this CPU has vectors that need an aligned stack."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        return " avx2 " in file.read()


def _colour(name, index):
    """Frames, and so unwind rules, of another size for each index, and another order."""
    flags = ["-DCOLOUR=" + name, "-DFRAME_BYTES=%d" % (24 + index % 3 * 32)]
    return flags + (["-DREVERSED"] if index % 2 else [])


# strip: "symbols" leaves what the loader needs, "sections" takes the section headers as well.
# pad_bytes: zeros behind the end. filler: so many other functions with frames in front.
TARGETS = {target.name: target for target in [
    _c("calls", "calls"),
    _c("calls_fp", "calls", "-fno-omit-frame-pointer", "-DFRAME_POINTER"),
    _c("calls_O0", "calls", "-O0", "-DFRAME_POINTER"),
    _c("calls_no_pie", "calls", "-no-pie"),
    _c("calls_high", "calls", "-no-pie", "-Wl,-Ttext-segment=0x50000000"),
    _c("calls_static", "calls", "-static"),
    _c("calls_staticpie", "calls", "-static-pie"),
    _c("calls_stripped", "calls", strip="symbols"),
    _c("calls_nosection", "calls", strip="sections"),
    _c("calls_st_nosect", "calls", "-static", "-Wl,--eh-frame-hdr", strip="sections"),
    _c("calls_no_hdr", "calls", "-Wl,--no-eh-frame-hdr"),
    _c("calls_one_seg", "calls", "-Wl,-z,noseparate-code"),
    _clang("calls_clang", "calls"),
    _c("alloca", "alloca"),
    _c("alloca_static", "alloca", "-static"),
    _clang("alloca_clang", "alloca"),
    _c("realign", "realign"),
    _c("realign_drap", "realign", "-mforce-drap"),
    _c("realign_strip", "realign", "-mforce-drap", strip="symbols"),
    _clang("realign_clang", "realign"),
    *([_c("realign_end", "realign_end", "-O3", "-mavx2", "-mstackrealign")] if has_avx2() else []),
    _c("recursion", "recursion"),
    _c("recursion_strip", "recursion", strip="symbols"),
    _c("recursion_stat", "recursion", "-static-pie"),
    _c("noreturn", "noreturn"),
    _c("noreturn_strip", "noreturn", strip="symbols"),
    _c("noreturn_nosect", "noreturn", "-no-pie", strip="sections"),
    _c("signals", "signals"),
    _c("signals_below", "signals", "-DALTERNATE=1"),
    _c("signals_above", "signals", "-DALTERNATE=2", "-no-pie"),
    _c("signals_static", "signals", "-static"),
    _c("signals_strip", "signals", strip="symbols"),
    _c("libcallee.so", "plt_callee", "-shared", "-fPIC"),
    _c("plt", "plt", "-Wl,-z,lazy,-z,norelro", *LINK_HERE, "-lcallee",
       needs=["libcallee.so"]),
    _c("plt_no_pie", "plt", "-no-pie", "-fno-pie", "-Wl,-z,lazy,-z,norelro", *LINK_HERE,
       "-lcallee", needs=["libcallee.so"]),
    _c("plt_ibt", "plt", "-fcf-protection", "-Wl,-z,ibtplt,-z,lazy,-z,norelro", *LINK_HERE,
       "-lcallee", needs=["libcallee.so"]),
    _c("vdso", "vdso"),
    _c("vdso_static", "vdso", "-static"),
    # Bound at the start: each child would bind anew, with frames of the dynamic linker.
    _c("vfork_child", "vfork_child", "-Wl,-z,now"),
    _c("fork_child", "fork_child", "-Wl,-z,now"),
    _c("clone_child", "clone_child", "-Wl,-z,now"),
    _c("exited_leader", "exited_leader"),
    _c("signal_returns", "signal_returns"),
    _c("syscalls", "syscalls"),
    _c("syscalls_static", "syscalls", "-static"),
    _c("page_faults", "page_faults"),
    _c("hanging_file", "hanging_file"),
    _c("map_updates", "map_updates"),
    _c("cost_target", "cost_target"),
    _c("weight_target", "weight_target", "-O1"),
    _c("held_memory", "held_memory", "-pthread"),
    _c("contexts", "contexts"),
    _c("contexts_static", "contexts", "-static"),
    _c("fibers", "fibers"),
    _c("fibers_static", "fibers", "-static"),
    _c("fibers_strip", "fibers", strip="symbols"),
    _c("overwritten", "overwritten", "-fno-omit-frame-pointer", "-DFRAME_POINTER"),
    # Without unwind tables, its code is analysed.
    _c("overwritten_nt", "overwritten", "-fno-omit-frame-pointer", "-DFRAME_POINTER", "-fno-asynchronous-unwind-tables",
       "-fno-unwind-tables"),
    _c("split_stack", "split_stack", "-fsplit-stack"),
    _c("split_stack_st", "split_stack", "-fsplit-stack", "-static"),
    _c("nested_signals", "nested_signals"),
    _c("lazy", "lazy", "-no-pie", "-fno-pie", "-Wl,-z,lazy,-z,norelro", *LINK_HERE, "-lcallee",
       needs=["libcallee.so"]),
    _c("deep", "deep"),
    _c("jit", "jit"),
    _c("jit_module", "jit", "-DMODULE"),
    _c("threads", "threads"),
    _c("threads_static", "threads", "-static"),
    _c("thread_loop", "thread_loop"),
    _c("thread_loop_st", "thread_loop", "-static"),
] + [
    _c(name, "hop", "-shared", "-fPIC", "-DHOP=hop_%d" % i) for i, name in enumerate(HOPS)
] + [
    _c("objects", "objects", *LINK_HERE, *["-lhop%d" % i for i in range(5)], needs=HOPS),
    Target("exceptions", "exceptions.cpp", CXX),
    Target("exceptions_st", "exceptions.cpp", CXX, ["-static"]),
    Target("coroutines", "coroutines.cpp", [*CXX, "-std=c++20"]),
    Target("async", "async.rs", RUST),
    Target("closures", "closures.rs", RUST),
    Target("closures_static", "closures.rs", RUST, ["-C", "target-feature=+crt-static"]),
] + [
    _c(name, "colour", *_colour(name, i), "-no-pie") for i, name in enumerate(COLOURS)
] + [
    _c(name + ".so", "colour_library", *_colour(name, i), "-shared", "-fPIC")
    for i, name in enumerate(COLOURS)
] + [
    _c(name, "colour", "-no-pie", "-DCOLOUR=" + name, "-DFRAME_BYTES=%d" % (24 + 32 * i),
       "-Wl,--build-id=none", pad_bytes=8192) for i, name in enumerate(TWINS)
] + [
    _c(name + ".so", "colour_library", *_colour(name, i), "-shared", "-fPIC",
       filler=6000 + 7 * i) for i, name in enumerate(FILLED)
] + [
    _c("reload", "reload"),
    _c("pid_reuse", "pid_reuse"),
    _c("forged_python", "forged_python", "-rdynamic"),
]}


def remove_section_headers(path):
    """Takes the table of sections away, as packers do; what the loader needs stays."""
    with open(path, "r+b") as file:
        header = bytearray(file.read(64))
        header[40:48] = bytes(8)
        header[58:64] = bytes(6)
        file.seek(0)
        file.write(header)


def _is_fresh(target, path):
    if not os.path.exists(path):
        return False
    inputs = [target.source, os.path.join(SOURCES, "target.h"), os.path.abspath(__file__)]
    return all(os.path.getmtime(path) > os.path.getmtime(name) for name in inputs)


def _write_filler(target):
    """An assembler file of functions whose unwind rules differ: rows to fill the agent's tables."""
    path = target.path + ".filler.s"
    with open(path, "w", encoding="ascii") as file:
        file.write('.section .note.GNU-stack,"",@progbits\n.text\n')
        for i in range(target.filler):
            name, frame = "filler_%s_%d" % (target.name[:-3], i), 8 + i % 61 * 8
            file.write(".type %s, @function\n%s: .cfi_startproc\npushq %%rbx\n"
                       ".cfi_adjust_cfa_offset 8\nsubq $%d, %%rsp\n.cfi_adjust_cfa_offset %d\n"
                       "addq $%d, %%rsp\n.cfi_adjust_cfa_offset -%d\npopq %%rbx\n"
                       ".cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size %s, . - %s\n"
                       % (name, name, frame, frame, frame, frame, name, name))
    return path


def _compile(target, output):
    # Libraries stand behind the source that needs them.
    filler = [_write_filler(target)] if target.filler else []
    command = target.command + ["-o", output] + filler + [target.source] + target.flags
    subprocess.run(command, check=True, cwd=SOURCES)
    with open(output, "ab") as file:
        file.write(bytes(target.pad_bytes))


def _build_one(target):
    if _is_fresh(target, target.path) and _is_fresh(target, target.twin):
        return
    for name in target.needs:
        _build_one(TARGETS[name])
    temporary = target.path + ".new"
    _compile(target, temporary)
    if target.strip:
        shutil.copy2(temporary, target.twin)
        subprocess.run(["strip", "-s", temporary], check=True)
        if target.strip == "sections":
            remove_section_headers(temporary)
    os.replace(temporary, target.path)


def one_at_a_time(build):
    """A function that builds something below OUTPUT: tests that run side by side may need the same."""
    @functools.wraps(build)
    def build_alone(*arguments):
        os.makedirs(OUTPUT, exist_ok=True)
        with open(os.path.join(OUTPUT, ".lock"), "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return build(*arguments)
    return build_alone


@one_at_a_time
def build(names=None):
    """Builds @names, or all: returns the set of names that stand, the rest lacks a compiler."""
    built = set()
    for name in names or TARGETS:
        target = TARGETS[name]
        if shutil.which(target.command[0]):
            _build_one(target)
            built.add(name)
    return built


if __name__ == "__main__":
    print("\n".join(sorted(build(sys.argv[1:]))))
