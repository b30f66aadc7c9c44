#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folds, cuts and groups of frames on the viewer's page, in a headless Chromium: a recording of a Python program, a Go program and
one with generated code, and sums over its stacks that are worked out here. The long tier has all sizes and colours. Prints
TAP; screenshots are left in build/integration/viewer/.
"""
import collections
import os
import random
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser as browsers
from browser import Browser
from harness import IS_LONG, Agent, Tap
from made_profiles import Strings
from protobuf_wire import field
from viewer_controls import asks, hash_has, hash_lacks
from viewer_pages import Geometry, Page, check_quiet, wait_for_file

SIZES = ((1440, 900), (390, 844)) if IS_LONG else ((1440, 900),)
SEED = 31
SAMPLES = 4000

Frame = collections.namedtuple("Frame", "name binary file is_inlined", defaults=["", False])

_LIBC, _PYTHON, _NUMPY, _SERVER, _ENGINE = ("/usr/lib/libc.so.6", "/usr/lib/libpython3.11.so.1.0", "/srv/numpy/core.so",
                                           "/srv/gateway", "/srv/engine")
_KERNEL = "[kernel.kallsyms]"
_EVAL = Frame("_PyEval_EvalFrameDefault", _PYTHON)
_CALL = Frame("PyObject_Call", _PYTHON)
_HANDLE = Frame("handle", "", "/srv/app/web.py")
_VISIT = Frame("visit", "", "/srv/app/tree.py")
_DOT = Frame("dot", "", "/usr/lib/python3/dist-packages/numpy/core.py")
_MULTIPLY, _LOAD = Frame("multiply", _NUMPY, "core.c"), Frame("load_vector", _NUMPY, "core.h", True)
_SYSCALL, _READ = Frame("do_syscall_64", _KERNEL), Frame("vfs_read", _KERNEL)
_SERVE, _PARSE = (Frame("net/http.(*conn).serve", _SERVER, "/go/src/net/http/server.go"),
                  Frame("shop/cart.Parse", _SERVER, "/srv/cart.go"))
_GC, _SCAN = (Frame("runtime.gcBgMarkWorker", _SERVER, "/go/src/runtime/mgc.go"),
              Frame("runtime.scanobject", _SERVER, "/go/src/runtime/mgcmark.go"))
_RUN = Frame("engine_run", _ENGINE, "engine.c")
_UNNAMED = [Frame("[anonymous]+0x%x_[j]" % address, "") for address in (0x7f001000, 0x7f002040, 0x7f003080)]
_START = [Frame("_start", _PYTHON), Frame("__libc_start_main", _LIBC), _CALL, _EVAL]
_BINARIES = (_LIBC, _PYTHON, _NUMPY, _SERVER, _ENGINE, _KERNEL)


def _stack(source):
    """(program, frames), the outermost first."""
    program = source.choices(("web", "gateway", "engine"), (6, 3, 2))[0]
    if program == "web":
        frames = [*_START, _HANDLE]
        for _ in range(source.randrange(4)):
            frames += source.choice(([_VISIT], [_VISIT, _CALL, _EVAL, _HANDLE], [_CALL, _EVAL, _VISIT]))
        frames += source.choice(([], [_DOT, _MULTIPLY], [_DOT, _MULTIPLY, _LOAD], [_CALL]))
    elif program == "gateway":
        frames = source.choice(([_SERVE, _PARSE], [_SERVE, _PARSE, _PARSE, _GC], [_GC, _SCAN], [_SERVE]))
    else:
        frames = [_RUN, *(source.choice(_UNNAMED) for _ in range(source.randint(1, 4)))]
    return program, [*frames, *([_SYSCALL, _READ] if source.random() < 0.2 else [])]


def recording():
    """{(program, frames): samples}"""
    source = random.Random(SEED)
    counts = collections.Counter()
    for _ in range(SAMPLES):
        program, frames = _stack(source)
        counts[program, tuple(frames)] += 1
    return counts


def write(path, counts):
    """Writes @counts as a pprof file."""
    strings, ids, tables = Strings(), {}, []
    parts = [field(1, field(1, strings("samples")) + field(2, strings("count")))]

    def number(key, write_entry):
        if key not in ids:
            ids[key] = len(ids) + 1
            tables.append(write_entry(ids[key]))
        return ids[key]

    def function(frame):
        return number((frame.name, frame.file), lambda id_: field(5, field(1, id_) + field(2, strings(frame.name)) +
                                                                  field(4, strings(frame.file))))

    def location(frames):
        """@frames: inlined ones last, into the first."""
        lines = b"".join(field(4, field(1, function(frame))) for frame in reversed(frames))
        mapping = _BINARIES.index(frames[0].binary) + 1 if frames[0].binary else 0
        return number(tuple(frames), lambda id_: field(4, field(1, id_) + (field(2, mapping) if mapping else b"") +
                                                       field(3, 0x1000 * max(1, mapping) + id_) + lines))

    for (program, frames), count in counts.items():
        groups = []
        for frame in frames:
            if frame.is_inlined:
                groups[-1].append(frame)
            else:
                groups.append([frame])
        label = field(1, strings("comm")) + field(2, strings(program))
        parts.append(field(2, b"".join(field(1, location(group)) for group in reversed(groups)) + field(2, count) +
                           field(3, label)))
    parts += [field(3, field(1, index + 1) + field(2, 0x1000 * (index + 1)) + field(3, 0x1000 * (index + 2)) +
                    field(5, strings(binary)) + field(7, 1)) for index, binary in enumerate(_BINARIES)]
    with open(path, "wb") as file:
        file.write(b"".join(parts) + b"".join(tables) + strings.fields())


# --- the same, done to lists of names ---

def is_unnamed(frame):
    return frame.name.startswith("[anonymous]")


def shown_name(frame):
    return frame.name.removesuffix("_[j]")


def merged(names):
    """@names: (name, whether it stands for several). Neighbours that are one group are one."""
    found = []
    for name, is_group in names:
        if not (is_group and found and found[-1] == name):
            found.append(name)
    return found


def folded(frames, kind):
    if kind == "inlined":
        return [shown_name(frame) for frame in frames if not frame.is_inlined]
    if kind == "recursion":
        found = []
        for name in map(shown_name, frames):
            found = found[:found.index(name)] if name in found else found
            found.append(name)
        return found
    raise ValueError(kind)


def replaced(program, frame, kind):
    """The frame's name, and whether it stands for several."""
    if kind == "runtime" and frame.binary == _PYTHON:
        return os.path.basename(_PYTHON), True
    if kind == "runtime" and frame.name.startswith("runtime."):
        return "[runtime of Go]", True
    if kind == "kernel" and frame.binary == _KERNEL:
        return "[kernel]", True
    if kind == "unnamed" and is_unnamed(frame):
        return "[unnamed code of %s]" % program, True
    if kind == "binary":
        return binary_of(frame), True
    if kind == "package":
        return package_of(frame), True
    return shown_name(frame), False


