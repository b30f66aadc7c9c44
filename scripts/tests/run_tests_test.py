#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the test runner counts, refuses and tries again, over outputs written by hand and programs that
misbehave."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

SCRIPTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SCRIPTS))
import long_parts  # noqa: E402
import run_tests  # noqa: E402
import tap_unittest  # noqa: E402
import test_budgets  # noqa: E402
import test_process  # noqa: E402
import test_programs  # noqa: E402


class Judge(unittest.TestCase):
    def assert_judged(self, output, status, counts, trouble):
        *found, found_trouble = test_programs.count_results(output, status, 5)
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


class Final(unittest.TestCase):
    def test_an_accident_may_be_tried_again(self):
        self.assertEqual(test_programs.find_final("not ok 1 - a\n# too few samples\n", 1), "")

    def test_a_hang_a_crash_and_a_report_are_final(self):
        self.assertEqual(test_programs.find_final("", None), "it hangs")
        self.assertEqual(test_programs.find_final("", -11), "it crashed")
        for report in ("==7==ERROR: AddressSanitizer: heap-use-after-free",
                       "==7==ERROR: LeakSanitizer: detected memory leaks",
                       "WARNING: ThreadSanitizer: data race (pid=7)",
                       "a.c:7:3: runtime error: signed integer overflow"):
            self.assertEqual(test_programs.find_final("ok 1 - a\n%s\n" % report, 1), report)

    def test_a_test_may_say_so(self):
        output = "not ok 1 - a\n# final: a wrong frame\n# more\n"
        self.assertEqual(test_programs.find_final(output, 1), "a wrong frame")


class Programs(unittest.TestCase):
    """Runs scripts in a process that adopts orphans, as the runner's do."""

    @classmethod
    def setUpClass(cls):
        test_process.adopt_orphans()

    def run_program(self, text, limit_s=60):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "made_test.sh"
            path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
            path.chmod(0o755)
            test = test_programs.script_test(path)
            test.limit_s = limit_s
            return test_programs.run_test(test, {"PATH": "/usr/bin:/bin"}, False)

    def assert_gone(self, pid):
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists(), f"process {pid} still runs")

    def test_a_crash_counts_as_one_failure(self):
        outcome = self.run_program("echo ok 1 - a; kill -SEGV $$")
        self.assertEqual((outcome.passed, outcome.failed, outcome.final), (1, 1, "it crashed"))

    def test_a_hanging_program_is_ended_with_its_children(self):
        outcome = self.run_program("sleep 77 & echo $!; sleep 78", limit_s=1)
        self.assertEqual((outcome.failed, outcome.final), (1, "it hangs"))
        self.assert_gone(int(outcome.run.output.split()[0]))

    def test_what_is_left_behind_is_ended_and_not_waited_for(self):
        outcome = self.run_program("sleep 300 & echo ok 1 - $!")
        self.assertEqual((outcome.passed, outcome.failed), (1, 0))
        self.assert_gone(int(outcome.run.output.split()[-1]))

    def test_orphans_in_sessions_of_their_own_are_ended_too(self):
        outcome = self.run_program("setsid sh -c 'sleep 300 & echo $!; exec sleep 310' & sleep 0.5; "
                                   " echo ok 1 - a")
        self.assertEqual((outcome.passed, outcome.failed), (1, 0))
        self.assert_gone(int(outcome.run.output.split()[0]))

    def test_cpu_time_of_children_counts(self):
        outcome = self.run_program("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; echo ok 1")
        self.assertGreater(outcome.run.cpu_seconds, 0.01)
        self.assertGreaterEqual(outcome.run.seconds, 0.9 * outcome.run.cpu_seconds)

    def test_the_head_of_a_script_sets_its_limit_its_tier_and_what_runs_beside_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a_test.sh"
            path.write_text("#!/bin/sh\n# long\n# time limit: 77 s\n", encoding="utf-8")
            test = test_programs.script_test(path)
            path.write_text("#!/bin/sh\n# alone: it measures memory\n", encoding="utf-8")
            alone = test_programs.script_test(path)
            path.write_text("#!/bin/sh\n# apart: it keeps agents waiting\n", encoding="utf-8")
            apart = test_programs.script_test(path)
            path.write_text("#!/bin/sh\n# waits: for a server\n", encoding="utf-8")
            waiting = test_programs.script_test(path)
        self.assertEqual((test.limit_s, test.is_long, test.is_alone), (77, True, False))
        self.assertTrue(alone.is_alone and not alone.is_waiting and not alone.is_apart)
        self.assertTrue(apart.is_apart and not apart.is_alone and not apart.is_waiting)
        self.assertTrue(waiting.is_waiting and not waiting.is_alone)

    def test_in_the_long_tier_all_have_more_time(self):
        unit = test_programs.unit_test(pathlib.PurePath("build/asan/agent/unwind/tests/java_unwind_test"))
        self.assertEqual(unit.name, "agent/unwind/tests/java_unwind_test")
        for test in (unit, test_programs.script_test(test_programs.ROOT / "scripts/tests/qemu_test.py")):
            self.assertEqual(test.limit_of(False), test.limit_s)
            self.assertGreaterEqual(test.limit_of(True), 3600)

    def test_a_test_is_found_by_its_path_and_its_file(self):
        test = test_programs.script_test(test_programs.ROOT / "scripts/tests/qemu_test.py")
        for name in ("qemu", "qemu_test", "qemu_test.py", "scripts/tests/qemu_test.py"):
            self.assertTrue(test.is_called(name))
        self.assertFalse(test.is_called("qem"))


