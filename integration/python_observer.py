# SPDX-License-Identifier: Apache-2.0
"""A target's stacks as its interpreter sees them, to check what the target declares.

usage: python_observer.py trace|sample SECONDS TARGET

Runs TARGET in this interpreter and prints the distinct stacks as JSON, a list of lists of
[name, file, line], root first. `trace` looks at every instruction (every line up to 3.6) of the
first thread, `sample` at all threads from a thread of its own.
Runs with every version from 3.6 on.
"""
import json
import os
import sys
import threading
import time

way, seconds, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]
stacks = set()
own_thread = None


def look_at(frame):
    """Keeps the stack of @frame, without what stands below the target."""
    found = []
    while frame:
        code = frame.f_code
        found.append((getattr(code, "co_qualname", code.co_name), code.co_filename,
                      frame.f_lineno or 0))
        frame = frame.f_back
    found.reverse()
    while found and found[0][1] == __file__:
        del found[0]
    if found:
        stacks.add(tuple(found))


def finish():
    sys.settrace(None)
    # Names can hold what is no character.
    sys.stdout.write(json.dumps(sorted(stacks)) + "\n")
    sys.stdout.flush()
    os._exit(0)


def trace(frame, event, argument):
    if time.time() > end:
        finish()
    if sys.version_info >= (3, 7):
        frame.f_trace_opcodes = True
    if event != "exception":
        look_at(frame)
    return trace


def sample():
    time.sleep(0.2)
    while time.time() < end:
        for thread, frame in sys._current_frames().items():
            if thread != threading.get_ident():
                look_at(frame)
        time.sleep(0.0005)
    finish()


end = time.time() + seconds
sys.argv = [path]
sys.path[0] = os.path.dirname(path)
os.environ["ALLFRAMES_READY"] = "no"
with open(path, encoding="utf-8") as file:
    code = compile(file.read(), path, "exec")
namespace = {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__}
if way == "sample":
    sys.setswitchinterval(0.0005)
    threading.Thread(target=sample, daemon=True).start()
else:
    import target

    def traced_ready():
        sys.settrace(trace)
        # Frames that run already are not traced by themselves.
        frame = sys._getframe(1)
        while frame:
            frame.f_trace = trace
            frame = frame.f_back

    ready, target.ready = target.ready, traced_ready
exec(code, namespace)
