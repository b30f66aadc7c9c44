# SPDX-License-Identifier: Apache-2.0
"""What the targets in Go allow: reads the chains that they declare, and judges stacks by them.

Chains are written as chains.py has it, root first, but names of Go stand as they are, with their
dots, brackets and stars: `main.(*list[...]).walk`, or `main.one_[i]` for an inlined function, which
is a call like others where nothing is inlined; of the standard library any may be. Words in capitals
stand for parts of the runtime (_WORDS, _FRAMES), and CGO(f) and CALLBACK(f) for the way from Go to
the C function f, and from C to the exported Go function f. Behind every chain there may be frames of
the runtime: it interrupts, moves stacks and collects garbage wherever it likes.

    seen: FRAME...    some stack must have these frames, one behind the other
    own: N            per cent of the samples, at least, that must be in chains (20); the rest is of
                      the runtime's own goroutines and threads
    from: 1.N         not for older versions
    cgo: yes          needs a C compiler, and runs with cgo
    mode: M           built as a plugin or a library (gos.py)
    kernel: N         as chains.py has it
"""
import os
import re

import chains

# One frame each; some can be repeated, as the frames of chains.py.
_RUNTIME_PACKAGES = (
    r"(?:runtime(?:/internal/\w+|/debug)?|internal/runtime/[\w/]+|sync/atomic|math/bits|"
    r"internal/(?:abi|bytealg|byteorder|cpu|chacha8rand|goos|itoa|reflectlite|race|strconv|"
    r"stringslite|synctest))")
# Assembly functions of no package, and those that the compiler makes for types.
_BARE = (r"(?:cmpbody|memeqbody|indexbody|indexbytebody|countbody|aeshashbody|gogo|callRet|"
         r"expandAVX512_\d+|gosave(?:_systemstack_switch)?|setg_gcc|gcWriteBarrier|_\.\w+(?:\.func\d+)+|"
         r"type(?::|\.)\.(?:eq|hash)\.[^;]*)")
_VDSO = r"(?:\[vdso\]\+0x[0-9a-f]+|\w*vdso\w*|clock_gettime|gettimeofday)"
# Functions that timers call on the scheduler's stack, that older versions of the runtime ask for the
# time, and with which a collection begins.
_CALLED_BACK = (r"(?:time\.(?:sendTime|goFunc|now|resetTimer|stopTimer)|sync\.poolCleanup|"
                # Signal handlers ask the runtime's own function that has this name.
                r"os/signal\.signal_ignored)(?:_\[i\])?")
# Functions between the runtime and C, and the C library, which has no names.
_CGO_HELPERS = (
    # The last of these: Go's own linker, of what is static in C (up to 1.19).
    r"(?:_?x?_?cgo\w*|crosscall\w*|threadentry|runtime/cgo\(\.text\)|"
    r"__restore_rt|_*clone3?|start_thread|_*pthread_\w+|"
    # Functions by which glibc finds the size of the main thread's stack, and its own functions.
    r"sscanf|fopen\w*|getline|fclose|fstatat\d*|sched_getaffinity|malloc|free|mmap|(?:__|_IO_|_dl_)\w+|"
    # The program's own stubs that lead to it.
    r"(?:libc\.so\.6|ld-linux[\w.-]*|go-[\w.]+)\+0x[0-9a-f]+)")
# Returns from signals on arm64, in the vDSO.
_VDSO_SIGRETURN = "__kernel_rt_sigreturn"
_RUNTIME = r"(?:%s\.[^;]+|%s|%s|%s|%s)" % (_RUNTIME_PACKAGES, _BARE, _VDSO, _CALLED_BACK,
                                          _VDSO_SIGRETURN)
_SYSCALL = r"(?:syscall|(?:runtime/internal|internal/runtime)/syscall(?:/linux)?)\.[^;]+"
_SYSTEM_GOROUTINES = (
    r"runtime\.(?:goexit1|bgsweep|bgscavenge|gcBgMarkWorker|forcegchelper|runfinq|runFinalizers|"
    r"runCleanups|ensureSigM\.func1|unique_runtime_registerUniqueMapCleanup\.func\d+)")
