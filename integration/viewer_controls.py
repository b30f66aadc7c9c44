# SPDX-License-Identifier: Apache-2.0
"""Every button, menu and key of the viewer's page, one after the other: what is asked of the agent then, and whether the
page shows the answer. The history does not change meanwhile.
"""
import json
import os
import tempfile
import time
import urllib.parse

from viewer_pages import KNOWN_FUNCTIONS, NATIVE_LEAF, NATIVE_MIDDLE, Geometry

CONTROLS = []
EXPORTS = {"pprof", "folded", "otlp", "firefox", "speedscope", "html", "svg", "report", "autofdo"}


def control(name):
    """Registers a check: a function of a Page that shows the flame graph of all samples, unzoomed. Its value tells
    whether all was as it should be, and if not what there was: a bool, or a tuple of one and words.
    """
    def register(function):
        CONTROLS.append((name, function))
        return function
    return register


def query_of(page, path):
    """The parameters of the last question of that kind, as lists; {} if there was none."""
    asked = [url for url in page.browser.requests if "/api/%s?" % path in url]
    return urllib.parse.parse_qs(asked[-1].partition("?")[2], keep_blank_values=True) if asked else {}


def asks(page, path="flame", without=(), **wanted):
    """Waits until the page's last question has these parameters and lacks others."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        query = query_of(page, path)
        if (all(query.get(name) == [str(value)] for name, value in wanted.items())
                and not any(name in query for name in without)):
            return True
        # Chromium's events about requests are read with its answers.
        page.browser.evaluate("0")
        time.sleep(0.05)
    return False


def shows_its_answer(page):
    """The flame graph has the samples of the answer to what was asked last."""
    total = page.api.get("flame", **query_of(page, "flame"))["total"]
    return page.shows(total) if total else bool(page.browser.wait(
        "document.querySelector('#content .empty')"))


def click_button(page, text, within="body"):
    """Clicks the first button below @within that says @text."""
    page.browser.wait(
        "(() => { document.querySelectorAll('[data-clicked]').forEach(e => delete e.dataset.clicked);"
        "const found = [...document.querySelectorAll(%s + ' button')].find(button =>"
        "button.innerText.trim() === %s); if (found) found.dataset.clicked = '1'; return found; })()"
        % (json.dumps(within), json.dumps(text)))
    page.browser.click("[data-clicked]")


def hash_has(page, text):
    return bool(page.browser.wait("location.hash.includes(%s)" % json.dumps(text)))


def hash_lacks(page, text):
    return bool(page.browser.wait("!location.hash.includes(%s)" % json.dumps(text)))


def focused(page):
    """The name of the frame that the graph's words are about."""
    return page.browser.text(".flame .bar b")


def geometry_of(page, **query):
    return Geometry(page.api.get("flame", **{"root": "process", "max_nodes": 10000, **query}))


def click_node(page, geometry, node):
    """Clicks the frame in the graph that @geometry is of, unzoomed."""
    width = page.browser.box(".flame canvas")[2]
    x, y = geometry.middle(node, width)
    scrolled = page.browser.evaluate(
        "(() => { const box = document.querySelector('.flame .scroll'); const y = %d;"
        "if (y < box.scrollTop || y + 20 > box.scrollTop + box.clientHeight)"
        "box.scrollTop = y - box.clientHeight / 2; return box.scrollTop; })()" % y)
    page.browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.browser.click(".flame canvas", (x, y - scrolled))
    page.browser.wait("document.querySelector('.flame .bar b')?.innerText === %s"
                      % json.dumps(geometry.name(node)))


def click_function(page, name, **query):
    """Clicks the frame of function @name that has most samples, and returns where it is."""
    geometry = geometry_of(page, **query)
    node = geometry.greatest(name)
    click_node(page, geometry, node)
    return geometry, node


def is_focused(page, geometry, node):
    """Whether the page's words are about that node."""
    words = page.browser.text(".flame .bar")
    return focused(page) == geometry.name(node) and "{:,} samples".format(geometry.samples(node)) in words


def drag_range(page):
    page.browser.drag(".strip:nth-of-type(1) canvas", (0.3, 0.5), (0.7, 0.5))
    return hash_has(page, "from=")


