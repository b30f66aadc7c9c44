# SPDX-License-Identifier: Apache-2.0
"""Holds one thread of another process up, as something that hangs in the kernel would, and copies perf events out of a
process: both by system calls that Python has no names for.
"""
import contextlib
import ctypes
import os
import struct

_PTRACE_DETACH = 17
_PTRACE_SEIZE = 0x4206
_PTRACE_INTERRUPT = 0x4207
_WAIT_ALL = 0x40000000
_SYS_PIDFD_GETFD = 438

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request, tid):
    if _libc.ptrace(request, tid, None, None) < 0:
        raise OSError(ctypes.get_errno(), "ptrace %#x of thread %d" % (request, tid))


def thread_ids(pid, name):
    """The threads of process @pid that have this name."""
    found = []
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/comm" % (pid, tid), encoding="ascii", errors="replace") as file:
                if file.read().strip() == name:
                    found.append(int(tid))
        # It has ended, before its file was opened or before it was read.
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


@contextlib.contextmanager
def held(pid, name):
    """The one thread of process @pid that has this name does nothing until the context is left."""
    [tid] = thread_ids(pid, name)
    _ptrace(_PTRACE_SEIZE, tid)
    try:
        _ptrace(_PTRACE_INTERRUPT, tid)
        os.waitpid(tid, _WAIT_ALL)
        yield
    finally:
        try:
            _ptrace(_PTRACE_DETACH, tid)
        except ProcessLookupError:
            # It was killed meanwhile.
            pass


def _is_perf_event(pid, name):
    try:
        return os.readlink("/proc/%d/fd/%s" % (pid, name)) == "anon_inode:[perf_event]"
    except FileNotFoundError:
        # A file that is closed by now.
        return False


class PerfEvents:
    """The perf events of process @pid that count time, as descriptors of our own: they can be read when the process
    has closed its own, and still have what they counted. Used as a context.
    """

    def __init__(self, pid):
        self._fds = []
        process = os.pidfd_open(pid)
        try:
            for name in os.listdir("/proc/%d/fd" % pid):
                if _is_perf_event(pid, name):
                    fd = _libc.syscall(_SYS_PIDFD_GETFD, process, int(name), 0)
                    if fd < 0:
                        raise OSError(ctypes.get_errno(), "pidfd_getfd of a perf event")
                    self._fds.append(fd)
        finally:
            os.close(process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for fd in self._fds:
            os.close(fd)
        self._fds = []

    def counts(self):
        """Of each event that has counted: ns. Those that only bring news count nothing."""
        counts = [struct.unpack("QQ", os.read(fd, 16))[0] for fd in self._fds]
        return [count for count in counts if count]