def binary_of(frame):
    if frame.binary == _KERNEL:
        return "vmlinux"
    if frame.binary:
        return os.path.basename(frame.binary)
    return "[jit]" if is_unnamed(frame) else "[python]"


def package_of(frame):
    packages = {_HANDLE: "/srv/app", _VISIT: "/srv/app", _DOT: "numpy", _SERVE: "net/http", _PARSE: "shop/cart", _GC: "runtime",
                _SCAN: "runtime"}
    return packages.get(frame) or binary_of(frame)


def changed(program, frames, kind):
    """The names of a stack after one transform: a fold, "binary", "package", ("begin", name) or ("hide", name)."""
    if isinstance(kind, tuple):
        what, name = kind
        names = [shown_name(frame) for frame in frames]
        if what == "hide":
            return [each for each in names if each != name]
        return names[names.index(name):] if name in names else None
    if kind in ("inlined", "recursion"):
        return folded(frames, kind)
    return merged(replaced(program, frame, kind) for frame in frames)


class Sums:
    def __init__(self, counts, kind):
        self.own, self.total, self.samples = collections.Counter(), collections.Counter(), 0
        for (program, frames), count in counts.items():
            names = changed(program, frames, kind)
            if names is None:
                continue
            self.samples += count
            if names:
                self.own[names[-1]] += count
            for name in set(names):
                self.total[name] += count

    def rows(self):
        return {name: (self.own[name], total) for name, total in self.total.items()}


