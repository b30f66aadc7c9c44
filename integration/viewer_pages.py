# SPDX-License-Identifier: Apache-2.0
"""What the tests of the viewer's page share: programs to be seen on it, the page in a browser, the API asked without
one, stacks counted by hand, and where frames are on the page's canvas.
"""
import contextlib
import json
import os
import re
import time
import urllib.parse
import urllib.request

import build_targets
import javas
import pythons
from browser import Browser
from harness import HANG_SECONDS, OUTPUT, Agent, Program, parse_folded

ROW_PIXELS = 18
SHOTS = os.path.join(OUTPUT, "viewer")
MIN_SAMPLES = 600
MIN_WHOLE_SAMPLES = 100
SAMPLES_PER_SECOND = 199
# After which what has no names yet is compared without them.
NAMES_SECONDS = 60
ADDRESS = re.compile(r" to (http://[^\s;,]+)[;,]")
SHOWING = re.compile(r"^info: showing \S+ at (http://\S+);", re.M)
# Other programs may run beside; these have known functions.
NATIVE_LEAF, NATIVE_MIDDLE, NATIVE_CALLER = "leaf_plain", "middle", "outer"
KNOWN_FUNCTIONS = {"native": NATIVE_LEAF, "python": "spin", "java": "Calls.turn"}


class Api:
    """The agent's answers at address @url, which ends in a slash."""

    def __init__(self, url):
        self.url = url

    def fetch(self, address):
        """The body of an address relative to the page's."""
        with urllib.request.urlopen(urllib.parse.urljoin(self.url, address), timeout=HANG_SECONDS) as answer:
            return answer.read()

    def get(self, path, **query):
        return json.loads(self.fetch("api/%s?%s" % (path, urllib.parse.urlencode(query, True))))

    def stacks(self, **query):
        """The samples of a selection as harness.Stack, as the export of folded stacks has them."""
        return parse_folded(self.fetch("api/export?format=folded&" + urllib.parse.urlencode(
            query, True)).decode("utf-8", "surrogateescape"))


def name_of(frame):
    """The function of a folded frame, without what stands behind it."""
    return re.sub(r"( \([^()]*\))?(_\[[kij?]\])*$", "", frame)


def names_of(stack):
    return [name_of(frame) for frame in stack.frames]


def count_with(stacks, name):
    """Samples that have function @name anywhere."""
    return sum(count for stack, count in stacks.items() if name in names_of(stack))


def count_ending(stacks, name):
    """Samples whose leaf is @name."""
    return sum(count for stack, count in stacks.items() if names_of(stack)[-1] == name)


class Geometry:
    """Where the frames of an answer to "flame" stand on the canvas: worked out anew, from the
    columns alone.
    """

    def __init__(self, answer):
        tree = answer["tree"]
        self._tree = tree
        self.total = tree["total"][0]
        self._left = [0.0] * len(tree["parent"])
        self._depth = [0] * len(tree["parent"])
        used = [0.0] * len(tree["parent"])
        for i, parent in enumerate(tree["parent"]):
            if parent >= 0:
                self._left[i] = self._left[parent] + used[parent]
                used[parent] += tree["total"][i]
                self._depth[i] = self._depth[parent] + 1

    def samples(self, node):
        return self._tree["total"][node]

    def path_to(self, name):
        """The path to the node of function @name that has most samples; None if there is none."""
        tree = self._tree
        found = [i for i in range(1, len(tree["parent"])) if tree["names"][tree["name"][i]] == name]
        if not found:
            return None
        node, path = max(found, key=self.samples), []
        while node > 0:
            path.insert(0, tree["names"][tree["name"][node]])
            node = tree["parent"][node]
        return path

    def greatest(self, name):
        """The node of function @name that has most samples."""
        return max((i for i in range(1, len(self._depth)) if self.name(i) == name), key=self.samples)

    def line(self, node):
        return self._tree["line"][node]

    def name(self, node):
        return self._tree["names"][self._tree["name"][node]]

    def parent(self, node):
        return self._tree["parent"][node]

    def children(self, node):
        return [i for i, parent in enumerate(self._tree["parent"]) if parent == node]

    def middle(self, node, width):
        """The middle of the node on a canvas of @width pixels that shows all."""
        x = (self._left[node] + self._tree["total"][node] / 2) / self.total * width
        return x, self._depth[node] * ROW_PIXELS + ROW_PIXELS / 2


