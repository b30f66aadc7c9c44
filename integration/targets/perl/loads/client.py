#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the server of app.pl, over and over and on several connections, and checks what it answers.

usage: client.py PORT
"""
import http.client
import json
import os
import sys
import threading
import time

CONNECTIONS = 6
SAID_AFTER = 50
ROWS = [{"id": number, "name": "row <%d>" % number, "tags": ["a%d" % (number % 7), "none", "b"], "price": number * 125}
        for number in range(80)]
# Path, body, what the answer has.
REQUESTS = [("/page/40?title=turn", None, b"<h1>turn</h1>"),
            ("/sum", json.dumps(ROWS).encode(), b'"largest":"b"'),
            ("/missing/nobody", None, b'{"missing":"nobody"}')]


def ask(connection, turn):
    path, body, wanted = REQUESTS[turn % len(REQUESTS)]
    connection.request("POST" if body else "GET", path, body, {"Content-Type": "application/json"} if body else {})
    answer = connection.getresponse().read()
    if wanted not in answer:
        print("not what was asked for: %r" % answer[:200], file=sys.stderr)
        os._exit(1)


def ask_on(port):
    """Asks on one connection, and on another one when the server has closed it."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    turn = 0
    while True:
        try:
            ask(connection, turn)
            turn += 1
            answered.release()
        except (OSError, http.client.HTTPException):
            # The server may have been stopped, or not have begun.
            connection.close()
            time.sleep(0.02)


answered = threading.Semaphore(0)
for _ in range(CONNECTIONS):
    threading.Thread(target=ask_on, args=[int(sys.argv[1])]).start()
for _ in range(SAID_AFTER):
    answered.acquire()
print("ready", flush=True)
