# SPDX-License-Identifier: Apache-2.0
"""A target's stacks as its interpreter sees them, to check what the target declares.

usage: python_observer.py trace|sample SECONDS TARGET
       python_observer.py core SECONDS TARGET DIRECTORY

Runs TARGET in this interpreter and prints the distinct stacks as JSON, a list of lists of
[name, file, line], root first. `trace` looks at every instruction (every line up to 3.6) of the
first thread, `sample` at all threads from a thread of its own.

`core` dies SECONDS after TARGET got ready, by a signal that leaves a core file in DIRECTORY. What
it told there before (see leave_core()) holds for the core file: no thread has run any Python in
between.
Runs with every version from 3.6 on.
"""
import json
import mmap
import os
import signal
import sys
import threading
import time

way, seconds, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]
stacks = set()
own_thread = None


def stack_of(frame):
    """The stack of @frame, root first."""
    found = []
    while frame:
        code = frame.f_code
        found.append((getattr(code, "co_qualname", code.co_name), code.co_filename,
                      frame.f_lineno or 0))
        frame = frame.f_back
    found.reverse()
    return found


def look_at(frame):
    """Keeps the stack of @frame, without what stands below the target."""
    found = stack_of(frame)
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


def thread_pointer_distance():
    """What a thread's pointer is above what pthread_self() gives."""
    if os.uname().machine != "aarch64":
        return 0
    # Not every build has it.
    import ctypes
    # mrs x0, tpidr_el0; ret
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\x40\xd0\x3b\xd5\xc0\x03\x5f\xd6")
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_uint64)(address)() - threading.get_ident()


def tell(shared, distance):
    """Writes down the stacks of all threads."""
    frames = sys._current_frames()
    frames[threading.get_ident()] = sys._getframe(1)
    threads = threading._active
    told = [[getattr(threads.get(thread), "native_id", None), thread + distance, stack_of(frame)]
            for thread, frame in frames.items()]
    text = json.dumps(told).encode()
    shared[:len(text)] = text


def open_told():
    """Memory that outlives this process as the file `told`."""
    with open("told", "w+b") as file:
        file.truncate(TOLD_BYTES)
        return mmap.mmap(file.fileno(), TOLD_BYTES)


def leave_core(shared, distance):
    """The file `told` gets the threads: [tid or null, thread pointer, stack]; and `maps` the maps.

    A thread that waits for the interpreter asks for it after a whole interval in which it did not
    change hands, so the one that got it has it for as long. Neither the shared memory nor the
    signal give it away.
    """
    time.sleep(seconds)
    with open("/proc/self/maps") as source, open("maps", "w") as copy:
        copy.write(source.read())
    own = threading.get_ident()
    sys.setswitchinterval(2)
    time.sleep(0.1)
    tell(shared, distance); signal.pthread_kill(own, signal.SIGQUIT)


TOLD_BYTES = 1 << 20
end = time.time() + seconds
if way == "core":
    os.chdir(sys.argv[4])
sys.argv = [path]
sys.path[0] = os.path.dirname(path)
os.environ["ALLFRAMES_READY"] = "no"
with open(path, encoding="utf-8") as file:
    code = compile(file.read(), path, "exec")
namespace = {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__}
if way == "sample":
    sys.setswitchinterval(0.0005)
    threading.Thread(target=sample, daemon=True).start()
elif way == "core":
    import target
    # This work need not compete with the target's threads.
    clock = threading.Thread(target=leave_core, daemon=True,
                             args=(open_told(), thread_pointer_distance()))
    # Not before: what is still to be imported would not be in the maps.
    ready, target.ready = target.ready, clock.start
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