@control("Lines")
def check_lines(page):
    page.browser.click(".tools label input")
    is_asked = asks(page, lines=1) and shows_its_answer(page)
    # Python has its lines with it; those of native code are not asked for here.
    name = KNOWN_FUNCTIONS["python" if "python" in page.pids else "native"]
    geometry, node = click_function(page, name, lines=1)
    line, words = geometry.line(node), page.browser.text(".flame .bar")
    is_said = (":%d" % line in words) if line else "python" not in page.pids
    page.browser.click(".tools label input")
    return is_asked and is_said and asks(page, without=["lines"]), words, line


@control("First level")
def check_first_level(page):
    found = []
    for root in ("thread", "none"):
        page.browser.choose("select[aria-label='First level']", root)
        found.append(asks(page, root=root) and shows_its_answer(page))
        geometry, node = click_function(page, NATIVE_MIDDLE, root=root)
        found.append(is_focused(page, geometry, node))
        page.deselect()
    page.browser.choose("select[aria-label='First level']", "process")
    return all(found) and asks(page, root="process"), found


@control("Times")
def check_times_menu(page):
    page.browser.choose("select[aria-label='Times']", "900")
    is_asked = hash_has(page, "last=900") and bool(page.browser.wait(
        "document.querySelector('.flame canvas')"))
    is_shown = shows_its_answer(page)
    drag_range(page)
    chosen = page.browser.evaluate("document.querySelector(\"select[aria-label='Times']\").value")
    page.browser.choose("select[aria-label='Times']", "")
    return (is_asked and is_shown and chosen == "range" and hash_lacks(page, "from=")
            and hash_lacks(page, "last=") and asks(page, without=["from"])), is_asked, is_shown, chosen


@control("Only stacks with it")
def check_only(page):
    click_function(page, NATIVE_LEAF)
    click_button(page, "Only stacks with it", ".flame")
    asks(page, function=NATIVE_LEAF)
    page.deselect()
    is_asked = asks(page, function=NATIVE_LEAF) and shows_its_answer(page)
    page.browser.click(".filters button")
    return is_asked and asks(page, without=["function"]) and shows_its_answer(page)


@control("levels are no functions")
def check_levels(page):
    geometry = geometry_of(page)
    click_node(page, geometry, max(geometry.children(0), key=geometry.samples))
    buttons = page.browser.evaluate(
        "[...document.querySelectorAll('.flame .bar button')].map(button => button.innerText)")
    return buttons == ["Zoom out"], buttons


@control("Callers & callees of a frame")
def check_sandwich_of_frame(page):
    click_function(page, NATIVE_MIDDLE)
    click_button(page, "Callers & callees", ".flame")
    return asks(page, "sandwich", of=NATIVE_MIDDLE) and bool(page.browser.wait(
        "document.querySelector('.sandwich h2')?.innerText === '%s'" % NATIVE_MIDDLE))


@control("a zoom in callees")
def check_sandwich_zoom(page):
    page.browser.evaluate("location.hash = ''")
    click_function(page, NATIVE_MIDDLE)
    click_button(page, "Callers & callees", ".flame")
    page.browser.wait("document.querySelectorAll('.sandwich .flame canvas').length === 2")
    tree = page.api.get("sandwich", **query_of(page, "sandwich"))["callees"]
    child = max((i for i, parent in enumerate(tree["parent"]) if parent == 0),
                key=lambda i: tree["total"][i])
    name = tree["names"][tree["name"][child]]
    geometry = Geometry({"tree": tree})
    callees = ".sandwich .flame[aria-label=Callees]"
    width = page.browser.box(callees + " canvas")[2]
    page.browser.click(callees + " canvas", geometry.middle(child, width))
    shown = page.browser.wait("document.querySelector(%s + ' .bar b')?.innerText === %s"
                              % (json.dumps(callees), json.dumps(name)))
    click_button(page, "Zoom out", callees)
    return bool(shown) and bool(page.browser.wait(
        "document.querySelector(%s + ' .bar b')?.innerText === '%s'"
        % (json.dumps(callees), NATIVE_MIDDLE))), name


@control("Use as base")
def check_use_as_base(page):
    drag_range(page)
    span = page.chosen()
    click_button(page, "Use as base", ".times")
    is_asked = asks(page, base_from=span[0], base_to=span[1])
    page.browser.click("button[aria-label='Drop the range']")
    is_dropped = asks(page, without=["from"], base_from=span[0]) and shows_its_answer(page)
    page.browser.click("button[aria-label='Drop the base']")
    return is_asked and is_dropped and asks(page, without=["base_from"]), span, query_of(page, "flame")


