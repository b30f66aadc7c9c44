#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The live tests' own tools: what they must refuse, and what they must let pass."""
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
import chains
import core_notes
import never_wrong_test
from build_targets import TARGETS
from harness import Stack, StackEnds, Tap, parse_folded, undefined_return_ranges, without_native_lines

LIBC = "libc.so.6+0x271ca"
START = ["_start", "__libc_start_main", LIBC, "main"]

GOOD_FOLDED = """a;_start;main 3
a b;[error: stack unreadable];main;entry_[k];work_[k] 1
kworker/0:1;ret_from_fork_asm_[k];kthread_[k] 20
py;loop;[error: interpreter's thread not found];loop;[error: interpreted frames unreadable] 1
"""

BAD_FOLDED = {
    "no count": "a;main\n",
    "a count of 0": "a;main 0\n",
    "no frame": "a 1\n",
    "an empty frame": "a;;main 1\n",
    "a cut line": "a;main 1",
    "a user frame below the kernel": "a;work_[k];main 1\n",
    "a frame above an error that ends unwinds": "a;main;[error: stack unreadable];leaf 1\n",
    "the same stack twice": "a;main 1\na;main 2\n",
}


def refuses(text):
    try:
        parse_folded(text)
    except ValueError:
        return True
    return False


def check_folded(tap):
    stacks = parse_folded(GOOD_FOLDED)
    tap.ok(stacks[Stack("a b", ("[error: stack unreadable]", "main", "entry_[k]", "work_[k]"))]
           == 1 and sum(stacks.values()) == 25, "a folded file is read")
    for name, text in BAD_FOLDED.items():
        tap.ok(refuses(text), "a folded file with %s is refused" % name)


def check_native_lines(tap):
    with_lines = ("_start", "main (../a b/main.c:12)", "small (/x/small.h:3)_[i]", "f (x.py:7)",
                  "g (x.go:1)_[i]", "loop(int) (loop.cpp)", "h (y.S:1)_[?]")
    without = ("_start", "main", "f (x.py:7)", "g (x.go:1)_[i]", "loop(int)", "h_[?]")
    stacks = without_native_lines({Stack("a", with_lines): 2, Stack("a", without): 3})
    tap.ok(stacks == {Stack("a", without): 5}, "debug data of native code can be left out", stacks)


def check_chains(tap):
    calls = chains.Chains(TARGETS["calls"].source)
    allowed = [START, START + ["outer", "middle"], START + ["outer", "middle", "leaf_saved"],
               START + ["outer", "asm_sysvec_apic_timer_interrupt_[k]", "irq_[k]"]]
    refused = [["main"], START[1:], START + ["middle"], START + ["outer", "leaf_saved"],
               START + ["outer", "middle", "leaf_plain", "leaf_frame"],
               ["[error: stack unreadable]"] + START, START + ["outer_[?]"]]
    tap.ok(all(calls.allow(frames) for frames in allowed), "chains of the source are allowed")
    wrong = [frames for frames in refused if calls.allow(frames)]
    tap.ok(not wrong, "chains that the source does not have are refused", *wrong)
    objects = chains.Chains(TARGETS["objects"].source)
    hops = ["hop_%d" % (i % 5) for i in range(30)]
    outer = START + ["outer"]
    tap.ok(all(objects.allow(outer + hops[:i]) for i in range(31))
           and objects.allow(outer + hops + ["leaf"])
           and not objects.allow(outer + hops[:29] + ["leaf"])
           and not objects.allow(outer + hops[:3] + hops[4:] + ["leaf"])
           and not objects.allow(outer + hops + hops[:1]),
           "a chain through five objects has no hop more or less")
    recursion = chains.Chains(TARGETS["recursion"].source)
    tap.ok(recursion.allow(START + ["recurse"] * 500 + ["bottom"])
           and not recursion.allow(START + ["recurse"] * 499 + ["bottom"]),
           "500 calls are not 499")


def check_names(tap):
    build_targets.build(["calls_stripped", "plt"])
    target = TARGETS["calls_stripped"]
    symbols = chains.Symbols(target.twin)
    address = next(start for start, _, name in symbols._functions if name == "leaf_frame")
    frames = chains.name_frames(["calls_stripped+0x%x" % (address + 3), "calls_stripped+0x1",
                                 "other+0x%x" % address], "calls_stripped", symbols)
    tap.ok(frames == ["leaf_frame", "calls_stripped+0x1", "other+0x%x" % address],
           "a stripped program's frames get the names of its twin", frames)


