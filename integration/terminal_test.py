#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stands in a terminal of 80x24 and of 200x60: the report of a command, the live view with its keys, and the terminal as
it was, also after a kill -9. The sums of report, live view and folded file are those of one another.
"""
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time

import build_targets
from build_targets import TARGETS
from harness import AGENT, HANG_SECONDS, IS_LONG, Program, Tap, children_of, need_root, parse_folded
from sampled import paced, run_for, stopped
from tmux import Tmux, has_tmux

SIZES = (80, 24), (200, 60)
# Its functions, and the share of its samples that some one of them has.
TARGET = "calls"


def command(*arguments):
    return " ".join(map(shlex.quote, map(str, [AGENT, *arguments])))


def wait_until(condition):
    end = time.monotonic() + HANG_SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def too_wide(text, columns):
    return [line for line in text.splitlines() if len(line) > columns]


def numbers_of_functions(report):
    """{function: (samples of its own, file)} as the report lists them."""
    part = report.split("function, by self\n")[1].split("\n\n")[0]
    rows = re.findall(r"^ +[\d.]+% +[\d.]+% +(\d+)   (\S.*?)(?:  +(\S+))?$", part, re.M)
    return {name: int(count) for count, name, _ in rows}


def check_report(tap, columns, lines):
    """The report of a command on the terminal where it runs, and its folded file."""
    where = "%dx%d: " % (columns, lines)
    spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    with tempfile.TemporaryDirectory(prefix="allframes-terminal-") as directory:
        folded = os.path.join(directory, "stacks.folded")
        with Tmux(command("-report", "-o", folded, "--", "sh", "-c", spin), columns, lines) as terminal:
            status = terminal.wait_status()
            text = terminal.screen(with_history=True).rstrip("\n") + "\n"
            coloured = terminal.colours()
        with open(folded, encoding="utf-8", errors="surrogateescape") as file:
            stacks = parse_folded(file.read())
    total = sum(stacks.values())
    report = text[text.find("sh and what it starts: "):]
    tap.ok(status == 0 and report.startswith("sh and what it starts: %d sample" % total) and total,
           where + "the report of a command has all samples of the folded file", total, text)
    tap.ok(not too_wide(report, columns) and "heaviest calls" in report, where + "no line of it is too wide",
           *too_wide(report, columns))
    tap.ok("\x1b[" in coloured, where + "it has colours")
    own = {}
    for stack, count in stacks.items():
        own[stack.frames[-1]] = own.get(stack.frames[-1], 0) + count
    listed = {}
    for name, count in numbers_of_functions(report).items():
        matches = [full for full in own if full == name or name.endswith("..") and full.startswith(name[:-2])]
        listed[name] = (count, [own[full] for full in matches])
    tap.ok(listed and all(count in counts for count, counts in listed.values()),
           where + "its functions have the samples that the folded file has", listed)


def shares_of_functions(screen):
    """{function: (self, total)} in per cent, as the list of the live view has them."""
    rows = re.findall(r"^ *([\d.]+)% +([\d.]+)% +[\d.]+  (\S.*?)(?:  +\S+)?$", screen, re.M)
    return {name: (float(own), float(total)) for own, total, name in rows}


# The live view shows the samples of so many seconds; its first line has the time since the start, rounded.
WINDOW_SECONDS = 5
# A busy machine may need longer than that for a run.
TRIES = 10


def run_with_all(program, directory):
    """The screen of a live view, the report and the stacks of one run in which the program ran for some CPU time, and only while
    it was sampled; and whether the run was short enough for all samples to be within the time that is shown.
    """
    path = os.path.join(directory, "stacks.folded")
    with stopped([program.pid]), \
            Tmux(command("-top", "-report", "-F", 997, "-o", path, "-pid", program.pid), 200, 60) as terminal:
        terminal.wait_text(r"^\d\.\d\d of \d+ CPUs busy")
        run_for([program.pid], 0.3)
        # So much later the last samples are counted.
        time.sleep(1.5)
        terminal.type("Space", "f")
        terminal.wait_text("^functions by self")
        live = terminal.screen()
        shown = re.search(r" (\d+) s since the start  \[frozen\]", live)
        terminal.type("q")
        terminal.wait_status()
        report = terminal.screen(with_history=True)
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        stacks = parse_folded(file.read())
    return live, report, stacks, bool(shown) and int(shown[1]) < WINDOW_SECONDS


def check_sums(tap, program):
    """One run with a live view, a report and a folded file."""
    with tempfile.TemporaryDirectory(prefix="allframes-terminal-") as directory:
        for _ in range(TRIES):
            live, report, stacks, is_short = run_with_all(program, directory)
            if is_short:
                break
    whole, own, total = sum(stacks.values()), {}, {}
    for stack, count in stacks.items():
        own[stack.frames[-1]] = own.get(stack.frames[-1], 0) + count
        for frame in set(stack.frames):
            total[frame] = total.get(frame, 0) + count
    shares = shares_of_functions(live)
    # A tenth of a per cent, rounded.
    wrong = ["%s: %s and %s, of %d samples %d and %d" % (name, *shown, whole, own.get(name, 0), total.get(name, 0))
             for name, shown in shares.items()
             if not (abs(shown[0] - 100 * own.get(name, 0) / max(whole, 1)) < 0.051
                     and abs(shown[1] - 100 * total.get(name, 0) / max(whole, 1)) < 0.051)]
    tap.ok(is_short and whole > 150 and set(shares) == set(total) and not wrong,
           "the live view has the sums of the folded file of the run", *wrong, sorted(set(shares) ^ set(total)), live)
    listed = numbers_of_functions(report)
    tap.ok("the selected processes: %d samples" % whole in report and listed
           and all(own.get(name, 0) == count for name, count in listed.items()), "and the report has them, too", own, report)


def check_default(tap):
    """On a terminal a run that ends by itself is reported, and elsewhere it is not."""
    with Program(TARGETS[TARGET].path) as program, paced([program.pid]):
        with Tmux(command("-pid", program.pid, "-F", 997, "-duration", "2s"), 80, 24) as terminal:
            progress = terminal.wait_text(r"\d of 2 s, \d+ samples; Ctrl-C stops")
            status = terminal.wait_status()
            text = terminal.screen(with_history=True)
        tap.ok(status == 0 and "the selected processes: " in text and "%s (%d)" % (TARGET, program.pid) in text,
               "a run on a terminal is reported", text)
        tap.ok(progress and "Ctrl-C stops" not in text.split("the selected processes")[1],
               "its progress is shown meanwhile, and removed", text)
        plain = subprocess.run([AGENT, "-pid", str(program.pid), "-F", "997", "-duration", "1s", "-report"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        tap.ok(plain.returncode == 0 and "\x1b" not in plain.stdout and "heaviest calls" in plain.stdout
               and not too_wide(plain.stdout, 100), "elsewhere a report has 100 columns and no colours", plain)


def check_keys(tap, columns, lines, program):
    where = "%dx%d: " % (columns, lines)
    with Tmux(command("-top", "-pid", program.pid), columns, lines) as terminal:
        row = terminal.wait_text(r"^ +[01]\.\d+ +100\.0%% +%d  %s *$" % (program.pid, TARGET))
        screen = terminal.screen()
        tap.ok(row and terminal.pane("alternate_on") == "1", where + "the live view lists the process", screen)
        tap.ok(re.search(r"^\d\.\d\d of \d+ CPUs busy", screen) and "q quit" in screen.splitlines()[-1]
               and not too_wide(screen, columns), where + "between its head and the keys", screen)
        terminal.type("Enter")
        tap.ok(terminal.wait_text(r"^functions of process %d by self" % program.pid), where + "Enter chooses the process",
               terminal.screen())
        found = terminal.wait_text(r"^ *([\d.]+)%% +([\d.]+)%% +[\d.]+  (\w+) .*%s$" % TARGET)
        tap.ok(found and float(found[1]) <= float(found[2]) <= 100, where + "and lists its functions with their file",
               terminal.screen())
        terminal.type("s")
        tap.ok(terminal.wait_text("^functions of process %d by total" % program.pid), where + "s sorts by total",
               terminal.screen())
        terminal.type("/", "m", "a", "i", "n")
        tap.ok(terminal.wait_text(r"filter: main_$"), where + "/ begins a filter", terminal.screen())
        terminal.type("Enter")
        only = wait_until(lambda: all("main" in line for line in terminal.screen().splitlines()[3:-1] if line.strip()))
        tap.ok(only and terminal.wait_text(r"  main +%s" % TARGET), where + "which leaves what has it", terminal.screen())
        terminal.type("Escape")
        terminal.wait_text("by total *$")
        terminal.type("Tab")
        tap.ok(terminal.wait_text("^calls of process %d" % program.pid) and terminal.wait_text(r"^100\.0%% .*  main +%s$" % TARGET),
               where + "Tab shows the calls", terminal.screen())
        terminal.type("Space")
        frozen = terminal.wait_text(r"\[frozen\]")
        first = terminal.screen()
        time.sleep(2.5)
        tap.ok(frozen and terminal.screen().splitlines()[3:-1] == first.splitlines()[3:-1], where + "Space freezes it",
               first, terminal.screen())
        terminal.type("q")
        check_end(tap, terminal, where + "q ends the run", 0)


def is_usual(settings):
    return all(re.search(r"[^-]\b%s\b" % name, settings) for name in ("icanon", "echo", "isig"))


def check_end(tap, terminal, name, expected, is_crash=False):
    """The run has ended with the status, and the terminal is as it was: after a crash once the guard has run."""
    status = terminal.wait_status()
    if is_crash:
        wait_until(lambda: is_usual(terminal.settings()))
    settings = terminal.settings()
    usual = wait_until(lambda: terminal.pane("alternate_on") == "0" and terminal.pane("cursor_flag") == "1")
    tap.ok(status == expected and usual and is_usual(settings), name + ", with the terminal as it was", status, settings,
           terminal.screen())
    return status


def agent_of(terminal):
    """The pid of the agent, a child of the terminal's shell."""
    return children_of(int(terminal.pane("pane_pid")))[0]


