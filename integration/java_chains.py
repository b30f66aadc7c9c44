# SPDX-License-Identifier: Apache-2.0
"""What the targets in Java allow: reads the stacks that they declare, and judges by them.

A target says what its stacks can be, root first, in lines `// chain: TOKEN...` (in Clojure `;;`) at its top:

	name@mark,mark		a method in the lines that end in a comment `//: mark`; a name without a dot is of
				the target's class, one with a `$` in front (`$Square.area`) of a class in that, and
				`#` stands for a number, `%` for a blank
	name@-			a native method of the target, which has no line
	name@behind		the line behind the file's last, which compilers of Kotlin give to what is inlined
	[text]			native frames, in the name of one of which the expression is found; where functions
				have no names it is only asked that native frames stand there
	SPIN			Target.spin()
	HIDDEN			a method that the JDK makes for a lambda or a method handle, without source
	PROXY			a method of a class of java.lang.reflect.Proxy
	LIBRARY			any number of methods of the JDK's, or of another language's library, and native
				frames
	THREAD			the methods with which a thread begins, and ends
	(one|other)		alternatives; * + ? {m,n} behind either repeat it
	>			behind it the stack may end anywhere
	...			what follows may be left out from here to anywhere: of a virtual thread that was put
				away only those methods are on a stack to which it has returned since

Native frames may stand behind every chain, but between methods only where it says so. What is
inlined is a method like others.

In the frame that was interrupted the JVM may know only where compiled code was a little earlier or
later, and such frames are marked: the name of the first of these, the physical method, is exact, and
what is inlined into it may be whatever it may call.

Directives, lines `// name: value`:

    release: N	    the language of JDK N, and only for that and later ones
    depth: N	    some stack must have N methods
    truncated: yes  stacks may be cut at their root
    busy: NAME N M  per cent of the exact stacks that end in a method, at least, must have this one; in mode
		    exact M (N): of some loops C2 keeps no lines, and with DebugNonSafepoints the JVM, as JFR
		    shows, gives them that of what stands behind (0: it is not judged)
    own: N M	    per cent of the samples must be the program's own, and not its JVM's threads'; with -Xcomp
		    M (20 20)
    unnamed: N	    per cent of the samples may have methods that are gone before they are named (0.5)
    observe: no	    it cannot be observed by itself
    inlined: N	    in mode exact some stack must have N methods in a row that are inlined
    seen: NAME...   where all is compiled that runs for long, each of these must be in the name of some
		    stack's innermost frame
    agent: yes	    it is an agent of the JVM as well, which may redefine classes
"""
import collections
import os
import re

# Marks of frames; nothing else knows them.
INLINED = "_[i]"
APPROXIMATE = "_[~]"
_MARKS = re.compile(r"(?:_\[[i~]\])*$")

_WITH_FILE = re.compile(
    r"(?P<name>.+) \((?P<file>[^()]*\.(?:java|kt|scala|clj))(?::(?P<line>\d+))?\)")
_LIBRARY = re.compile(r"(?:java|javax|jdk|sun|com\.sun|scala|kotlin|clojure)\.[^;]*")
_HIDDEN = re.compile(r"[^ ;]*\$\$Lambda[^ ;.]*\.[^ ;]+|"
                     r"java\.lang\.invoke\.(?:LambdaForm|\w+\$Holder\.|[\w$]+Species_)[^ ;]*")
_PROXY = re.compile(r"(?:com\.sun\.proxy|jdk\.proxy\d+)\.\$Proxy\d+\.[^ ;]+|\$Proxy\d+\.[^ ;]+")
# Beside these, the JDK makes classes for reflection, for strings and for C.
_WITHOUT_FILE = re.compile(r"(?P<name>%s|%s|(?:java|jdk|sun)(?:\.[\w$]+)+\.[\w$<>]+)(?: \([^()]*\))?" % (
    _HIDDEN.pattern, _PROXY.pattern))
_THREAD = re.compile(r"java\.lang\.Thread\.\w+|java\.lang\.VirtualThread(?:\$\w+)*\.[^;]+|"
                     r"jdk\.internal\.vm\.[^;]+|java\.util\.concurrent\.[^;]+|"
                     r"java\.lang\.ref\.Reference\.reachabilityFence|"
                     r"java\.lang\.(?:Base)?(?:VirtualThread|ThreadBuilders)[^;]*")
