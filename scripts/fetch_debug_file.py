#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Brings a large debug file into ~/.cache/allframes/debug-file, for the bench: that of HotSpot's server VM in
Debian's package openjdk-NN-dbg, as it is there, with sections that are compressed, and unpacked. Prints both paths.
It needs Debian's apt-get.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

CACHE = os.path.expanduser("~/.cache/allframes/debug-file")
DEBUG_FILE = os.path.join(CACHE, "libjvm.debug")
PACKED_FILE = os.path.join(CACHE, "libjvm.packed.debug")


def _output(*command, cwd=None):
    return subprocess.run(command, check=True, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True).stdout


def _package():
    names = re.findall(r"^openjdk-\d+-dbg\b", _output("apt-cache", "search", "^openjdk-[0-9]+-dbg$"),
                       re.MULTILINE)
    if not names:
        sys.exit("fetch_debug_file: apt knows no openjdk-NN-dbg (apt-get update?)")
    return max(names, key=lambda name: int(name.split("-")[1]))


def fetch():
    """The paths of the file unpacked and packed; the package is taken apart where they are not there yet."""
    if os.path.exists(DEBUG_FILE) and os.path.exists(PACKED_FILE):
        return DEBUG_FILE, PACKED_FILE
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        # apt's own user may have no way in, which it warns of.
        _output("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", _package(), cwd=directory)
        archive, = glob.glob(directory + "/*.deb")
        _output("dpkg-deb", "-x", archive, directory)
        largest = max(glob.glob(directory + "/usr/lib/debug/.build-id/*/*"), key=os.path.getsize)
        unpacked = os.path.join(directory, "unpacked")
        _output("objcopy", "--decompress-debug-sections", largest, unpacked)
        os.rename(unpacked, DEBUG_FILE)
        os.rename(largest, PACKED_FILE)
    return DEBUG_FILE, PACKED_FILE


if __name__ == "__main__":
    print(*fetch(), sep="\n")
