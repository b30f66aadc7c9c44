#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is made of the table of options for man(1) and for shells: bash completes options, their values, files and the command
behind `--`; zsh and fish take theirs; the manual page has every option and no warning of groff's. Prints TAP.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "integration"))
from harness import Tap

MANUAL = ROOT / "build" / "options_manual"
COMPLETION = ROOT / "build" / "options_completion"
MARKDOWN = ROOT / "build" / "options_markdown"


def made(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def option_names():
    return re.findall(r"^\| `-([a-z-]+)", made(MARKDOWN), re.M)


def complete(path, *words):
    """What bash completes, its words being @words."""
    script = """source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
_allframes
printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", path, "allframes", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, cwd=os.path.dirname(path))
    return done.stdout.split()


def check_bash(tap, directory, names):
    path = os.path.join(directory, "allframes.bash")
    pathlib.Path(path).write_text(made(COMPLETION, "bash"), encoding="utf-8")
    os.mkdir(os.path.join(directory, "folder"))
    tap.ok(set(complete(path, "-")) == {"--", *("-" + name for name in names)}, "bash completes every option",
           complete(path, "-"))
    for words, expected in ((["-sam"], ["-samples-per-second"]), (["-log-level", ""], ["error", "warn", "info", "debug"]),
                            (["-log-level", "=", "w"], ["warn"]), (["--log-level", "d"], ["debug"]),
                            (["-symbolize", "=", ], ["none", "symtab", "full"]),
                            (["-o", "fold"], ["folder"]), (["-o", "allframes.b"], ["allframes.bash"]),
                            (["-cache-dir", ""], ["folder"]), (["-duration", ""], []),
                            (["--", "allframes.no"], []), (["-F", "99", "--", "cat", "allf"], ["allframes.bash"])):
        found = complete(path, *words)
        tap.ok(found == expected, "bash completes %s" % " ".join(words), found)
    tap.ok("bash" in complete(path, "--", "bas"), "and a command", complete(path, "--", "bas"))


def check_others(tap, directory, names):
    for shell, options in (("zsh", ["-n"]), ("fish", ["--no-execute"])):
        text = made(COMPLETION, shell)
        path = os.path.join(directory, "allframes." + shell)
        pathlib.Path(path).write_text(text, encoding="utf-8")
        missing = [name for name in names if not re.search(r"[-o ]%s[ =\[]" % name, text)]
        tap.ok(not missing, "%s has every option" % shell, missing)
        if not shutil.which(shell):
            tap.skip("%s takes it" % shell, "there is no " + shell)
            continue
        done = subprocess.run([shell, *options, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        tap.ok(done.returncode == 0 and not done.stdout, "%s takes it" % shell, done.stdout)


def check_manual(tap, names):
    text = made(MANUAL)
    missing = [name for name in names if ".TP\n\\fB\\-%s\\fR" % name.replace("-", "\\-") not in text]
    tap.ok(not missing and text.count("\n.SH ") == 8 and "](" not in text, "the manual has every option, and no Markdown",
           missing)
    if not shutil.which("groff"):
        tap.skip("groff takes the manual", "there is no groff")
        return
    done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    tap.ok(done.returncode == 0 and not done.stdout, "groff takes the manual", done.stdout)


def main():
    tap = Tap()
    names = option_names()
    tap.ok(len(names) > 40, "there are options", names)
    with tempfile.TemporaryDirectory(prefix="allframes-completion-") as directory:
        check_bash(tap, directory, names)
        check_others(tap, directory, names)
    check_manual(tap, names)
    for tool in MANUAL, COMPLETION:
        status = subprocess.run([tool, "-x"], stderr=subprocess.DEVNULL, check=False).returncode
        tap.ok(status == 2, "%s refuses wrong arguments" % tool.name, status)
    tap.finish()


if __name__ == "__main__":
    main()
