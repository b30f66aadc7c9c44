# SPDX-License-Identifier: Apache-2.0
"""What the targets in Python allow: reads the stacks that they declare, and judges by them.

A target says what its stacks can be, root first, in lines `chain: TOKEN...` of its docstring:

	name@mark,mark		a Python function in the lines that end in a comment `#: mark`; the name is
				the qualified one, of which versions up to 3.10 have the last part
	name@FILE,FILE		a function of a file outside the target, or of a folder (`asyncio/`), in any line;
				the name may be ANY, and the module a frozen one
	~text			this regular expression over frames as `name@file:line;`, `name@line;` in the
				target's own file, with {mark} for a line
	[text]			C functions, one of which has a name in which the expression is found; where
				functions have no names it is only asked that C functions stand there
	(one|other)		alternatives; * ? {m,n} behind either repeat it
	>			behind it the stack may end anywhere

`chain (3.12-): ...` and `chain (-3.11): ...` are for some versions. In its innermost Python frame a
function may also be in its first line (`def`), before anything of it has run.

Beyond this every stack must be built as the interpreter builds it: Python frames stand behind a
frame of its loop, up to 3.10 exactly one, and only the innermost loop may be without one, which is
when it begins or ends. Where instructions have functions of their own, that of the instruction which
the last of a loop's Python frames executes stands behind it, before what it calls. Further directives
are in Target.
"""
import ast
import collections
import os
import re

# A loop by name; in builds without names it is a frame of the interpreter without one.
_LOOP = re.compile(r"_?PyEval_EvalFrame(Default|Ex)\b.*")
# Of one instruction, in builds with --with-tail-call-interp.
_HANDLER = re.compile(r"_TAIL_CALL_\w+.*")
_NAMELESS = re.compile(r"[^;]*python[^;]*\+0x[0-9a-f]+")
_PYTHON_FRAME = re.compile(r"(?P<name>.*) \((?P<file>[^()]*\.py|<[^()]*>)(?::(?P<line>\d+))?\)",
                           re.S)
_TOKEN = re.compile(r"^(?P<frame>.+?)(?P<repeat>[*?]|\{\d+(?:,\d+)?\})?$")
# Between two Python frames: nothing, or native frames.
_NATIVE = r"(?:\[[^\]]*\];)?"

PythonFrame = collections.namedtuple("PythonFrame", "name file line")


def parse_frame(text):
    """The PythonFrame that @text, a frame of a folded file, is; None for a native one."""
    match = _PYTHON_FRAME.fullmatch(text)
    return PythonFrame(match["name"], match["file"], int(match["line"] or 0)) if match else None


def is_loop(name):
    """True if the native frame @name is one of the interpreter's loop; None if it has no name."""
    if _LOOP.fullmatch(name):
        return True
    return None if _NAMELESS.fullmatch(name) else False


def _without_handler(natives):
    """What a loop's last Python frame calls, without the function of its instruction."""
    return natives[1:] if natives and _HANDLER.fullmatch(natives[0]) else natives


def _judge_handlers(natives, is_behind_python):
    """How functions of instructions stand where they must not, or None."""
    for i, name in enumerate(natives):
        if _HANDLER.fullmatch(name) and not (
                is_loop(natives[i - 1]) is True if i else is_behind_python):
            return "%s stands behind %s" % (name, natives[i - 1] if i else "nothing")
    return None


def read_head(text):
    """The docstring of a source, and what stands in it as `name: value`, by name."""
    head = text.split('"""')[1]
    return head, dict(re.findall(r"^(\w+(?: \w+)?): (.*)$", head, re.M))