_FRAMES = {
    "SYSCALL": _SYSCALL,
    "OS": r"(?:%s|(?:os|internal/poll|internal/syscall/\w+|(?:internal/)?sync)\.[^;]+)" % _SYSCALL,
    "TIME": r"time\.[^;]+",
    "SYNC": r"(?:internal/)?sync\.[^;]+",
    "SIGNALS": r"os/signal\.[^;]+",
    "HASH": r"(?:crypto/[^;]+|encoding/binary\.[^;]+)",
    "HASH_BLOCK": r"crypto/[^;]*sha256\.block[^;]*",
    "STRINGS": r"(?:strings|unicode/utf8|internal/(?:bytealg|stringslite))\.[^;]+",
    # Functions in which the runtime's own goroutines begin, and those in which they end.
    "SYSTEM_GOROUTINE": _SYSTEM_GOROUTINES,
    # Runs a deferred function at a return.
    "DEFER": r"runtime\.(?:deferreturn|deferCall\w*|reflectcall|call\d+)(?:_\[i\])?",
}
# Several frames.
_WORDS = {
    "GO": "runtime.goexit",
    "MAIN": "runtime.goexit runtime.main main.main",
    "C_MAIN": "START",
}
_CALLS = {
    "CGO": "main._Cfunc_%s runtime.cgocall runtime.asmcgocall runtime.asmcgocall_landingpad? "
           "_cgo_HEX_Cfunc_%s (%s|%s_[i])?",
    "CALLBACK": "%s crosscall2 runtime.cgocallback runtime.cgocallbackg RUNTIME{0,4} "
                "_cgoexp_HEX_%s (main.%s|main.%s_[i])",
}
# Threads that every program has beside its own goroutines.
_THREAD_ENTRY = r"(?:%s)?(?:(?:x_cgo_)?threadentry;)?(?:crosscall\w+;)?" % chains.MACROS["THREAD"]
_BACKGROUND = [
    "runtime.goexit SYSTEM_GOROUTINE",
    # The start of the program, or of the library.
    "runtime.goexit runtime.main RUNTIME",
    "THREAD_ENTRY runtime.mstart",
    "runtime.rt0_go",
    # It says that it is ready.
    "MAIN OS+",
    # The scheduler has put the goroutine away that called it.
    "runtime.mcall",
    # And so it has where a goroutine is told to make way when it enters a function.
    "runtime.morestack runtime.newstack (runtime.gopreempt_m|runtime.preemptPark) RUNTIME",
    # The function that a `go` statement makes, around the one that it names, is not shown.
    "runtime.goexit (runtime.morestack|runtime.asyncPreempt|SIGRETURN|runtime.gogo|gogo)",
    # A thread that begins, C's too.
    "runtime.clone",
    "THREAD __sigsetjmp?",
]
# Stacks of the race detector's C, which end there; and it is called around what a `go` statement names.
_LEFT = (r"\[error: register not known\];racecall;(?:[^;]+;)*|"
         r"runtime\.goexit;(?:(?:runtime\.)?race\w+;){1,2}")
_BEGINNING = r"(?:runtime\.goexit|runtime\.clone|_*clone3?|libc\.so\.6\+0x[0-9a-f]+);"


class Style:
    """How a program was built, as far as its stacks show that."""

    def __init__(self, is_inlining=True, has_symbols=True, has_cgo=False, is_static=False,
                 is_race=False):
        self.is_inlining = is_inlining
        self.has_symbols = has_symbols
        self.has_cgo = has_cgo
        # The C library is in the program, with all of its names.
        self.is_static = is_static
        # The race detector's, which keeps its caller's stack pointer to itself (_LEFT).
        self.is_race = is_race