def number_in(text, pattern):
    """The first group of @pattern in @text as a number; None if it is not there."""
    match = re.search(pattern, text)
    return int(match[1].replace(",", "")) if match else None


class Page:
    """The open page, its API and what is expected of both."""

    def __init__(self, tap, browser, url, pids):
        self.tap = tap
        self.browser = browser
        self.api = Api(url)
        self.epoch = self.api.get("status")["epoch_ms"]
        self.url = url
        self.pids = pids

    def open(self, hash_text="", **size):
        self.browser.open(self.url + hash_text, **size)
        return self.browser.wait("document.querySelector('#content canvas, #content table,"
                                 " #content .empty') && document.querySelector('.facet')")

    def shot(self, name):
        os.makedirs(SHOTS, exist_ok=True)
        self.browser.screenshot(os.path.join(SHOTS, name + ".png"))

    def hash(self):
        """The address's hash as a dictionary of lists."""
        return urllib.parse.parse_qs(self.browser.evaluate("location.hash.slice(1)"))

    def total(self):
        """The samples of the flame graph's root, as the page says them."""
        return number_in(self.browser.text(".flame .bar"), r"([\d,]+) samples")

    def shows(self, samples, selector=".flame .bar"):
        """Waits until the page says @samples; True if it comes to that."""
        return bool(self.browser.wait(
            "document.querySelector(%s)?.innerText.includes(%s)"
            % (json.dumps(selector), json.dumps("{:,} samples".format(samples)))))

    def chosen(self):
        """The chosen range in ms as the API has it; None if there is none. The address has times of the clock."""
        found = self.hash()
        return ([int(found[name][0]) - self.epoch for name in ("from", "to")] if "from" in found
                else None)

    def reset(self):
        """The flame graph of all samples, whatever was looked at."""
        self.browser.evaluate("document.querySelector('dialog')?.close(); document.activeElement.blur();"
                              "location.hash = '#'")
        self.browser.wait("document.querySelector('.flame canvas')?.dataset.zoom === '0'")
        self.deselect()
        self.shows(self.api.get("status")["samples"])

    def settle(self):
        """Waits until a history that records no more has all that was on its way."""
        before = None
        while before != (before := self.api.get("status")["samples"]):
            time.sleep(0.3)

    def deselect(self):
        """Of the frame that was clicked last nothing is left."""
        self.browser.wait("document.querySelector('.flame canvas')")
        self.browser.evaluate("document.querySelector('.flame canvas').focus()")
        self.browser.key("Escape")
        self.browser.evaluate("document.activeElement.blur()")

    def clear(self):
        """Drops filters, times and zoom, and goes to the flame graph."""
        self.browser.evaluate("document.activeElement.blur()")
        self.browser.type(".tools input[type=search]", "")
        self.browser.evaluate("document.activeElement.blur()")
        self.browser.key("c")
        self.browser.key("1")
        self.deselect()


def unit_of(pid):
    """The systemd unit of a process: the innermost group that is named like one in systemd's own hierarchy."""
    with open("/proc/%d/cgroup" % pid, encoding="ascii") as file:
        for line in file:
            _, controllers, path = line.strip().split(":", 2)
            units = [part for part in path.split("/") if part.endswith((".service", ".scope"))]
            if controllers in ("", "name=systemd") and units:
                return units[-1]
    return ""


@contextlib.contextmanager
def in_a_unit(pid):
    """Moves a process into a group that is named as systemd names that of a service, where groups can be made."""
    root = next((root for root in ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup")
                 if os.path.exists(os.path.join(root, "cgroup.procs"))), None)
    group = os.path.join(root or "", "allframes-test-%d.service" % pid)
    try:
        os.mkdir(group)
    except OSError:
        yield
        return
    try:
        _move(pid, group)
        yield
    finally:
        _move(pid, root)
        os.rmdir(group)


