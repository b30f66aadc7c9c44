#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Static analysis of one source: analyse_source.sh gcc|clang-tidy FILE, with CPPFLAGS in the environment.
#
# An analysis takes seconds for each file. One that found nothing is noted in ~/.cache/allframes/analysis, under a
# hash of all that it depends on: the source with what it includes, the rules and the version of the tool.
#
# gcc's analyzer: without -Wanalyzer-malloc-leak and -use-of-uninitialized-value, since version 12 is
# often wrong about scope guards there; the tests run under LeakSanitizer, and every build has
# -Wmaybe-uninitialized.
# shellcheck disable=SC2086 # CPPFLAGS is a list of words
set -u
tool=$1
file=$2
notes=${XDG_CACHE_HOME:-$HOME/.cache}/allframes/analysis

analyse() {
	if [ "$tool" = gcc ]; then
		gcc -std=gnu11 $CPPFLAGS -O2 -Wall -Wextra -Werror -fanalyzer -Wno-analyzer-malloc-leak \
			-Wno-analyzer-use-of-uninitialized-value -c -o /dev/null "$file"
	else
		clang-tidy --quiet "$file" -- $CPPFLAGS -std=gnu11 -include scripts/analyzer_hints.h 2>/dev/null
	fi
}

# With comments, since they can hold exceptions.
source_text() {
	gcc -std=gnu11 $CPPFLAGS -O2 -include scripts/analyzer_hints.h -E -CC "$file"
}

note=$notes/$tool-$({
	"$tool" --version
	cat "$0" .clang-tidy
	source_text
} | sha256sum | cut -c1-32)
[ -e "$note" ] && exit
analyse && mkdir -p "$notes" && : >"$note"