class Target:
    """What one target declares.

    native: yes	    stacks without the interpreter's loop happen: threads at their start and end
    forks: yes	    it makes processes, whose first samples come before they or their files are known
    unnamed: N	    per cent of the samples may have Python frames whose code object is gone
    unread: N -3.9  per cent of the samples, up to that version, may have error frames instead
		    of Python frames that cannot be told
    versions: several   the interpreter of a sample may be of another version
    even: A B	    A and B are in equally many samples
    alternates: N   stacks with N groups of Python frames, C between them, are most of all
    bare: FILE...   these libraries, or [anonymous] memory, have code without unwind tables, where a
		    stack may be cut
    too deep: 3.N   debug builds of these versions allow fewer C functions within each other
    needs: MODULE   versions without this module cannot run it
    interrupts: yes functions are called between two instructions: also in a function's first line
    observe: WAY    how python_observer.py looks at it: trace (as a rule), sample, no
    """

    def __init__(self, path, version):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.path = path
        self.name = os.path.basename(path)[:-len(".py")]
        self.comm = ("py-" + self.name)[:15]
        self.version = version
        self._marks = collections.defaultdict(set)
        for number, line in enumerate(text.split("\n"), 1):
            match = re.search(r"#: ([\w ]+)$", line)
            for mark in match[1].split() if match else ():
                self._marks[mark].add(number)
        self.ready_line = 1 + text[:text.find("\ntarget.ready()")].count("\n") + 1
        self._first_lines = _first_lines(text)
        head, directives = read_head(text)
        self.interrupts = directives.get("interrupts") == "yes"
        self._expressions = [re.compile(self._chain(chain)) for first, last, chain in re.findall(
            r"^chain(?: \((3\.\d+)?-(3\.\d+)?\))?: (.*)$", head, re.M)
            if _version(first, (0,)) <= version <= _version(last, (9,))]
        assert self._expressions, "no chain is declared in " + path
        self.is_native = directives.get("native") == "yes"
        # From 3.11 on a loop may have any number of Python frames.
        self.loop_version = max(version, (3, 11)) if "versions" in directives else version
        self.forks = directives.get("forks") == "yes"
        self.unnamed_percent = int(directives.get("unnamed", 0))
        percent, last = directives.get("unread", "0 -3.0").split()
        self.unread_percent = int(percent) if version <= _version(last[1:], ()) else 0
        self.even = directives.get("even", "").split()
        self.alternates = int(directives.get("alternates", 0))
        self.bare = directives.get("bare", "").split()
        self.too_deep = directives.get("too deep", "").split()
        self.needs = directives.get("needs", "").split()
        self.observe = directives.get("observe", "trace")

    def _name(self, name):
        return name if self.version >= (3, 11) else name.rpartition(".")[2]

    def _where(self, where):
        if where.endswith("/"):
            return "%s[^;:]*:\\d+" % re.escape(where)
        if where.endswith(".py"):
            module = re.escape(where[:-len(".py")])
            return r"(?:(?:[^;:/]*/)?%s\.py|<frozen %s>):\d+" % (module, module)
        assert where in self._marks, "%s has no line marked %s" % (self.path, where)
        return "(?:%s)" % "|".join(map(str, sorted(self._marks[where])))

    def _frame(self, text):
        if text.startswith("("):
            return "(?:%s)" % "|".join(map(self._frame, text[1:-1].split("|")))
        match = _TOKEN.match(text)
        plain, _, wheres = match["frame"].rpartition("@")
        name = "[^;@]*" if plain == "ANY" else re.escape(self._name(plain))
        lines = "|".join(map(self._where, wheres.split(",")))
        firsts = "|".join(map(str, self._first_lines.get(_last_part(plain), [0])))
        return "(?:%s%s@(?:(?:%s)!?|(?:%s|0)!%s);)%s" % (
            _NATIVE, name, lines, firsts, "?" * self.interrupts, match["repeat"] or "")

    def _token(self, text):
        if text.startswith("~"):
            with_lines = re.sub(r"\{([a-z]\w+)\}", lambda match: self._where(match[1]), text[1:])
            return _NATIVE + re.sub(r"(?<!\^);", "!?;", with_lines)
        if text.startswith("["):
            # `?` stands for what has no name.
            return r"(?=\[[^\]]*(?:\?|%s)[^\]]*\];)" % text[1:-1]
        if text.startswith("("):
            body, _, repeat = text.rpartition(")")
            alternatives = ["".join(map(self._token, one.split()))
                            for one in body[1:].split("|")]
            return "(?:%s)%s" % ("|".join(alternatives), repeat)
        return self._frame(text)

    def _tokens(self, text):
        # Parentheses may hold spaces.
        return map(self._token, re.findall(r"\([^()]*\)\S*|~\S+|\[[^\]]*\]|\S+", text))

    def _chain(self, text):
        fixed, _, open_end = (" " + text).partition(" > ")
        tail = ""
        # A chain does not end at a group of C functions: the group belongs to the frame behind it.
        tokens = re.sub(r"\] ", "]", open_end.replace(" > ", " "))
        for token in reversed(re.findall(r"(?:\[[^\]]*\])?(?:\([^()]*\)\S*|\S+)", tokens)):
            group = re.match(r"(\[[^\]]*\])?(.*)", token, re.S)
            text_of = (self._token(group[1]) if group[1] else "") + self._token(group[2])
            tail = "(?:%s%s)?" % (text_of, tail)
        return "".join(self._tokens(fixed)) + tail + _NATIVE

    def text(self, items):
        """@items, PythonFrames and tuples of native names by turns, as the expressions want it."""
        parts = []
        innermost = [item for item in items if isinstance(item, PythonFrame)][-1:]
        for item in items:
            if not isinstance(item, PythonFrame):
                parts.append("[%s];" % ",".join(item))
                continue
            location = str(item.line)
            if item.file != self.path:
                folders = item.file.rsplit("/", 2)[-2:]
                location = "%s:%d" % ("/".join(folders), item.line)
            parts.append("%s@%s%s;" % (item.name, location, "!" if item is innermost[0] else ""))
        return "".join(parts)

    def allows(self, items):
        """True if the source can have the stack, leading native frames left out."""
        text = self.text(items)
        return any(one.fullmatch(text) for one in self._expressions)


