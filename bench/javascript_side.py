# SPDX-License-Identifier: Apache-2.0
"""What a JavaScript frame costs in the kernel, beside a native one."""
import os
import sys

import python_side
from tools import ROOT, SOURCES, path

sys.path.insert(0, os.path.join(ROOT, "integration"))
import nodes
from javascript_test import options_of

SOME = python_side.FUNCTIONS
# Nothing is inlined: each call has a frame.
MODES = {
    "interpreted": [],
    "sparkplug": [],
    "plain": ["--max-inlined-bytecode-size=0", "--max-inlined-bytecode-size-cumulative=0",
              "--max-inlined-bytecode-size-small=0"],
}


def _program(node, mode):
    """The path of a script that runs the bench's calls in @node, with their arguments."""
    script = path("javascript_depth_%s_%s" % (node, mode))
    command = node.command(*options_of(mode, node.version[0]), *MODES[mode], os.path.join(SOURCES, "javascript_depth.js"))
    with open(script, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nexec %s "$@"\n' % " ".join(command))
    os.chmod(script, 0o755)
    return script


def slopes(median_of):
    """(Node.js, mode, ns per frame, the same where no function comes twice) of the versions of the short tier."""
    for node in nodes.at_hand(False).values():
        for mode in MODES:
            program = _program(node, mode)
            yield (node, mode, python_side.slope(median_of, program, SOME), python_side.slope(median_of, program))
