# SPDX-License-Identifier: Apache-2.0
"""How quick the viewer's page is in a headless Chromium, with answers like those that the server
makes of 100,000 distinct stacks. The server's own time is not in it: a stub holds them ready.
"""
import collections
import http.server
import json
import os
import random
import sys
import threading
import urllib.parse

from tools import ROOT

sys.path.insert(0, os.path.join(ROOT, "integration"))
import browser as browsers

ASSETS = os.path.join(ROOT, "viewer", "assets")
# What the page asks for at most.
NODES = 10000
MAX_DEPTH = 60
NAMES = 4000
SECONDS = 1800
KINDS = ["native", "kernel", "go", "java", "python", "jit"]

# Resolve when the graph is drawn, and when a click or a key has changed it; in ms.
_DRAWN = """new Promise(done => {
	const look = () => document.querySelector('.flame canvas')?.dataset.zoom !== undefined
		? requestAnimationFrame(() => done(performance.now())) : setTimeout(look, 2);
	look();
})"""
_CHANGED = """new Promise(done => {
	const start = performance.now();
	const canvas = document.querySelector('.flame canvas');
	const before = canvas.dataset.%(what)s;
	%(act)s;
	const look = () => canvas.dataset.%(what)s !== before
		? requestAnimationFrame(() => done(performance.now() - start)) : setTimeout(look, 1);
	look();
})"""
_CLICK = """const box = canvas.getBoundingClientRect();
	canvas.dispatchEvent(new MouseEvent('click', { bubbles: true,
		clientX: box.left + box.width / 2, clientY: box.top + 5 * 18 + 9 }))"""
_SEARCH = """const input = document.querySelector('.tools input');
	input.value = 'function_1';
	input.dispatchEvent(new Event('input', { bubbles: true }))"""

PageFigures = collections.namedtuple("PageFigures", "interactive_ms zoom_ms search_ms")


def _tree(generator):
    """A tree of NODES frames, in depth-first order: each parent's samples are shared out."""
    tree = {name: [] for name in ("parent", "name", "kind", "file", "flags", "self", "total")}
    # Parent, depth, samples, and how many frames the subtree may have.
    pending = [(-1, 0, 5000000, NODES)]
    while pending:
        parent, depth, total, frames = pending.pop()
        node = len(tree["parent"])
        count = min(generator.choice((1, 1, 2, 3, 7)), frames - 1) if depth < MAX_DEPTH else 0
        shares = [generator.random() + 0.1 for _ in range(count)]
        own = total // 50 if shares else total
        for share in shares:
            part = share / sum(shares)
            pending.append((node, depth + 1, int((total - own) * part),
                            max(1, round((frames - 1) * part))))
        for name, value in (("parent", parent), ("name", generator.randrange(NAMES)),
                            ("kind", generator.randrange(len(KINDS))), ("file", -1), ("flags", 0),
                            ("self", own), ("total", total)):
            tree[name].append(value)
    names = ["some::name_space::function_%d(int, char const*)" % i for i in range(NAMES)]
    return {**tree, "names": names, "files": [], "kinds": KINDS, "pruned_nodes": 400000,
            "pruned_samples": 90000}


def _answers():
    generator = random.Random(1)
    tree = _tree(generator)
    total = tree["total"][0]
    rows = 50
    columns = 180
    several = [{"pid": i, "tid": i, "id": "%d" % i, "cpu": i, "kind": "k%d" % i, "comm": "program",
                "name": "thread", "container": "", "count": 1000 - i} for i in range(200)]
    answers = {
        "status": {"version": "", "host": "bench", "kernel": "", "is_live": True,
                   "source": "this machine", "epoch_ms": 0, "now_ms": 1000 * SECONDS, "first_ms": 0,
                   "is_paused": False, "samples_per_second": 99, "cpu_count": 2, "generation": 1,
                   "retention_ms": 1000 * SECONDS, "samples": total, "names_pending": 0,
                   "totals": {"samples": total, "idle": 0, "lost": 0, "complete": total,
                              "guesses": 0, "errors": 0}, "token_needed": False},
        "flame": {"total": total, "tree": tree},
        "timeline": {"from": 0, "to": 1000 * SECONDS, "step_ms": SECONDS * 1000 // 400,
                     "counts": [generator.randrange(900) for _ in range(400)]},
        "heatmap": {"from": 1000 * (SECONDS - columns), "columns": columns, "rows": rows, "max": 9,
                    "counts": [generator.randrange(10) for _ in range(columns * rows)]},
        "facets": {name: several for name in ("processes", "threads", "containers", "cpus",
                                              "kinds")},
    }
    return {name: json.dumps({**answer, "cost_ms": 1}).encode() for name, answer in answers.items()}


class _Stub(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers = {}

    def __init__(self, *arguments):
        super().__init__(*arguments, directory=ASSETS)

    def do_GET(self):
        path = urllib.parse.urlparse(self.path).path
        if not path.startswith("/api/"):
            super().do_GET()
            return
        body = self.answers[path[len("/api/"):]]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def figures(median_of):
    """PageFigures, or None where there is no Chromium."""
    if not browsers.COMMAND:
        return None
    _Stub.answers = _answers()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Stub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = "http://127.0.0.1:%d/" % server.server_port
        with browsers.Browser() as browser:
            def load():
                browser.open(url)
                browser.wait("location.href === '%s'" % url)
                return browser.evaluate(_DRAWN)

            found = PageFigures(
                median_of(load),
                median_of(lambda: load() and browser.evaluate(
                    _CHANGED % {"what": "zoom", "act": _CLICK})),
                median_of(lambda: load() and browser.evaluate(
                    _CHANGED % {"what": "matched", "act": _SEARCH})))
        server.shutdown()
    return found
