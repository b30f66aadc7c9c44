# SPDX-License-Identifier: Apache-2.0
"""Asks a server the same things again and again, from several threads, over connections that stay.

usage: client.py HOST:PORT THREADS PATH...     a PATH may be POST:PATH:BODY
"""
import http.client
import itertools
import sys
import threading


def ask_for_ever(server, paths):
    """One thread's work. What the server answers is its own business, but it must answer."""
    connection = http.client.HTTPConnection(server, timeout=60)
    for path in itertools.cycle(paths):
        body = None
        if path.startswith("POST:"):
            _, path, body = path.split(":", 2)
        connection.request("POST" if body else "GET", path, body)
        answer = connection.getresponse()
        answer.read()
        if answer.status >= 500:
            raise RuntimeError("%s: %d" % (path, answer.status))


for _ in range(int(sys.argv[2])):
    threading.Thread(target=ask_for_ever, args=(sys.argv[1], sys.argv[3:])).start()
print("ready", flush=True)
