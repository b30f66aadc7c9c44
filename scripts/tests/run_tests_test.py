#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the test runner counts and refuses, over outputs written by hand and programs that misbehave."""

import pathlib
import sys
import tempfile
import time
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SCRIPTS))
import run_tests  # noqa: E402
import tap_unittest  # noqa: E402


class Judge(unittest.TestCase):
    def assert_judged(self, output, status, counts, trouble):
        *found, found_trouble = run_tests.judge(output, status, 5)
        self.assertEqual(tuple(found), counts)
        self.assertIn(trouble, found_trouble)
        self.assertEqual(bool(trouble), bool(found_trouble))

    def test_good_results_are_counted(self):
        self.assert_judged("1..2\nok 1 - a\nok 2 - b\n", 0, (2, 0, 0), "")

    def test_skips_are_counted_as_skips_in_both_spellings(self):
        self.assert_judged("1..2\nok 1 - a # SKIP no root\nnot ok 2 # SKIP b\n", 0, (0, 0, 2), "")

    def test_a_plan_of_nothing_is_one_skip(self):
        self.assert_judged("1..0 # skip no kernel here\n", 0, (0, 0, 1), "")

    def test_failures_are_counted(self):
        self.assert_judged("1..2\nnot ok 1 - a\nok 2 - b\n", 1, (1, 1, 0), "")

    def test_fewer_results_than_planned_are_trouble(self):
        self.assert_judged("1..3\nok 1 - a\n", 0, (1, 0, 0), "gave 1 of 3")

    def test_two_groups_add_up_their_plans(self):
        self.assert_judged("1..1\nok 1 - a\n1..2\nok 1 - b\n", 0, (2, 0, 0), "gave 2 of 3")

    def test_silence_is_trouble(self):
        self.assert_judged("hello\n", 0, (0, 0, 0), "gave no result")

    def test_a_bad_exit_status_after_good_results_is_trouble(self):
        self.assert_judged("1..1\nok 1 - a\n", 23, (1, 0, 0), "exit status is 23")

    def test_a_signal_is_trouble(self):
        self.assert_judged("1..2\nok 1 - a\nok 2 - b\n", -11, (2, 0, 0), "SIGSEGV")

    def test_time_over_is_trouble(self):
        self.assert_judged("1..1\nok 1 - a\n", None, (1, 0, 0), "still ran after 5 s")

    def test_text_in_messages_is_no_result(self):
        self.assert_judged("1..1\nokay then\n# ok 2\nok 1 - a\n", 0, (1, 0, 0), "")


class Programs(unittest.TestCase):
    def run_program(self, text, limit_s=20):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "made_test.sh"
            path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
            path.chmod(0o755)
            test = run_tests.make_test(path)
            test.limit_s = limit_s
            return run_tests.run(test, {"PATH": "/usr/bin:/bin"}, False)

    def assert_gone(self, pid):
        for _ in range(100):
            try:
                stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            except FileNotFoundError:
                return
            # A zombie, where nobody collects the orphans.
            if stat.rsplit(")", 1)[1].split()[0] == "Z":
                return
            time.sleep(0.05)
        self.fail(f"process {pid} still runs")

    def test_a_crash_counts_as_one_failure(self):
        outcome = self.run_program("echo ok 1 - a; kill -SEGV $$")
        self.assertEqual((outcome.passed, outcome.failed), (1, 1))

    def test_a_hanging_program_is_ended_with_its_children(self):
        outcome = self.run_program("sleep 77 & echo $!; sleep 78", limit_s=1)
        self.assertEqual(outcome.failed, 1)
        child = int(outcome.output.split()[0])
        self.assert_gone(child)

    def test_what_is_left_behind_is_ended_and_not_waited_for(self):
        outcome = self.run_program("sleep 30 & echo ok 1 - $!")
        self.assertEqual((outcome.passed, outcome.failed), (1, 0))
        self.assertLess(outcome.seconds, 20)
        self.assert_gone(int(outcome.output.split()[-1]))

    def test_orphans_in_sessions_of_their_own_are_ended_too(self):
        run_tests.FAMILY.adopt_orphans()
        outcome = self.run_program("setsid sh -c 'sleep 30 & echo $!; sleep 31' & sleep 0.5; "
                                   "echo ok 1 - a")
        self.assertEqual((outcome.passed, outcome.failed), (1, 0))
        self.assert_gone(int(outcome.output.split()[0]))

    def test_the_head_of_a_script_sets_its_limit_and_tier(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a_test.sh"
            path.write_text("#!/bin/sh\n# long\n# time limit: 77 s\n", encoding="utf-8")
            test = run_tests.make_test(path)
        self.assertEqual((test.limit_s, test.is_long), (77, True))

    def test_in_the_long_tier_all_have_more_time(self):
        for name in ("build/asan/agent/walks/tests/java_walk_test", "scripts/tests/qemu_test.py"):
            test = run_tests.make_test(run_tests.ROOT / name)
            self.assertEqual(run_tests.limit_of(test, False), test.limit_s)
            self.assertGreaterEqual(run_tests.limit_of(test, True), 3600)

    def test_what_is_in_integration_runs_alone_if_it_does_not_say_otherwise(self):
        script = run_tests.ROOT / "integration" / "arm64_test.py"
        self.assertFalse(run_tests.make_test(script).is_alone)
        self.assertTrue(run_tests.make_test(script.with_name("shares_test.py")).is_alone)


if __name__ == "__main__":
    tap_unittest.main()