@control("Range and Base")
def check_target(page):
    click_button(page, "Base", ".times")
    page.browser.drag(".strip:nth-of-type(1) canvas", (0.2, 0.5), (0.5, 0.5))
    is_base = hash_has(page, "base_from=") and "from" not in page.hash()
    is_range_again = page.browser.wait("[...document.querySelectorAll('.times .group button')]"
                                       ".find(button => button.innerText === 'Range').ariaPressed === 'true'")
    click_button(page, "Base", ".times")
    click_button(page, "Range", ".times")
    drag_range(page)
    is_shown = asks(page, **{"from": page.chosen()[0]}) and shows_its_answer(page)
    return is_base and bool(is_range_again) and is_shown, is_base, is_range_again, is_shown


@control("Drop all")
def check_drop_all(page):
    page.browser.evaluate("document.querySelector('.facets').open = true")
    page.browser.click("[data-facet=cpu] button[data-value]")
    # The row of filters comes, and all below it moves.
    page.browser.wait("document.querySelector('.filters button')")
    drag_range(page)
    chosen = page.hash()
    is_narrowed = asks(page, **{"cpu": chosen["cpu"][0], "from": page.chosen()[0]}) and shows_its_answer(page)
    click_button(page, "Drop all", ".filters")
    return is_narrowed and asks(page, without=["cpu", "from"]) and shows_its_answer(page), chosen, is_narrowed


@control("the table by name")
def check_sort_by_name(page):
    page.browser.key("3")
    page.browser.wait("document.querySelector('table.top tbody tr')")
    click_button(page, "Function", "table.top")
    names = page.browser.wait(
        "location.hash.includes('sort=name') && [...document.querySelectorAll("
        "'table.top tbody .function')].map(cell => cell.innerText.replace(/ \\?$/, ''))")
    answer = {row["name"] for row in page.api.get("top", **query_of(page, "top"))["rows"]}
    # By UTF-16 units, as JavaScript orders texts.
    return bool(names) and set(names) == answer and names == sorted(
        names, key=lambda name: name.encode("utf-16-be")), names and names[:5]


@control("the table's filter, among all functions")
def check_filter_of_server(page):
    page.browser.key("3")
    page.browser.type("input[aria-label='Filter functions']", NATIVE_LEAF.upper())
    is_asked = asks(page, "top", name=NATIVE_LEAF.upper())
    rows = page.browser.wait("(rows => rows.length === 1 && rows)([...document.querySelectorAll("
                             "'table.top tbody .function')].map(cell => cell.innerText))")
    page.browser.type("input[aria-label='Filter functions']", "/^leaf_(plain|saved)$/")
    is_whole = asks(page, "top", name="/^leaf_(plain|saved)$/")
    both = page.browser.wait("(rows => rows.length === 2 && rows.sort())([...document.querySelectorAll("
                             "'table.top tbody .function')].map(cell => cell.innerText))")
    page.browser.type("input[aria-label='Filter functions']", "")
    return (is_asked and rows == [NATIVE_LEAF] and is_whole and both == ["leaf_plain", "leaf_saved"]
            and hash_lacks(page, "named=")), rows, both


@control("Icicle and Flame")
def check_orientation(page):
    click_button(page, "Flame", ".tools")
    is_flipped = hash_has(page, "flipped=1")
    height = page.browser.box(".flame canvas")[3]
    width = page.browser.box(".flame canvas")[2]
    page.browser.click(".flame canvas", (width / 2, height - 5))
    is_below = page.browser.wait("document.querySelector('.flame .bar b')?.innerText === 'all'")
    click_button(page, "Icicle", ".tools")
    return is_flipped and bool(is_below) and hash_lacks(page, "flipped")


@control("Freeze view")
def check_freeze(page):
    click_button(page, "Freeze view", "header")
    is_frozen = page.browser.wait("document.querySelector('.state.frozen')?.innerText === 'frozen'")
    click_button(page, "Freeze view", "header")
    return bool(is_frozen) and bool(page.browser.wait(
        "document.querySelector('.state')?.innerText !== 'frozen'"))


@control("Auto, Light, Dark")
def check_theme(page):
    seen = []
    for text in ("Auto", "Light", "Dark"):
        click_button(page, text, "header")
        seen.append(page.browser.evaluate("document.documentElement.dataset.theme"))
    return seen == ["light", "dark", "light"], seen


