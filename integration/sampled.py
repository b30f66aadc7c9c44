# SPDX-License-Identifier: Apache-2.0
"""Samples programs until each had some CPU time, so that the number of samples does not depend on what
else the machine does.
"""
import contextlib
import os
import signal
import threading
import time

from harness import Agent, FinishedResult, cpu_seconds

# A program that has not had its CPU time by then hangs.
WAIT_SECONDS = 300
# Programs that are paced run for RUN_SECONDS of each PERIOD_SECONDS.
PERIOD_SECONDS, RUN_SECONDS = 0.1, 0.02


def _wait_cpu(pids, seconds, limit_seconds, then):
    """Waits until each process of @pids has used @seconds more of CPU time, or has ended, for
    @limit_seconds at most; calls @then with each of them when it has. Returns those that have not.
    """
    wanted = {pid: cpu_seconds(pid) + seconds for pid in pids}
    end = time.monotonic() + limit_seconds
    while wanted and time.monotonic() < end:
        time.sleep(0.05)
        for pid in [pid for pid in wanted if not is_alive(pid) or cpu_seconds(pid) >= wanted[pid]]:
            del wanted[pid]
            then(pid)
    return list(wanted)


def _need_none(hanging):
    if hanging:
        raise RuntimeError("no CPU time for one of the processes %s" % hanging)


def wait_cpu(pids, seconds):
    """Waits until each process of @pids has used @seconds more of CPU time, or has ended."""
    _need_none(_wait_cpu(pids, seconds, WAIT_SECONDS, lambda pid: None))


def run_at_most(pids, seconds, limit_seconds):
    """The stopped processes @pids go on, and each is stopped again when it has used @seconds of CPU time.
    Returns those that have not used it after @limit_seconds, and go on.
    """
    signal_all(pids, signal.SIGCONT)
    return _wait_cpu(pids, seconds, limit_seconds, lambda pid: signal_all([pid], signal.SIGSTOP))


def run_for(pids, seconds):
    """As run_at_most(), for processes that use so much some time."""
    _need_none(run_at_most(pids, seconds, WAIT_SECONDS))


@contextlib.contextmanager
def stopped(pids):
    """The processes are stopped, and go on when the context is left at the latest."""
    signal_all(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        signal_all(pids, signal.SIGCONT)


@contextlib.contextmanager
def paced(pids, period_seconds=PERIOD_SECONDS):
    """The processes run for a fifth of the time, or RUN_SECONDS of each @period_seconds, where a test needs some samples
    of them and takes long: the rest of the CPU is for others.
    """
    end = threading.Event()

    def run():
        while not end.wait(period_seconds - RUN_SECONDS):
            signal_all(pids, signal.SIGCONT)
            end.wait(RUN_SECONDS)
            signal_all(pids, signal.SIGSTOP)

    thread = threading.Thread(target=run)
    with stopped(pids):
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()


def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def is_alive(pid):
    return os.path.exists("/proc/%d" % pid)


def sample(pids, rate, seconds, **more):
    """The stacks of the processes @pids, of which each used @seconds of CPU time meanwhile."""
    return sample_run(pids, rate, seconds, **more).stacks


def sample_run(pids, rate, seconds, *options, is_paced=False, **more):
    """The agent's result of such a run. It must have started and ended well. The processes are stopped
    until the agent samples, so that it gets ready the sooner, and each one again when it has had its
    time, so that the others get theirs; or all are paced if @is_paced.
    """
    with stopped(pids), Agent("-samples-per-second", rate, "-pid", ",".join(map(str, pids)), *options,
                              **more) as agent:
        if not agent.wait_started(WAIT_SECONDS):
            raise RuntimeError("the agent did not start: " + agent.log_text())
        if is_paced:
            with paced(pids):
                wait_cpu(pids, seconds)
        else:
            run_for(pids, seconds)
        result = agent.stop(seconds=WAIT_SECONDS)
        if result.status != 0:
            raise RuntimeError("the agent failed: " + result.log)
        return FinishedResult(result, result.stacks) if os.path.exists(agent.folded_path) else result
