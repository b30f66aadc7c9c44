# SPDX-License-Identifier: Apache-2.0
"""Real programs with work that keeps them in user mode: the same work in every run, over inputs
that are made here. Used by tests that look at the stacks of other people's programs.
"""
import os
import random
import shutil
import subprocess

# Words of the texts that the programs sort, pack, search and compare.
_WORD_COUNT = 5000
_TEXT_LINES = 400000

# A large program with debug information.
_AGENT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build", "agent")

_PYTHON = """
import collections, hashlib, json, random, re, zlib
generator = random.Random(1)
def walk(depth):
    if depth:
        return walk(depth - 1)
    numbers = [generator.random() for _ in range(20000)]
    text = json.dumps(sorted(numbers, key=lambda number: -number))
    found = re.findall(r"(\\d)\\1+", text)
    return hashlib.sha1(zlib.compress(text.encode())).digest(), collections.Counter(found)
while True:
    for depth in range(40):
        walk(depth)
"""

_NODE = """
const zlib = require("zlib"), crypto = require("crypto");
function walk(depth) {
    if (depth) return walk(depth - 1) + 1;
    const numbers = Array.from({length: 20000}, (_, i) => (i * 7919) % 10007);
    const text = JSON.stringify(numbers.sort((a, b) => b - a));
    text.match(/(\\d)\\1+/g);
    crypto.createHash("sha256").update(zlib.deflateSync(text)).digest();
    return 0;
}
for (;;) for (let depth = 0; depth < 40; depth++) walk(depth);
"""

_JAVA = """
import java.util.*;
import java.util.stream.*;
public class Busy {
    static long walk(int depth) {
        if (depth > 0) return walk(depth - 1) + 1;
        List<String> words = IntStream.range(0, 20000).mapToObj(i -> "word" + (i * 7919) % 10007)
            .sorted(Comparator.reverseOrder()).collect(Collectors.toList());
        Map<Integer, Long> counts = words.stream().collect(
            Collectors.groupingBy(String::length, TreeMap::new, Collectors.counting()));
        return counts.hashCode() + String.join(",", words).replaceAll("1+", "x").length();
    }
    public static void main(String[] arguments) {
        for (;;) for (int depth = 0; depth < 40; depth++) walk(depth);
    }
}
"""

_PERL = """
my @words = map { ($_ * 7919) % 10007 } 0 .. 20000;
sub walk {
    my $depth = shift;
    return walk($depth - 1) if $depth;
    my $text = join ",", sort { $b <=> $a } @words;
    $text =~ s/(\\d)\\1+/sprintf("%d", length $1)/ge;
    my %count; $count{$_}++ for split /,/, $text;
}
while (1) { walk($_) for 0 .. 40 }
"""

_BASH = """
walk() {
    if (($1)); then walk $(($1 - 1)); return; fi
    local text= i
    for ((i = 0; i < 300; i++)); do text+=",$((i * 7919 % 10007))"; done
    text=${text//1/x}; [[ $text =~ (x+),.*(x+) ]]
}
while :; do for depth in {0..40}; do walk $depth; done; done
"""

_TCL = """
proc walk {depth} {
    if {$depth} {return [walk [expr {$depth - 1}]]}
    set words {}
    for {set i 0} {$i < 5000} {incr i} {lappend words [expr {$i * 7919 % 10007}]}
    regsub -all {(\\d)\\1+} [join [lsort -integer -decreasing $words] ,] x text
    return [string length $text]
}
while 1 {for {set depth 0} {$depth < 40} {incr depth} {walk $depth}}
"""

_VIM = """
function! Walk(depth)
    if a:depth | return Walk(a:depth - 1) | endif
    return substitute(join(sort(map(range(3000), 'v:val * 7919 % 10007')), ','), '1\\+', 'x', 'g')
endfunction
while 1
    for depth in range(30) | call Walk(depth) | endfor
endwhile
"""