class _Expressions:
    """Makes regular expressions of declarations, for one style. @own: with it, behind what is known there may
    be functions that have no name here, but none of main and of @own, C functions, and no error and no guess.
    """

    def __init__(self, style, own=None):
        self._style = style
        self.runtime = _RUNTIME if not style.has_cgo else "(?:%s|%s)" % (_RUNTIME, _CGO_HELPERS)
        if style.is_static:
            self.runtime = r"(?:%s|\w+(?:\.(?:part|isra|constprop|cold)(?:\.\d+)?)*)" % self.runtime
        if style.is_race:
            self.runtime = r"(?:%s|race\w+)" % self.runtime
        if style.has_cgo and not style.has_symbols:
            self.runtime = r"(?:%s|[^;]*\+0x[0-9a-f]+)" % self.runtime
        unknown = "" if own is None else r"(?:(?!main\.|\[|(?:%s);)[^;]*(?<!_\[\?\]);)*" % "|".join(["-", *own])
        self._behind = "(?:%s;)*%s" % (self.runtime, unknown)

    def _name(self, name):
        """One name, as an expression."""
        if name in _FRAMES:
            return _FRAMES[name]
        if name == "RUNTIME":
            return self.runtime
        if name == "SIGRETURN":
            # Its own also with C, up to 1.20.
            c = r"|__restore_rt|libc\.so\.6\+0x[0-9a-f]+" if self._style.has_cgo else ""
            return r"(?:%s|runtime\.sigreturn(?:__sigaction)?%s)" % (_VDSO_SIGRETURN, c)
        if not self._style.is_inlining:
            name = name.replace("_[i]", "")
        expression = re.escape(name).replace("HEX", "[0-9a-f]+")
        # Inlined functions of the standard library are not judged.
        if "." in name and not name.startswith(("main.", "target/")):
            expression += r"(?:_\[i\])?"
        if "." not in name and not self._style.has_symbols:
            expression = r"(?:%s|[^;]*\+0x[0-9a-f]+)" % expression
        return expression

    def _frame(self, word):
        if word == "THREAD_ENTRY":
            return _THREAD_ENTRY
        if word in chains.MACROS:
            return chains.MACROS[word]
        body, repeat = re.fullmatch(r"(.+?)([*?+]|\{[\d,]+\})?", word).groups()
        if body.startswith("(") and body.endswith(")"):
            expression = "|".join(map(self._name, body[1:-1].split("|")))
        else:
            expression = self._name(body)
        return "(?:(?:%s);)%s" % (expression, repeat or "")

    def _words(self, text):
        """Frames as words, without what stands for several."""
        text = re.sub(r"\b(%s)\((\w+)\)" % "|".join(_CALLS),
                      lambda match: _CALLS[match[1]].replace("%s", match[2]), text)
        return " ".join(_WORDS.get(word, word) for word in text.split()).split()

    def sequence(self, text):
        """An expression for frames that follow each other."""
        return "".join(map(self._frame, self._words(text)))

    def chain(self, text):
        """An expression for stacks, without the frames of the kernel."""
        fixed, _, open_end = text.partition(">")
        tail = ""
        for word in reversed(self._words(open_end)):
            tail = "(?:%s%s)?" % (self._frame(word), tail)
        return "%s%s%s" % (self.sequence(fixed), tail, self._behind)


class Target:
    """One target: what it declares. @path: a source, or the folder in which it is main.go."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path).replace(".go", "")
        self.comm = "go-" + self.name
        assert len(self.comm) <= 15, "the name must fit into a comm"
        with open(self.source, encoding="utf-8") as file:
            head = file.read().partition("\npackage ")[0]
        self._head = head
        single = dict(re.findall(r"^// (own|from|cgo|mode|kernel): (\S+)$", head, re.M))
        self.mode = single.get("mode")
        self.has_cgo = single.get("cgo") == "yes" or bool(self.mode)
        self.own_percent = int(single.get("own", 20))
        self.kernel_percent = int(single.get("kernel", 0))
        self.from_minor = int(single.get("from", "1.0").partition(".")[2])
        self.declared = self._lines("chain")
        self.wanted = self._lines("seen")

    @property
    def source(self):
        """The file that declares."""
        for name in ("", "main.go", "library/main.go"):
            path = os.path.join(self.path, name).rstrip("/")
            if os.path.isfile(path):
                return path
        raise FileNotFoundError(self.path)

    def _lines(self, name):
        return re.findall(r"^// %s: (.*)$" % name, self._head, re.M)


class Chains:
    """The stacks that @target, built in @style, allows."""

    def __init__(self, target, style):
        make = _Expressions(style)
        self._own = re.compile("|".join(map(make.chain, target.declared)))
        open_ended = _Expressions(style, re.findall(r"\b(?:CGO|CALLBACK)\((\w+)\)", " ".join(target.declared)))
        self._unknown = re.compile("|".join(map(open_ended.chain, [*target.declared, *_BACKGROUND])))
        self._background = re.compile("|".join([*map(make.chain, _BACKGROUND), _BEGINNING]
                                               + [_LEFT] * style.is_race))
        # The race detector takes most of the time, and hardly anything else is seen of some.
        self.wanted = {text: re.compile("(?:^|;)" + make.sequence(text))
                       for text in target.wanted if not style.is_race}

    @staticmethod
    def _text(frames):
        return "".join(frame + ";" for frame in frames)

    def is_own(self, frames):
        """True for frames, without the kernel's, of a chain that is declared."""
        return self._own.fullmatch(self._text(frames)) is not None

    def is_background(self, frames):
        """True for those of the runtime's own goroutines and threads."""
        return self._background.fullmatch(self._text(frames)) is not None

    def has_unknown_runtime(self, frames):
        """True for what would be allowed but for its innermost functions, which have no name here."""
        return self._unknown.fullmatch(self._text(frames)) is not None

    def find_wanted(self, frames):
        """Those of what must be seen that are in @frames."""
        text = self._text(frames)
        return [wanted for wanted, expression in self.wanted.items() if expression.search(text)]
