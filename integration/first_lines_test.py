#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 900 s
"""Functions of Perl and Java have their first lines in pprof and OTLP: the lines of their first statements, as the source and
javap have them. Prints TAP.
"""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import javas
import perls
from attached_samples import sample_attached
from harness import IS_LONG, Program, Tap, need_root
from otlp_resolved import resolved_lines
from pprof_reader import Profile
from runtimes import newest_or_all

SECONDS_MAX, CPU_SECONDS, READY_SECONDS = 120, 1, 60
PERL_TARGET = os.path.join(perls.TARGETS, "chains.pl")
JAVA_TARGET = "Calls"
# In a location of OTLP as resolved_lines() has it: a function, its file, its first line, and a line.
_FUNCTION = re.compile(r"'([^']*)' '' '([^']*)' (\d+):\d+:\d+")
_METHOD = re.compile(r"^  (?:.* )?([\w.$<>]+|static \{\})(?:\(.*)?;\n    LineNumberTable:\n      line (\d+): 0$", re.M)


def first_lines(program):
    """{function: first lines} by pprof and by OTLP, of a run of @program."""
    with tempfile.TemporaryDirectory(prefix="allframes-first-lines-") as directory:
        pprof, otlp = os.path.join(directory, "run.pb.gz"), os.path.join(directory, "run.otlp")
        sample_attached([program], SECONDS_MAX, "-output", pprof, "-output", otlp, cpu_seconds=CPU_SECONDS)
        by_pprof = {}
        for name, line in Profile(pprof).functions:
            by_pprof.setdefault(name, set()).add(line)
        with open(otlp, "rb") as file:
            text = "\n".join(resolved_lines(file.read()))
    by_otlp = {}
    for name, _, line in _FUNCTION.findall(text):
        by_otlp.setdefault(name, set()).add(int(line))
    return by_pprof, by_otlp


def judge(tap, name, program, wanted, least):
    """Each of the functions that were seen has first lines of @wanted, {function: lines}."""
    by_pprof, by_otlp = first_lines(program)
    for form, found in ("pprof", by_pprof), ("OTLP", by_otlp):
        seen = {one: lines for one, lines in found.items() if one in wanted}
        wrong = {one: (lines, wanted[one]) for one, lines in seen.items() if not lines <= wanted[one]}
        tap.ok(len(seen) >= least and not wrong, "%s: first lines in %s" % (name, form), wrong, sorted(seen), sorted(found)[:40])


def perl_first_lines():
    """The lines of the first statements of the target's subs. Subs without a name have none; that of work() is not compiled."""
    with open(PERL_TARGET, encoding="utf-8") as file:
        text = file.read()
    wanted = {"Chains::__ANON__": {0}}
    for match in re.finditer(r"^sub (\w+) \{\n(?:\s*(?:#.*|\{)?\n)*", text, re.M):
        if match[1] != "work":
            wanted["Chains::" + match[1]] = {text.count("\n", 0, match.end()) + 1}
    return wanted


def java_first_lines():
    """The lines of the first bytecodes of the target's methods, those of one name together."""
    wanted = {}
    for method, line in javas.disassembled(JAVA_TARGET, "-l", _METHOD):
        wanted.setdefault(method, set()).add(int(line))
    return wanted


def main():
    tap = Tap()
    need_root(tap, "first lines of functions")
    every = perls.chosen([], IS_LONG).every
    if not every:
        tap.skip("first lines in Perl", "no Perl is at hand: scripts/fetch_perls.py")
    for perl in newest_or_all(every.values(), IS_LONG):
        with Program(*perl.command(PERL_TARGET)) as program:
            judge(tap, str(perl), program, perl_first_lines(), 8)
    every, _ = javas.chosen([], IS_LONG)
    if not javas.of_machine():
        tap.skip("first lines in Java", "there is no JDK on this machine")
        tap.finish()
    javas.build()
    target = javas.find_targets([JAVA_TARGET])[JAVA_TARGET]
    for java in newest_or_all(every.values(), IS_LONG):
        with Program(*java.target(target, "plain"), seconds=READY_SECONDS) as program:
            judge(tap, str(java), program, java_first_lines(), 3)
    tap.finish()


if __name__ == "__main__":
    main()