_LEXER = re.compile(r"\s*(\[[^\]]*\](?:[*+?]|\{\d+(?:,\d+)?\})?|\(|\)(?:[*+?]|\{\d+(?:,\d+)?\})?|\||"
                    r"[^\s()|]+)")
_REPEAT = re.compile(r"(.*?)([*+?]|\{\d+(?:,\d+)?\})?$", re.S)

# Code that is thrown away goes with its names: of 5,793 samples under Shenandoah 5 had such methods.
UNNAMED_PERCENT = 0.5
# The JVM's own threads collect and compile.
OWN_PERCENT = 20

# By the suffix of a source.
LANGUAGES = {"java": "java", "scala": "scala", "kt": "kotlin", "clj": "clojure"}

JavaFrame = collections.namedtuple("JavaFrame", "name file line is_inlined is_approximate",
                                   defaults=(False, False))


def parse_frame(text):
    """The JavaFrame that @text, a frame of a folded file, is; None for a native one."""
    start = _MARKS.search(text).start()
    marks, text = text[start:], text[:start]
    match = _WITH_FILE.fullmatch(text) or _WITHOUT_FILE.fullmatch(text)
    if not match:
        return None
    fields = match.groupdict()
    return JavaFrame(fields["name"], fields.get("file"), int(fields.get("line") or 0),
                     INLINED in marks, APPROXIMATE in marks)


def split(frames):
    """Parts user frames of a folded line, root first, for Target.allows().

    Returns (items, wrong): items are JavaFrames and, between them, tuples of native names, `?` for
    none; wrong says how the stack is not built as a JVM's is, or is None.
    """
    items, natives, wrong = [], [], None
    for text in frames:
        frame = parse_frame(text)
        if not frame:
            natives.append("?" if "+0x" in text else text)
            continue
        before = items[-1] if items else None
        if not items and not natives:
            wrong = wrong or "a Java frame is outermost"
        elif frame.is_inlined and natives:
            wrong = wrong or "what is inlined stands behind native code"
        elif before and before.is_approximate and (natives or not frame.is_approximate):
            wrong = wrong or "something stands behind approximate frames"
        if natives and items:
            items.append(tuple(natives))
        items.append(frame)
        natives = []
    return items, wrong


class _Method:
    """Tells whether an item is a method of this name in these lines; None for any line."""

    def __init__(self, name, file=None, lines=None, is_unseen=False):
        self._name = name
        self._file = file
        self._lines = lines
        self.is_unseen = is_unseen

    def has_name_of(self, item):
        return (isinstance(item, JavaFrame) and bool(self._name.fullmatch(item.name))
                and self._file in (None, item.file))

    def fits(self, item):
        return self.has_name_of(item) and (self._lines is None or item.line in self._lines)


class _Natives:
    """The same for a group of native frames."""
    is_unseen = True

    def __init__(self, name):
        self._name = re.compile(name)

    @staticmethod
    def has_name_of(_):
        return False

    def fits(self, item):
        return (not isinstance(item, JavaFrame)
                and any(name == "?" or self._name.search(name) for name in item))


class _Graph:
    """A language of stacks: states, edges that take an item, and edges that take none."""

    def __init__(self):
        self.edges = []
        self.empty = []

    def state(self):
        self.edges.append([])
        self.empty.append([])
        return len(self.edges) - 1

    def closure(self, states, is_observed):
        """@states, and those that no item leads to; an observer does not see all items."""
        found, todo = set(states), list(states)
        while todo:
            state = todo.pop()
            more = list(self.empty[state])
            if is_observed:
                more += [to for matcher, to in self.edges[state] if matcher.is_unseen]
            for to in more:
                if to not in found:
                    found.add(to)
                    todo.append(to)
        return found

    def step(self, states, fits, is_observed):
        """Where an item leads to from @states, by the matchers that @fits is true for."""
        return self.closure({to for state in states for matcher, to in self.edges[state]
                             if fits(matcher)}, is_observed)

    def matchers_beyond(self, states):
        """All matchers that may follow."""
        found, todo, matchers = set(states), list(states), []
        while todo:
            state = todo.pop()
            matchers += [matcher for matcher, _ in self.edges[state]]
            for to in self.empty[state] + [to for _, to in self.edges[state]]:
                if to not in found:
                    found.add(to)
                    todo.append(to)
        return matchers


