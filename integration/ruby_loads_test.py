#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# alone: it loads the machine
# time limit: 1800 s
"""Real loads in Ruby: a Sinatra application on puma, which answers with JSON and with pages of ERB templates to a client that asks
all the time. `threads` is puma's single mode, of which the one process is sampled; `workers` are processes that puma has
forked from one that has loaded the application, of which the workers are sampled. Their stacks are complete, with a name for
every frame of Ruby; those frames begin with puma's own, and native frames stand between them where they belong.

usage: ruby_loads_test.py [RUBY|LOAD...]
"""
import collections
import contextlib
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bad_events
import rubies
from attached_samples import Process, sample_attached
from harness import Program, StackEnds, Tap, children_of, free_port, need_root
from load_stacks import LoadStacks
from ruby_stack_test import NAMELESS, Frame, wrong_natives
from sampled import signal_all

TARGETS = os.path.join(rubies.TARGETS, "loads")
# The loads, each with its number of workers.
LOADS = {"threads": 0, "workers": 2}
SECONDS = 30
SAMPLES = 5000
READY_SECONDS = 120
# Most of what is made once is there then.
WARM_SECONDS = 5
COMPLETE_PERCENT = 99.5
COMPLETE_FAULT = 0.005
# So many of the frames of Ruby may be without a name.
NAMELESS_PERCENT = 0.1
# So many of the samples have frames of Ruby; others are of threads that begin, or do not have the lock.
RUBY_PERCENT = 90
SHOWN = 3

_FRAME = re.compile(r"(?P<name>.*) \((?P<file>/[^()]*?|<[^()]*>|\(eval[^()]*\))(?::\d+)?\)(?:_\[~\])?", re.S)


def parse_frame(text):
    """The Frame that @text is, with the file of any ending; None for a native one."""
    match = _FRAME.fullmatch(text)
    return Frame(match["name"], match["file"], 0) if match else None


def frame_of(text):
    frame = parse_frame(text)
    return frame and frame[:2]


def judge_frames(stacks):
    """Counters by text: misplaced native frames; the first frames of Ruby that are not puma's."""
    misplaced, first = collections.Counter(), collections.Counter()
    for stack, count in stacks.items():
        why = wrong_natives(stack.user_frames, {}, parse_frame)
        # Where an error says so, frames are missing.
        if why and not stack.errors:
            misplaced["%s: %s" % (why, ";".join(stack.user_frames))] += count
        frames = list(filter(None, map(parse_frame, stack.user_frames)))
        if frames and "/puma" not in frames[0].file:
            first["%s (%s)" % frames[0][:2]] += count
    return misplaced, first


@contextlib.contextmanager
def serve(ruby, count):
    """A server under load, in puma's single mode if @count is 0, else with so many workers. The processes that answer."""
    port = str(free_port())
    # The folder of the test is not there in the root.
    settings = {"LOAD_PORT": port, "LOAD_WORKERS": str(count), "PWD": "/"}
    with Program(*ruby.command("-W0", "/usr/bin/puma", "-C", TARGETS + "/puma.rb", TARGETS + "/config.ru"), ready=False,
                 env={**os.environ, **settings}) as server:
        try:
            with Program(sys.executable, TARGETS + "/ask.py", port, seconds=READY_SECONDS) as client:
                end = time.monotonic() + READY_SECONDS
                while len(children_of(server.pid)) < count and time.monotonic() < end:
                    time.sleep(0.1)
                time.sleep(WARM_SECONDS)
                yield list(map(Process, children_of(server.pid))) if count else [server]
                if client.process.poll() is not None:
                    raise RuntimeError("the client has ended: an answer was not the right one")
        finally:
            # A stopped worker does not see that the server is gone. While that is there it replaces workers.
            workers = children_of(server.pid) if count else []
            server.process.kill()
            signal_all(workers, signal.SIGKILL)


def test_load(tap, run, ruby, load):
    name = "%s in %s" % (load, ruby)
    with serve(ruby, LOADS[load]) as processes:
        result = sample_attached(processes, SECONDS, "-with-lines")
    stacks = LoadStacks(result.stacks, StackEnds(ruby.directories), frame_of, NAMELESS)
    stacks.check_complete(tap, run, name, result.times, SAMPLES, COMPLETE_PERCENT, COMPLETE_FAULT)
    stacks.check_names(tap, name, NAMELESS_PERCENT, RUBY_PERCENT)
    misplaced, first = judge_frames(result.stacks)
    tap.never(misplaced, name + ": native frames stand where they belong", *[
        "%d %s" % (count, text) for text, count in misplaced.most_common(SHOWN)])
    tap.ok(first.total() <= (1 - COMPLETE_PERCENT / 100) * stacks.total, name + ": the frames of Ruby begin with puma's", *[
        "%d %s" % (count, text) for text, count in first.most_common(SHOWN)])
    tap.note("%s: %s" % (name, stacks))


def main():
    tap = Tap()
    need_root(tap, "loads in Ruby")
    chosen = rubies.LOADS_FINDER.chosen([word for word in sys.argv[1:] if word not in LOADS], True)
    if not chosen.every:
        tap.skip("loads in Ruby", "no packages are at hand: scripts/fetch_rubies.py %s" % " ".join(rubies.fetch_rubies.LOAD_ROOTS))
    run = bad_events.Run("ruby_loads_test")
    for ruby in chosen.runtimes or chosen.every.values():
        for load in [name for name in LOADS if name in sys.argv[1:]] or LOADS:
            test_load(tap, run, ruby, load)
    run.finish(tap)
    tap.finish()


if __name__ == "__main__":
    main()
