#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""By what stacks of Java are judged (java_chains.py, java_test.py): what it must let pass and what it
must refuse, over a target and stacks written by hand.
"""
import os
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "scripts", "tests")]
import java_observer_test
import java_test
import judge
import tap_unittest
from harness import Stack
from java_chains import JavaFrame, Target, is_library, parse_frame, split

TARGET = """// SPDX-License-Identifier: Apache-2.0
// Written for the test.
//
// chain: main@turn > outer@call > $Inner.leaf@leaf,more
// chain: main@turn calls@call LIBRARY HIDDEN lambda$main$#@body SPIN?
// chain: main@turn deep@deep{2,3} (left@left|right@right middle@right)+
// chain: main@turn enter@- [Java_enter] back@back LIBRARY
// chain: main@turn many@deep+ last@leaf?
// chain: main@turn copied@behind
// chain: carrier@call LIBRARY ... left@left > right@right > back@back
// depth: %d
%s
public class Made {
	main //: turn
	call //: call
	leaf //: leaf
	more //: more
	body //: body
	deep //: deep
	left //: left
	right //: right
	back //: back
}
"""
SHARED = "class Target {\n\tspin //: spin\n}\n"
LINES = {line.partition("//: ")[2]: number
         for number, line in enumerate((TARGET % (0, "// line: one")).split("\n"), 1)
         if "//: " in line}


def make_target(depth=0, directive="// none: here"):
    with tempfile.TemporaryDirectory() as directory:
        for name, text in (("Made", TARGET % (depth, directive)), ("Target", SHARED)):
            with open(os.path.join(directory, name + ".java"), "w", encoding="utf-8") as file:
                file.write(text)
        return Target(os.path.join(directory, "Made.java"))


def frame(name, mark, **more):
    """A frame of the target: its class is put in front of @name."""
    line = LINES[mark] if isinstance(mark, str) else mark
    return JavaFrame("Made" + name if name.startswith("$") else "Made." + name, "Made.java", line,
                     **more)


MAIN = frame("main", "turn")
SPIN = JavaFrame("Target.spin", "Target.java", 2)
LIST = JavaFrame("java.util.ArrayList.forEach", "ArrayList.java", 1511)
PROXY = JavaFrame("Made$$Lambda$14.accept", None, 0)
BODY = frame("lambda$main$0", "body")


class Frames(unittest.TestCase):
    def test_a_java_frame_has_a_name_a_file_a_line_and_marks(self):
        self.assertEqual(parse_frame("a.B$C.<init> (B.java:12)"),
                         JavaFrame("a.B$C.<init>", "B.java", 12))
        self.assertEqual(parse_frame("B.f (B.kt)_[i]"), JavaFrame("B.f", "B.kt", 0, True))
        self.assertEqual(parse_frame("B.f (B.java:1)_[~]"),
                         JavaFrame("B.f", "B.java", 1, False, True))
        self.assertEqual(parse_frame("B.f (B.java:1)_[i]_[~]"), parse_frame("B.f (B.java:1)_[~]_[i]"))

    def test_what_the_jdk_makes_has_no_file(self):
        for name in ("A$$Lambda$1.run", "a.A$$Lambda.accept", "jdk.proxy1.$Proxy3.run",
                     "java.lang.invoke.LambdaForm$MH.invoke", "com.sun.proxy.$Proxy0.run",
                     "java.lang.invoke.Invokers$Holder.linkToTargetMethod",
                     "java.lang.String$$StringConcat.concat", "jdk.internal.x.abi.UpcallStub.invoke",
                     "sun.reflect.GeneratedMethodAccessor12.invoke"):
            self.assertEqual(parse_frame(name), JavaFrame(name, None, 0))
            self.assertEqual(parse_frame(name + "_[i]"), JavaFrame(name, None, 0, True))

    def test_a_native_frame_is_none(self):
        for text in ("main", "f (main.c:12)", "f(int) (a.cc:1)", "libc.so.6+0x12", "call_stub",
                     "JavaCalls::call_helper (javaCalls.cpp:1)", "[anonymous]+0x12_[j]", "f.cold"):
            self.assertIsNone(parse_frame(text), text)


class Split(unittest.TestCase):
    def judge(self, *frames):
        items, wrong = split(frames)
        return [item.name if isinstance(item, JavaFrame) else item for item in items], wrong

    def test_native_frames_between_methods_are_kept(self):
        self.assertEqual(self.judge("clone3", "call_stub", "A.f (A.java:1)", "Java_A_g", "x+0x1",
                                    "A.h (A.java:2)", "stub"),
                         (["A.f", ("Java_A_g", "?"), "A.h"], None))

    def test_what_a_jvm_does_not_build_is_wrong(self):
        a, b = "A.f (A.java:1)", "A.g (A.java:2)"
        cases = {
            "outermost": [a],
            "inlined stands behind native": ["c", a, "native", b + "_[i]"],
            "behind approximate": ["c", a + "_[~]", b],
        }
        for wrong, frames in cases.items():
            self.assertIn(wrong, str(self.judge(*frames)[1]))
        self.assertIn("inlined stands behind native", self.judge("c", a + "_[i]")[1])
        self.assertIn("behind approximate", self.judge("c", a + "_[~]", "n", b + "_[~]")[1])

    def test_what_is_inlined_and_approximate_ends_a_stack(self):
        for marks in ("_[~]", "_[i]_[~]"):
            self.assertIsNone(self.judge("c", "A.f (A.java:1)_[~]", "A.g (A.java:2)" + marks,
                                         "StubRoutines::copy")[1])


class Judged(unittest.TestCase):
    """With a target, and what it says of stacks."""

    def setUp(self):
        self.target = make_target()

    def assert_allows(self, *items, **more):
        self.assertTrue(self.target.allows(items, **more), items)

    def assert_refuses(self, *items, **more):
        self.assertFalse(self.target.allows(items, **more), items)


class Chains(Judged):
    def test_what_is_inlined_by_a_compiler_may_stand_behind_the_file_s_end(self):
        end = len((TARGET % (0, "// none: here")).split("\n"))
        for line, is_allowed in ((end, False), (end + 1, True), (end + 2, False), (0, False)):
            stack = [MAIN, frame("copied", line)]
            self.assertEqual(self.target.allows(stack, needs_line=True), is_allowed, line)

    def test_a_chain_may_end_behind_each_open_end(self):
        outer = frame("outer", "call")
        self.assert_allows(MAIN)
        self.assert_allows(MAIN, outer)
        self.assert_allows(MAIN, outer, frame("$Inner.leaf", "leaf"))
        self.assert_allows(MAIN, outer, frame("$Inner.leaf", "more"))
        self.assert_refuses()

    def test_other_lines_names_files_and_orders_are_refused(self):
        outer, leaf = frame("outer", "call"), frame("$Inner.leaf", "leaf")
        self.assert_refuses(MAIN, frame("outer", "leaf"))
        self.assert_refuses(MAIN, outer._replace(file="Other.java"))
        self.assert_refuses(MAIN, outer._replace(name="Other.outer"))
        self.assert_refuses(MAIN, outer, leaf._replace(line=LINES["body"]))
        self.assert_refuses(MAIN, leaf)
        self.assert_refuses(outer)
        self.assert_refuses(MAIN, MAIN, outer)
        self.assert_refuses(MAIN, outer, leaf, leaf)
        self.assert_refuses(MAIN, outer, leaf, SPIN)

    def test_what_is_inlined_is_a_call_like_others(self):
        self.assert_allows(MAIN, frame("outer", "call", is_inlined=True),
                           frame("$Inner.leaf", "leaf", is_inlined=True))

    def test_the_library_calls_back_as_it_likes(self):
        calls = frame("calls", "call")
        for between in ((), (LIST,), (LIST, PROXY, LIST), (("memcpy", "?"), LIST)):
            self.assert_allows(MAIN, calls, *between, PROXY, BODY)
            self.assert_allows(MAIN, calls, *between, PROXY, BODY, SPIN)
        self.assert_refuses(MAIN, calls, LIST, BODY)
        self.assert_refuses(MAIN, calls, frame("outer", "call"), PROXY, BODY)
        self.assert_refuses(MAIN, calls, LIST)
        self.assert_refuses(MAIN, calls, PROXY, BODY, SPIN._replace(line=3))

    def test_numbers_of_lambdas_may_differ_and_nothing_else(self):
        calls = frame("calls", "call")
        self.assert_allows(MAIN, calls, PROXY, BODY._replace(name="Made.lambda$main$12"))
        self.assert_refuses(MAIN, calls, PROXY, BODY._replace(name="Made.lambda$main$x"))

    def test_repeats_and_alternatives_are_counted(self):
        deep, left = frame("deep", "deep"), frame("left", "left")
        right = [frame("right", "right"), frame("middle", "right")]
        for depth, good in ((1, False), (2, True), (3, True), (4, False)):
            self.assertEqual(self.target.allows([MAIN] + [deep] * depth + [left]), good)
        self.assert_allows(MAIN, deep, deep, left, *right, left)
        self.assert_refuses(MAIN, deep, deep)
        self.assert_refuses(MAIN, deep, deep, left, right[0])

    def test_native_frames_stand_where_they_are_asked_for(self):
        enter, back = frame("enter", 0), frame("back", "back")
        self.assert_allows(MAIN, enter, ("Java_enter", "call_stub"), back)
        self.assert_allows(MAIN, enter, ("?",), back)
        self.assert_refuses(MAIN, enter, ("Java_other",), back)
        self.assert_refuses(MAIN, enter, back)
        self.assert_refuses(MAIN, ("Java_enter",), frame("outer", "call"))

    def test_an_observer_sees_neither_native_frames_nor_hidden_methods(self):
        self.assert_allows(MAIN, frame("enter", 0), frame("back", "back"), is_observed=True)
        self.assert_allows(MAIN, frame("calls", "call"), LIST, BODY, is_observed=True)
        self.assert_refuses(MAIN, frame("enter", 0), frame("outer", "call"), is_observed=True)

    def test_what_was_put_away_is_left_out_to_anywhere(self):
        carrier = frame("carrier", "call")
        first, second, third = (frame(name, name) for name in ("left", "right", "back"))
        for left in ([], [third], [second, third], [first, second, third], [first, second]):
            self.assert_allows(carrier, LIST, ("enterSpecial",), *left)
        self.assert_refuses(carrier, LIST, first, third)
        self.assert_refuses(second, third)

    def test_only_the_innermost_method_may_have_no_line(self):
        self.assert_allows(MAIN, frame("outer", 0))
        self.assert_refuses(MAIN, frame("outer", 0), frame("$Inner.leaf", "leaf"))
        self.assert_refuses(MAIN, frame("other", 0))

    def test_a_cut_stack_begins_anywhere(self):
        many = frame("many", "deep")
        self.assert_allows(many, many, frame("last", "leaf"), is_cut=True)
        self.assert_refuses(many, many, frame("last", "leaf"))
        self.assert_refuses(many, frame("deep", "deep"), is_cut=True)

    def test_a_mark_that_is_nowhere_is_a_fault_of_the_target(self):
        with self.assertRaises(AssertionError):
            make_target(directive="// chain: main@nowhere")

    def test_a_stack_of_the_jdk_alone_is_of_the_jvms_own_threads(self):
        self.assertTrue(is_library([LIST, ("wait",), LIST]))
        self.assertTrue(is_library([]))
        self.assertFalse(is_library([LIST, PROXY._replace(name="Made.run")]))


class Approximate(Judged):
    """Of the interrupted frame: the physical method is exact, the others are what it may call."""

    def near(self, name, mark):
        return frame(name, mark, is_approximate=True)

    def test_the_physical_method_may_be_in_any_line(self):
        self.assert_allows(MAIN, self.near("outer", "back"))
        self.assert_allows(MAIN, self.near("outer", 0))
        self.assert_refuses(MAIN, self.near("other", "call"))
        self.assert_refuses(MAIN, self.near("$Inner.leaf", "leaf"))

    def test_its_callers_are_exact(self):
        self.assert_allows(MAIN, frame("outer", "call"), self.near("$Inner.leaf", 0))
        self.assert_refuses(MAIN, frame("outer", "leaf"), self.near("$Inner.leaf", "leaf"))
        self.assert_refuses(self.near("outer", "call"))

    def test_what_is_inlined_is_what_may_be_called(self):
        main, calls = self.near("main", "turn"), self.near("calls", "call")
        self.assert_allows(main, self.near("outer", "call"), self.near("$Inner.leaf", "body"))
        self.assert_allows(main, self.near("$Inner.leaf", "leaf"))
        self.assert_allows(MAIN, calls, PROXY._replace(is_approximate=True),
                           SPIN._replace(is_approximate=True, line=99))
        self.assert_refuses(main, self.near("elsewhere", "call"))
        self.assert_refuses(MAIN, self.near("outer", "call"), self.near("calls", "call"))
        self.assert_refuses(MAIN, calls, self.near("outer", "call"))

    def test_a_chain_that_ends_later_may_end_there(self):
        self.assert_allows(MAIN, self.near("deep", "deep"))


class Misplaced(unittest.TestCase):
    TOLD = {(("A.main", "A.java", 1), ("A.left", "A.java", 2), ("L.run", "L.java", 7), ("A.one", "A.java", 3)),
            (("A.main", "A.java", 1), ("A.right", "A.java", 4), ("L.run", "L.java", 8), ("A.two", "A.java", 5))}
    SPIN = JavaFrame("Target.spin", "Target.java", 9, is_inlined=True)

    def is_misplaced(self, physical, inlined):
        frames = [JavaFrame(*one) for one in physical] + [JavaFrame(*one, is_inlined=True) for one in inlined]
        return java_observer_test.is_misplaced(frames + [self.SPIN], self.TOLD)

    def test_what_is_inlined_may_be_another_branch_of_the_same_compiled_method(self):
        left, right = sorted(self.TOLD)
        self.assertTrue(self.is_misplaced([*left[:2], right[2]], right[3:]))
        # No such callers, no such methods below, another compiled method, and nothing inlined.
        self.assertFalse(self.is_misplaced([left[0], right[2]], right[3:]))
        self.assertFalse(self.is_misplaced([*left[:2], right[2]], [("A.three", "A.java", 5)]))
        self.assertFalse(self.is_misplaced([*left[:2], left[2]], right[3:]))
        self.assertFalse(self.is_misplaced(left[:1], right[2:]))
        self.assertFalse(self.is_misplaced([*left[:2], right[2], right[3]], []))

    def test_where_spin_itself_was_compiled_nothing_is(self):
        left, right = sorted(self.TOLD)
        frames = [JavaFrame(*one) for one in (*left[:2], right[2], right[3])]
        self.assertFalse(java_observer_test.is_misplaced(
            frames + [self.SPIN._replace(is_inlined=False)], self.TOLD))


class Ends:
    """That the outermost frame is where threads begin."""

    @staticmethod
    def is_entry(text):
        return text in ("clone3", "libc.so.6+0x108")


class Verdicts(unittest.TestCase):
    START = ("clone3", "start_thread", "JavaMain", "call_stub")
    GOOD = (*START, "Made.main (Made.java:%d)" % LINES["turn"])

    def verdict(self, *stacks, mode="plain", version=0, limits=judge.NoneAllowed, **more):
        target = make_target(**more)
        verdict = java_test.Verdict(target, Ends(), mode, version, limits)
        for frames, count in stacks:
            verdict.add(Stack(target.comm, tuple(frames)), count)
        return verdict

    def assert_fails(self, verdict, text):
        self.assertIn(text, "\n".join(verdict.failures))

    def test_good_stacks_pass(self):
        verdict = self.verdict((self.GOOD, 300), ((*self.GOOD, "safepoint", "futex_[k]"), 30),
                               ((*self.START[:2], "GCTaskThread"), 100),
                               ((*self.START, "java.lang.Thread.run (Thread.java:7)"), 9))
        self.assertEqual(verdict.failures, [])
        self.assertEqual((verdict.total, verdict.own), (439, 330))

    def test_bad_ones_fail(self):
        bad = {
            "not allowed: Made.main:1": (*self.START, "Made.main (Made.java:1)"),
            "inlined stands": (*self.GOOD[:4], "Made.main (Made.java:%d)_[i]" % LINES["turn"]),
        }
        for why, frames in bad.items():
            verdict = self.verdict((self.GOOD, 300), (frames, 1))
            self.assert_fails(verdict, why)
            self.assert_fails(verdict, "1 of 301 samples are wrong")

    def test_few_may_say_that_they_are_not_whole(self):
        bad = {
            "not complete": ("[error: stack unreadable]", *self.GOOD),
            "a guess": (*self.START, "x_[?]", *self.GOOD[4:]),
        }
        limits = judge.limits_of(judge.FLAGGED, 100, 200000)
        allowed = limits.limit(judge.FLAGGED, 2000)
        self.assertTrue(1 < allowed < 20)
        for why, frames in bad.items():
            good = (self.GOOD, 2000 - allowed)
            self.assertEqual(self.verdict(good, (frames, allowed), limits=limits).failures, [])
            verdict = self.verdict(good, (frames, allowed + 1), limits=limits)
            self.assert_fails(verdict, why)
            self.assert_fails(verdict, "%d of 2001 samples are not whole" % (allowed + 1))
            self.assert_fails(self.verdict((self.GOOD, 2000), (frames, 1)), "1 of 2001 samples are not whole")

    def test_there_must_be_enough_of_its_own_and_deep_ones(self):
        self.assert_fails(self.verdict((self.GOOD, 100)), "only 100 samples")
        self.assert_fails(self.verdict((self.GOOD, 100), (self.START[:2], 900)),
                          "of the target's own: 10.000 %")
        self.assert_fails(self.verdict((self.GOOD, 300), depth=2), "1 deep at most")

    def test_only_those_that_say_so_may_be_cut(self):
        many = "Made.many (Made.java:%d)" % LINES["deep"]
        cut = ("[truncated]", many, many)
        self.assert_fails(self.verdict((self.GOOD, 300), (cut, 3)), "not complete")
        verdict = self.verdict((self.GOOD, 300), (cut, 1), depth=2, directive="// truncated: yes")
        self.assertEqual(verdict.failures, [])

    def test_where_the_time_goes_is_seen_in_exact_stacks(self):
        busy = "// busy: Made.outer 50"
        outer = (*self.GOOD, "Made.outer (Made.java:%d)" % LINES["call"])
        near = (*self.START, "Made.main (Made.java:1)_[~]")
        self.assert_fails(self.verdict((self.GOOD, 200), (outer, 100), directive=busy),
                          "in Made.outer only 33.333 % of the exact ones")
        self.assertEqual(self.verdict((self.GOOD, 100), (outer, 150),
                                      directive=busy).failures, [])
        self.assertEqual(self.verdict((self.GOOD, 80), (near, 200), directive=busy).failures, [])
        self.assert_fails(self.verdict((self.GOOD, 200), (outer, 100), directive=busy + " 30"),
                          "only 33.333 %")
        self.assertEqual(self.verdict((self.GOOD, 200), (outer, 100), mode="exact",
                                      directive=busy + " 30").failures, [])
        self.assert_fails(self.verdict((self.GOOD, 200), (outer, 100), mode="exact",
                                       directive=busy), "only 33.333 %")

    def test_where_all_is_exact_few_may_be_approximate(self):
        near = (*self.START, "Made.main (Made.java:1)_[~]")
        limits = judge.limits_of(java_test.APPROXIMATE, 100, 3000)
        for count, is_good in ((10, True), (50, False)):
            verdict = self.verdict((self.GOOD, 300), (near, count), mode="exact", limits=limits)
            self.assertEqual(not verdict.failures, is_good)
            self.assertEqual(self.verdict((self.GOOD, 300), (near, count)).failures, [])
        self.assert_fails(verdict, "50 of 350 samples are approximate in mode exact")

    def test_inlined_methods_are_counted_in_a_row(self):
        stack = (*self.GOOD, *["Made.many (Made.java:%d)_[i]" % LINES["deep"]] * 2)
        for inlined, is_good in ((2, True), (3, False)):
            verdict = self.verdict((stack, 300), mode="exact", directive="// inlined: %d" % inlined)
            self.assertEqual(not verdict.failures, is_good)
        self.assert_fails(verdict, "inlined 2 deep at most")
        self.assertEqual(self.verdict((stack, 300), directive="// inlined: 3").failures, [])

    def test_stubs_are_seen_innermost_where_all_is_compiled(self):
        stack, seen = (*self.GOOD, "[stub: StubRoutines::copies]"), "// seen: copies hashes"
        both = ((stack, 300), ((*self.GOOD, "[stub: StubRoutines::hashes8]"), 1))
        self.assertEqual(self.verdict(*both, version=11, directive=seen).failures, [])
        verdict = self.verdict((stack, 300), ((*both[1][0], "futex_[k]"), 1), version=11, directive=seen)
        self.assertEqual(verdict.failures, [])
        self.assert_fails(self.verdict((stack, 300), version=11, directive=seen), "never seen: hashes")
        self.assertEqual(self.verdict((stack, 300), version=8, directive=seen).failures, [])
        self.assertEqual(self.verdict((stack, 300), version=11, mode="int",
                                      directive=seen).failures, [])

    def test_methods_without_names_and_lines_are_counted(self):
        nameless, lineless = (*self.GOOD, "[java: no name]"), (*self.START, "Made.main (Made.java)")
        self.assert_fails(self.verdict((self.GOOD, 300), (nameless, 3)), "without names: 0.990 %")
        self.assertEqual(self.verdict((self.GOOD, 300), (nameless, 3),
                                      directive="// unnamed: 1").failures, [])
        limits = judge.limits_of(java_test.LINELESS, 10, 3000)
        self.assertEqual(self.verdict((self.GOOD, 300), (lineless, 3), limits=limits).failures, [])
        self.assert_fails(self.verdict((self.GOOD, 300), (lineless, 9), limits=limits),
                          "9 of 309 samples are without a line")

    def test_a_thread_that_begins_is_whole(self):
        self.assertEqual(self.verdict((self.GOOD, 300), (("clone3",), 2)).failures, [])
        self.assertEqual(self.verdict((self.GOOD, 300), (("clone3", "exit_[k]"), 2)).failures, [])

    def test_a_target_that_tells_that_it_is_ready_is_not_counted(self):
        verdict = self.verdict(((*self.GOOD, "Target.ready (Target.java:9)"), 5))
        self.assertEqual(verdict.total, 0)


if __name__ == "__main__":
    tap_unittest.main()
