#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge of Go's stacks takes what sources allow, and nothing else."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from go_chains import Chains, Style, Target
from go_loads_test import reason_of
from harness import Stack, Tap

SOURCE = """// SPDX-License-Identifier: Apache-2.0

// chain: MAIN > main.a main.(*list[...]).b main.c_[i] main.spin
// chain: GO main.down{3} > main.spin
// chain: MAIN > main.a CGO(c_work) CALLBACK(back) main.spin
// seen: main.a main.(*list[...]).b
package main
"""
MAIN = ["runtime.goexit", "runtime.main", "main.main"]
THREAD = ["clone3", "libc.so.6+0x88044"]
IN_C = ["main._Cfunc_c_work", "runtime.cgocall", "runtime.asmcgocall", "_cgo_0a1b_Cfunc_c_work",
        "c_work"]
BACK = ["back", "crosscall2", "runtime.cgocallback", "runtime.cgocallbackg",
        "runtime.cgocallbackg1", "_cgoexp_0a1b_back", "main.back"]
GOOD = [
    MAIN, MAIN + ["main.a", "main.(*list[...]).b", "main.c_[i]", "main.spin"],
    MAIN + ["main.a", "runtime.mallocgc", "internal/runtime/maps.(*Map).grow_[i]"],
    MAIN + ["main.a", "runtime.asyncPreempt", "runtime.asyncPreempt2", "runtime.mcall"],
    ["runtime.goexit"] + 3 * ["main.down"] + ["main.spin"],
    MAIN + ["main.a", *IN_C], MAIN + ["main.a", *IN_C, *BACK, "main.spin"],
    MAIN + ["main.a", *IN_C[:2], "runtime.entersyscall"],
    MAIN + ["main.a", "runtime.sigreturn", "runtime.sighandler", "os/signal.signal_ignored"],
]
BACKGROUND = [
    ["runtime.mstart", "runtime.mstart0", "runtime.mstart1", "runtime.schedule"],
    [*THREAD, "threadentry", "crosscall1", "runtime.mstart", "runtime.mstart0"],
    ["runtime.mcall", "runtime.park_m", "runtime.schedule"], ["runtime.goexit", "runtime.bgsweep"],
    ["runtime.goexit", "runtime.gcBgMarkWorker", "runtime.systemstack", "runtime.gcDrain"],
    ["runtime.morestack", "runtime.newstack", "runtime.gopreempt_m", "runtime.goschedImpl"],
]
BAD = [
    [], ["main.main"], ["runtime.main", "main.main"], MAIN[:2] + ["main.a"],
    # A frame is missing, is another, is no inlined one, comes from elsewhere.
    MAIN + ["main.(*list[...]).b"], MAIN + ["main.a", "main.spin"],
    MAIN + ["main.a", "main.(*list[...]).b", "main.c", "main.spin"],
    MAIN + ["main.a", "main.(*list[go.shape.int]).b"], MAIN + ["main.a", "main.a"],
    MAIN + ["main.a", "main.main.gowrap1"], MAIN + ["main.a", "main.(*list[...]).b_[?]"],
    ["[error: address in no known mapping]", *MAIN], ["[error: stack unreadable]"],
    ["runtime.goexit"] + 2 * ["main.down"] + ["main.spin"],
    ["runtime.goexit"] + 4 * ["main.down"] + ["main.spin"],
    ["runtime.goexit", "runtime.mallocgc"], ["runtime.goexit", "main.spin"],
    ["runtime.mcall", "main.spin"], ["runtime.mstart", "main.a"], ["runtime.morestack"],
    ["runtime.systemstack", "runtime.gcDrain"], ["runtime.asmcgocall", "_cgo_0a1b_Cfunc_c_work"],
    MAIN + ["main.a", "runtime.asmcgocall", *IN_C[3:]], MAIN + ["main.a", *IN_C, *BACK[2:]],
    MAIN + ["main.a", *IN_C, *BACK, "main.a"],
]
COMPLETE = [MAIN, ["runtime.mcall", "runtime.park_m"], ["runtime.mstart"],
            BACKGROUND[-1], ["_start", "main"],
            ["runtime.morestack", "runtime.newstack", "runtime.gopreempt_m_[i]", "runtime.lock2"]]
INCOMPLETE = [["runtime.morestack", "runtime.newstack", "runtime.copystack"], ["runtime.main"],
              ["[error: stack unreadable]", *MAIN], ["runtime.goexit", "main.a_[?]"],
              ["runtime.systemstack", "runtime.gcDrain"], ["prometheus+0x1234"]]


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "judged.go")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        target = Target(path)
    chains = Chains(target, Style(has_cgo=True))
    for frames in GOOD:
        tap.ok(chains.is_own(frames), "allowed: " + ";".join(frames))
    for frames in BACKGROUND:
        tap.ok(chains.is_background(frames) and not chains.is_own(frames),
               "the runtime's own: " + ";".join(frames))
    for frames in BAD:
        tap.ok(not chains.is_own(frames) and not chains.is_background(frames),
               "not allowed: " + ";".join(frames))
    for frames in BAD:
        tap.ok(not chains.has_unknown_runtime(frames) or frames == ["runtime.goexit", "runtime.mallocgc"],
               "no function that is unknown: " + ";".join(frames))
    frames = MAIN + ["main.a", "runtime.mallocgc", "new_in_libc"]
    tap.ok(chains.has_unknown_runtime(frames) and not chains.is_own(frames)
           and not chains.has_unknown_runtime(frames + ["main.a"])
           and not chains.has_unknown_runtime(frames + ["x_[?]"]),
           "behind what is known there may be functions without a name here")
    flat = Chains(target, Style(is_inlining=False))
    frames = MAIN + ["main.a", "main.(*list[...]).b", "main.c"]
    tap.ok(flat.is_own(frames) and not flat.is_own(frames[:-1] + ["main.c_[i]"]),
           "where nothing is inlined a call is one")
    tap.ok(not flat.is_own(GOOD[5] + ["libc.so.6+0x10"]), "without cgo there is no C")
    race = Chains(target, Style(has_cgo=True, is_race=True))
    left = ["[error: register not known]", "racecall", "__tsan_read"]
    frames = MAIN + ["main.a", "racefuncenter", "racecall"]
    tap.ok(race.is_background(left) and race.is_own(frames) and not race.is_background(left[:1])
           and not race.is_background(["main.a", *left[1:]])
           and not chains.is_background(left) and not chains.is_own(frames),
           "stacks may end at the race detector's C where there is one")
    frames = MAIN + ["main.a", "main.(*list[...]).b", "main.c"]
    tap.ok(chains.find_wanted(frames) and not chains.find_wanted(MAIN + ["main.a"]),
           "what must be seen is found")
    for frames in COMPLETE + INCOMPLETE:
        reason = reason_of(Stack("load", tuple(frames)))
        tap.ok((reason is None) == (frames in COMPLETE),
               "%s: %s" % ("complete" if frames in COMPLETE else "not complete", ";".join(frames)),
               reason)
    tap.finish()


if __name__ == "__main__":
    main()