class _Builder:
    """Makes a graph of declarations. @atom: the parts of a token's graph, see Target._atom()."""

    def __init__(self, atom):
        self.graph = _Graph()
        self.start = self.graph.state()
        self.end = self.graph.state()
        self._atom = atom

    def add(self, text):
        """One chain more."""
        before, _, text = text.rpartition(" ... ")
        start = self._sequence(self._parse(before), self.start)
        first = len(self.graph.empty)
        self._add_behind(text, start)
        if before:
            self.graph.empty[start] += range(first, len(self.graph.empty))

    def _add_behind(self, text, state):
        fixed, _, open_end = (" " + text).partition(" > ")
        state = self._sequence(self._parse(fixed), state)
        self.graph.empty[state].append(self.end)
        for part in self._parse(open_end.replace(" > ", " ")):
            state = self._part(part, state)
            # No chain ends in a group of native frames, which belongs to the method behind it.
            if not isinstance(part[1], str) or not part[1].startswith("["):
                self.graph.empty[state].append(self.end)

    def _parse(self, text):
        """(repeat, token or list of alternatives) for each part of @text."""
        words = _LEXER.findall(text)
        parts, index = self._parse_sequence(words, 0)
        assert index == len(words), "too many closing parentheses: " + text
        return parts

    def _parse_sequence(self, words, index):
        parts = []
        while index < len(words) and words[index] != "|" and not words[index].startswith(")"):
            if words[index] == "(":
                alternatives, repeat, index = self._parse_group(words, index + 1)
                parts.append((repeat, alternatives))
            else:
                match = _REPEAT.match(words[index])
                parts.append((match[2] or "", match[1]))
                index += 1
        return parts, index

    def _parse_group(self, words, index):
        alternatives = []
        while True:
            parts, index = self._parse_sequence(words, index)
            alternatives.append(parts)
            assert index < len(words), "a parenthesis is not closed"
            if words[index] != "|":
                return alternatives, words[index][1:], index + 1
            index += 1

    def _sequence(self, parts, state):
        for part in parts:
            state = self._part(part, state)
        return state

    def _part(self, part, state):
        """Appends @part to @state; the state behind it."""
        repeat, what = part
        if repeat.startswith("{"):
            least, _, most = repeat[1:-1].partition(",")
            for _ in range(int(least)):
                state = self._once(what, state)
            for _ in range(int(most or least) - int(least)):
                before, state = state, self._once(what, state)
                self.graph.empty[before].append(state)
            return state
        if repeat in ("*", "+"):
            # A state of its own, that what stands before is not repeated.
            first = self.graph.state()
            self.graph.empty[state].append(first)
            last = self._once(what, first)
            end = self.graph.state()
            self.graph.empty[last] += [first, end]
            if repeat == "*":
                self.graph.empty[first].append(end)
            return end
        end = self._once(what, state)
        if repeat == "?":
            self.graph.empty[state].append(end)
        return end

    def _once(self, what, state):
        end = self.graph.state()
        if not isinstance(what, str):
            for alternative in what:
                first = self.graph.state()
                self.graph.empty[state].append(first)
                self.graph.empty[self._sequence(alternative, first)].append(end)
            return end
        matchers, is_repeated = self._atom(what)
        if is_repeated:
            # It may be left out.
            loop = self.graph.state()
            self.graph.empty[state].append(loop)
            self.graph.empty[loop].append(end)
            state, to = loop, loop
        else:
            to = end
        self.graph.edges[state] += [(matcher, to) for matcher in matchers]
        return end


def _marks(path):
    """The lines of each mark in a source."""
    found = collections.defaultdict(set)
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().split("\n"), 1):
            match = re.search(r"//: ([\w ]+)$", line)
            for mark in match[1].split() if match else ():
                found[mark].add(number)
    found["behind"].add(number + 1)
    return found


