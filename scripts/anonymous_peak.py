# SPDX-License-Identifier: Apache-2.0
"""How much memory of its own the process has that build/symbols starts for a file: pages of files can be had again."""
import subprocess
import tempfile
import time

INTERVAL_S = 0.002


def _children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _anonymous_bytes(pid):
    try:
        with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as file:
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon:"))
    except OSError:
        return 0


def run(*command):
    """(standard output, the most bytes that a child of @command had); the command must do its work."""
    most = 0
    # A file: nobody reads a pipe meanwhile.
    with tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output) as process:
            while process.poll() is None:
                most = max([most] + [_anonymous_bytes(child) for child in _children(process.pid)])
                time.sleep(INTERVAL_S)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command[:1])
        output.seek(0)
        return output.read(), most
