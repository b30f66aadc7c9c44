# SPDX-License-Identifier: Apache-2.0
"""What the targets' sources allow: reads the chains they declare, and judges stacks by them.

A declaration is a line `chain: START main > outer (leaf_one|leaf_two)` in a target's source: root
first, one regular expression per frame, separated by spaces; `*`, `?` and `{m,n}` behind a frame
repeat it (a frame that ends in one of these goes into parentheses); behind `>` the stack may end
anywhere. Frames of the kernel may follow every chain.
Names in capitals stand for the parts of the C library.

`kernel: N` says that at least N per cent of the samples must find the CPU in the kernel;
`forks: yes` that the target makes processes, whose first samples come before they are known.
"""
import functools
import re
import subprocess

from harness import plt_ranges

# glibc without its symbol table, as most distributions have it.
_LIBC = r"libc\.so\.6\+0x[0-9a-f]+"
_LIBC_CALL = (r"(?:%s|_*(?:libc_)?(?:syscall|getppid|read|madvise|exit|_exit|Exit|vfork|wait4|"
              r"waitpid|cancellation\w*|syscall_cancel\w*)(?:@.*)?)" % _LIBC)

_START = (r"_start;(?:(?:__libc_start_main(?:@.*|_impl)?|%s);)?"
          r"(?:(?:__libc_start_call_main|%s);)?" % (_LIBC, _LIBC))
# musl's libc has no symbols of these either, when it is shared.
_MUSL = r"(?:libc|ld-musl-\w+)\.so(?:\.1)?\+0x[0-9a-f]+"
_MUSL_START = (r"_start;(?:_start_c;)?(?:(?:_*libc_start_main|%s);)?"
               r"(?:(?:libc_start_main_stage2|%s);)?" % (_MUSL, _MUSL))
_THREAD = r"(?:(?:_*clone3?|%s);)(?:(?:start_thread|%s);)" % (_LIBC, _LIBC)

MACROS = {
    "START": _START,
    "THREAD": _THREAD,
    "MUSL_START": _MUSL_START,
    "MUSL_THREAD": r"(?:__clone|%s);(?:start|%s);" % (_MUSL, _MUSL),
    "MUSL_BEGIN": "%smain;begin;" % _MUSL_START,
    "MUSL_STATIC_RESTORE": "__restore(?:_rt)?;",
    # The shared library has no symbol for it but __setjmp's, in front of it and without a size.
    "MUSL_RESTORE": r"(?:__restore(?:_rt)?|__setjmp|%s);" % _MUSL,
    "MUSL_JOIN": r"(?:(?:_*pthread_\w*join\w*|_*timedwait\w*|__syscall\w*|%s);){1,6}" % _MUSL,
    "BEGIN": "(?:%smain;|%s)begin;" % (_START, _THREAD),
    "RESTORE": "(?:_*restore_rt|%s);" % _LIBC,
    "LIBCALL": "(?:@plt;|(?:%s;){0,3})" % _LIBC_CALL,
    # Its first function's return address lies in the padding in front of __start_context.
    "CONTEXT_START": r"(?:__start_context|[^;]+\+0x[0-9a-f]+);",
    # A thread that waits for another runs for a moment when its process is stopped and goes on.
    "JOIN": r"(?:(?:_*pthread_\w*join\w*(?:@.*)?|_*futex_\w*wait\w*(?:@.*)?|%s);){1,4}" % _LIBC,
    "SWITCH_FIBERS": r"(?:switch_fibers;)?",
    "SWITCH": r"(?:(?:@plt|_*swapcontext(?:@.*)?|%s);)?" % _LIBC,
    "CLONE": r"(?:_*clone3?(?:@.*)?|%s);" % _LIBC,
    "CLOCK_GETTIME": r"(?:@plt|_*clock_gettime\w*(?:@.*)?|%s);" % _LIBC,
    "VDSO": r"(?:\[vdso\]\+0x[0-9a-f]+|\w*clock_gettime\w*);",
}
# One frame; may be repeated.
_FRAME_MACROS = {
    "ANY": "[^;]+",
    "ANON": r"\[anonymous\]\+0x[0-9a-f]+_\[j\]",
    "ANON_OR_GUESS": r"\[anonymous\]\+0x[0-9a-f]+_\[[j?]\]",
    "LIBRARY": _LIBC,
    "LOADER": r"(?:ld-linux-[^;]+|_dl_\w+|do_lookup_x|check_match|strcmp)",
}

_TOKEN = re.compile(r"^(?P<frame>.+?)(?P<repeat>[*?]|\{\d+(?:,\d+)?\})?$")
_KERNEL_FRAMES = r"(?:[^;]+_\[k\];)*"