def _move(pid, group):
    with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
        file.write(str(pid))


@contextlib.contextmanager
def targets(languages):
    """Runs the programs of these languages that the machine can; gives their pids by language. The native one is in a unit."""
    with contextlib.ExitStack() as stack:
        pids = {}
        if "native" in languages and build_targets.build(["calls"]):
            program = Program(build_targets.TARGETS["calls"].path)
            pids["native"] = stack.enter_context(program).pid
            stack.enter_context(in_a_unit(pids["native"]))
        interpreters = list(pythons.of_machine().values()) if "python" in languages else []
        if interpreters:
            program = Program(*interpreters[-1].target("calls"))
            pids["python"] = stack.enter_context(program).pid
        machines = list(javas.of_machine().values()) if "java" in languages else []
        if machines:
            target = {target.name: target for target in javas.build(["Calls"])}["Calls"]
            program = Program(*machines[-1].target(target, "plain"))
            pids["java"] = stack.enter_context(program).pid
        yield pids


def wait_for_samples(page):
    """Waits until the functions of all targets are known by name, with samples enough of each that are
    whole: on a busy machine the first ones are from before the unwind rows were loaded.
    """
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        whole = {stack: count for stack, count in page.api.stacks().items() if not stack.errors}
        counts = [count_with(whole, KNOWN_FUNCTIONS[language]) for language in page.pids]
        if all(count >= MIN_WHOLE_SAMPLES for count in counts) and page.api.get("status")["samples"] >= MIN_SAMPLES:
            return True
        time.sleep(0.2)
    return False


def _wait_for_address(agent, pattern, seconds=HANG_SECONDS):
    end = time.monotonic() + seconds
    while not (found := pattern.search(agent.log_text())):
        if agent.process.poll() is not None or time.monotonic() > end:
            return None
        time.sleep(0.02)
    return found[1].rstrip("/") + "/"


def wait_for_page(agent):
    """The address of the page of an agent that samples, when it does; None if it does not come to that."""
    return _wait_for_address(agent, ADDRESS)


def wait_for_file(agent):
    """The same of an agent that shows a file."""
    return _wait_for_address(agent, SHOWING)


def check_first_graph(page, start, max_seconds):
    """Within @max_seconds of the start of the agent's process, at time @start: a flame graph, and on it a function
    by its name.
    """
    name = KNOWN_FUNCTIONS["native"]
    page.open()
    # A path to it, so that the page says its name where it may be too narrow on the canvas.
    shown = page.browser.wait("Number(document.querySelector('.flame .bar')?.innerText"
                              ".match(/([\\d,]+) samples/)?.[1].replaceAll(',', '')) > 0")
    drawn = time.monotonic() - start
    page.browser.type(".tools input[type=search]", name)
    named = page.browser.wait("Number(document.querySelector('.found-line')?.innerText"
                              ".match(/([\\d,]+) samples match/)?.[1].replaceAll(',', '')) > 0")
    seconds = time.monotonic() - start
    page.tap.ok(shown and named and seconds < max_seconds,
                "the first flame graph comes within %d s of the start, with %s by name"
                % (max_seconds, name), drawn, seconds, page.browser.text("body")[:500])
    page.tap.note("first flame graph after %.1f s, %s by name after %.1f s" % (drawn, name, seconds))
    page.browser.type(".tools input[type=search]", "")
    page.browser.evaluate("document.activeElement.blur()")


@contextlib.contextmanager
def live_page(tap, languages, first_graph_seconds, is_of_targets=False):
    """(Page, Agent) of an agent beside programs of @languages, or if @is_of_targets of these programs only:
    its first flame graph has been looked at.
    """
    with targets(languages) as pids, Browser() as browser:
        selection = ["-pid", ",".join(map(str, pids.values()))] if is_of_targets else []
        start = time.monotonic()
        with Agent("-viewer", "127.0.0.1:0", "-samples-per-second", SAMPLES_PER_SECOND, *selection,
                   outputs=[]) as agent:
            url = wait_for_page(agent)
            if not tap.ok(url, "the agent starts and prints the page's address", agent.log_text()):
                tap.finish()
            page = Page(tap, browser, url, pids)
            check_first_graph(page, start, first_graph_seconds)
            yield page, agent