QUERIES = [({"fold": kind}, kind) for kind in ("runtime", "inlined", "recursion", "kernel", "unnamed")] + [
    ({"frames": "binary"}, "binary"), ({"frames": "package"}, "package"), ({"begin": "visit"}, ("begin", "visit")),
    ({"hide": "handle"}, ("hide", "handle"))]


def check_sums(tap, api, counts):
    for query, kind in QUERIES:
        sums = Sums(counts, kind)
        answer = api.get("top", limit=1000, root="none", **query)
        rows = collections.Counter()
        seen = collections.defaultdict(lambda: [0, 0])
        for row in answer["rows"]:
            rows[row["name"]] += 1
            seen[row["name"]][0] += row["self"]
            seen[row["name"]][1] += row["total"]
        found = {name: tuple(numbers) for name, numbers in seen.items()}
        wrong = {name: (found.get(name), sums.rows().get(name)) for name in found.keys() | sums.rows().keys()
                 if found.get(name) != sums.rows().get(name)}
        tap.ok(not wrong and answer["total"] == sums.samples and max(rows.values()) == 1,
               "%s: self and total of each function are the sums over the changed stacks" % query, wrong,
               answer["total"], sums.samples, rows.most_common(2))
        tree = api.get("flame", root="none", max_nodes=50000, **query)["tree"]
        tap.ok(sum(tree["self"]) == tree["total"][0] == sums.samples, "and the graph has all samples", tree["total"][0],
               sum(tree["self"]), sums.samples)


# --- gestures ---

def chips(page):
    return page.browser.evaluate("[...document.querySelectorAll('.filters .of-frames')].map(chip => chip.innerText)")


def has_chip(page, text):
    return bool(page.browser.wait("[...document.querySelectorAll('.filters .of-frames')].some(chip => chip.innerText.includes('%s'))"
                                  % text))


def click_choice(page, text):
    """A choice of the menu of frames, by its words."""
    browser = page.browser
    browser.evaluate("(() => { document.querySelectorAll('[data-clicked]').forEach(each => delete each.dataset.clicked);"
                     "const label = [...document.querySelectorAll('.choices label')].find(each => each.innerText.trim() === '%s');"
                     "label.dataset.clicked = '1'; })()" % text)
    browser.click("[data-clicked] input")


def open_menu(page):
    if not page.browser.evaluate("document.querySelector('.transforms').open"):
        page.browser.click(".transforms summary")
    return page.browser.wait("document.querySelector('.transforms').open")


def frame_names(page, gone):
    """The names in the tree that the page shows, as its call tree lists them when all of it is open, once @gone is not there."""
    browser = page.browser
    browser.key("4")
    browser.wait("(rows => rows.length > 1 && !rows.some(row => row.innerText.includes('%s')))"
                 "([...document.querySelectorAll('.calltree tbody tr')])" % gone)
    browser.evaluate("document.querySelector('.calltree tbody tr').focus()")
    browser.key("*")
    return set(browser.evaluate("[...document.querySelectorAll('.calltree tbody td.function')].map(cell => cell.innerText"
                                ".replace(/[▾▸\\n]/g, '').replace(/ inlined$/, '').trim())"))


