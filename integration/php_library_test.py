#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# time limit: 900 s
"""Every sample of a program with libphp has a stack that debug_backtrace() has seen: a small program that embeds it, and
Apache with its module. As php_stack_test.py, for the same target.

usage: php_library_test.py [PHP...] [MODE...]

A MODE is one of phps.LIBRARY_MODES.
"""
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import phps
from chain_samples import profile, profile_program
from harness import HANG_SECONDS, IS_LONG, OUTPUT, Program, Tap, free_port, need_root
from php_stack_test import TARGET, judge

SECONDS = 5 if IS_LONG else 0.75
SAMPLES_PER_SECOND = 4000
EMBED = os.path.join(phps.TARGETS, "embed.c")
APACHE_CONFIGURATION = os.path.join(phps.TARGETS, "apache.conf")
# Apache runs code of PHP for a limited time otherwise.
# Apache serves as another user, and this folder may be in one that only root can enter.
KEEPING_RIGHTS = ["setpriv", "--securebits=+no_setuid_fixup"]
SETTINGS = ["max_execution_time=0", "register_argc_argv=1", "implicit_flush=1", "display_errors=0"]


def build_embed(php):
    """The program that embeds it. It runs in the root file system."""
    os.makedirs(OUTPUT, exist_ok=True)
    path = os.path.join(OUTPUT, "embed-" + php.name)
    # With an address that is fixed, it gets copies of the variables that it uses, in all versions of the compiler.
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-fno-pie", "-no-pie", "-o", path, EMBED, "-L%s/usr/lib" % php.root,
                    "-l:libphp.so", "-Wl,--allow-shlib-undefined"], check=True)
    return path


def check_embed(tap, php, name):
    program = build_embed(php)
    php.shared = [phps.TARGETS, OUTPUT]
    output = subprocess.run(php.in_root(program, TARGET, "reference"), check=True, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, timeout=HANG_SECONDS).stdout
    judge(tap, name, profile(php.in_root(program, TARGET, "run"), SECONDS, SAMPLES_PER_SECOND), output, False)


def configure(directory, php, mode, port):
    with open(APACHE_CONFIGURATION, encoding="utf-8") as file:
        text = file.read()
    for word, value in (("DIRECTORY", directory), ("PORT", port), ("TARGETS", phps.TARGETS),
                        ("NAME", "php7" if php.version < (8, 0) else "php"), ("MODULE", "lib%s.so" % php.program)):
        text = text.replace("@%s@" % word, str(value))
    with open(os.path.join(directory, "apache.conf"), "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(directory, "php.ini"), "w", encoding="utf-8") as file:
        file.write("\n".join(php.settings(mode, *SETTINGS)) + "\n")


@contextlib.contextmanager
def apache(php, mode):
    """Apache with the module: the program and its port."""
    # In the root file systems, too, there is this folder.
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        port = free_port()
        os.chmod(directory, 0o777)
        configure(directory, php, mode, port)
        command = php.in_root("/usr/sbin/apache2", "-X", "-f", directory + "/apache.conf")
        with Program(*KEEPING_RIGHTS, "env", "PHP_INI_SCAN_DIR=", *command, ready=False) as program:
            yield program, port


@contextlib.contextmanager
def request(program, port, argument):
    """A connection on which the target has been requested, as a file."""
    end = time.monotonic() + HANG_SECONDS
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=HANG_SECONDS)
            break
        except ConnectionRefusedError:
            if time.monotonic() > end or program.process.poll() is not None:
                raise
            time.sleep(0.05)
    with connection, connection.makefile("rwb") as file:
        file.write(b"GET /%s?%s+%s HTTP/1.0\r\n\r\n" % (os.path.basename(TARGET).encode(), b"chains", argument.encode()))
        file.flush()
        yield file


def check_apache(tap, php, mode, name):
    with apache(php, mode) as (program, port):
        with request(program, port, "reference") as file:
            output = file.read().decode().partition("\r\n\r\n")[2]
        with request(program, port, "run") as file:
            tap.ok(b"ready\n" in iter(file.readline, b""), name + "Apache runs the target")
            result = profile_program(program, SECONDS, SAMPLES_PER_SECOND)
    judge(tap, name, result, output, mode in phps.JIT_MODES)


def main():
    tap = Tap()
    need_root(tap, "libphp")
    chosen = phps.LIBRARY_FINDER.chosen(sys.argv[1:], IS_LONG)
    if not chosen.every:
        tap.skip("libphp", "no libphp is at hand: scripts/fetch_phps.py")
    for php in chosen.runtimes or chosen.every.values():
        for mode in chosen.modes or (phps.LIBRARY_MODES if IS_LONG else phps.SHORT_LIBRARY_MODES):
            name = "%s %s: " % (php, mode)
            if mode == "embed" and php.version >= phps.EMBED_VERSION:
                check_embed(tap, php, name)
            elif mode != "embed" and phps.LIBRARY_MODES[mode] in php.modes:
                check_apache(tap, php, phps.LIBRARY_MODES[mode], name)
    tap.finish()


if __name__ == "__main__":
    main()