class Target:
    """What one target declares."""

    def __init__(self, path):
        self.path = path
        self.file = os.path.basename(path)
        self.name = self.file.partition(".")[0]
        self.comm = ("j-" + self.name)[:15]
        self.language = LANGUAGES[self.file.rpartition(".")[2]]
        with open(path, encoding="utf-8") as file:
            head = re.match(r"(?:(?://|;;).*\n|\n)*", file.read())[0]
        head = re.sub("^;;", "//", head, flags=re.M)
        self._marks = _marks(path)
        directives = dict(re.findall(r"^// (\w+): (.*)$", head, re.M))
        # Kotlin makes a class of a file's functions.
        self.main_class = self.name + "Kt" * (self.language == "kotlin")
        # Arguments of the JVM that run it.
        self.program = (["clojure.main", "-m", self.name] if self.language == "clojure"
                        else [self.main_class])
        self.release = int(directives.get("release", 8))
        self.depth = int(directives.get("depth", 0))
        self.inlined = int(directives.get("inlined", 0))
        self.seen = directives.get("seen", "").split()
        self.is_truncated = directives.get("truncated") == "yes"
        self.busy, *percents = directives.get("busy", " 0").split(" ")
        self.busy_percent, self.exact_busy_percent = int(percents[0]), int(percents[-1])
        self.own_percent, self.comp_own_percent = map(
            int, directives.get("own", "%d %d" % (OWN_PERCENT, OWN_PERCENT)).split())
        self.unnamed_percent = float(directives.get("unnamed", UNNAMED_PERCENT))
        self.is_observed = directives.get("observe") != "no"
        self.is_agent = directives.get("agent") == "yes"
        builder = _Builder(self._atom)
        chains = re.findall(r"^// chain: (.*)$", head, re.M)
        assert chains, "no chain is declared in " + path
        for chain in chains:
            builder.add(chain)
        self._graph, self._start, self._end = builder.graph, builder.start, builder.end

    def _atom(self, token):
        """The matchers of one token, and whether it may be repeated and left out."""
        if token.startswith("["):
            return [_Natives(token[1:-1])], False
        if token == "SPIN":
            path = os.path.join(os.path.dirname(self.path), "Target.java")
            return [_Method(re.compile(r"Target\.spin"), "Target.java", _marks(path)["spin"])], False
        if token == "HIDDEN":
            return [_Method(_HIDDEN, is_unseen=True)], False
        if token == "PROXY":
            return [_Method(_PROXY)], False
        if token == "THREAD":
            return [_Method(_THREAD), _Natives("")], True
        if token == "LIBRARY":
            return [_Method(_LIBRARY), _Method(_HIDDEN), _Natives("")], True
        return [self._method(token)], False

    def _method(self, token):
        name, _, wheres = token.rpartition("@")
        assert name, "%s: %s has no line" % (self.path, token)
        if name.startswith("$"):
            name = self.main_class + name
        elif "." not in name:
            name = self.main_class + "." + name
        lines = set()
        for where in wheres.split(","):
            assert where == "-" or where in self._marks, "%s has no line marked %s" % (self.path,
                                                                                      where)
            lines |= {0} if where == "-" else self._marks[where]
        expression = re.escape(name.replace("%", " ")).replace(r"\#", r"\d+")
        return _Method(re.compile(expression), self.file, lines)

    def allows(self, items, is_observed=False, is_cut=False, needs_line=False):
        """True if the source can have the stack @items. @is_observed: as the program itself sees it,
        without native frames and the methods that no stack trace shows; @is_cut: at its root. Unless
        @needs_line, the innermost method, which may not have begun, may have no line.
        """
        graph = self._graph
        states = range(len(graph.edges)) if is_cut else [self._start]
        states = graph.closure(states, is_observed)
        for i, item in enumerate(items):
            if isinstance(item, JavaFrame) and item.is_approximate:
                return self._allows_approximate(states, items[i:], is_observed)
            is_named_only = (not needs_line and i + 1 == len(items)
                             and isinstance(item, JavaFrame) and not item.line)
            states = graph.step(states, lambda matcher, item=item, is_named_only=is_named_only: (
                matcher.has_name_of(item) if is_named_only else matcher.fits(item)), is_observed)
        return self._end in states

    def _allows_approximate(self, states, items, is_observed):
        """The same for @items, a physical method and what may be inlined into it."""
        physical, *inlined = items
        states = self._graph.step(states, lambda matcher: matcher.has_name_of(physical),
                                  is_observed)
        matchers = self._graph.matchers_beyond(states) if inlined else []
        return bool(states) and all(any(matcher.has_name_of(item) for matcher in matchers)
                                    for item in inlined)


def is_library(items):
    """True for a stack that has only methods of the JDK: one of the JVM's own threads."""
    return all(not isinstance(item, JavaFrame) or _LIBRARY.fullmatch(item.name)
               for item in items)


def text_of(items):
    """@items in one line."""
    return ";".join("[%s]" % ",".join(item) if not isinstance(item, JavaFrame)
                    else "%s:%d%s%s" % (item.name, item.line, INLINED * item.is_inlined,
                                        APPROXIMATE * item.is_approximate) for item in items)
