# SPDX-License-Identifier: Apache-2.0
"""Gestures on the page of a busy host's recording, by mouse and by keyboard."""
import json
import re
import urllib.parse

from viewer_controls import asks, query_of
from viewer_pages import Geometry, number_in

PROGRAM = "cc1plus"
# Narrower frames are not drawn.
MIN_PIXELS = 0.5
WORD = "wait"
DEEP_STEPS = 3000


def focus_graph(page):
    page.browser.evaluate("document.querySelector('.flame canvas').focus()")


def words(page):
    return page.browser.text(".flame .bar")


def zoomed_to(page):
    return json.loads(page.hash().get("zoom", ["[]"])[0])


def is_zoomed(page, path):
    return bool(page.browser.wait("JSON.stringify(JSON.parse(new URLSearchParams(location.hash.slice(1)).get('zoom')"
                                  " ?? '[]')) === JSON.stringify(%s)" % json.dumps(path)))


def narrow_below(sums, path, zoomed, width):
    """(frames, samples) of the block below @path: of the callees that are too narrow where @zoomed takes @width."""
    narrow = {child for child, (_, total) in sums.items()
              if len(child) == len(path) + 1 and child[:-1] == path
              and total / sums[zoomed][1] * width < MIN_PIXELS}
    frames = sum(1 for each in sums if each[:len(path) + 1] in narrow)
    return frames, sum(sums[child][1] for child in narrow)


def check_zoom(page, recording, width):
    """By mouse to a program, by keyboard to its narrow frames."""
    tap, browser = page.tap, page.browser
    geometry = Geometry(page.api.get("flame", max_nodes=10000))
    node = geometry.greatest(PROGRAM)
    canvas = browser.box(".flame canvas")[2]
    browser.click(".flame canvas", geometry.middle(node, canvas))
    sums = recording.sums((PROGRAM,))
    asked = browser.wait("true") and asks(page, zoom=answer_id(page, PROGRAM))
    shown = browser.wait("document.querySelector('.flame .bar').innerText.includes('{:,} samples')".format(
        sums[(PROGRAM,)][1]))
    answer = page.api.get("flame", **query_of(page, "flame"))
    tap.ok(asked and shown and is_zoomed(page, [PROGRAM]) and answer["zoom"] == 1
           and len(answer["tree"]["parent"]) == 10001,
           "a click zooms, and the server spends all frames below", words(page), answer["zoom"],
           len(answer["tree"]["parent"]))
    page.shot("busy-zoom-%d" % width)

    focus_graph(page)
    browser.key("Escape")
    # The block of narrow frames is the last of its caller's callees.
    path = [PROGRAM]
    page.browser.wait("!location.hash.includes('zoom')")
    browser.click(".flame canvas", geometry.middle(node, canvas))
    is_zoomed(page, path)
    asks(page, zoom=answer_id(page, PROGRAM))
    drawn = browser.wait("document.querySelector('.flame canvas').dataset.narrow > 0")
    focus_graph(page)
    found = None
    for _ in range(20):
        browser.key("ArrowDown")
        name = browser.text(".flame .bar b")
        if "narrow frame" in name:
            break
        path.append(name)
        before = None
        for _ in range(60):
            browser.key("ArrowRight")
            if browser.text(".flame .bar b") == before:
                break
            before = browser.text(".flame .bar b")
        if "narrow frame" in before:
            path.pop()
            found = words(page)
            break
        for _ in range(60):
            browser.key("ArrowLeft")
            if browser.text(".flame .bar b") == name:
                break
    expected = narrow_below(sums, tuple(path), (PROGRAM,), browser.box(".flame canvas")[2])
    counted = found and (number_in(found, r"([\d,]+) narrow frame"), number_in(found, r"([\d,]+) samples"))
    tap.ok(drawn and counted == expected, "what is too narrow is one block that says how many frames and samples it is",
           found, counted, expected, path)
    page.shot("busy-block-%d" % width)
    browser.key("Enter")
    tap.ok(is_zoomed(page, path), "Enter on the block zooms to its caller", page.hash(), path)
    browser.wait("document.querySelector('.flame canvas').dataset.zoom === '%d'" % len(path))
    page.shot("busy-narrow-%d" % width)
    browser.key("Escape")
    tap.ok(is_zoomed(page, []), "Escape zooms out", page.hash())