class Retries(unittest.TestCase):
    """Whole runs over made scripts."""

    # Fails as often as $1 says, and keeps the count in a file beside it.
    FAILING = """n=$(cat "$0.count" 2>/dev/null || echo 0); echo $((n + 1)) > "$0.count"
if [ "$n" -lt %d ]; then echo "not ok 1 - it is quick"; %s exit 1; fi; echo "ok 1 - it is quick"
"""

    def run_scripts(self, *texts):
        """((passed, failed, skipped), what was printed, what is in the file of unsteady tests)."""
        with tempfile.TemporaryDirectory() as folder:
            tests = []
            for number, text in enumerate(texts):
                path = pathlib.Path(folder) / f"made{number}_test.sh"
                path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
                path.chmod(0o755)
                tests.append(test_programs.script_test(path))
            kept = pathlib.Path(folder) / "unsteady.txt"
            printed = io.StringIO()
            # Its folder is in no row of the budgets.
            with mock.patch.object(run_tests, "UNSTEADY_FILE", kept), \
                    mock.patch.object(test_budgets, "overruns", lambda _: []), \
                    contextlib.redirect_stdout(printed):
                counts = run_tests.run_tests(tests, False)
            text = kept.read_text(encoding="utf-8") if kept.exists() else ""
        return counts, printed.getvalue(), text

    def test_what_fails_once_passes_and_is_unsteady(self):
        counts, printed, kept = self.run_scripts(self.FAILING % (1, ""), "echo ok 1 - other")
        self.assertEqual(counts, (2, 0, 0))
        self.assertRegex(printed, r"(?m)^unsteady: \S+made0_test.sh: 1 - it is quick$")
        self.assertIn("not ok 1 - it is quick", kept)

    def test_what_fails_twice_is_red(self):
        counts, printed, kept = self.run_scripts(self.FAILING % (2, ""))
        self.assertEqual(counts, (0, 1, 0))
        self.assertNotIn("unsteady:", printed)
        self.assertEqual(kept, "")

    def test_what_is_final_is_not_tried_again(self):
        counts, printed, _ = self.run_scripts(self.FAILING % (1, "echo '# final: a wrong name';"))
        self.assertEqual(counts, (0, 1, 0))
        self.assertIn("a wrong name", printed)

    def test_what_failed_is_printed_once_more_at_the_end(self):
        _, printed, _ = self.run_scripts("echo 'ok 1 - a'; echo '# of a'; echo 'not ok 2 - b'; "
                                         "echo '# final: of b'; echo 'ok 3 - c'; exit 1")
        self.assertRegex(printed, r"what failed in \S+made0_test.sh:\n    not ok 2 - b\n    # final: of b\n"
                                  r"failed: \S+made0_test.sh\n$")

    def test_three_unsteady_tests_fail_the_run(self):
        counts, _, _ = self.run_scripts(*[self.FAILING % (1, "")] * 3)
        self.assertEqual(counts, (3, 1, 0))

    def test_a_script_that_others_disturb_waits_until_they_have_ended(self):
        counts, printed, _ = self.run_scripts(
            '# apart: it looks for the other\n[ -e "${0%/*}/ended" ] || printf "not "; echo "ok 1 - it has ended"',
            'sleep 1; touch "${0%/*}/ended"; echo ok 1 - other')
        self.assertEqual(counts, (2, 0, 0))
        self.assertNotIn("unsteady:", printed)

    def test_six_failures_are_not_tried_again(self):
        counts, printed, _ = self.run_scripts(*[self.FAILING % (1, "")] * 6)
        self.assertEqual(counts, (0, 6, 0))
        self.assertIn("at most 5", printed)


class Tables(unittest.TestCase):
    def test_each_test_has_a_budget(self):
        tests = test_programs.find_scripts()
        tests += [test_programs.unit_test(pathlib.PurePath("build/asan") / path.relative_to(
            test_programs.ROOT).with_suffix("")) for path in test_programs.ROOT.glob("**/tests/*_test.c")]
        self.assertGreater(len(tests), 200)
        self.assertEqual([test.name for test in tests if not test_budgets.row_of(test.name)], [])

    def test_a_folder_over_its_budget_by_half_is_named(self):
        budget = test_budgets.BUDGET_SECONDS["go"][0]
        self.assertEqual(test_budgets.overruns({"integration/go_test.py": 1.4 * budget}), [])
        self.assertRegex(test_budgets.overruns({"integration/go_test.py": budget,
                                                "interpreters/go/tests/a_test": budget})[0],
                         "^over budget: go took")

    def test_each_test_is_in_a_part_of_the_long_tier(self):
        tests = test_programs.find_scripts()
        parts = long_parts.tests_of_parts(tests)
        for test in tests:
            self.assertIn(test.name, {one.name for part in parts.values() for one in part})
        for name, part in parts.items():
            self.assertTrue(part or name in ("units", "stackdeltas"), name + " has no test")

    def test_a_changed_file_makes_another_tree(self):
        tree = long_parts.tree_hash()
        self.assertEqual(tree, long_parts.tree_hash())
        self.assertRegex(tree, "^[0-9a-f]{40}$")


if __name__ == "__main__":
    tap_unittest.main()