def check_ends(tap):
    ends = StackEnds()
    tap.ok(ends.is_entry("_start") and ends.is_entry("__clone3") and not ends.is_entry("main"),
           "entries are known by name")
    with open(TARGETS["calls_stripped"].path, "rb") as file:
        entry = int.from_bytes(file.read(32)[24:32], "little")
    tap.ok(ends.is_entry("calls_stripped+0x%x" % (entry + 0x1f))
           and not ends.is_entry("calls_stripped+0x%x" % (entry + 0x50)),
           "the entry of a stripped program is known by its address")
    libc = os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")
    frames = ["libc.so.6+0x%x" % (start - 8) for start, _ in undefined_return_ranges(libc)]
    tap.ok(any(ends.is_complete(Stack("a", (frame,))) and not ends.is_complete(Stack("a", (frame, "main"))) for frame in frames),
           "a thread that has just been made is in clone() alone", frames)
    good = Stack("a", ("_start", "main"))
    tap.ok(ends.is_complete(good)
           and not ends.is_complete(Stack("a", ("main",)))
           and not ends.is_complete(Stack("a", ("[error: x]", "_start", "main")))
           and not ends.is_complete(Stack("a", ("_start", "main_[?]")))
           and not ends.is_complete(Stack("a", ("entry_SYSCALL_64_[k]",)))
           and Stack("a", ("entry_[k]", "do_exit_[k]")).is_without_memory
           and not Stack("a", ("main", "entry_[k]", "do_exit_[k]")).is_without_memory
           and Stack("a", ("bpf_prog_4103d977a8ad23e1_process_exec_[k]",)).is_without_memory
           and not Stack("a", ("bpf_prog_4103d977a8ad23e1_sample_entry_[k]",)).is_without_memory
           and Stack("a", ("__pi___x86_indirect_thunk_rax_[k]",)).is_without_memory
           and not Stack("a", ("entry_[k]", "__pi___x86_indirect_thunk_rax_[k]")).is_without_memory
           and Stack("a", ("[error: x]", "f", "x64_setup_rt_frame_[k]")).is_between_states
           and not Stack("a", ("[error: x]", "f", "restore_sigcontext_[k]")).is_between_states
           and Stack("a", ("[error: no user registers]", "restore_sigcontext_[k]")).is_between_states
           and not Stack("a", ("_start", "f", "x64_setup_rt_frame_[k]")).is_between_states
           and Stack("a", ("[error: x]", "fork", "do_wp_page_[k]", "ptep_clear_flush_[k]")).is_between_states
           and not Stack("a", ("_start", "fork", "do_wp_page_[k]")).is_between_states
           and not Stack("a", ("[error: x]", "f", "setup_rt_frame")).is_between_states
           and ends.is_complete(Stack("a", ("ret_from_fork_asm_[k]", "kthread_[k]"))),
           "completeness is judged by the frames")


def check_judge(tap):
    build_targets.build(["red", "blue"])
    judge = never_wrong_test.Judge(["red", "blue"], comm_is_colour=True)
    right = [START + ["red_run", "red_outer", "red_middle", "red_leaf"], START + ["red_run"],
             START, ["[error: no progress up the stack]", "red_middle", "red_leaf"]]
    wrong = [START + ["red_run", "red_outer", "red_middle", "blue_leaf"],
             START + ["blue_run", "blue_outer"],
             START + ["red_run", "red_outer", "red_leaf"],
             START + ["red_run", "red_outer", "red_bait"],
             START + ["red_leaf"], START[2:] + ["red_run"],
             ["[error: no progress up the stack]", "red_leaf", "red_middle"],
             START + ["red+0x10"]]
    missed = [frames for frames in wrong if not judge.reason(Stack("red", tuple(frames)))]
    blamed = [frames for frames in right if judge.reason(Stack("red", tuple(frames)))]
    tap.ok(not missed and not blamed, "stacks of two programs mixed are told from right ones",
           "missed:", *missed, "blamed:", *blamed)


def is_cut(data):
    """Whether a core file with these contents counts as cut."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        try:
            core_notes.check_whole(file.name)
        except core_notes.Cut:
            return True
    return False


def check_cores(tap):
    segments = [(core_notes.PT_NOTE, 232, 24), (1, 4096, 100), (1, 4196, 0)]
    whole = bytes(32) + struct.pack("<Q14xHH", 64, 56, len(segments)) + bytes(6)
    for kind, offset, size in segments:
        whole += core_notes.PROGRAM_HEADER.pack(kind, 0, offset, 0, 0, size) + bytes(16)
    whole = whole.ljust(4196, b"\0")
    tap.ok(not is_cut(whole) and not is_cut(whole + b"more"), "a core file that is whole is one")
    missed = [size for size in range(len(whole)) if not is_cut(whole[:size])]
    tap.ok(not missed, "one that is cut anywhere is told", *missed[:10])


def main():
    tap = Tap()
    check_folded(tap)
    check_native_lines(tap)
    check_chains(tap)
    check_names(tap)
    check_ends(tap)
    check_judge(tap)
    check_cores(tap)
    tap.finish()


if __name__ == "__main__":
    main()
