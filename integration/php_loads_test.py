#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# alone: it loads the machine
# time limit: 3600 s
"""Real loads in PHP: php-fpm behind nginx, whose workers run DokuWiki for a client that reads, searches and writes pages, and
PHPUnit with tests of a parser. Their stacks are complete, with a name for every frame of PHP.

usage: php_loads_test.py [PHP|MODE|LOAD...]

A MODE is one of phps.MODES.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
import phps
from attached_samples import Process, sample_attached
from harness import HANG_SECONDS, Program, StackEnds, Tap, children_of, die_with_parent, free_port, need_root
from load_stacks import LoadStacks
from sampled import signal_all

LOADS = os.path.join(phps.TARGETS, "loads")
SECONDS = 30
SAMPLES = 2000
WORKERS = 2
# Most of what will be compiled is ready then.
WARM_SECONDS = 5
COMPLETE_PERCENT = 99.5
COMPLETE_FAULT = 0.1
# So many of the frames of PHP may be without a name.
NAMELESS_PERCENT = 0.1
# So many of the samples have frames of PHP; others are of the engine between two requests.
PHP_PERCENT = 90
NAMELESS = "[php: no name]"
EXTENSIONS = ["ctype", "dom", "iconv", "mbstring", "simplexml", "tokenizer", "xml", "xmlwriter"]
# The modes (phps.MODES) of each load.
MODES_OF_LOADS = {"wiki": ["opcache", "tracing", "function"], "phpunit": ["plain", "tracing"]}
_FRAME = re.compile(r"(?P<name>.+?) \((?P<file>/[^()]*(?:\(\d+\) : eval\(\)'d code)*|<internal>)(?::\d+)?\)(?:_\[~\])?")


def frame_of(text):
    """(function, file) of a frame of PHP; None for another one."""
    match = _FRAME.fullmatch(text)
    return (match["name"], match["file"]) if match else None


def settings():
    return ["memory_limit=1G", "display_errors=0", *("extension=" + name for name in EXTENSIONS)]


def name_of(pid):
    with open("/proc/%d/comm" % pid, encoding="utf-8", errors="replace") as file:
        return file.read()


class Server(Program):
    """php-fpm, which starts workers. They would survive it if it was killed, but it ends them when a signal ends it."""

    def __init__(self, *command):
        super().__init__(*command, ready=False, preexec_fn=lambda: die_with_parent(signal.SIGTERM))

    def workers(self):
        """The process ids of its workers, all of them."""
        end = time.monotonic() + HANG_SECONDS
        while time.monotonic() < end:
            pids = children_of(self.pid)
            # Before, the shell that enters the root has children.
            if name_of(self.pid).startswith("php-fpm") and len(pids) == WORKERS:
                return pids
            time.sleep(0.1)
        raise RuntimeError("php-fpm has not started its workers")

    def __exit__(self, *_):
        pids = self.workers() if self.process.poll() is None else []
        super().__exit__()
        signal_all(pids, signal.SIGKILL)


def configure(directory, php, port):
    """Writes the files of the servers and of the wiki to @directory."""
    for name in ("fpm.conf", "nginx.conf"):
        with open(os.path.join(LOADS, name), encoding="utf-8") as file:
            text = file.read()
        for word, value in (("DIRECTORY", directory), ("PORT", port), ("WORKERS", WORKERS)):
            text = text.replace("@%s@" % word, str(value))
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(text)
    os.mkdir(os.path.join(directory, "sessions"))
    os.mkdir(os.path.join(directory, "wiki"))
    shutil.copy(os.path.join(LOADS, "local.php"), os.path.join(directory, "wiki"))
    data = os.path.join(directory, "wiki", "data")
    shutil.copytree(php.root + "/var/lib/dokuwiki/data", data)
    # This page shows news of another site.
    with open(os.path.join(data, "pages", "wiki", "syntax.txt"), "r+", encoding="utf-8") as file:
        text = re.sub(r"^\{\{rss>.*\n", "", file.read(), flags=re.M)
        file.seek(0)
        file.truncate()
        file.write(text)


@contextlib.contextmanager
def wiki(php, mode):
    """DokuWiki while a client uses it: the workers."""
    # In the root file systems, too, there is this folder.
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        port = free_port()
        configure(directory, php, port)
        options = php.options(mode, "auto_prepend_file=" + os.path.join(LOADS, "prepend.php"),
                              "session.save_path=%s/sessions" % directory, *settings())
        with Server(*php.in_root("/usr/sbin/php-fpm%d.%d" % php.version, *options, "-R", "-y",
                                 directory + "/fpm.conf")) as server:
            pids = server.workers()
            with Program(*php.in_root("/usr/sbin/nginx", "-e", directory + "/nginx.log", "-c", directory + "/nginx.conf"),
                         ready=False), \
                    Program(sys.executable, os.path.join(LOADS, "client.py"), port) as client:
                yield list(map(Process, pids))
                if client.process.poll() is not None or server.workers() != pids:
                    raise RuntimeError("the client or a worker has ended")


@contextlib.contextmanager
def phpunit(php, mode):
    """PHPUnit while it tests: its process."""
    command = php.in_root("/usr/bin/" + php.program, *php.options(mode, *settings()), "/usr/bin/phpunit", "--stderr",
                          "--stop-on-error", "--stop-on-failure", os.path.join(LOADS, "PrinterTest.php"))
    with Program(*command, stderr=subprocess.DEVNULL) as program:
        yield [program]
        if program.process.poll() is not None:
            raise RuntimeError("PHPUnit has ended")


LOADS_BY_NAME = {"wiki": wiki, "phpunit": phpunit}


def test_load(tap, run, php, load, mode):
    name = "%s in %s, %s" % (load, php, mode)
    with LOADS_BY_NAME[load](php, mode) as programs:
        time.sleep(WARM_SECONDS)
        result = sample_attached(programs, SECONDS, "-with-lines")
    stacks = LoadStacks(result.stacks, StackEnds([*php.directories, php.root + "/usr/sbin"]), frame_of, NAMELESS)
    stacks.check_complete(tap, run, name, result.times, SAMPLES, COMPLETE_PERCENT, COMPLETE_FAULT)
    stacks.check_names(tap, name, NAMELESS_PERCENT, PHP_PERCENT)
    tap.note("%s: %s" % (name, stacks))


def main():
    tap = Tap()
    need_root(tap, "loads in PHP")
    chosen = phps.LOADS_FINDER.chosen(sys.argv[1:], True)
    if not chosen.every:
        tap.skip("loads in PHP", "no PHP with them is at hand: scripts/fetch_phps.py")
    run = bad_events.Run("php_loads_test")
    for php in chosen.runtimes or chosen.every.values():
        for load in [load for load in MODES_OF_LOADS if load in chosen.names] or MODES_OF_LOADS:
            for mode in chosen.modes or MODES_OF_LOADS[load]:
                test_load(tap, run, php, load, mode)
    run.finish(tap)
    tap.finish()


if __name__ == "__main__":
    main()