def check_zoom(page, answer):
    """A click in the graph of all samples, which @answer has too; leaves it zoomed and returns the path."""
    browser = page.browser
    geometry = Geometry(answer)
    path = geometry.path_to(NATIVE_MIDDLE)
    node = geometry.greatest(NATIVE_MIDDLE)
    width = browser.box(".flame canvas")[2]
    browser.click(".flame canvas", geometry.middle(node, width))
    page.tap.ok(page.shows(geometry.samples(node)) and browser.text(".flame .bar b") == NATIVE_MIDDLE
                and json.loads(page.hash().get("zoom", ["[]"])[0]) == path,
                "a click zooms to the frame below it, and says its samples",
                browser.text(".flame .bar"), page.hash())
    page.tap.ok(browser.wait("document.querySelector('.tooltip')?.innerText.includes('%s')"
                             % NATIVE_MIDDLE), "a tooltip names it too", browser.text(".tooltip"))
    return path


def check_search(page):
    """Of many frames one above the other: each sample counts once."""
    browser = page.browser
    browser.key("/")
    browser.type(".tools input[type=search]", "main")
    matching = sum(count for stack, count in page.api.stacks().items()
                   if any("main" in name.lower() for name in [stack.comm, *names_of(stack)]))
    page.tap.ok(browser.wait("document.querySelector('.found-line')?.innerText.includes("
                             "'%s samples match')" % "{:,}".format(matching)),
                "the search says how many samples match, as many as in the folded stacks",
                browser.text(".found-line"), matching)


def check_process_filter(page, language, pid):
    """The filter by process; leaves it chosen."""
    browser = page.browser
    of_target = page.api.stacks(pid=pid)
    browser.evaluate("document.querySelector('.facets').open = true")
    browser.evaluate("[...document.querySelectorAll('.more-rows')].filter(more =>"
                     "more.innerText.endsWith('more')).forEach(more => more.click())")
    browser.click("[data-facet=pid] button[data-value='%d']" % pid)
    page.tap.ok(page.shows(sum(of_target.values()))
                and len({stack.comm for stack in of_target}) == 1
                and count_with(of_target, KNOWN_FUNCTIONS[language]) > 0,
                "the filter by process leaves the samples of the %s program" % language,
                page.total(), sum(of_target.values()))


def check_range(page):
    """A drag in the time line; leaves the range chosen and returns it."""
    browser = page.browser
    total = page.total()
    browser.drag(".strip:nth-of-type(1) canvas", (0.3, 0.5), (0.6, 0.5))
    browser.wait("location.hash.includes('from=')")
    span = page.chosen()
    expected = page.api.get("flame", **{"from": span[0], "to": span[1]})["total"]
    page.tap.ok(0 < expected < total and page.shows(expected),
                "a drag in the time line chooses a range", span, expected, page.total())
    return span


def stop_recording(page):
    """From here on samples and names are the same for the page and for us."""
    page.browser.click("header button[title^='The history']")
    is_paused = page.browser.wait(
        "document.querySelector('header button[title^=\"The history\"]').ariaPressed === 'true'")
    page.tap.ok(is_paused and page.api.get("status")["is_paused"],
                "the history stops recording by a click")
    end = time.monotonic() + NAMES_SECONDS
    while page.api.get("status")["names_pending"] and time.monotonic() < end:
        time.sleep(0.1)
    page.settle()


def check_quiet(page):
    """Of all that was done with the page."""
    browser = page.browser
    page.tap.ok(not browser.errors, "the console is quiet", *browser.errors[:10])
    strange = [url for url in browser.requests
               if not url.startswith((page.url, "about:", "file:", "data:"))]
    page.tap.ok(not strange, "nothing is asked of anybody else", *strange[:10])
