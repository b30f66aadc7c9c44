# SPDX-License-Identifier: Apache-2.0
"""Programs under qemu-user that stop where they are told to: a client of qemu's gdbstub, in the remote
serial protocol of gdb.
"""
import os
import re
import socket
import time

_SECONDS = 10
_TRAP = 5


class Failure(Exception):
    """The stub does not answer as it should."""


class Stub:
    """The stub of a program that was started with `-g PATH`, and waits for us."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._bytes = b""
        end = time.monotonic() + _SECONDS
        while self._socket.connect_ex(path):
            if time.monotonic() > end:
                raise Failure("no stub at " + path)
            time.sleep(0.01)
        os.unlink(path)
        self._ask("?")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _send(self, text):
        self._socket.sendall(b"$%s#%02x" % (text.encode(), sum(text.encode()) & 0xff))

    def _receive(self, seconds):
        """One packet; None if none comes in time or the program has ended."""
        end = time.monotonic() + seconds
        while True:
            found = re.search(rb"\$([^#]*)#..", self._bytes)
            if found:
                self._bytes = self._bytes[found.end():]
                self._socket.sendall(b"+")
                return found[1].decode()
            self._socket.settimeout(max(0.001, end - time.monotonic()))
            try:
                part = self._socket.recv(4096)
            except (TimeoutError, ConnectionResetError):
                return None
            if not part:
                return None
            self._bytes += part

    def _ask(self, text, seconds=_SECONDS):
        self._send(text)
        return self._receive(seconds)

    def stop_at(self, addresses):
        """Sets breakpoints."""
        for address in addresses:
            if self._ask("Z0,%x,4" % address) != "OK":
                raise Failure("no breakpoint at %#x" % address)

    def forget(self, addresses):
        """Takes breakpoints away."""
        for address in addresses:
            self._ask("z0,%x,4" % address)

    def go_on(self, seconds):
        """Lets the program run to a breakpoint: the tid that has met it; None if none was met in
        time. Signals reach it as ever.
        """
        end = time.monotonic() + seconds
        command = "c"
        while True:
            self._send(command)
            answer = self._receive(end - time.monotonic())
            found = re.match(r"T(\w\w)thread:(?:p\w+\.)?(\w+);", answer or "")
            if not found:
                return None
            if int(found[1], 16) == _TRAP:
                return int(found[2], 16)
            command = "C" + found[1]

    def kill(self, number):
        """Has the thread that was met last get the signal @number where it is, for good."""
        answer = self._ask("C%02x" % number)
        # Other threads that meet a breakpoint stay there.
        while answer and answer[0] == "T":
            answer = self._receive(_SECONDS)
