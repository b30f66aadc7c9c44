# SPDX-License-Identifier: Apache-2.0
"""A terminal of a given size, by tmux: a server of its own, on which one command runs. What is on its screen can be read
and typed into.
"""
import os
import re
import shutil
import subprocess
import tempfile
import time

from harness import HANG_SECONDS


def has_tmux():
    return shutil.which("tmux") is not None


class Tmux:
    """Used as a context: leaving it ends what runs there. The command is one of a shell."""

    def __init__(self, command, columns, lines, environment=None):
        self._directory = tempfile.mkdtemp(prefix="allframes-tmux-")
        self._socket = os.path.join(self._directory, "socket")
        self._status = os.path.join(self._directory, "status")
        # The shell behind the command keeps the screen, and shows again and again whether the terminal is as it was.
        script = ("%s; echo $? >%s; while :; do stty -a >%s.new; mv %s.new %s.stty; sleep 0.2; done"
                  % (command, *4 * [self._status]))
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), script,
                   environment={**os.environ, "TERM": "xterm-256color", **(environment or {})})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _tmux(self, *arguments, environment=None):
        return subprocess.run(["tmux", "-S", self._socket, *arguments], check=True, stdout=subprocess.PIPE, text=True,
                              env=environment).stdout

    def screen(self, with_history=False):
        """The text on the screen, and with @with_history what was scrolled out of it."""
        return self._tmux("capture-pane", "-p", *(["-S", "-"] if with_history else []))

    def colours(self):
        """The same with the escape sequences of colours."""
        return self._tmux("capture-pane", "-p", "-e", "-S", "-")

    def type(self, *keys):
        """Keys as tmux names them: "q", "Enter", "C-c"."""
        self._tmux("send-keys", *keys)

    def resize(self, columns, lines):
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def pane(self, variable):
        """A variable of the pane, such as pane_pid or alternate_on."""
        return self._tmux("display-message", "-p", "#{%s}" % variable).strip()

    def wait_text(self, pattern, seconds=HANG_SECONDS):
        """Waits until @pattern is on the screen; the match, or None."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            match = re.search(pattern, self.screen(), re.M)
            if match:
                return match
            time.sleep(0.05)
        return None

    def wait_status(self, seconds=HANG_SECONDS):
        """Waits for the end of the command; its exit status, or None."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                with open(self._status, encoding="ascii") as file:
                    text = file.read()
                if text.endswith("\n"):
                    return int(text)
            except FileNotFoundError:
                pass
            time.sleep(0.05)
        return None

    def settings(self):
        """The settings of the terminal, as stty prints them. The command must have ended: call wait_status() before."""
        path = self._status + ".stty"
        end = time.monotonic() + HANG_SECONDS
        while not os.path.exists(path) or not os.path.getsize(path):
            if time.monotonic() > end:
                return ""
            time.sleep(0.05)
        with open(path, encoding="ascii") as file:
            return file.read()
