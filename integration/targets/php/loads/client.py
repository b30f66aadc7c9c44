# SPDX-License-Identifier: Apache-2.0
"""Reads, searches and writes a DokuWiki, over some connections at a time, until it is ended. It ends itself when an answer is
not the one that was asked for.

usage: client.py PORT
"""
import http.client
import os
import sys
import threading
import time
import urllib.parse

CONNECTIONS = 4
READY_SECONDS = 60

TEXT = """====== Page %(page)d, turn %(turn)d ======
A paragraph with **bold**, //italic//, ''mono'' and __more__, [[wiki:syntax|a link]], [[%(page)d:missing]],
https://www.example.org/?a=1&b=2 and a footnote ((of turn %(turn)d)).

===== A list =====
  * one -- "two" ... (c) 640x480
    * WYSIWYG :-) FIXME
  - first

^ Name ^ Value ^
%(rows)s

<code php>
<?php foreach ($rows as $row) { echo htmlspecialchars($row['name']), "\\n"; } ?>
</code>

> quoted
----
"""


def text_of(page, turn):
    return TEXT % {"page": page, "turn": turn, "rows": "\n".join(
        "| row %d | %s |" % (row, "word%d " % ((turn * row) % 97) * 5) for row in range(20))}


class Client:
    """One connection, with a session of its own and pages that it writes."""

    def __init__(self, port, number):
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._number = number
        self._cookie = None

    def ask(self, path, expected, fields=None):
        """Asks for @path, with @fields as a form. Raises RuntimeError if @expected is not in the answer."""
        headers = {"Cookie": self._cookie} if self._cookie else {}
        body = None
        if fields:
            body = urllib.parse.urlencode(fields)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self._connection.request("POST" if fields else "GET", path, body, headers)
        answer = self._connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        cookie = answer.getheader("Set-Cookie", "")
        if cookie.startswith("DokuWiki="):
            self._cookie = cookie.partition(";")[0]
        if answer.status not in (200, 302) or expected not in text:
            raise RuntimeError("%s: %d, not what was asked for: %s" % (path, answer.status, text[-2000:]))

    def turn(self, turn):
        """One visit: of each kind of page some."""
        page = "load:page%d_%d" % (self._number, turn % 50)
        form = {"id": page, "wikitext": text_of(self._number, turn), "prefix": ".", "suffix": "", "sectok": "",
                "date": "", "summary": "turn %d" % turn}
        self.ask("/doku.php?id=wiki:syntax", "Formatting Syntax")
        self.ask("/doku.php?id=wiki:syntax&purge=true", "Formatting Syntax")
        self.ask("/doku.php?id=" + page, "Preview", {**form, "do[preview]": "Preview"})
        self.ask("/doku.php?id=" + page, "", {**form, "do[save]": "Save"})
        self.ask("/doku.php?id=" + page, "turn %d" % turn)
        self.ask("/lib/exe/taskrunner.php?id=" + page, "")
        self.ask("/doku.php?id=" + page + "&do=revisions", "Old Revisions")
        self.ask("/doku.php?id=wiki:dokuwiki&do=edit", "wikitext")
        self.ask("/doku.php?do=search&q=word%d" % (turn % 97), "Search")
        self.ask("/doku.php?id=wiki:welcome&do=index", "Sitemap")
        self.ask("/doku.php?id=wiki:welcome&do=recent", "Recent")
        # It is empty if another connection writes it to the cache just then.
        self.ask("/feed.php", "")
        self.ask("/lib/exe/js.php?t=dokuwiki", "")


def visit(port, number):
    try:
        client, turn = Client(port, number), 1
        while True:
            client.turn(turn)
            turn += 1
    except Exception as error:  # pylint: disable=broad-except
        print("client.py: %s" % error, file=sys.stderr, flush=True)
        os._exit(1)


def main():
    port, end = int(sys.argv[1]), time.monotonic() + READY_SECONDS
    while True:
        try:
            Client(port, 0).turn(0)
            break
        except ConnectionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
    print("ready", flush=True)
    for number in range(1, CONNECTIONS + 1):
        threading.Thread(target=visit, args=(port, number)).start()


if __name__ == "__main__":
    main()