def _token_expression(token):
    if token in MACROS:
        return MACROS[token]
    match = _TOKEN.match(token)
    frame = _FRAME_MACROS.get(match["frame"], match["frame"])
    return "(?:(?:%s);)%s" % (frame, match["repeat"] or "")


def chain_expression(declaration):
    """The regular expression for stacks written as `frame;frame;...;`, kernel frames included."""
    fixed, _, open_end = declaration.partition(">")
    expression = "".join(_token_expression(token) for token in fixed.split())
    tail = ""
    for token in reversed(open_end.split()):
        tail = "(?:%s%s)?" % (_token_expression(token), tail)
    return expression + tail + _KERNEL_FRAMES


def _declared(text, name, value):
    return re.findall(r"^[\s*/!#]*%s: (%s)$" % (name, value), text, re.M)


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def are_declared(source_path):
    """True if the source says which chains it allows."""
    return bool(_declared(_read(source_path), "chain", ".*"))


class Chains:
    """The stacks that one source allows. @macros: what stands for a word of its declarations."""

    def __init__(self, source_path, macros=None):
        text = _read(source_path)
        found = [" ".join((macros or {}).get(word, word) for word in line.split())
                 for line in _declared(text, "chain", ".*")]
        assert found, "no chain is declared in " + source_path
        self._expression = re.compile("|".join(chain_expression(line) for line in found))
        self.kernel_percent = int((_declared(text, "kernel", r"\d+") or [0])[0])
        self.forks = bool(_declared(text, "forks", "yes"))

    def allow(self, frames):
        """True if the source can have the stack @frames, root first. What is inlined, of which debug
        data tell, is nothing that it declares.
        """
        text = "".join(frame + ";" for frame in frames if not frame.endswith("_[i]"))
        return self._expression.fullmatch(text) is not None


class Symbols:
    """The functions of a file by address, as nm and readelf see them."""

    _LINE = re.compile(r"^([0-9a-f]+) (?:([0-9a-f]+) )?([tTwWiu]) (\S+)$")

    def __init__(self, path):
        self._path = path
        self._functions = []
        for line in _output_of("nm", "-S", path).splitlines():
            match = self._LINE.match(line)
            if match and match[2]:
                self._functions.append((int(match[1], 16), int(match[2], 16), match[4]))
        for start, end in plt_ranges(path):
            self._functions.append((start, end - start, "@plt"))
        # crt1.o gives _start no size in some versions of glibc.
        entry = re.search(r"Entry point address:\s+0x([0-9a-f]+)",
                          _output_of("readelf", "-hW", path))
        if entry and int(entry[1], 16):
            self._functions.append((int(entry[1], 16), 0x30, "_start"))

    @functools.cached_property
    def _has_table(self):
        # Linkers leave the table in .eh_frame_hdr out of static programs, of which musl's functions have no FDE.
        return "GNU_EH_FRAME" in _output_of("readelf", "-lW", self._path)

    @functools.cached_property
    def _described(self):
        return [(int(match[1], 16), int(match[2], 16)) for match in re.finditer(
            r" FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)$", _output_of("readelf", "--debug-dump=frames", self._path), re.M)]

    @property
    def has_starts(self):
        return self._has_table or bool(self._described)

    def name(self, address):
        """The function at @address; None if there is none."""
        for start, size, name in self._functions:
            if start <= address < start + size:
                return name
        return None

    def is_start(self, address):
        """Whether a function starts at @address."""
        return any(start == address for start, _, _ in self._functions)

    def is_described(self, address):
        """Whether .eh_frame says of @address which function it is in."""
        return self._has_table or any(start <= address < end for start, end in self._described)


def _output_of(*command):
    # nm has a non-zero status for files without symbols.
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False).stdout


def unnamed_addresses(frames, file_name):
    """The addresses in the frames `file_name+0xADDRESS`."""
    return [int(address, 16) for name, plus, address in (frame.rpartition("+0x") for frame in frames)
            if plus and name == file_name and re.fullmatch("[0-9a-f]+", address)]


def judge_names(frames, file_name, symbols, is_stripped):
    """Frames that have no name although the file has symbols, or, if it has none, that are not where a
    function starts. What is no function, like the linkage table, has no name in a file that has symbols.
    """
    return ["%s+%#x" % (file_name, address) for address in unnamed_addresses(frames, file_name)
            if not (symbols.is_start(address) or not symbols.is_described(address) if is_stripped
                    else symbols.name(address) in (None, "@plt"))]


def name_frames(frames, file_name, symbols):
    """Replaces `file_name+0xADDRESS` by the name in @symbols, where it has one."""
    named = []
    for frame in frames:
        for address in unnamed_addresses([frame], file_name):
            frame = symbols.name(address) or frame
        named.append(frame)
    return named
