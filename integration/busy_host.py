# SPDX-License-Identifier: Apache-2.0
"""A recording of a busy host as folded stacks, made by a fixed seed: twelve programs in seven languages, among them a
compiler with tens of thousands of distinct stacks and a recursion of thousands of frames. The shape is that of such
hosts: a few callees take most of a function's time, many take a little, and stacks end in the kernel here and there.
"""
import itertools
import random

SEED = 20261129
SAMPLES = 120_000
# Frames of the deepest stack.
DEEPEST = 3200

_WORDS = ("accept build cache commit decode dispatch encode fetch filter flush handle index insert join load lock map "
          "match merge parse plan poll push query read reduce render route scan send sort split sync update wait "
          "write").split()
_KERNEL = [["entry_SYSCALL_64_after_hwframe", "do_syscall_64", *tail] for tail in (
    ["ksys_read", "vfs_read", "filemap_read"], ["ksys_write", "vfs_write", "ext4_file_write_iter"],
    ["__x64_sys_epoll_wait", "do_epoll_wait", "ep_poll"], ["__sys_sendto", "sock_sendmsg", "tcp_sendmsg"],
    ["__x64_sys_futex", "do_futex", "futex_wait"])]

# How functions of a language are written, each from a number, a word and another word.
_STYLES = {
    "native": lambda n, one, other: "%s::%s_%s_%d(int)" % (other, one, other, n),
    "go": lambda n, one, other: "%s.(*%s%d).%s (%s_%d.go:%d)" % (other, other.title(), n, one.title(), other, n % 40,
                                                              n + 1),
    "python": lambda n, one, other: "%s_%s_%d (/srv/app/%s_%d.py:%d)" % (one, other, n, other, n % 30, n + 1),
    "java": lambda n, one, other: "com.shop.%s.%s%d.%s (%s%d.java:%d)" % (other, other.title(), n, one, other.title(),
                                                                         n, n + 1),
    "javascript": lambda n, one, other: "%s%s%d (/srv/web/%s_%d.js:%d)" % (one, other.title(), n, other, n % 25, n + 1),
    "ruby": lambda n, one, other: "%s#%s_%d (/srv/shop/%s_%d.rb:%d)" % (other.title(), one, n, other, n % 30, n + 1),
    "php": lambda n, one, other: "%s\\%s%d (/srv/www/%s_%d.php:%d)" % (other.title(), one, n, other, n % 30, n + 1),
}

# Name, language, share of the samples, functions, the deepest stack, what is called first.
PROGRAMS = (
    ("cc1plus", "native", 26, 6000, 60, ["_start", "__libc_start_main", "main", "toplev::main(int, char**)"]),
    ("postgres", "native", 13, 1500, 34, ["_start", "__libc_start_main", "main", "PostmasterMain", "ServerLoop"]),
    ("nginx", "native", 6, 400, 22, ["_start", "__libc_start_main", "main", "ngx_master_process_cycle"]),
    ("gateway", "go", 10, 1800, 30, ["runtime.goexit.abi0", "net/http.(*conn).serve (server.go:1995)"]),
    ("metricsd", "go", 4, 700, 24, ["runtime.goexit.abi0", "main.main (main.go:20)"]),
    ("gunicorn", "python", 9, 1200, 44, ["_start", "__libc_start_main", "Py_BytesMain", "wsgi.<module> (/srv/app/wsgi.py:1)"]),
    ("celery", "python", 5, 900, 40, ["_start", "__libc_start_main", "Py_BytesMain", "work.<module> (/srv/app/work.py:1)"]),
    ("kafka", "java", 8, 1600, 38, ["clone3", "start_thread", "java.lang.Thread.run (Thread.java:1583)"]),
    ("search", "java", 7, 1600, 46, ["clone3", "start_thread", "java.lang.Thread.runWith (Thread.java:1596)"]),
    ("node", "javascript", 5, 800, 32, ["_start", "__libc_start_main", "node::Start(int, char**)"]),
    ("puma", "ruby", 4, 700, 42, ["clone3", "start_thread", "thread_start_func_1"]),
    ("php-fpm", "php", 3, 600, 28, ["_start", "__libc_start_main", "main", "php_execute_script"]),
)
LANGUAGES = {language for _, language, *_ in PROGRAMS}


class _Program:
    """A call graph: each function calls some others, the first of them most often."""

    def __init__(self, source, language, functions, deepest, start):
        self._source = source
        style = _STYLES[language]
        self._names = [style(n, source.choice(_WORDS), source.choice(_WORDS)) for n in range(functions)]
        self._deepest = deepest
        self._start = start
        self._seed = source.randrange(1 << 30)

    def _callee(self, function):
        """One of nine, the first half of the time; a few functions call themselves."""
        way = 0
        while way < 8 and self._source.random() < 0.5:
            way += 1
        if way == 8 and function % 7 == 0:
            return function
        return (function * 31 + way * 977 + self._seed) % len(self._names)

    def stack(self):
        function, frames = 0, list(self._start)
        length = self._source.randint(max(len(frames) + 1, self._deepest // 3), self._deepest)
        while len(frames) < length:
            frames.append(self._names[function])
            function = self._callee(function)
        if self._source.random() < 0.15:
            frames += [name + "_[k]" for name in self._source.choice(_KERNEL)]
        return frames


def stacks_of(source, name, count):
    """@count stacks of one of the programs, outermost frame first."""
    _, language, _, functions, deepest, start = next(program for program in PROGRAMS if program[0] == name)
    program = _Program(source, language, functions, deepest, start)
    return [program.stack() for _ in range(count)]


def write(path):
    """Writes the recording to @path and returns the number of its samples."""
    source = random.Random(SEED)
    counts = {}
    parts = sum(part for _, _, part, *_ in PROGRAMS)
    for name, language, part, functions, deepest, start in PROGRAMS:
        program = _Program(source, language, functions, deepest, start)
        left = SAMPLES * part // parts
        while left > 0:
            stack = ";".join([name, *program.stack()])
            count = min(left, source.choice((1, 1, 1, 2, 3, 5, 12)))
            counts[stack] = counts.get(stack, 0) + count
            left -= count
    # A recursion of two functions, from which something else is called at several depths.
    turns = itertools.cycle(["visit_tree (/srv/app/tree.py:8)", "visit_node (/srv/app/tree.py:21)"])
    deep = ["celery", *PROGRAMS[6][5], *itertools.islice(turns, DEEPEST - 4)]
    for length in range(200, DEEPEST + 2, 150):
        counts[";".join([*deep[:length], "measure_leaf (/srv/app/tree.py:40)"])] = 3
    counts[";".join(deep)] = 40
    with open(path, "w", encoding="utf-8") as file:
        file.writelines("%s %d\n" % entry for entry in counts.items())
    return sum(counts.values())
