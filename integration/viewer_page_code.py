# SPDX-License-Identifier: Apache-2.0
"""Parts of the viewer's page by themselves, in a browser: what they draw and answer for data made up here, which a live
profile has by chance only.
"""
import colorsys
import http.server
import json
import os
import re
import threading

from browser import Browser
from harness import ROOT

SOURCES = os.path.join(ROOT, "viewer", "page", "src")
# Two seconds of a run whose first moment is that.
EPOCH = 1700000000000
ONE_SECOND = {"from": 5000, "columns": 4, "rows": 50}
TEN_SECONDS = {**ONE_SECOND, "seconds_per_column": 10}
RED, BLUE, GREY = "red", "blue", "grey"

# Draws a root and what it calls, and reads points of the row below the root.
_DRAW = """Promise.all([import('/paint.js'), import('/tree.js'), import('/boxes.js')]).then(([paint, tree, layout]) => {
	const answer = tree.layOut(%s);
	const canvas = document.createElement('canvas');
	const scene = { tree: answer, zoom: 0, boxes: layout.arrangeBoxes(answer, 0, 500), width: 500, height: 36, top: 0,
		isFlipped: false, found: null, selected: -1, hovered: -1, isDark: %s };
	paint.paint(canvas, scene);
	const pen = canvas.getContext('2d');
	return %s.map(x => [...pen.getImageData(x, 18 + 2, 1, 1).data.slice(0, 3)]);
})"""


class _Sources(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}

    def __init__(self, *arguments):
        super().__init__(*arguments, directory=SOURCES)

    def log_message(self, *_):
        pass


def hue(pixel):
    """Degrees; None for grey."""
    most, least = max(pixel), min(pixel)
    if most - least < 24:
        return None
    red, green, blue = pixel
    if most == red:
        return 60 * ((green - blue) / (most - least)) % 360
    if most == green:
        return 60 * ((blue - red) / (most - least) + 2)
    return 60 * ((red - green) / (most - least) + 4)


def colour_name(pixel):
    degrees = hue(pixel)
    if degrees is None:
        return GREY
    return RED if degrees < 20 or degrees > 340 else BLUE if 200 < degrees < 230 else "%d degrees" % degrees


def near(degrees, expected):
    return degrees is not None and min(abs(degrees - expected), 360 - abs(degrees - expected)) < 8


def leaves(kinds, **more):
    count = len(kinds)
    return {"tree": {"names": ["all"] + list("abcde"), "files": [], "kinds": kinds, "parent": [-1] + [0] * count,
                     "name": list(range(count + 1)), "kind": [0] + list(range(count)),
                     "pruned": [0] * (count + 1), "self": [0] + [20] * count, "total": [20 * count] + [20] * count, **more}}


def check_colours(tap, browser):
    kinds = {"kernel": 38, "native": 14, "python": 216, "java": 142, "error": 352}
    for is_dark in ("false", "true"):
        pixels = browser.evaluate(_DRAW % (json.dumps(leaves(list(kinds))), is_dark, [100 * i + 2 for i in range(5)]))
        tap.ok(all(near(hue(pixel), degrees) for pixel, degrees in zip(pixels, kinds.values())),
               "kinds of frames have their colours, %s" % ("dark" if is_dark == "true" else "light"),
               dict(zip(kinds, map(hue, pixels))))
    # More, less, as much, more but by chance, gone.
    compared = leaves(["native"] * 5, base_self=[0, 5, 35, 20, 15, 25], base_total=[100, 5, 35, 20, 15, 25],
                      z=[0, 3.1, -2.4, 0, 0.9, -2.0])
    # Frames are as wide as their mean shares.
    widths = [(20 + base) / 2 for base in (5, 35, 20, 15, 25)]
    lefts = [sum(widths[:i]) * 5 + 3 for i in range(5)]
    pixels = browser.evaluate(_DRAW % (json.dumps(compared), "false", [round(left) for left in lefts]))
    tap.ok([colour_name(pixel) for pixel in pixels] == [RED, BLUE, GREY, GREY, BLUE],
           "red is more, blue is less, grey may be chance", [colour_name(pixel) for pixel in pixels], pixels)