def answer_id(page, name):
    tree = page.api.get("flame", max_nodes=100)["tree"]
    return next(tree["ids"][index] for text, index in zip(tree["name"], tree["id"])
                if index >= 0 and tree["names"][text] == name)


def check_deep(page, recording, size):
    """A link to the end of a recursion, by names only."""
    deepest = max((path for path, _ in recording.stacks), key=len)[:DEEP_STEPS]
    samples = recording.sums(deepest)[deepest][1]
    page.open("#" + urllib.parse.urlencode({"zoom": json.dumps(deepest)}), **size)
    page.tap.ok(page.shows(samples) and page.browser.text(".flame .bar b") == deepest[-1]
                and page.browser.wait("document.querySelector('.flame canvas').dataset.zoom === '%d'" % DEEP_STEPS),
                "a link leads through %d frames" % DEEP_STEPS, words(page), samples)
    page.shot("busy-deep-%d" % size["width"])
    page.open(**size)


def search_line(page):
    return page.browser.text(".found-line")


def check_search(page, recording, width):
    tap, browser = page.tap, page.browser
    matched = recording.matched(WORD).total()
    browser.evaluate("document.activeElement.blur()")
    browser.key("/")
    browser.type(".tools input[type=search]", WORD)
    said = "%s samples match" % "{:,}".format(matched)
    tap.ok(browser.wait("document.querySelector('.found-line')?.innerText.includes('%s')" % said)
           and "cc1plus" in search_line(page), "the search counts all samples, and those of processes",
           search_line(page), said)
    hits = number_in(search_line(page), r"([\d,]+) hits")
    names, before = [], ""
    for has_shift, expected in ((False, 1), (False, 2), (True, 1), (True, hits)):
        browser.key("Enter", has_shift=has_shift)
        browser.wait("document.querySelector('.found-line')?.innerText.includes('hit {:,} of')".format(expected))
        # The frame follows when the server has answered. Neighbouring hits here have different names.
        browser.wait("(name => name !== %s && name.toLowerCase().includes('%s'))"
                     "(document.querySelector('.flame .bar b').innerText)" % (json.dumps(before), WORD))
        before = browser.text(".flame .bar b")
        names.append((number_in(search_line(page), r"hit ([\d,]+) of"), before))
    tap.ok(hits > 2 and [number for number, _ in names] == [1, 2, 1, hits]
           and all(WORD in name.lower() for _, name in names) and names[0] == names[2],
           "Enter goes to the next hit, Shift+Enter to the one before, around the ends", hits, names)
    page.shot("busy-search-%d" % width)
    browser.type(".tools input[type=search]", "/wa(it/")
    tap.ok(browser.wait("document.querySelector('.found-line.bad')?.innerText.includes("
                        "'character 3 of the expression: the group has no closing parenthesis')"),
           "a bad expression says what is wrong, and where", search_line(page))
    page.shot("busy-bad-%d" % width)
    # The console has a line about the refusal.
    tap.ok(all("400" in error for error in browser.errors), "the console has nothing else", *browser.errors[:5])
    browser.errors.clear()
    browser.type(".tools input[type=search]", "/^%s_/" % WORD)
    matched = recording.matched("^%s_" % WORD).total()
    tap.ok(browser.wait("document.querySelector('.found-line')?.innerText.includes('%s samples match')"
                        % "{:,}".format(matched)), "an expression is searched for", search_line(page), matched)
    page.clear()


def check_page(page, recording, width, height, is_dark):
    page.tap.note("at %d pixels, %s" % (width, "dark" if is_dark else "light"))
    size = {"width": width, "height": height, "is_dark": is_dark}
    page.open(**size)
    page.tap.ok(page.shows(recording.total), "the root has all samples", words(page))
    head = page.browser.text("header")
    page.tap.ok(not page.browser.evaluate("document.querySelector('.times, select[aria-label=Times]')")
                and not re.search("complete|lost|Freeze", head) and "busy.folded" in head,
                "of a file without times there are none, and nothing is said that it does not know", head)
    name = "%d-%s" % (width, "dark" if is_dark else "light")
    page.shot("busy-" + name)
    check_zoom(page, recording, width)
    check_search(page, recording, width)
    check_deep(page, recording, size)
    wide = page.browser.evaluate("document.documentElement.scrollWidth")
    page.tap.ok(wide <= width, "nothing sticks out", wide)
