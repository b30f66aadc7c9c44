# SPDX-License-Identifier: Apache-2.0
"""The client of the server: asks it over and over on a few connections that stay open, and says "ready" once it has had answers
of each kind on each of them. An answer that is not the one that was asked for ends it.

usage: ask.py PORT
"""
import asyncio
import json
import re
import sys

CONNECTIONS = 8
# Answers of one kind and connection until it is ready.
READY_ANSWERS = 5
# Limit of an answer.
ANSWER_BYTES = 1 << 20
ROWS = json.dumps([{"id": row, "name": "row <%d>" % row, "tags": ["a%d" % (row % 7), "none", "b"],
                    "price": row * 1.25 if row % 10 else "none"} for row in range(100)])


def request(line, body=""):
    return ("%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        line, len(body), body)).encode()


# The questions in turn, each with a part of its answer.
KINDS = [(request("POST /sum", ROWS), b'"priced":100'), (request("GET /page/60?title=a%20title"), b"<h1>a title</h1>"),
         (request("GET /pairs/40"), b'"row &lt;39&gt; ')]


async def connect(port):
    while True:
        try:
            return await asyncio.open_connection("127.0.0.1", port, limit=ANSWER_BYTES)
        except ConnectionRefusedError:
            # The server does not listen yet.
            await asyncio.sleep(0.1)


async def read_answer(reader, wanted):
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"^content-length: (\d+)\r$", head, re.M | re.I)
    body = await reader.readexactly(int(length[1]) if length else 0)
    if not head.startswith(b"HTTP/1.1 200 ") or wanted not in body:
        raise ValueError("not what was asked for: %r %r" % (head, body[:1000]))


async def ask(port, turn, when_ready):
    while True:
        reader, writer = await connect(port)
        try:
            while True:
                question, wanted = KINDS[turn % len(KINDS)]
                writer.write(question)
                await read_answer(reader, wanted)
                turn += 1
                when_ready()
        except (asyncio.IncompleteReadError, ConnectionError):
            # The server closes a connection on which nothing came for a while.
            writer.close()


async def main():
    left = CONNECTIONS * len(KINDS) * READY_ANSWERS

    def when_ready():
        nonlocal left
        left -= 1
        if not left:
            print("ready", flush=True)

    await asyncio.gather(*(ask(int(sys.argv[1]), turn, when_ready) for turn in range(CONNECTIONS)))


if __name__ == "__main__":
    asyncio.run(main())
