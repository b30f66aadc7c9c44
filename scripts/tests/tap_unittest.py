# SPDX-License-Identifier: Apache-2.0
"""Tests of the unittest module, told as TAP."""

import itertools
import sys
import unittest


class Result(unittest.TestResult):
    """Prints each result as it comes."""

    def __init__(self):
        super().__init__()
        self._numbers = itertools.count(1)

    def _say(self, word, test, text=""):
        print(f"{word} {next(self._numbers)} - {test.id().rsplit('.', 1)[-1]}")
        for line in text.splitlines():
            print(f"# {line}")

    def addSuccess(self, test):
        super().addSuccess(test)
        self._say("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._say("not ok", test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._say("not ok", test, self.errors[-1][1])


def main():
    """Runs the tests of the script that was started, and ends it."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    print(f"1..{suite.countTestCases()}")
    result = Result()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)
