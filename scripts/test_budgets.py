# SPDX-License-Identifier: Apache-2.0
"""How long the tests of each folder may take together, and which take longer.

The seconds are those of the short tier on two CPUs with nothing else to do, added up over tests that
run side by side. The tests of a language, wherever they are, are one row.
"""

# A test belongs to the row with the longest beginning of its path.
BUDGET_SECONDS = {
    "lib": (30, ["lib/"]),
    "agent": (60, ["agent/"]),
    "ebpf": (40, ["ebpf/"]),
    "interpreters": (10, ["interpreters/"]),
    "reporter": (40, ["reporter/", "integration/collector", "integration/otlp", "integration/pprof",
                      "integration/receiver"]),
    "stackdeltas": (20, ["stackdeltas/"]),
    "symbols": (60, ["symbols/", "integration/symbolize", "integration/debuginfod",
                     "integration/vdso_names", "integration/jitdump"]),
    "viewer": (90, ["viewer/", "integration/viewer", "integration/open", "integration/receive_",
                    "integration/flame_page"]),
    "scripts": (150, ["scripts/", "docker/"]),
    "integration": (300, ["integration/"]),
    "terminal": (200, ["integration/command_test", "integration/terminal_test", "integration/dump_test"]),
    "go": (60, ["interpreters/go/", "integration/go_"]),
    "java": (60, ["interpreters/java/", "integration/java_", "agent/unwind/tests/java_",
                  "ebpf/host/tests/java_"]),
    "javascript": (60, ["interpreters/javascript/", "integration/javascript_"]),
    "perl": (60, ["interpreters/perl/", "integration/perl_"]),
    "php": (60, ["interpreters/php/", "integration/php_"]),
    "python": (60, ["interpreters/python/", "integration/python_", "integration/forged_python"]),
    "ruby": (120, ["interpreters/ruby/", "integration/ruby_"]),
}
# Rows that are over by more than this are printed.
TOLERANCE = 1.5


def row_of(name):
    """The row that the test @name belongs to; None if there is none."""
    found = [(len(prefix), row) for row, (_, prefixes) in BUDGET_SECONDS.items()
             for prefix in prefixes if name.startswith(prefix)]
    return max(found)[1] if found else None


def overruns(seconds_by_test):
    """A line for each row whose tests took more than the row has, by half."""
    taken = dict.fromkeys(BUDGET_SECONDS, 0.0)
    for name, seconds in seconds_by_test.items():
        row = row_of(name)
        # A fuzzer that was asked for by its name is of no row.
        if row:
            taken[row] += seconds
    return [f"over budget: {row} took {taken[row]:.0f} s, and has {budget} s"
            for row, (budget, _) in BUDGET_SECONDS.items() if taken[row] > TOLERANCE * budget]