_CMAKE = """
function(walk depth)
    if(depth)
        math(EXPR depth "${depth} - 1")
        walk(${depth})
        return()
    endif()
    set(words)
    foreach(i RANGE 2000)
        math(EXPR word "${i} * 7919 % 10007")
        list(APPEND words ${word})
    endforeach()
    list(SORT words COMPARE NATURAL)
    string(REGEX REPLACE "1+" "x" words "${words}")
endfunction()
while(1)
    walk(20)
endwhile()
"""

_SQL = """
with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000000)
select count(*) from (select substr(hex(i * 7919), 2) as word, count(*) as times
    from n group by word order by times desc, word limit 10);
"""

_GDB = """
def walk(depth):
    if depth:
        return walk(depth - 1)
    for i in range(2000):
        gdb.parse_and_eval("(%d + 3) * %d" % (i, i))
while True:
    walk(20)
"""

_C_HEAD = "#define NULL ((void *)0)\ntypedef unsigned long size_t;\n"
_C_FUNCTION = """
static size_t mix_%(n)d(const unsigned char *bytes, size_t size, size_t seed)
{
    size_t sum = seed * %(n)dul;
    for (size_t i = 0; i + 8 < size; i += %(step)d) {
        switch (bytes[i] %% 7) {
        case 0: sum += bytes[i + 1] * %(n)d; break;
        case 1: sum ^= sum << (bytes[i + 2] & 15); break;
        case 2: for (int k = 0; k < %(step)d; k++) sum = sum * 31 + bytes[i + k]; break;
        case 3: if (sum > %(n)d00) return mix_%(n)d(bytes + i + 1, size - i - 1, sum); break;
        default: sum -= bytes[i + 3] / (%(step)d + 1u);
        }
    }
    return sum;
}
size_t entry_%(n)d(const unsigned char *b, size_t s) { return mix_%(n)d(b, s, %(n)d); }
"""

_CPP = """
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
template <int N> struct step {
    std::map<int, std::vector<std::string>> words;
    int run(const std::string &text) {
        std::regex pattern("(a+)b" + std::to_string(N));
        for (int i = 0; i < N; i++) words[i * 7 % 11].push_back(std::regex_replace(text, pattern, "x"));
        std::sort(words[3].begin(), words[3].end(), [](auto &a, auto &b) { return a.size() < b.size() + N; });
        return step<N - 1>().run(text) + words.size();
    }
};
template <> struct step<0> { int run(const std::string &) { return 0; } };
int entry(const std::string &text) { return step<60>().run(text); }
"""

_RUST_FUNCTION = """
pub fn mix_%(n)d(words: &mut Vec<String>) -> std::collections::BTreeMap<usize, Vec<String>> {
    words.sort_by(|a, b| b.len().cmp(&(a.len() + %(n)d)));
    let mut map = std::collections::BTreeMap::new();
    for word in words.iter().filter(|word| word.len() > %(n)d) {
        map.entry(word.len() %% %(step)d).or_insert_with(Vec::new).push(format!("{}-%(n)d", word));
    }
    map
}
"""

_GO_FUNCTION = """
func mix%(n)d(words []string, depth int) map[int][]string {
	result := map[int][]string{}
	for i, word := range words {
		if len(word) > %(n)d && depth > 0 {
			for k, v := range mix%(n)d(words[i:], depth-1) {
				result[k+%(step)d] = append(result[k], v...)
			}
		}
		result[len(word)%%%(step)d] = append(result[i], word+"%(n)d")
	}
	return result
}
"""


def _write(path, text):
    if not os.path.exists(path):
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(path + ".new", path)


def _repeat(function, count):
    return "".join(function % {"n": number, "step": number % 9 + 2} for number in range(1, count))