def state_of(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0]


def check_resize(tap, program):
    with Tmux(command("-top", "-pid", program.pid), 80, 24) as terminal:
        terminal.wait_text(TARGET)
        terminal.resize(200, 60)
        larger = wait_until(lambda: len(terminal.screen().splitlines()) == 60 and "q quit" in terminal.screen().splitlines()[59])
        terminal.resize(60, 10)
        smaller = wait_until(lambda: len(terminal.screen().splitlines()) == 10 and "Tab list" in terminal.screen().splitlines()[9])
        tap.ok(larger and smaller and terminal.wait_text(TARGET), "the live view follows the size of the terminal", larger,
               smaller, terminal.screen())
        terminal.type("C-c")
        check_end(tap, terminal, "Ctrl-C ends it", 0)
        text = terminal.screen(with_history=True)
        tap.ok("info: sampling the selected processes" in text and re.search(r"samples \(\d+ % busy\)", text),
               "the log comes when the screen is given back", text)


def check_crash(tap, program):
    for number in (signal.SIGKILL, signal.SIGSEGV)[:1 + IS_LONG]:
        with Tmux(command("-top", "-pid", program.pid), 80, 24) as terminal:
            started = terminal.wait_text(TARGET)
            os.kill(agent_of(terminal), number)
            check_end(tap, terminal, "after %s it ends" % number.name, 128 + number if started else None, is_crash=True)


