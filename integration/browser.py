# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven over its DevTools protocol through a pipe: no port, no package."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from harness import HANG_SECONDS, die_with_parent

COMMAND = next((path for path in map(shutil.which, ("chromium", "chromium-browser",
                                                    "google-chrome")) if path), None)

_KEY_CODES = {"Escape": 27, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
              "ArrowDown": 40, "Delete": 46, "F10": 121}
_SHIFT = 8
# An element that has not moved for so long stands still.
_STILL_MS = 50


class Browser:
    """One page. Used as a context: leaving it ends Chromium and what it has started.

    @errors: what the console and failed scripts have said; @requests: addresses asked for.
    """

    def __init__(self, seconds=HANG_SECONDS):
        self._seconds = seconds
        self._directory = tempfile.mkdtemp(prefix="allframes-browser-")
        to_read, self._to = os.pipe()
        self._from, from_write = os.pipe()

        def take_pipes():
            die_with_parent()
            # Free of 3 and 4 first, which they may be themselves.
            reading, writing = os.dup(to_read), os.dup(from_write)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self._log = open(os.path.join(self._directory, "log"), "wb")
        self._process = subprocess.Popen(
            [COMMAND, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
             "--disable-component-update", "--no-first-run", "--hide-scrollbars",
             "--force-device-scale-factor=1", "--user-data-dir=" + self._directory, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, close_fds=False,
            preexec_fn=take_pipes, start_new_session=True)
        os.close(to_read)
        os.close(from_write)
        self._buffer = b""
        self._number = 0
        self._session = None
        self.errors = []
        self.requests = []
        try:
            target = self._send("Target.createTarget", url="about:blank")["targetId"]
            self._session = self._send("Target.attachToTarget", targetId=target,
                                       flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Network", "Log"):
                self._send(domain + ".enable")
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._to)
        os.close(self._from)
        try:
            # It ends by itself when the pipe does, and its helpers with it.
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, 9)
            self._process.wait()
        self._log.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _receive(self, end):
        """The next message; raises TimeoutError after @end."""
        while b"\0" not in self._buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("Chromium has ended")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(message)
        self._note(message)
        return message

    def _note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.errors.append(" ".join(str(part.get("value")) for part in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            entry = parameters["entry"]
            self.errors.append("%s %s" % (entry["text"], entry.get("url", "")))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def _send(self, method, **parameters):
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data):]
        end = time.monotonic() + self._seconds
        while True:
            answer = self._receive(end)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]

    # --- what a user does ---

    def open(self, url, width=1280, height=800, is_dark=False):
        """Loads @url as new, whatever was open before."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                   deviceScaleFactor=1, mobile=False)
        self._send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])
        self._send("Page.navigate", url="about:blank")
        self._send("Page.navigate", url=url)

    def evaluate(self, expression):
        """The value of @expression in the page; promises are waited for."""
        answer = self._send("Runtime.evaluate", expression=expression, returnByValue=True,
                            awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError("%s: %s" % (expression, answer["result"].get("description")))
        return answer["result"].get("value")

    def wait(self, expression, seconds=None):
        """Waits until @expression is true and returns its value (True for an element); None if it
        does not become so.
        """
        # Elements cannot be handed over.
        question = "(value => value instanceof Node || value)(%s)" % expression
        end = time.monotonic() + (seconds or self._seconds)
        while True:
            value = self.evaluate(question)
            if value or time.monotonic() > end:
                return value or None
            time.sleep(0.05)

    def text(self, selector):
        return self.evaluate("document.querySelector(%s)?.innerText ?? ''" % json.dumps(selector))

    def box(self, selector):
        """[left, top, width, height] of the first match, scrolled into view; it is waited for until it
        stands still, as an answer moves what is below it.
        """
        read = ("(() => { const found = document.querySelector(%s);"
                "if (!found) return null; found.scrollIntoView({block: 'nearest'});"
                "const box = found.getBoundingClientRect();"
                "return [box.x, box.y, box.width, box.height]; })()" % json.dumps(selector))
        box = self.wait("(async () => { const read = () => %s;"
                        "const before = read();"
                        "await new Promise(resolve => setTimeout(resolve, %d));"
                        "const after = read();"
                        "return before && after && before.every((part, i) => part === after[i])"
                        " ? after : null; })()" % (read, _STILL_MS))
        if not box:
            raise RuntimeError("nothing is " + selector)
        return box

    def mouse(self, kind, x, y, buttons=1):
        """@buttons: 1 is the left one, 2 the right one, 0 none."""
        self._send("Input.dispatchMouseEvent", type=kind, x=x, y=y, clickCount=1, buttons=buttons,
                   button="none" if kind == "mouseMoved" and not buttons else "right" if buttons == 2 else "left")

    def click(self, selector, at=None, buttons=1):
        """Clicks in the middle of the first match, or @at: from its left upper corner."""
        left, top, width, height = self.box(selector)
        x, y = (left + at[0], top + at[1]) if at else (left + width / 2, top + height / 2)
        self.mouse("mouseMoved", x, y, buttons=0)
        self.mouse("mousePressed", x, y, buttons)
        self.mouse("mouseReleased", x, y, buttons)

    def press(self, selector, at, seconds):
        """A finger stays @at for so long: from the left upper corner of the first match."""
        left, top, _, _ = self.box(selector)
        # Chromium answers to touches of the protocol only when its own gesture has ended.
        event = ("document.querySelector(%s).dispatchEvent(new PointerEvent('%%s', {pointerType: 'touch', bubbles: true,"
                 "clientX: %d, clientY: %d}))" % (json.dumps(selector), left + at[0], top + at[1]))
        self.evaluate(event % "pointerdown")
        time.sleep(seconds)
        self.evaluate(event % "pointerup")
        self.evaluate(event.replace("PointerEvent", "MouseEvent") % "click")

    def drag(self, selector, start, end):
        """Drags in the first match between two points given as shares of its size."""
        left, top, width, height = self.box(selector)
        points = [(left + width * x, top + height * y) for x, y in (start, end)]
        self.mouse("mouseMoved", *points[0], buttons=0)
        self.mouse("mousePressed", *points[0])
        self.mouse("mouseMoved", *points[1])
        self.mouse("mouseReleased", *points[1])

    def key(self, key, has_shift=False):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        shared = {"key": key, "modifiers": _SHIFT if has_shift else 0,
                  "windowsVirtualKeyCode": _KEY_CODES.get(key, ord(key[0].upper()))}
        self._send("Input.dispatchKeyEvent", type="keyDown", **shared, **text)
        self._send("Input.dispatchKeyEvent", type="keyUp", **shared)

    def type(self, selector, text):
        """Replaces what stands in an input."""
        self.box(selector)
        self.evaluate("(() => { const input = document.querySelector(%s); input.focus();"
                      "input.select(); })()" % json.dumps(selector))
        self.key("Delete")
        self._send("Input.insertText", text=text)

    def choose(self, selector, value):
        """Chooses a value of a select element."""
        self.evaluate("(() => { const select = document.querySelector(%s); select.value = %s;"
                      "select.dispatchEvent(new Event('change', {bubbles: true})); })()"
                      % (json.dumps(selector), json.dumps(value)))

    def save_downloads(self, directory):
        """From here on files that are downloaded go there."""
        self._send("Page.setDownloadBehavior", behavior="allow", downloadPath=directory)

    def screenshot(self, path):
        data = self._send("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
