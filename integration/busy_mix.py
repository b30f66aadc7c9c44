# SPDX-License-Identifier: Apache-2.0
"""A busy machine: a compiler over 200 files, openssl, gzip, a data base, tar, C++ with exceptions and
lambdas, Rust, static programs.
"""
import os
import shutil
import sys

import build_targets
from build_targets import TARGETS
from harness import ProcessGroups

FILES = 200
PROGRAMS = ["exceptions", "exceptions_st", "closures", "closures_static", "calls_static",
            "threads"]

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item_%(n)d { int key; double weight; char name[16]; };
static int compare_%(n)d(const void *a, const void *b)
{ return ((const struct item_%(n)d *)a)->key - ((const struct item_%(n)d *)b)->key; }
%(functions)s
int entry_%(n)d(int argc, char **argv)
{
	struct item_%(n)d items[64];
	for (int i = 0; i < 64; i++) { items[i].key = (i * 7919 + argc) %% 61; items[i].weight = i; }
	qsort(items, 64, sizeof(items[0]), compare_%(n)d);
	printf("%%s %%d\\n", argv[0], items[argc %% 64].key);
	return (int)items[3].weight;
}
"""

FUNCTION = """
double function_%(n)d_%(i)d(const double *values, int count)
{
	double sum = %(i)d, last = 0;
	for (int i = 0; i < count; i++) {
		switch ((i + %(i)d) %% 5) {
		case 0: sum += values[i] * last; break;
		case 1: sum -= values[i] / (last + 1); break;
		case 2: last = sum > 10 ? values[i] : -values[i]; break;
		default: sum = sum * 1.0001 + last;
		}
	}
	return sum + %(n)d;
}
"""

DATA_BASE = """
import sqlite3
base = sqlite3.connect(":memory:")
base.execute("create table words (id integer primary key, text, number)")
while True:
    base.executemany("insert into words (text, number) values (?, ?)",
                     (("word %d" % (i * 7919 % 1009), i) for i in range(20000)))
    base.execute("create index if not exists by_text on words (text)")
    for i in range(20):
        base.execute("select text, sum(number), count(*) from words where text like ?"
                     " group by text order by 2", ("%%%d%%" % i,)).fetchall()
    base.execute("delete from words")
"""

CPP_SOURCES = 8
CPP_SOURCE = r"""
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
template <int N> struct item_%(n)d { std::string name; std::map<std::string, std::vector<int>> values; item_%(n)d<N - 1> next; };
template <> struct item_%(n)d<0> { std::string name; };
std::string run_%(n)d(const std::string &text)
{
	static const std::regex pattern("([a-z]+)=([0-9]+)");
	std::unordered_map<std::string, std::variant<int, std::string>> found;
	std::smatch match;
	std::string rest = text;
	while (std::regex_search(rest, match, pattern)) {
		found[match[1]] = std::stoi(match[2]);
		rest = match.suffix();
	}
	std::vector<std::pair<std::string, int>> sorted;
	for (auto &[key, value] : found)
		std::visit([&](auto &&v) {
			if constexpr (std::is_same_v<std::decay_t<decltype(v)>, int>)
				sorted.emplace_back(key, v + %(n)d);
		}, value);
	std::sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) { return a.second < b.second; });
	std::ostringstream out;
	item_%(n)d<12> items;
	for (auto &[key, value] : sorted)
		out << key << value << items.name;
	return out.str();
}
"""

FOREVER = 'while :; do %s; done'


def write_sources(directory):
    for n in range(FILES):
        functions = "".join(FUNCTION % {"n": n, "i": i} for i in range(25))
        with open(os.path.join(directory, "file_%d.c" % n), "w", encoding="ascii") as file:
            file.write(SOURCE % {"n": n, "functions": functions})


def mix_commands(directory):
    """Name, needed program, command."""
    data = os.path.join(directory, "data")
    with open(data, "wb") as file:
        file.write((os.urandom(64) + b"some text that can be made shorter ") * 40000)
    compile_all = ('for file in "%s"/file_*.c; do gcc -O2 -c "$file" -o "%s/out.o"; done'
                   % (directory, directory))
    return [
        ("gcc", ["sh", "-c", FOREVER % compile_all]),
        ("openssl", ["sh", "-c", FOREVER % "openssl speed -seconds 1 rsa2048 sha256"]),
        ("gzip", ["sh", "-c", FOREVER % ('gzip -9 -c "%s"' % data)]),
        ("tar", ["sh", "-c", FOREVER % "tar -cf - /usr/include | cat"]),
    ]


class Mix(ProcessGroups):
    """All programs of the mix but those in @without; they end with the context."""

    def __init__(self, directory, without=()):
        super().__init__()
        write_sources(directory)
        self.names = []
        for name, command in mix_commands(directory):
            if shutil.which(name) and name not in without:
                self._start(name, command)
        self._start("sqlite", [sys.executable, "-c", DATA_BASE])
        for name in build_targets.build(PROGRAMS):
            self._start(name, [TARGETS[name].path])

    def _start(self, name, command):
        self.names.append(name)
        self.start(command)


class CppBuild(ProcessGroups):
    """Two jobs that compile C++ sources with templates of the standard library."""

    def __init__(self, directory):
        super().__init__()
        for n in range(CPP_SOURCES):
            with open(os.path.join(directory, "file_%d.cc" % n), "w", encoding="ascii") as file:
                file.write(CPP_SOURCE % {"n": n})
        for job in range(2):
            compile_all = ('for file in "%s"/file_*.cc; do g++ -O2 -c "$file" -o "%s/out_%d.o"; done'
                           % (directory, directory, job))
            self.start(["sh", "-c", FOREVER % compile_all])