@control("the help")
def check_help(page):
    click_button(page, "?", "header")
    is_open = page.browser.wait("document.querySelector('dialog[open]')")
    page.browser.click("dialog button[aria-label=Close]")
    return bool(is_open) and bool(page.browser.wait("!document.querySelector('dialog')"))


@control("Collect again")
def check_record(page):
    click_button(page, "Collect again", "header")
    records = page.browser.wait("document.querySelector('.state.live')")
    before = page.api.get("status")
    click_button(page, "Stop collecting", "header")
    stops = page.browser.wait("document.querySelector('.state.frozen')")
    after = page.api.get("status")
    page.settle()
    return bool(records and stops) and not before["is_paused"] and after["is_paused"]


@control("Export")
def check_export_menu(page):
    with tempfile.TemporaryDirectory() as directory:
        page.browser.save_downloads(directory)
        found = {}
        for form in ("folded", "html"):
            page.browser.click("details.export summary")
            page.browser.click(".export a[href*='format=%s']" % form)
            end = time.monotonic() + 10
            while time.monotonic() < end and not found.get(form):
                names = [name for name in os.listdir(directory) if name.endswith("." + form)]
                if names:
                    with open(os.path.join(directory, names[0]), "rb") as file:
                        found[form] = file.read()
                time.sleep(0.05)
            page.browser.evaluate("document.querySelector('details.export').open = false")
        total = sum(int(line.rpartition(b" ")[2]) for line in found.get("folded", b"").splitlines())
        links = page.browser.evaluate("[...document.querySelectorAll('.export a')].map(link => link.href)")
        forms = {urllib.parse.parse_qs(link.split("?", 1)[1])["format"][0]: page.api.fetch(link) for link in links}
        return (set(forms) == EXPORTS and all(forms.values()) and total == page.api.get("flame")["total"]
                and b'id="profile">{' in found.get("html", b"")), total, sorted(found)


@control("Escape in the export menu")
def check_export_escape(page):
    page.browser.click("details.export summary")
    is_open = page.browser.wait("document.querySelector('details.export').open")
    page.browser.key("Escape")
    return bool(is_open) and bool(page.browser.wait(
        "!document.querySelector('details.export').open && document.activeElement.innerText === 'Export'"))


@control("About")
def check_about(page):
    page.browser.click("details.about summary")
    shown = page.browser.text(".about dl")
    about = dict(page.api.get("status")["about"])
    page.browser.key("Escape")
    is_closed = page.browser.wait("!document.querySelector('details.about').open")
    return (bool(is_closed) and about["host"] == os.uname().nodename and {"kernel", "start", "duration", "rate", "agent"} <= about.keys()
            and about["host"] in shown and about["kernel"] in shown), about, shown


@control("arrow keys between tabs")
def check_tab_keys(page):
    page.browser.evaluate("document.querySelector('#tab-flame').focus()")
    seen = []
    for key in ("ArrowRight", "ArrowLeft", "ArrowLeft"):
        page.browser.key(key)
        seen.append(page.browser.evaluate(
            "[document.activeElement.id, document.querySelectorAll('[role=tab][tabindex=\"0\"]').length]"))
    wanted = [["tab-processes", 1], ["tab-flame", 1], ["tab-quality", 1]]
    # Controls without an effect on it are missing.
    rest = page.browser.wait("document.querySelector('.quality') && [...document.querySelectorAll("
                             "'.tools > :not(.tabs)')].map(each => each.ariaLabel)")
    return seen == wanted and rest == ["Times"], seen, rest


@control("more functions")
def check_more(page):
    page.browser.key("3")
    page.browser.wait("document.querySelector('table.top tbody tr')")
    page.browser.evaluate("location.hash = '#tab=top&rows=5'")
    asks(page, "top", limit=5)
    page.browser.wait("document.querySelectorAll('table.top tbody tr').length === 5")
    page.browser.click(".tablebox .more-rows")
    is_asked = asks(page, "top", limit=10)
    rows = page.browser.wait("document.querySelectorAll('table.top tbody tr').length === 10")
    page.browser.evaluate("location.hash = '#tab=top'")
    return is_asked and bool(rows), page.browser.text(".tablebox .more-rows")


