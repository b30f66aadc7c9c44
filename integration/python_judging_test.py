#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""By what stacks of Python are judged (python_chains.py, python_test.py): what it must let pass and
what it must refuse, over a target and stacks written by hand.
"""
import collections
import os
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "scripts", "tests")]
import judge
import python_test
import tap_unittest
from harness import Stack
from python_chains import PythonFrame, Target, parse_frame, split

TARGET = '''r"""Written for the test.

chain: <module>@run > outer@call > Inner.leaf@leaf,more
chain: <module>@run outer@call [sorted] key@key
chain: <module>@run outer@call <lambda>@call* deep@deep{2,3}
chain (3.12-): <module>@run ~new@<string>:\\d+;
chain: <module>@run ANY@asyncio/ tick@ticker.py
%s
"""
import target


class Inner:
    def leaf(self):
        self.count += 1  #: leaf
        return self.count  #: more


def outer():
    return run(lambda: 1)  #: call


def key(value):
    return value  #: key


def deep():
    deep()  #: deep


target.ready()
outer()  #: run
'''
LINES = {mark: number for number, line in enumerate(TARGET.split("\n"), 1)
         for mark in line.partition("#: ")[2].split()}
LOOP = "_PyEval_EvalFrameDefault"


def make_target(version=(3, 12), directives=""):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "made.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TARGET % directives)
        return Target(path, version)


class Frames(unittest.TestCase):
    def test_a_python_frame_has_a_name_a_file_and_a_line(self):
        self.assertEqual(parse_frame("a.<locals>.b (/x y/c.py:12)"),
                         PythonFrame("a.<locals>.b", "/x y/c.py", 12))
        self.assertEqual(parse_frame("f (<frozen runpy>:3)"), PythonFrame("f", "<frozen runpy>", 3))
        self.assertEqual(parse_frame("f (c.py)"), PythonFrame("f", "c.py", 0))

    def test_a_native_frame_is_none(self):
        for text in ("main", "main (main.c:12)", "operator()(int) (a.cc:1)", "libc.so.6+0x12"):
            self.assertIsNone(parse_frame(text), text)


class Split(unittest.TestCase):
    def judge(self, frames, version=(3, 12)):
        items, is_native, wrong = split(frames, version)
        return [item.name if isinstance(item, PythonFrame) else item for item in items], \
            is_native, wrong

    def test_python_frames_stand_behind_a_loop(self):
        self.assertEqual(self.judge(["_start", "main", LOOP, "f (a.py:1)", "g (a.py:2)"]),
                         (["f", "g"], False, None))
        self.assertEqual(self.judge([LOOP, "f (a.py:1)", "list_sort", LOOP, "g (a.py:2)"]),
                         (["f", ("list_sort", LOOP), "g"], False, None))

    def test_frames_without_names_may_be_loops(self):
        self.assertEqual(self.judge(["main", "python3.12+0x1f", "f (a.py:1)"]),
                         (["f"], False, None))
        self.assertIn("behind libc", self.judge(["libc.so.6+0x1f", "f (a.py:1)"])[2])

    def test_a_stack_without_loop_and_python_is_native(self):
        self.assertEqual(self.judge(["_start", "main", "Py_Main"]), ([], True, None))
        self.assertEqual(self.judge(["_start", "main", LOOP]), ([], False, None))

    def test_what_the_interpreter_does_not_build_is_wrong(self):
        cases = {
            "outermost": ["f (a.py:1)"],
            "behind list_sort": [LOOP, "f (a.py:1)", LOOP, "list_sort", "g (a.py:2)"],
            "a loop has no": [LOOP, LOOP, "f (a.py:1)"],
            "two loops": [LOOP, "f (a.py:1)", LOOP, LOOP],
        }
        for wrong, frames in cases.items():
            self.assertIn(wrong, str(self.judge(frames)[2]))

    def test_up_to_3_10_a_loop_has_one_frame(self):
        frames = [LOOP, "f (a.py:1)", "g (a.py:2)"]
        self.assertIn("two Python frames", self.judge(frames, (3, 10))[2])
        self.assertIsNone(self.judge(frames, (3, 11))[2])

    def test_the_innermost_loop_may_have_none(self):
        self.assertIsNone(self.judge([LOOP, "f (a.py:1)", LOOP])[2])

    def test_the_function_of_an_instruction_stands_behind_who_executes_it(self):
        one = "_TAIL_CALL_CALL_KW"
        self.assertEqual(self.judge([LOOP, "f (a.py:1)", one, "sort", LOOP, "g (a.py:2)", one]),
                         (["f", ("sort", LOOP), "g"], False, None))
        # Its last instruction has taken the frame away already.
        self.assertIsNone(self.judge([LOOP, "f (a.py:1)", one, "sort", LOOP, one])[2])
        cases = {
            "behind sort": [LOOP, "f (a.py:1)", "sort", one],
            "stand behind " + one: [LOOP, one, "f (a.py:1)"],
            one + " stands behind " + one: [LOOP, "f (a.py:1)", one, one],
            "behind nothing": [one, LOOP, "f (a.py:1)"],
            "a loop has no": [LOOP, "f (a.py:1)", one, LOOP, "sort", LOOP, "g (a.py:2)"],
        }
        for wrong, frames in cases.items():
            self.assertIn(wrong, str(self.judge(frames)[2]))


class Chains(unittest.TestCase):
    def setUp(self):
        self.target = make_target()

    def frame(self, name, mark, target=None):
        line = LINES[mark] if isinstance(mark, str) else mark
        return PythonFrame(name, (target or self.target).path, line)

    def allows(self, *items, target=None):
        items = [item if len(item) == 3 else self.frame(*item, target) for item in items]
        return (target or self.target).allows(items)

    def test_a_chain_may_end_behind_each_open_end(self):
        run, call = ("<module>", "run"), ("outer", "call")
        self.assertTrue(self.allows(run))
        self.assertTrue(self.allows(run, call))
        self.assertTrue(self.allows(run, call, ("Inner.leaf", "leaf")))
        self.assertTrue(self.allows(run, call, ("Inner.leaf", "more")))

    def test_other_lines_names_files_and_orders_are_refused(self):
        run, call = ("<module>", "run"), ("outer", "call")
        self.assertFalse(self.allows(run, ("outer", "leaf")))
        self.assertFalse(self.allows(run, call, ("leaf", "leaf")))
        self.assertFalse(self.allows(run, call, ("Inner.leaf", "key")))
        self.assertFalse(self.allows(call, run))
        self.assertFalse(self.allows(call))
        self.assertFalse(self.allows(run, call, ("Inner.leaf", "leaf"), ("Inner.leaf", "leaf")))
        self.assertFalse(self.allows(run, PythonFrame("outer", "/other.py", LINES["call"])))

    def test_before_3_11_the_last_part_of_a_name_is_all(self):
        target = make_target((3, 10))
        run, call = ("<module>", "run"), ("outer", "call")
        self.assertTrue(self.allows(run, call, ("leaf", "leaf"), target=target))
        self.assertFalse(self.allows(run, call, ("Inner.leaf", "leaf"), target=target))

    def test_only_the_innermost_frame_may_be_in_its_first_line(self):
        run, call = ("<module>", "run"), ("outer", LINES["call"] - 1)
        self.assertTrue(self.allows(run, call))
        self.assertFalse(self.allows(run, call, ("Inner.leaf", "leaf")))
        called = make_target(directives="interrupts: yes")
        self.assertTrue(self.allows(run, call, ("Inner.leaf", "leaf"), target=called))

    def test_c_functions_stand_where_they_are_asked_for(self):
        run, call, key = ("<module>", "run"), ("outer", "call"), ("key", "key")
        frames = [self.frame(*one) for one in (run, call, key)]
        for natives, good in ((("builtin_sorted", LOOP), True), (("?",), True),
                              ((LOOP,), False), (("list_sort",), False)):
            items = frames[:2] + [natives] + frames[2:]
            self.assertEqual(self.target.allows(items), good, natives)
        self.assertFalse(self.target.allows(frames))

    def test_repeats_are_counted(self):
        run, call = ("<module>", "run"), ("outer", "call")
        for lambdas in (0, 1, 5):
            for depth, good in ((1, False), (2, True), (3, True), (4, False)):
                stack = [run, call] + [("<lambda>", "call")] * lambdas + [("deep", "deep")] * depth
                self.assertEqual(self.allows(*stack), good, stack)

    def test_chains_are_of_the_versions_that_they_say(self):
        new = PythonFrame("new", "<string>", 7)
        self.assertTrue(self.allows(("<module>", "run"), new))
        target = make_target((3, 11))
        self.assertFalse(self.allows(("<module>", "run"), new, target=target))

    def test_other_files_are_told_by_module_and_folder(self):
        run, tick = ("<module>", "run"), PythonFrame("tick", "/lib/python3.12/ticker.py", 8)
        asyncio = PythonFrame("any.name", "/lib/python3.12/asyncio/events.py", 80)
        self.assertTrue(self.allows(run, asyncio, tick))
        self.assertTrue(self.allows(run, asyncio, PythonFrame("tick", "<frozen ticker>", 8)))
        self.assertFalse(self.allows(run, asyncio, PythonFrame("tick", "/lib/blinker.py", 8)))
        self.assertFalse(self.allows(run, asyncio._replace(file="/lib/trio/events.py"), tick))

    def test_a_mark_that_is_nowhere_is_a_fault_of_the_target(self):
        with self.assertRaises(AssertionError):
            make_target(directives="chain: <module>@nowhere")


class Ends:
    """That the outermost frame is where programs and threads begin."""

    @staticmethod
    def is_entry(frame):
        return frame in ("_start", "libc.so.6+0x108")


class Verdicts(unittest.TestCase):
    START = ("_start", "main", LOOP)

    def verdict(self, *stacks, directives=""):
        """The Verdict on @stacks: (frames, count)."""
        target = make_target(directives=directives)
        verdict = python_test.Verdict(target, Ends())
        for frames, count in stacks:
            filled = tuple(frame.replace("PATH", target.path) for frame in frames)
            verdict.add(Stack(target.comm, filled), count)
        return verdict

    def python(self, name, mark):
        return "%s (PATH:%d)" % (name, LINES[mark])

    def good(self, *more):
        return (*self.START, self.python("<module>", "run"), *more)

    def assert_fails(self, verdict, text):
        self.assertTrue(any(text in failure for failure in verdict.failures), verdict.failures)

    def test_few_stacks_of_forks_that_compile_may_be_cut(self):
        cut = ("[error: anonymous executable memory]", "[anonymous]+0x5_[j]")
        for directives, is_compiling, count, is_good in (
                ("forks: yes", True, 5, True), ("forks: yes", True, 30, False),
                ("forks: yes", False, 5, False), ("", True, 5, False)):
            target = make_target(directives=directives)
            verdict = python_test.Verdict(target, Ends(), is_compiling, judge.limits_of(python_test.CUT, 100, 3000))
            good = [frame.replace("PATH", target.path) for frame in self.good()]
            verdict.add(Stack(target.comm, tuple(good)), 300)
            verdict.add(Stack(target.comm, cut), count)
            self.assertEqual(not verdict.failures, is_good, verdict.failures)

    def test_threads_may_have_given_their_stacks_back(self):
        for native, frames, is_good in (
                (True, ("[error: x]", "libc.so.6+0x108", "[error: x]"), True),
                (False, ("[error: x]", "libc.so.6+0x108", "[error: x]"), False),
                (True, ("[error: x]", "f"), False), (True, ("[error: x]", "libc.so.6+0x108", "f"), False)):
            target = make_target()
            target.is_native = native
            verdict = python_test.Verdict(target, Ends())
            good = [frame.replace("PATH", target.path) for frame in self.good()]
            verdict.add(Stack(target.comm, tuple(good)), 300)
            verdict.add(Stack(target.comm, frames), 1)
            self.assertEqual(not verdict.failures, is_good, verdict.failures)

    def test_enough_good_samples_pass(self):
        verdict = self.verdict((self.good(), 150), (self.good(self.python("outer", "call")), 50))
        self.assertEqual(verdict.failures, [])
        self.assertEqual(verdict.names, collections.Counter({"<module>": 150, "outer": 50}))

    def test_too_few_samples_fail(self):
        self.assert_fails(self.verdict((self.good(), 199)), "only 199 samples")

    def test_one_wrong_sample_of_many_fails(self):
        for frames, why in (((*self.START, self.python("outer", "call")), "not allowed"),
                            (("main", LOOP, self.python("<module>", "run")), "not complete"),
                            (self.good("[error: stack unreadable]"), "not complete"),
                            (("[error: stack unreadable]",) + self.good()[1:], "not complete"),
                            (("_start", "main_[?]") + self.good()[2:], "not complete"),
                            (("_start", "main", self.python("<module>", "run")), "stand behind"),
                            ((), "not complete")):
            verdict = self.verdict((self.good(), 100000), (frames, 1))
            self.assert_fails(verdict, why)
            self.assert_fails(verdict, "1 of 100001 samples are wrong")

    def test_native_stacks_are_for_those_that_say_so(self):
        native = (("_start", "main", "Py_RunMain"), 1)
        self.assert_fails(self.verdict((self.good(), 1000), native), "no Python frame")
        self.assertEqual(self.verdict((self.good(), 1000), native,
                                      directives="native: yes").failures, [])
        self.assert_fails(self.verdict((self.good(), 800), (native[0], 200),
                                       directives="native: yes"), "without Python frames")

    def test_names_may_be_missing_as_often_as_the_target_says(self):
        nameless = ((*self.START, "[python: no name]"), 10)
        self.assert_fails(self.verdict((self.good(), 990), nameless), "without names")
        self.assertEqual(self.verdict((self.good(), 990), nameless,
                                      directives="unnamed: 1").failures, [])
        self.assert_fails(self.verdict((self.good(), 980), nameless, directives="unnamed: 1"),
                          "without names")

    def test_error_frames_are_for_versions_that_say_so(self):
        unread = ((*self.good(), "[error: interpreted frames unreadable]"), 10)
        self.assert_fails(self.verdict((self.good(), 990), unread), "not complete")
        self.assertEqual(self.verdict((self.good(), 990), unread,
                                      directives="unread: 1 -3.12").failures, [])
        self.assert_fails(self.verdict((self.good(), 980), unread, directives="unread: 1 -3.12"),
                          "error frames")
        self.assert_fails(self.verdict((self.good(), 990), unread, directives="unread: 1 -3.11"),
                          "not complete")

    def test_what_is_not_known_yet_is_for_those_that_fork(self):
        unknown = (("[error: process not known yet]",), 400)
        self.assert_fails(self.verdict((self.good(), 500), unknown), "not complete")
        self.assertEqual(self.verdict((self.good(), 500), unknown,
                                      directives="forks: yes").failures, [])
        self.assert_fails(self.verdict((self.good(), 300), unknown, directives="forks: yes"),
                          "before known")

    def test_even_and_alternating_targets_are_measured(self):
        stacks = [(self.good(), 300), (self.good(self.python("outer", "call")), 100)]
        self.assert_fails(self.verdict(*stacks, directives="even: <module> outer"), "not even")
        self.assertEqual(self.verdict(stacks[0], (stacks[1][0], 250),
                                      directives="even: <module> outer").failures, [])
        self.assert_fails(self.verdict(*stacks, directives="alternates: 2"), "at most 1 groups")

    def test_the_caller_of_clone_may_be_a_guess(self):
        self.assertEqual(python_test.with_caller_of_clone(["a", "b_[?]", "clone3"]),
                         ["a", "b", "clone3"])
        self.assertEqual(python_test.with_caller_of_clone(["[error: no unwind information]",
                                                           "clone3"]), ["clone3"])
        self.assertEqual(python_test.with_caller_of_clone(["a_[?]", "b", "clone3"]),
                         ["a_[?]", "b", "clone3"])
        for frame, good in (("clone3", True), ("__clone", True), ("clone3@@GLIBC_2.2", True),
                            ("cyclone", False), ("libc.so.6+0x100", True),
                            ("libc.so.6+0x10a", False), ("libm.so.6+0x100", False)):
            self.assertEqual(python_test.is_in_clone(frame, Ends()), good, frame)


if __name__ == "__main__":
    tap_unittest.main()
