#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A collector that sends frames of HTTP/2 without end, as fast as it can, and answers no request. Run as a program
(`flooding_collector.py FRAME [deaf]`) it prints its address, and "request" when one has come: with `deaf` it reads
no more from then on. FloodingCollector runs it for tests.
"""
import os
import select
import socket
import struct
import sys

from harness import HANG_SECONDS, Program

HEADERS, SETTINGS, PING = 1, 4, 6
ACK = 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEADER_BYTES = 9
FRAMES_AT_ONCE = 16384
READ_BYTES = 1 << 18


def _frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


# The first two want an answer each; the last is one that nobody asked for, and takes nothing of the client's sending.
FLOODS = {
    "PING": _frame(PING, 0, 0, bytes(8)),
    "SETTINGS": _frame(SETTINGS, 0, 0, b""),
    "PING-answers": _frame(PING, ACK, 0, bytes(8)),
}


class FloodingCollector(Program):
    """A running flooding_collector.py. Used as a context."""

    def __init__(self, flood, *options):
        super().__init__(sys.executable, os.path.abspath(__file__), flood, *options, ready=False)
        self.address = self._read_line()

    def _read_line(self):
        if not select.select([self.process.stdout], [], [], HANG_SECONDS)[0]:
            raise RuntimeError("the flooding collector says nothing")
        return self.process.stdout.readline().decode().strip()

    def wait_request(self):
        """Waits until a request has come."""
        if self._read_line() != "request":
            raise RuntimeError("the flooding collector has ended")


def _wait_for_request(connection):
    """Reads up to the first frame of a request; True if one has come."""
    received = b""
    while len(received) < len(PREFACE):
        data = connection.recv(READ_BYTES)
        if not data:
            return False
        received += data
    received = received[len(PREFACE):]
    while True:
        if len(received) >= FRAME_HEADER_BYTES:
            length = int.from_bytes(received[:3], "big")
            if received[3] == HEADERS:
                return True
            if len(received) >= FRAME_HEADER_BYTES + length:
                received = received[FRAME_HEADER_BYTES + length:]
                continue
        data = connection.recv(READ_BYTES)
        if not data:
            return False
        received += data


def _flood(connection, frames, is_deaf):
    """Until the client ends the connection."""
    left = memoryview(frames)
    while True:
        readable, writable, _ = select.select([] if is_deaf else [connection], [connection], [])
        if readable and not connection.recv(READ_BYTES):
            return
        if writable:
            left = left[connection.send(left):] or memoryview(frames)


def main():
    frames = FLOODS[sys.argv[1]] * FRAMES_AT_ONCE
    is_deaf = "deaf" in sys.argv[2:]
    listener = socket.create_server(("127.0.0.1", 0))
    print("%s:%d" % listener.getsockname()[:2], flush=True)
    while True:
        connection, _ = listener.accept()
        with connection:
            try:
                connection.sendall(_frame(SETTINGS, 0, 0, b""))
                if _wait_for_request(connection):
                    print("request", flush=True)
                    connection.setblocking(False)
                    _flood(connection, frames, is_deaf)
            except OSError:
                # The client has ended it.
                continue


if __name__ == "__main__":
    main()
