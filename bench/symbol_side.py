# SPDX-License-Identifier: Apache-2.0
"""What names of native code cost: symbol caches of large ELF files, look-ups in them, and both beside addr2line."""
import collections
import glob
import os
import random
import re
import resource
import shutil
import subprocess
import sys

from tools import ROOT

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import anonymous_peak
import fetch_debug_file

SYMBOLS = os.path.join(ROOT, "build", "symbols")
ADDRESSES = 10000
MEMORY_MAX_MB = 200
_STATS = re.compile(r"(?P<bytes>\d+) bytes of symbol cache in [\d.]+ s \((?P<seconds>[\d.]+) s of CPU time\).*"
                    r" (?P<ns>\d+) ns a look-up", re.DOTALL)
# The costs and sizes of one file; memory_mb is without pages of files, and batch_seconds are CPU seconds for some random addresses, ours and addr2line's.
Names = collections.namedtuple("Names", "file_mb seconds memory_mb cache_mb lookup_ns batch_seconds "
                                        "addr2line_seconds")


def _files():
    """{name: path} of what there is on this machine."""
    found = {}
    libraries = sorted(glob.glob("/usr/lib/*-linux-gnu/libLLVM*.so*"), key=os.path.getsize)
    if libraries:
        found["libLLVM"] = libraries[-1]
    node = shutil.which("node")
    if node:
        found["node"] = os.path.realpath(node)
    if shutil.which("apt-get"):
        found["debug file of libjvm"], found["the same packed"] = fetch_debug_file.fetch()
    return found


def _addresses(path):
    """Some at random out of the file's code, as text for both readers."""
    sections = subprocess.run(["readelf", "-SW", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    start, size = (int(text, 16) for text in
                   re.search(r" \.text +\w+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) ", sections).groups())
    numbers = random.Random(1)
    return "".join("%x\n" % numbers.randrange(start, start + size) for _ in range(ADDRESSES))


def _batch(command, addresses):
    """CPU seconds of @command, which reads @addresses."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, input=addresses, stdout=subprocess.DEVNULL, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def figures():
    """(name, Names) of each file."""
    for name, path in _files().items():
        output, own_bytes = anonymous_peak.run(SYMBOLS, "-limited", "-bench", path)
        stats = _STATS.search(output)
        addresses = _addresses(path)
        yield name, Names(
            os.path.getsize(path) / 1e6, float(stats["seconds"]), own_bytes / 1e6,
            int(stats["bytes"]) / 1e6, int(stats["ns"]),
            _batch([SYMBOLS, "-f", "-i", "-C", path, "-"], addresses),
            _batch(["addr2line", "-f", "-i", "-C", "-e", path], addresses))
