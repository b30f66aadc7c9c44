# SPDX-License-Identifier: Apache-2.0
"""What a frame of Ruby, PHP or Perl costs in the kernel, beside a native one."""
import os
import shlex
import sys

import python_side
from tools import ROOT, SOURCES, path

sys.path.insert(0, os.path.join(ROOT, "integration"))
import perls
import phps
import rubies

SOME = python_side.FUNCTIONS
# Language, the versions at hand, and the program of the bench.
LANGUAGES = (
    ("Ruby", rubies, "ruby_depth.rb"),
    ("PHP", phps, "php_depth.php"),
    ("Perl", perls, "perl_depth.pl"),
)


def _program(runtime, source):
    """The path of a script that runs @source in @runtime, with their arguments."""
    script = path("%s_%s" % (os.path.splitext(source)[0], runtime.name))
    runtime.shared.append(SOURCES)
    with open(script, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nexec %s "$@"\n' % shlex.join(runtime.command(os.path.join(SOURCES, source))))
    os.chmod(script, 0o755)
    return script


def slopes(median_of):
    """(language, version, ns per frame, the same where no function comes twice) of the versions of the short tier."""
    for language, module, source in LANGUAGES:
        for runtime in module.at_hand(False).values():
            program = _program(runtime, source)
            yield (language, runtime.name, python_side.slope(median_of, program, SOME),
                   python_side.slope(median_of, program))