def table_rows(page, count):
    """{name: (self, total)} of the table of functions, once it has @count rows."""
    page.browser.evaluate("document.activeElement.blur()")
    page.browser.key("3")
    page.browser.wait("document.querySelectorAll('table.top tbody tr').length === %d" % count)
    cells = page.browser.evaluate("[...document.querySelectorAll('table.top tbody tr')].map(row => [row.querySelector("
                                  "'.function').innerText.trim(), row.cells[0].innerText, row.querySelector("
                                  "'td.number.second').innerText])")
    return {name: (int(own.replace(",", "")), int(total.replace(",", ""))) for name, own, total in cells}


def check_menu(page, counts, name, _):
    """By mouse: the table, the call tree and the graph follow each choice."""
    tap, browser = page.tap, page.browser
    page.reset()
    is_open = open_menu(page)
    page.shot("transforms-menu-" + name)
    tap.ok(is_open, "a menu has what can be done with frames", browser.text(".choices"))
    width = browser.evaluate("(box => [box.left, box.right])(document.querySelector('.choices').getBoundingClientRect())")
    tap.ok(width[0] >= 0 and width[1] <= browser.evaluate("innerWidth"), "all of it is on the screen", width)
    click_choice(page, "Runtime frames")
    sums = Sums(counts, "runtime")
    tap.ok(hash_has(page, "fold=runtime") and asks(page, fold="runtime") and has_chip(page, "folded: runtime frames")
           and page.shows(sums.samples), "runtime frames are folded by a click", page.hash(), chips(page))
    page.shot("transforms-runtime-" + name)
    browser.key("Escape")
    tap.ok(browser.wait("!document.querySelector('.transforms').open") is not None and hash_has(page, "fold=runtime"),
           "Escape closes the menu, and changes nothing")
    tap.ok(table_rows(page, len(sums.total)) == sums.rows(), "the table of functions is of the folded stacks")
    page.shot("transforms-table-" + name)
    shown = frame_names(page, _EVAL.name)
    tap.ok(os.path.basename(_PYTHON) in shown and not shown & {_EVAL.name, _CALL.name, _GC.name},
           "and so is the call tree", shown)
    browser.key("1")
    browser.click(".filters .of-frames")
    tap.ok(hash_lacks(page, "fold=") and not chips(page), "a click on its chip drops it", page.hash(), chips(page))


def check_keyboard(page, counts, name, size):
    tap, browser = page.tap, page.browser
    page.reset()
    browser.evaluate("document.querySelector('.transforms summary').focus()")
    browser.key("Enter")
    browser.wait("document.querySelector('.transforms').open")
    browser.evaluate("document.querySelector('.choices input').focus()")
    browser.key(" ")
    tap.ok(hash_has(page, "fold=runtime"), "the space bar chooses too", page.hash())
    for text, kind in (("Kernel frames", "kernel"), ("Recursion", "recursion")):
        click_choice(page, text)
        tap.ok(has_chip(page, text.lower()) and asks(page), "a second and third one: " + kind, chips(page))
    tap.ok(page.hash().get("fold") == ["runtime", "kernel", "recursion"] and page.shows(sum(counts.values())),
           "all are in the address", page.hash())
    address = browser.evaluate("location.href")
    browser.key("Escape")
    page.open("#" + address.partition("#")[2], **size)
    tap.ok(len(chips(page)) == 3 and has_chip(page, "kernel"), "a link restores them", chips(page))
    page.shot("transforms-three-" + name)
    browser.evaluate("document.activeElement.blur()")
    browser.key("c")
    tap.ok(hash_lacks(page, "fold="), "c drops them all", page.hash())


