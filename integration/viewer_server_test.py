#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for clients that do not read
"""The server of the viewer's page on the live agent: what it serves, whom it refuses, and what clients
that mean no good can do to it. Prints TAP.
"""
import contextlib
import gzip
import http.client
import json
import os
import re
import signal
import socket
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import HANG_SECONDS, STOP_SECONDS, Agent, Tap, need_root, rss_anon_bytes, run_agent
from viewer_pages import wait_for_file

ADDRESS = re.compile(r" to http://(\S+:\d+);")
DEFAULT_PORT = 7171
IDLE_CONNECTIONS = 1000
MAX_RSS_ANON = 150 << 20
MAX_GROWTH = 40 << 20
# A profile of which each answer and export is 8 MB: more than sockets hold.
LARGE_STACKS = 300
LARGE_FRAMES = 30
LARGE_NAME = "x" * 900
# Clients that ask and do not read: their answers would take 240 MB.
UNREAD_CONNECTIONS = 30
MAX_UNREAD_GROWTH = 64 << 20
TOKEN = "correct-horse-battery-staple"


class Server:
    """The server at @netloc, asked one request at a time."""

    def __init__(self, netloc):
        host, _, port = netloc.rpartition(":")
        self.host = host.strip("[]")
        self.port = int(port)
        self.netloc = netloc

    def ask(self, path, method="GET", **headers):
        """(status, headers, body) of one request of its own connection."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=HANG_SECONDS)
        try:
            connection.putrequest(method, path, skip_host="Host" in headers,
                                  skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def status(self, path, method="GET", **headers):
        return self.ask(path, method, **headers)[0]

    def get(self, path):
        return json.loads(self.ask("/api/" + path)[2])

    def send(self, request):
        """What comes back for the bytes of @request; b"" if nothing does."""
        with socket.create_connection((self.host, self.port), timeout=HANG_SECONDS) as connection:
            answer = b""
            # It may hang up before all is sent.
            with contextlib.suppress(OSError):
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError):
                while chunk := connection.recv(65536):
                    answer += chunk
        return answer


@contextlib.contextmanager
def serving(tap, *options):
    """An agent with a page, which profiles this test: what others do would cost it more than the requests."""
    with Agent("-samples-per-second", "49", "-pid", os.getpid(), *options, outputs=[]) as agent:
        if not tap.ok(agent.wait_started() and ADDRESS.search(agent.log_text()),
                      "the agent says its page's address: %s" % " ".join(options),
                      agent.log_text()):
            tap.finish()
        yield agent, Server(ADDRESS.search(agent.log_text())[1])


def check_page(tap, server):
    status, headers, body = server.ask("/")
    policy = headers.get("Content-Security-Policy", "")
    tap.ok(status == 200 and b"<div id=\"app\">" in body, "the page is served", status, body[:200])
    tap.ok("default-src 'none'" in policy and "script-src 'self'" in policy
           and "frame-ancestors 'none'" in policy and "unsafe" not in policy
           and headers["X-Content-Type-Options"] == "nosniff", "with a strict policy", policy)
    for path, content_type in (("/app.js", "text/javascript"), ("/app.css", "text/css"),
                               ("/favicon.svg", "image/svg+xml")):
        status, headers, body = server.ask(path)
        again = server.status(path, If_None_Match=headers.get("ETag", ""))
        packed = server.ask(path, Accept_Encoding="gzip")[2]
        head = server.ask(path, "HEAD")
        tap.ok(status == 200 and headers["Content-Type"].startswith(content_type) and body,
               path + " is served", status, headers)
        tap.ok(again == 304 and head[0] == 200 and not head[2]
               and body == (gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed),
               path + " as asked: unchanged, its head, compressed", again, head)


def check_answers(tap, server):
    status = server.get("status")
    tap.ok(status["is_live"] and status["host"] == socket.gethostname()
           and not status["token_needed"], "the status says what this is", status)
    deadline = time.monotonic() + 20
    while not server.get("flame")["total"] and time.monotonic() < deadline:
        time.sleep(0.1)
    tap.ok(server.get("flame")["total"] > 0, "samples come")
    folded = server.ask("/api/export?format=folded")
    tap.ok(folded[0] == 200 and "attachment" in folded[1]["Content-Disposition"]
           and folded[1]["Cache-Control"] == "no-store", "an export is a file", folded[1])


def check_guard(tap, server):
    for host in ("evil.example", "evil.example:%d" % server.port, "127.0.0.1:1", ""):
        tap.ok(server.status("/api/status", Host=host) in (400, 421), "refused: Host %r" % host)
    tap.ok(server.status("/api/status", Host="localhost:%d" % server.port) == 200,
           "localhost is a host")
    tap.ok(server.status("/api/status", Origin="http://evil.example") == 403,
           "refused: another origin")
    tap.ok(server.status("/api/status", Origin="http://" + server.netloc) == 200,
           "its own origin may")
    tap.ok(server.status("/api/status", Sec_Fetch_Site="cross-site") == 403
           and server.status("/", Sec_Fetch_Site="cross-site") == 200,
           "another site may link to the page and no more")
    tap.ok(server.status("/api/pause?on=1", "POST", Content_Length="0") == 403
           and not server.get("status")["is_paused"], "refused: a change that a form could send")
    tap.ok(server.status("/api/pause?on=1", "POST", Content_Length="0", X_Allframes="1") == 200
           and server.get("status")["is_paused"], "the page may pause")
    times = [server.get("status")["now_ms"] for _ in range(2) if not time.sleep(0.1)]
    tap.ok(times[0] == times[1], "the time of a paused history stands still", times)
    server.status("/api/pause?on=0", "POST", Content_Length="0", X_Allframes="1")
    tap.ok(server.status("/api/pause?on=1") == 405 and server.status("/", "PUT") == 405
           and server.status("/api/status", "DELETE") == 405, "other methods are refused")


def parameters(count):
    return b"&".join(b"x=%d" % i for i in range(count))


def check_nonsense(tap, server):
    for path in ("/../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/api/../../etc/passwd", "//",
                 "/app.js/", "/api/", "/api/status/x", "/assets/app.js", "/%2e%2e/"):
        tap.ok(server.status(path) == 404, "nothing at " + path, server.status(path))
    for what, query, status in (("refused: an address without end", b"comm=" + b"x" * 300000, b"4"),
                                ("512 parameters are taken", parameters(512), b"200"),
                                ("refused: 513", parameters(513), b"400"),
                                ("refused: 5,000", parameters(5000), b"400")):
        answer = server.send(b"GET /api/status?" + query + b" HTTP/1.1\r\nHost: "
                             + server.netloc.encode() + b"\r\nConnection: close\r\n\r\n")
        tap.ok(answer.startswith(b"HTTP/1.1 " + status), what, answer[:200])
    tap.ok(server.status("/api/flame?comm=%00") == 400, "a NUL in a value is refused")
    for junk in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\r\n" * 1000, b"GET\r\n\r\n",
                 b"GET / HTTP/9.9\r\n\r\n", os.urandom(5000)):
        server.send(junk)
    tap.ok(server.status("/") == 200, "junk costs only its own connection")


def check_many_connections(tap, agent, server):
    before = rss_anon_bytes(agent.pid)
    idle = []
    try:
        for i in range(IDLE_CONNECTIONS):
            connection = socket.create_connection((server.host, server.port), timeout=HANG_SECONDS)
            # Half of them begin a request and do not end it.
            if i % 2:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
            idle.append(connection)
        begin = time.monotonic()
        status = server.status("/api/flame")
        seconds = time.monotonic() - begin
        after = rss_anon_bytes(agent.pid)
        tap.ok(status == 200 and seconds < 10, "the page answers beside %d idle connections"
               % IDLE_CONNECTIONS, status, seconds)
        tap.ok(after - before < MAX_GROWTH and after < MAX_RSS_ANON,
               "which take little memory", before, after)
        tap.note("%.2f s; memory %.1f to %.1f MB" % (seconds, before / 1e6, after / 1e6))
    finally:
        for connection in idle:
            connection.close()


def check_one_address(tap, server):
    """Where other machines can connect, one does not keep the others out."""
    idle = [socket.create_connection((server.host, server.port), timeout=HANG_SECONDS, source_address=("127.0.0.9", 0))
            for _ in range(IDLE_CONNECTIONS)]
    try:
        tap.ok(server.status("/") == 200, "the page answers others beside %d connections of one address"
               % len(idle))
        held = 0
        for connection in idle:
            connection.settimeout(0.01)
            try:
                held += bool(connection.recv(1))
            except TimeoutError:
                held += 1
            except ConnectionError:
                pass
        tap.ok(0 < held < IDLE_CONNECTIONS / 10, "which had to end but for some", held)
    finally:
        for connection in idle:
            connection.close()


def begin_to_ask(server, path):
    """A connection on which @path is asked for, which does not hold much of the answer."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(20)
    connection.connect((server.host, server.port))
    connection.sendall(("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path, server.netloc)).encode())
    return connection


def begin_to_read(server, path):
    """The same and the first bytes of the answer: it has been made."""
    connection = begin_to_ask(server, path)
    return connection, connection.recv(20)


def write_large_file(path):
    with open(path, "w", encoding="utf-8") as file:
        for i in range(LARGE_STACKS):
            file.write(";".join("f%d_%d_%s" % (i, j, LARGE_NAME) for j in range(LARGE_FRAMES)) + " 1000\n")


def check_stop_in_flood(tap, agent, server):
    begin = time.monotonic()
    server.status("/api/top?limit=1")
    cost = time.monotonic() - begin
    connections = [begin_to_ask(server, "/api/top?limit=1") for _ in range(IDLE_CONNECTIONS)]
    result = agent.stop(signal.SIGTERM)
    tap.ok(result.status == 0 and result.stop_seconds < STOP_SECONDS,
           "it ends while %d clients wait for answers" % len(connections), result.log,
           result.stop_seconds)
    tap.note("%.1f s; an answer takes %.3f s" % (result.stop_seconds, cost))
    for connection in connections:
        connection.close()


def check_unread(tap, directory):
    """Answers that nobody reads are bounded: the agent keeps no more of them."""
    path = os.path.join(directory, "large.folded")
    write_large_file(path)
    with Agent("-open", path, "-viewer", "127.0.0.1:0", outputs=[]) as agent:
        address = wait_for_file(agent)
        if not tap.ok(address, "the agent shows a large file", agent.log_text()):
            return
        server = Server(urllib.parse.urlsplit(address).netloc)
        export = "/api/export?format=folded"
        with begin_to_read(server, export)[0]:
            status, _, body = server.ask(export)
            tap.ok(status == 503 and b"error" in body and server.status("/api/status") == 200
                   and server.status("/api/flame") == 200, "one file at a time is downloaded", status, body[:200])
        end = time.monotonic() + 20
        while server.status(export) != 200 and time.monotonic() < end:
            time.sleep(0.1)
        tap.ok(server.status(export) == 200, "and the next one when it is read or given up")
        before = rss_anon_bytes(agent.pid)
        unread = [begin_to_read(server, "/api/flame?max_nodes=10000") for _ in range(UNREAD_CONNECTIONS)]
        grown = rss_anon_bytes(agent.pid) - before
        refused = sum(b" 503 " in line for _, line in unread)
        tap.ok(refused and grown < MAX_UNREAD_GROWTH, "what is not read is bounded", refused, grown)
        tap.note("%d of %d turned away; memory grew by %.1f MB" % (refused, UNREAD_CONNECTIONS, grown / 1e6))
        for connection, _ in unread:
            connection.close()
        end = time.monotonic() + 20
        while server.status("/api/flame") != 200 and time.monotonic() < end:
            time.sleep(0.1)
        tap.ok(server.status("/api/flame") == 200, "and is over with its clients")
        check_stop_in_flood(tap, agent, server)


def check_stop(tap, agent, server, number):
    with socket.create_connection((server.host, server.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        result = agent.stop(number)
    tap.ok(result.status == 0 and result.stop_seconds < STOP_SECONDS,
           "signal %d ends it with an open connection" % number, result.log, result.stop_seconds)


def check_default(tap):
    """Without a destination: port 7171, or another where that is taken."""
    with contextlib.ExitStack() as stack:
        holder = stack.enter_context(socket.socket())
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            holder.bind(("127.0.0.1", DEFAULT_PORT))
            holder.listen()
        # Held by us, or by whoever had it.
        _, server = stack.enter_context(serving(tap))
        tap.ok(server.port != DEFAULT_PORT and server.status("/") == 200,
               "a taken port is no hindrance", server.netloc)
        result = run_agent("-duration", "1s", "-viewer", "127.0.0.1:%d" % DEFAULT_PORT, outputs=[])
        tap.ok(result.status == 1 and "cannot listen on 127.0.0.1:%d" % DEFAULT_PORT in result.log
               and len(result.log.splitlines()) == 1,
               "unless it was asked for: one line", result.status, result.log)


def check_command_lines(tap, server, is_wanted):
    """Other machines can reach the page. This process turns in a loop, so that there are samples of it."""
    end, row = time.monotonic() + HANG_SECONDS, {}
    while not row and time.monotonic() < end:
        spin_until = time.monotonic() + 0.3
        while time.monotonic() < spin_until:
            pass
        _, _, body = server.ask("/api/processes", Authorization="Bearer " + TOKEN)
        answer = json.loads(body)
        row = next((each for each in answer["rows"] if each.get("pid") == os.getpid() and each["user"]), {})
    with open("/proc/self/cmdline", "rb") as file:
        line = file.read().rstrip(b"\0").replace(b"\0", b" ").decode()
    tap.ok(row and row["command_line"] == (line if is_wanted else "") and answer["has_command_lines"] == is_wanted,
           "other machines see command lines%s" % (" on request" if is_wanted else " only on request"), row)


def check_addresses(tap, directory):
    token_file = os.path.join(directory, "token")
    for address, words in (("0.0.0.0:0", "-viewer-token-file"), ("nonsense", "address and a port"),
                           ("127.0.0.1:99999", "address and a port"), ("::1:7171", "brackets"),
                           ("127.0.0.1:", "address and a port"),
                           ("192.0.2.1:0", "-viewer-token-file")):
        result = run_agent("-duration", "1s", "-viewer", address, outputs=[])
        tap.ok(result.status == 2 and words in result.log and len(result.log.splitlines()) == 1,
               "refused: -viewer " + address, result.status, result.log)
    with open(token_file, "w", encoding="ascii") as file:
        file.write(TOKEN + "\n")
    os.chmod(token_file, 0o644)
    result = run_agent("-duration", "1s", "-viewer-token-file", token_file, outputs=[])
    tap.ok(result.status == 2 and "chmod 600" in result.log, "refused: a token that all may read",
           result.log)
    os.chmod(token_file, 0o600)
    with serving(tap, "-viewer", "0.0.0.0:0", "-viewer-token-file", token_file) as (_, server):
        tap.ok(server.status("/api/status") == 401 and server.status("/") == 200,
               "without the token there is the page and nothing on it")
        tap.ok(server.status("/api/status", Authorization="Bearer " + TOKEN) == 200
               and server.status("/api/status", Authorization="Bearer x" + TOKEN) == 401,
               "the token opens it")
        status, headers, _ = server.ask("/?token=" + urllib.parse.quote(TOKEN))
        cookie = headers.get("Set-Cookie", "")
        tap.ok(status == 303 and headers["Location"] == "/" and "HttpOnly" in cookie
               and "SameSite=Strict" in cookie, "from the address it goes into a cookie", headers)
        tap.ok(cookie.startswith("allframes_token_%s=" % server.netloc.rpartition(":")[2]) and TOKEN not in cookie,
               "which has the port in its name, and not the token", cookie)
        tap.ok(server.status("/api/status", Cookie=cookie.partition(";")[0]) == 200,
               "which opens it too")
        tap.ok("Set-Cookie" not in server.ask("/?token=wrong-wrong-wrong-wrong")[1],
               "a wrong one does not")
        check_command_lines(tap, server, False)
        check_one_address(tap, server)
    with serving(tap, "-viewer", "0.0.0.0:0", "-viewer-token-file", token_file, "-with-command-lines") as (_, server):
        check_command_lines(tap, server, True)
    if os.path.exists("/proc/sys/net/ipv6") and socket.has_ipv6:
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            with serving(tap, "-viewer", "[::1]:0") as (_, server):
                tap.ok(server.status("/") == 200, "IPv6 does as well", server.netloc)


def main():
    tap = Tap()
    need_root(tap, "the viewer's server")
    with serving(tap, "-viewer", "127.0.0.1:0") as (agent, server):
        check_page(tap, server)
        check_answers(tap, server)
        check_guard(tap, server)
        check_nonsense(tap, server)
        check_many_connections(tap, agent, server)
        check_stop(tap, agent, server, signal.SIGTERM)
    check_default(tap)
    with tempfile.TemporaryDirectory(prefix="allframes-token-") as directory:
        check_addresses(tap, directory)
        check_unread(tap, directory)
    with serving(tap, "-viewer", "127.0.0.1:0", "-duration", "2s") as (agent, _):
        result = agent.wait()
        tap.ok(result.status == 0, "with a duration it ends by itself", result.log)
    tap.finish()


if __name__ == "__main__":
    main()
