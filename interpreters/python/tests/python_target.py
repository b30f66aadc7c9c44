# SPDX-License-Identifier: Apache-2.0
"""Runs under any Python from 2.7 on: prints what it knows of many code objects, then waits.

One line for a code object: `code ID NAME FILE LINES`, names as hexadecimal UTF-8, lines as
`line*count` for the instruction offsets 0, 1, 2, ... (bytes), as PyCode_Addr2Line() has them, or nothing. Then
`chain LINE LINE LINE`, where inner(), middle() and this module are while they wait for stdin.
"""

import ctypes
import os
import sys

MODULES = ["argparse", "inspect", "threading", "subprocess", "pickle"]
LONG_MODULES = ["dis", "json.decoder", "tokenize", "textwrap", "traceback", "collections", "difflib"]
# In the short tier only one of so many code objects of modules tells its lines.
WITH_LINES = 4
if os.environ.get("ALLFRAMES_LONG"):
    MODULES += LONG_MODULES
    WITH_LINES = 1
MANY_LINES = 12000
LARGE_CODE_BYTES = 20000

addr2line = ctypes.pythonapi.PyCode_Addr2Line
addr2line.argtypes = [ctypes.py_object, ctypes.c_int]
addr2line.restype = ctypes.c_int

kept = []


def codes_of(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            for inner_code in codes_of(constant):
                yield inner_code


def as_hex(text):
    if isinstance(text, bytes):
        data = text.decode("utf-8", "replace").encode("utf-8")
    else:
        # A half of a surrogate pair is no character.
        data = "".join(u"\ufffd" if 0xd800 <= ord(c) < 0xe000 or c == "\0" else c
                       for c in text).encode("utf-8")
    return "".join("%02x" % byte for byte in bytearray(data)) or "-"


def ranges_of(code):
    """Ranges of offsets with their lines, in order; large tables not by one look-up an offset."""
    size = len(code.co_code)
    if size > LARGE_CODE_BYTES and hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            yield line or 0, end - start
    else:
        # Instructions of 3.6 and later have two bytes.
        step = 2 if sys.version_info >= (3, 6) else 1
        for offset in range(0, size, step):
            yield max(addr2line(code, offset), 0), step


def lines_of(code):
    runs = []
    for line, count in ranges_of(code):
        if runs and runs[-1][0] == line:
            runs[-1][1] += count
        else:
            runs.append([line, count])
    return " ".join("%d*%d" % (line, count) for line, count in runs)


def report(code, has_lines=True):
    kept.append(code)
    name = getattr(code, "co_qualname", code.co_name)
    print("code %d %s %s %s" % (id(code), as_hex(name), as_hex(code.co_filename), lines_of(code) if has_lines else ""))


def special_codes():
    """Names and tables that the standard library does not have."""
    yield "def %s(): pass\n" % ("n" * 5000)
    yield "def f():\n" + "\n" * 100000 + "    x = 1\n" + "    y = (x +\n\n\n 2)\n" * 10
    yield "def f(x):\n" + "    x = x + 1\n" * MANY_LINES
    yield "def f(x):\n    return (x.a(\n1,\n2)\n    .b(\n3)\n\n\n\n    + g(\n    lambda: 5))\n" * 3
    yield "async def f(x):\n    async with x as y:\n        return [await z for z in y if z]\n"
    yield u"def \u00e9t\u00e9(): pass\n"
    yield u"def \u03c0\u03b1(): pass\n"
    yield u"def \U00020000x\U00020001(): pass\n"
    yield u"def %s(): pass\n" % (u"\u03c0" * 3000)


def main():
    for name in MODULES:
        try:
            module = __import__(name, fromlist=["x"])
        except ImportError:
            continue
        path = module.__file__.replace(".pyc", ".py")
        with open(path, "rb") as source:
            for code in codes_of(compile(source.read(), path, "exec")):
                report(code, len(kept) % WITH_LINES == 0)
    for source in special_codes():
        try:
            module_code = compile(source.encode("utf-8"), "special\xe9", "exec")
        except SyntaxError:
            continue
        for code in codes_of(module_code):
            report(code)
    if sys.version_info >= (3, 8):
        for name in ["\ud800x", "a\0b", ""]:
            report(module_code.replace(co_name=name, co_filename=name + "\udfff\U0001f600"))


def inner():
    sys.stdout.flush()
    return sys.stdin.read(1)  # inner


def middle():
    return (lambda: [inner()])()  # middle


def line_marked(mark):
    with open(__file__.replace(".pyc", ".py")) as source:
        for number, line in enumerate(source, 1):
            if line.rstrip().endswith("# " + mark):
                return number


main()
print("chain %d %d %d" % (line_marked("inner"), line_marked("middle"), line_marked("module")))
middle()  # module