def check_stop(tap, program):
    with Tmux(command("-top", "-pid", program.pid), 80, 24) as terminal:
        terminal.wait_text(TARGET)
        pid = agent_of(terminal)
        terminal.type("C-z")
        stopped = wait_until(lambda: state_of(pid) == "T") and wait_until(lambda: terminal.pane("alternate_on") == "0")
        os.kill(pid, signal.SIGCONT)
        again = wait_until(lambda: terminal.pane("alternate_on") == "1")
        tap.ok(stopped and again and terminal.wait_text(TARGET), "Ctrl-Z gives the terminal back until it goes on",
               stopped, again, terminal.screen())
        terminal.type("q")
        check_end(tap, terminal, "and then it ends", 0)


def check_refusals(tap):
    for arguments, words in ((["-top"], "-top needs a terminal"), (["-top", "--", "true"], "leave out -top")):
        done = subprocess.run([AGENT, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        tap.ok(done.returncode == 2 and words in done.stderr, "%s is refused here" % " ".join(arguments), done)


def main():
    tap = Tap()
    need_root(tap, "the terminal")
    if not has_tmux() or not build_targets.build([TARGET]):
        tap.skip("the terminal", "tmux or a compiler is missing")
        tap.finish()
    check_refusals(tap)
    for columns, lines in SIZES:
        check_report(tap, columns, lines)
    check_default(tap)
    with Program(TARGETS[TARGET].path) as program:
        with paced([program.pid]):
            for columns, lines in SIZES[:1 + IS_LONG]:
                check_keys(tap, columns, lines, program)
        check_sums(tap, program)
        with paced([program.pid]):
            check_resize(tap, program)
            check_crash(tap, program)
            check_stop(tap, program)
    tap.finish()


if __name__ == "__main__":
    main()