_MADE_UP = ["kind%d" % i for i in range(40)]
_KNOWN = ["native", "kernel", "go", "java", "python", "jit", "inlined", "error"]
# [[name, dark, colour]] of all, in five shades; kinds that are learned have hues apart.
_COLOURS = """import('/colours.js').then(colours => {
	colours.learnKinds(%s);
	const names = ['', 'a', 'b', 'c', 'd', 'e'];
	return %s.flatMap(kind => [false, true].flatMap(isDark => names.map(
		name => [kind, isDark, colours.kindColour(kind, 0, name, isDark)])));
})"""
_TEXT = (0x14, 0x17, 0x1f)


def luminance(parts):
    """Relative luminance (WCAG 2.2) of red, green and blue from 0 to 1."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def check_new_kinds(tap, browser):
    found = browser.evaluate(_COLOURS % (json.dumps(_MADE_UP[:8]), json.dumps(_KNOWN + _MADE_UP)))
    text = luminance([part / 255 for part in _TEXT]) + 0.05
    poor, hues = [], {}
    for kind, is_dark, colour in found:
        degrees, saturation, lightness = map(float, re.fullmatch(r"hsl\((\S+) (\S+)% (\S+)%\)", colour).groups())
        parts = colorsys.hls_to_rgb(degrees / 360, lightness / 100, saturation / 100)
        if (luminance(parts) + 0.05) / text < 4.5:
            poor.append((kind, is_dark, colour))
        hues[kind] = degrees
    tap.ok(found and not poor, "text is readable on the colours of all kinds, in both themes", poor[:5])
    learned = [hues[kind] for kind in _MADE_UP[:8]]
    others = [14, 38, 54, 142, 188, 216, 286, 352]
    near_ones = [(a, b) for i, a in enumerate(learned) for b in others + learned[:i]
                 if min(abs(a - b), 360 - abs(a - b)) < 15]
    tap.ok(not near_ones, "and their hues are apart", near_ones)


def check_heat(tap, browser):
    def cell(heat, x, y):
        return browser.evaluate("import('/strips.js').then(strips => strips.heatCell(%s, 400, 100, %d, %d))"
                                % (json.dumps(heat), x, y))

    found = cell(ONE_SECOND, 150, 99), cell(ONE_SECOND, 150, 49), cell(ONE_SECOND, 399, 0)
    tap.ok(found == ([6000, 6020], [6500, 6520], [8980, 9000]),
           "a cell of the heat map is a part of a second", found)
    found = cell(TEN_SECONDS, 150, 99), cell(TEN_SECONDS, 150, 1), cell(TEN_SECONDS, 399, 50)
    tap.ok(found == ([15000, 25000], [15000, 25000], [35000, 45000]),
           "where a column is several seconds it is chosen as a whole", found)


def check_times(tap, browser):
    found = browser.evaluate(
        "import('/view.js').then(view => { const read = view.readView('#from=%d&to=%d');"
        "return [view.writeView(read), view.timesOf(read, 'range', %d), view.timesOf(read, 'range', %d)]; })"
        % (EPOCH + 2000, EPOCH + 3000, EPOCH, EPOCH + 60000))
    tap.ok(found == ["#from=%d&to=%d" % (EPOCH + 2000, EPOCH + 3000), [2000, 3000], [0, 1]],
           "a link's times are of the clock: a run that began later has nothing there", found)


def check_code(tap):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Sources) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with Browser() as browser:
                # Any page of that origin may import.
                browser.open("http://127.0.0.1:%d/app.css" % server.server_port)
                browser.wait("location.pathname === '/app.css'")
                for check in (check_colours, check_new_kinds, check_heat, check_times):
                    check(tap, browser)
        finally:
            server.shutdown()
            thread.join()