def _version(text, other):
    return tuple(map(int, text.split("."))) if text else other


def _last_part(name):
    return name.rpartition(".")[2]


def _first_lines(text):
    """The lines in which functions begin: `def` and decorators; a module's is 0 or 1."""
    found = collections.defaultdict(set, {"<module>": {0, 1}})
    names = {ast.Lambda: "<lambda>", ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>",
             ast.DictComp: "<dictcomp>", ast.GeneratorExp: "<genexpr>"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] |= {node.lineno, *(one.lineno for one in node.decorator_list)}
        elif type(node) in names:
            found[names[type(node)]].add(node.lineno)
    return found


def split(frames, version):
    """Parts user frames of a folded line, root first, for Target.allows().

    Returns (items, is_native, wrong): items are PythonFrames and, between and behind them, tuples
    of native names, `?` for none; is_native if there is neither a Python frame nor a loop; wrong
    says how the stack is not built as the interpreter builds it, or is None.
    """
    items, natives, wrong = [], [], None
    for text in frames:
        frame = parse_frame(text)
        if not frame:
            natives.append(text)
            continue
        wrong = wrong or _judge_handlers(natives, items)
        natives = _without_handler(natives)
        kinds = [is_loop(name) for name in natives]
        if kinds:
            if kinds[-1] is False:
                wrong = wrong or "Python frames stand behind " + natives[-1]
            if True in kinds[:-1]:
                wrong = wrong or "a loop has no Python frames"
        elif not items:
            wrong = wrong or "a Python frame is outermost"
        elif version < (3, 11):
            wrong = wrong or "a loop has two Python frames"
        if natives and items:
            items.append(_names(natives))
        items.append(frame)
        natives = []
    wrong = wrong or _judge_handlers(natives, items)
    natives = _without_handler(natives)
    kinds = [is_loop(name) for name in natives]
    if kinds.count(True) > 1:
        wrong = wrong or "two loops have no Python frames"
    if natives and items:
        items.append(_names(natives))
    return items, not items and True not in kinds, wrong


def _names(natives):
    return tuple("?" if "+0x" in name else name for name in natives)