def make_inputs(directory):
    """Writes the inputs below @directory, those that are not there yet."""
    os.makedirs(directory, exist_ok=True)
    generator = random.Random(4)
    words = ["".join(generator.choice("abcdefghijklmnop") for _ in range(generator.randint(2, 9)))
             for _ in range(_WORD_COUNT)]
    lines = [" ".join(generator.choices(words, k=8)) for _ in range(_TEXT_LINES)]
    files = {
        "text": "\n".join(lines) + "\n",
        "other": "\n".join(line if number % 7 else line[::-1]
                           for number, line in enumerate(lines)) + "\n",
        "busy.py": _PYTHON, "busy.js": _NODE, "Busy.java": _JAVA, "busy.pl": _PERL,
        "busy.sh": _BASH, "busy.tcl": _TCL, "busy.vim": _VIM, "busy.cmake": _CMAKE,
        "busy.sql": _SQL, "gdb.py": _GDB, "busy.cpp": _CPP,
        "busy.c": _C_HEAD + _repeat(_C_FUNCTION, 1500),
        "busy.rs": _repeat(_RUST_FUNCTION, 300),
        "busy.go": "package busy\n" + _repeat(_GO_FUNCTION, 2000),
        "busy.mk": "".join("all: t%d\nt%d: $(patsubst %%.c,%%.o,$(wildcard x%d*.c)) t%d\n\t@echo %d\n"
                           % (n, n, n, n - 1, n) for n in range(1, 30000)) + "t0:\n",
        "build.ninja": "rule r\n  command = touch $out $in\n"
                       + "".join("build out/%d: r %s\n" % (n, " ".join(
                           "out/%d" % (n // k) for k in range(2, 6) if n // k)) for n in range(1, 60000))
                       + "build out/0: r\n",
        "busy.bc": "scale=4000\n4*a(1)\ne(1)\n",
        "busy.jq": "def walk(n): if n > 0 then walk(n - 1) else [range(20000) | . * 7919 % 10007]"
                   " | sort | map(tostring) | join(\",\") | gsub(\"1+\"; \"x\") | length end;"
                   " [range(1000) | walk(20)] | add",
    }
    for name, text in files.items():
        _write(os.path.join(directory, name), text)


def _tool_of_gcc(name):
    """A program inside gcc's own folders, by its path; None if it is not there."""
    if not shutil.which("gcc"):
        return None
    path = subprocess.run(["gcc", "-print-prog-name=" + name], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()
    return shutil.which(path)


def _go_tool(name):
    if not shutil.which("go"):
        return None
    path = subprocess.run(["go", "tool", "-n", name], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, check=False).stdout.strip()
    return shutil.which(path or "/nonexistent")


# Name: command, its words; {d} is the folder of the inputs. A program that ends is started again.
_COMMANDS = {
    "python3": "python3 {d}/busy.py",
    "perl": "perl {d}/busy.pl",
    "bash": "bash {d}/busy.sh",
    "sqlite3": "sqlite3 -init {d}/busy.sql :memory:",
    "xz": "xz -6 -k -c {d}/text",
    "sort": "sort --parallel=2 -o {d}/sorted {d}/text",
    "openssl": "openssl speed -seconds 60 rsa2048 ecdsap256",
    "cc1": "cc1 -quiet -O2 {d}/busy.c -o /dev/null",
    "cc1plus": "cc1plus -quiet -O2 -fpreprocessed {d}/busy.ii -o /dev/null",
    "as": "as {d}/busy.s -o /dev/null",
    "ld": "ld -r -o {d}/linked.o --whole-archive /usr/lib/x86_64-linux-gnu/libc.a",
    "node": "node {d}/busy.js",
    "java": "java -cp {d} Busy",
    "gdb": "gdb -nx -batch -x {d}/gdb.py",
    "rustc": "rustc --crate-type lib -O --emit obj -o {d}/busy.rs.o {d}/busy.rs",
    "make": "make -s -f {d}/busy.mk -C {d} -n",
    "git": "git diff --no-index --patience {d}/text {d}/other",
    "zstd": "zstd -q -12 -c {d}/text",
    "gzip": "gzip -9 -k -c {d}/text",
    "bzip2": "bzip2 -k -c {d}/text",
    "tar": "tar -cf {d}/all.tar {d}/text /usr/include",
    "mawk": "mawk {{for(i=1;i<=NF;i++)n[$i]++;gsub(/a+/,\"x\")}}END{{for(w\\x20in\\x20n)t+=n[w]}} {d}/text",
    "sed": "sed -E s/(a+)([b-f]*).*\\1/\\2x/g;s/(.)x/\\1/g {d}/text",
    "grep": "grep -E -c (.)(.)(.).*\\3\\2\\1.*\\1\\3\\2 {d}/text",
    "find": "find /usr -regextype egrep -regex .*(a|b)+.*/(lib|x).*[0-9]+ -name *.so*",
    "compile (Go)": "compile -o {d}/busy.a -p busy {d}/busy.go",
    "clang": "clang-cc1 -O2 {d}/busy.cpp -c -o /dev/null",
    "clang-tidy": "clang-tidy --checks=* {d}/busy.cpp --",
    "vim": "vim -u NONE -i NONE -n -es -S {d}/busy.vim",
    "cmake": "cmake -P {d}/busy.cmake",
    "ninja": "ninja -C {d} -n",
    "tclsh": "tclsh {d}/busy.tcl",
    "bc": "bc -lq {d}/busy.bc",
    "jq": "jq -n -f {d}/busy.jq",
    "rsync": "rsync -n -c -r {d}/text {d}/other /usr/include {d}/copies",
    "diff": "diff -d {d}/text {d}/other",
    "readelf": "readelf -wFi {agent}",
    "objdump": "objdump -d /usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "gpg": "gpg --homedir {d} --batch -z 9 -o - --store {d}/text",
    "sha512sum": "sha512sum" + " {d}/text {d}/other" * 10,
}

# Files that another program makes first, each with its command.
_MAKERS = {
    "as": ["busy.s", "gcc", "-O1", "-S", "-o", "busy.s", "busy.c"],
    "cc1plus": ["busy.ii", "g++", "-E", "-o", "busy.ii", "busy.cpp"],
    "java": ["Busy.class", "javac", "Busy.java"],
}

_FINDERS = {
    "cc1": lambda: _tool_of_gcc("cc1"),
    "cc1plus": lambda: _tool_of_gcc("cc1plus"),
    "compile": lambda: _go_tool("compile"),
}


class BusyProgram:
    """One program and its work."""

    def __init__(self, name, directory):
        self.name = name
        self._directory = directory
        words = [word.replace("\\x20", " ") for word in
                 _COMMANDS[name].format(d=directory, agent=_AGENT).split(" ")]
        self.path = _FINDERS.get(words[0], lambda: shutil.which(words[0].partition("-cc1")[0]))()
        self._arguments = words[1:]

    @property
    def command(self):
        if self.name == "clang":
            # The driver would run another process.
            return [self.path, "-fno-spell-checking", "-fintegrated-cc1", *self._arguments]
        return [self.path, *self._arguments]

    def prepare(self):
        """Makes what another program has to make; None, or why it can't be."""
        if not self.path:
            return "it is not installed"
        made, *maker = _MAKERS.get(self.name, [None])
        if maker and not os.path.exists(os.path.join(self._directory, made)):
            if not shutil.which(maker[0]):
                return "no %s" % maker[0]
            subprocess.run(maker, cwd=self._directory, check=True)
        return None

    def start(self, preexec_fn=None, directory=None):
        """Starts it, in the folder of the inputs unless another is given."""
        return subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, cwd=directory or self._directory,
                                preexec_fn=preexec_fn,
                                env={**os.environ, "LC_ALL": "C", "RUSTC_BOOTSTRAP": "1"})


NAMES = tuple(_COMMANDS)