def check_units(page, counts, name, _):
    tap, browser = page.tap, page.browser
    page.reset()
    open_menu(page)
    click_choice(page, "binary")
    sums = Sums(counts, "binary")
    tap.ok(hash_has(page, "frames=binary") and asks(page, frames="binary") and has_chip(page, "by binary"),
           "frames are binaries by a click", page.hash(), chips(page))
    tap.ok(table_rows(page, len(sums.total)) == sums.rows(), "the table has binaries with their sums")
    page.reset()
    open_menu(page)
    browser.evaluate("[...document.querySelectorAll('.choices input[name=colour]')][2].click()")
    wanted = {package_of(frame) for _, frames in counts for frame in frames}
    legend = browser.wait("(texts => texts.includes('numpy') && texts)([...document.querySelectorAll('.legend span')]"
                          ".map(each => each.innerText))")
    tap.ok(hash_has(page, "colour=package") and legend and set(legend) == wanted,
           "frames have the colours of packages, which the legend has", legend, wanted)
    browser.key("Escape")
    page.shot("transforms-colours-" + name)
    colours = browser.evaluate("(canvas => { const pen = canvas.getContext('2d'); const found = new Set();"
                               "const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);"
                               "for (let i = 0; i < data.length; i += 4) found.add(data.slice(i, i + 3).join());"
                               "const keys = [...document.querySelectorAll('.legend .key')].map(key => getComputedStyle(key)"
                               ".backgroundColor.match(/\\d+/g).join());"
                               "return keys.filter(key => !found.has(key)).length; })(document.querySelector('.flame canvas'))")
    tap.ok(colours <= 2, "and the graph too", colours, legend)


def check_frame_menu(page, counts, name, _):
    tap, browser = page.tap, page.browser
    page.reset()
    geometry = Geometry(page.api.get("flame", max_nodes=10000))
    node = geometry.greatest("handle")
    browser.click(".flame canvas", geometry.middle(node, browser.box(".flame canvas")[2]), buttons=2)
    browser.wait("document.querySelector('.popup')")
    browser.evaluate("[...document.querySelectorAll('.popup button')].find(each => each.innerText === 'Begin at it').click()")
    sums = Sums(counts, ("begin", "handle"))
    tap.ok(hash_has(page, "begin=handle") and has_chip(page, "begins at handle") and page.shows(sums.samples),
           "the menu's “Begin at it” leaves the stacks with it, from it on", browser.text(".flame .bar"), sums.samples)
    page.shot("transforms-begin-" + name)
    shown = frame_names(page, "_start")
    tap.ok("handle" in shown and not shown & {"_start", "__libc_start_main", "engine_run"}, "its callers are gone", shown)
    browser.key("1")
    browser.wait("document.querySelector('.flame canvas')")
    total = page.api.get("flame", begin="handle")["tree"]["total"][0]
    tap.ok(total == sums.samples and bool(re.search("begins at", "".join(chips(page)))), "all tabs agree", total)
    page.reset()


def check_page(page, counts, width, height, is_dark):
    name = "%d-%s" % (width, "dark" if is_dark else "light")
    page.tap.note("at " + name)
    size = {"width": width, "height": height, "is_dark": is_dark}
    page.open(**size)
    for check in (check_menu, check_keyboard, check_units, check_frame_menu):
        check(page, counts, name, size)
    wide = page.browser.evaluate("document.documentElement.scrollWidth")
    page.tap.ok(wide <= width, "nothing sticks out", wide)


def main():
    tap = Tap()
    counts = recording()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "mixed.pb")
        write(path, counts)
        with Agent("-open", path, "-viewer", "127.0.0.1:0", outputs=[]) as agent:
            url = wait_for_file(agent)
            if not tap.ok(url, "the recording is shown", agent.log_text()):
                tap.finish()
            if not browsers.COMMAND:
                tap.skip("transforms on the page", "needs chromium")
                tap.finish()
            with Browser() as browser:
                page = Page(tap, browser, url, {})
                check_sums(tap, page.api, counts)
                for width, height in SIZES:
                    for is_dark in (False, True) if IS_LONG else (False,):
                        check_page(page, counts, width, height, is_dark)
                check_quiet(page)
    tap.finish()


if __name__ == "__main__":
    main()
