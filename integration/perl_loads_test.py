#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# alone: it loads the machine
# long
# time limit: 7200 s
"""Real loads in Perl: a Mojolicious application under its own servers and under starman, perltidy, and ack. Their stacks are
complete, with a name for every frame of Perl.

usage: perl_loads_test.py [PERL...] [static] [library] [LOAD...]
"""
import contextlib
import os
import re
import signal
import socket
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
import perls
from attached_samples import Process, sample_attached
from harness import HANG_SECONDS, Program, StackEnds, Tap, children_of, free_port, need_root
from judge import FLAGGED
from load_stacks import LoadStacks
from sampled import signal_all

LOADS = os.path.join(perls.TARGETS, "loads")
SECONDS = 30
SAMPLES = 5000
WARM_SECONDS = 3
COMPLETE_PERCENT = 99.5
COMPLETE_FAULT = 0.1
# So many of the frames of Perl may be without a name.
NAMELESS_PERCENT = 0.1
# So many of the samples have frames of Perl: nearly all that a Perl does, it does for its program.
PERL_PERCENT = 99
NAMELESS = "[perl: no name]"
WORKERS = 2
# A worker that is stopped meanwhile is not replaced, and neither is one that has done much.
MANY = 1000000

# A frame of Perl has the file behind its name, or a package in it; a native one has neither.
_FRAME = re.compile(r"(?P<name>.+?) \((?P<file>.*?)(?::\d+)?\)(?:_\[[a-z~?]\])*|(?P<bare>\((?:eval|main|require)\)|[\w:']+::\w+)", re.S)


def frame_of(text):
    """(name, file) of a frame of Perl; None for another one."""
    match = _FRAME.fullmatch(text)
    return (match["name"] or match["bare"], match["file"] or "") if match else None


def wait_answering(port):
    """Waits until a server listens at @port."""
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise RuntimeError("no server listens at port %d" % port)


@contextlib.contextmanager
def served(command, port, has_workers):
    """The processes of a server under load: the program itself, or its workers, of which the one that has started them does
    not answer. The client is no part of them.
    """
    with Program(*command, ready=False) as server:
        workers = []
        try:
            wait_answering(port)
            workers = children_of(server.pid) if has_workers else []
            if has_workers and len(workers) != WORKERS:
                raise RuntimeError("the server has %d workers" % len(workers))
            with Program(sys.executable, os.path.join(LOADS, "client.py"), port) as client:
                yield list(map(Process, workers)) or [server]
                if client.process.poll() is not None:
                    raise RuntimeError("the client has ended: the server did not answer as it should")
        finally:
            # They go on without the one that has started them.
            server.process.kill()
            signal_all(workers, signal.SIGKILL)


@contextlib.contextmanager
def started_daemon(perl, mode):
    port = free_port()
    command = perl.mode_command(mode, os.path.join(LOADS, "app.pl"), "daemon", "-m", "production", "-l", "http://127.0.0.1:%d" % port)
    with served(command, port, False) as processes:
        yield processes


@contextlib.contextmanager
def started_prefork(perl, mode):
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        command = perl.mode_command(
            mode, os.path.join(LOADS, "app.pl"), "prefork", "-m", "production", "-l", "http://127.0.0.1:%d" % port, "-w", WORKERS,
            "-a", MANY, "-H", MANY, "-P", directory + "/pid")
        with served(command, port, True) as processes:
            yield processes


@contextlib.contextmanager
def started_starman(perl, mode):
    port = free_port()
    command = perl.mode_command(
        mode, "/usr/bin/starman", "--listen", "127.0.0.1:%d" % port, "--workers", WORKERS, "--max-requests", MANY, "-E", "production",
        os.path.join(LOADS, "app.pl"))
    with served(command, port, True) as processes:
        yield processes


def started_script(name):
    @contextlib.contextmanager
    def started(perl, mode):
        with Program(*perl.mode_command(mode, os.path.join(LOADS, name + ".pl"))) as program:
            yield [program]
    return started


STARTED = {"daemon": started_daemon, "prefork": started_prefork, "starman": started_starman,
           "tidy": started_script("tidy"), "search": started_script("search")}


def test_load(tap, run, perl, mode, load):
    name = "%s in %s %s" % (load, perl, mode)
    with STARTED[load](perl, mode) as processes:
        time.sleep(WARM_SECONDS)
        result = sample_attached(processes, SECONDS, "-with-lines")
    stacks = LoadStacks(result.stacks, StackEnds(perl.directories), frame_of, NAMELESS)
    # Servers have exceptions, and scripts nearly none.
    stacks.check_complete(tap, run, name, result.times, SAMPLES, COMPLETE_PERCENT, COMPLETE_FAULT, kind="%s, %s" % (FLAGGED, load))
    stacks.check_names(tap, name, NAMELESS_PERCENT, PERL_PERCENT)
    tap.note("%s: %s" % (name, stacks))


def main():
    tap = Tap()
    need_root(tap, "loads in Perl")
    chosen = perls.LOADS_FINDER.chosen([word for word in sys.argv[1:] if word not in STARTED], True)
    if not chosen.every:
        tap.skip("loads in Perl", "no Perl with them is at hand: scripts/fetch_perls.py")
    run = bad_events.Run("perl_loads_test")
    for perl in chosen.runtimes or chosen.every.values():
        for mode in chosen.modes or perls.MODES:
            for load in [load for load in STARTED if load in sys.argv[1:]] or STARTED:
                test_load(tap, run, perl, mode, load)
    run.finish(tap)
    tap.finish()


if __name__ == "__main__":
    main()