@control("a range that is gone")
def check_gone(page):
    missing = []
    for tab in ("flame", "processes", "top", "tree", "sandwich&of=main", "quality"):
        page.browser.evaluate("location.hash = '#tab=%s&from=%d&to=%d'" % (tab, page.epoch - 60000, page.epoch - 50000))
        if not page.browser.wait("document.querySelector('#content').getAttribute('aria-labelledby') === 'tab-%s' && document"
                                 ".querySelector('#content .empty')?.innerText.startsWith('Samples are kept from')"
                                 % tab.partition("&")[0]):
            missing.append((tab, page.browser.text("#content")))
    page.browser.evaluate("location.hash = '#tab=flame'")
    return not missing, missing


@control("keys in the graph")
def check_graph_keys(page):
    geometry = geometry_of(page)
    page.browser.evaluate("document.querySelector('.flame canvas').focus()")
    page.browser.key("ArrowDown")
    first = focused(page)
    children = geometry.children(0)
    is_greatest = first == geometry.name(max(children, key=geometry.samples))
    order = [geometry.name(child) for child in children]
    page.browser.key("ArrowRight")
    right = focused(page)
    page.browser.key("ArrowLeft")
    left = focused(page)
    index = order.index(first) if first in order else 0
    expected = order[min(len(order) - 1, index + 1)]
    page.browser.key("Enter")
    is_zoomed = hash_has(page, "zoom=")
    page.browser.key("Escape")
    return (is_greatest and right == expected and is_zoomed and hash_lacks(page, "zoom=")), \
        first, right, left, order


@control("keys in the times")
def check_time_keys(page):
    drag_range(page)
    before = page.chosen()
    page.browser.evaluate("document.querySelector('.strip canvas').focus()")
    page.browser.key("ArrowLeft", has_shift=True)
    page.browser.wait("!location.hash.includes('to=%d')" % (before[1] + page.epoch))
    shorter = page.chosen()
    page.browser.key("ArrowRight", has_shift=True)
    page.browser.wait("location.hash.includes('to=%d')" % (before[1] + page.epoch))
    same = page.chosen()
    page.browser.key("ArrowLeft")
    page.browser.wait("!location.hash.includes('to=%d')" % (before[1] + page.epoch))
    moved = page.chosen()
    return (shorter[0] == before[0] and shorter[1] < before[1] and same == before
            and moved[0] < before[0] and moved[1] - moved[0] == before[1] - before[0]
            and asks(page, **{"from": moved[0]}) and shows_its_answer(page)), before, shorter, same, moved


@control("the scales of times")
def check_scales(page):
    rate = page.api.get("status")["samples_per_second"]
    rows = int(query_of(page, "heatmap")["rows"][0])
    periods = rate / rows
    axis = page.browser.wait("/^[\\d.]+ CPUs?$/.exec(document.querySelector('.axis')?.innerText)?.[0]")
    return rows <= 50 and 0 <= periods - round(periods) < 0.1 and bool(axis), rate, rows, axis


@control("a range while it is dragged")
def check_drag(page):
    left, top, width, height = page.browser.box(".strip:nth-of-type(1) canvas")
    page.browser.mouse("mouseMoved", left + 0.3 * width, top + height / 2, buttons=0)
    page.browser.mouse("mousePressed", left + 0.3 * width, top + height / 2)
    page.browser.mouse("mouseMoved", left + 0.6 * width, top + height / 2)
    # The range that was painted, before it is chosen.
    is_seen = page.browser.wait("document.querySelector('.strip canvas').dataset.range", seconds=10)
    is_chosen = "from" in page.hash()
    page.browser.mouse("mouseReleased", left + 0.6 * width, top + height / 2)
    return bool(is_seen) and not is_chosen and hash_has(page, "from="), is_seen, is_chosen


@control("key 5")
def check_key_of_sandwich(page):
    page.browser.key("5")
    return hash_has(page, "tab=sandwich") and bool(page.browser.wait(
        "document.querySelector('#tab-sandwich').ariaSelected === 'true'"))


def check_controls(page, width, height):
    """All of them at a size of the window."""
    page.open(width=width, height=height)
    for name, check in CONTROLS:
        page.reset()
        try:
            found = check(page)
        except (RuntimeError, TypeError, AttributeError, ValueError) as error:
            found = False, repr(error)
        is_good, *words = found if isinstance(found, tuple) else (found,)
        page.tap.ok(is_good, "%s, at %d pixels" % (name, width), *words,
                    page.browser.evaluate("location.hash"))
    page.reset()
