#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The checks that need no run: format, boundaries, licences, static analysis, kernel programs for
# the other machine. Called by `make check`, which sets CLANG, CPPFLAGS and BPF_CFLAGS.
set -u
cd "$(dirname "$0")/.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
jobs=$(nproc)
failed=

# check NAME COMMAND...: runs the command; its output is shown if it fails.
check() {
	name=$1
	shift
	if "$@" >"$scratch/output" 2>&1; then
		echo "  ok      $name"
	else
		failed="$failed, $name"
		cat "$scratch/output"
		echo "  FAILED  $name"
	fi
}

# Our C files that match the given patterns, a NUL behind each.
sources() {
	git ls-files -z --cached --others --exclude-standard -- "$@"
}

check_format() {
	sources '*.c' '*.h' | xargs -0 clang-format --dry-run 2>&1 |
		sed -n 's/:[0-9]*:[0-9]*: warning: code should be.*/: not in format/p' |
		sort | uniq -c >"$scratch/unformatted"
	cat "$scratch/unformatted"
	[ ! -s "$scratch/unformatted" ]
}

# User-space code that is ours to analyse: no tests, no kernel programs.
analysed_sources() {
	sources 'lib/*.c' 'agent/*.c' 'ebpf/host/*.c' 'stackdeltas/*.c' 'interpreters/*.c' 'symbols/*.c' 'reporter/*.c' \
		'integration/collector/*.c' |
		grep -zv -e '/tests/' -e '/fuzz/'
}

check_clang_tidy() {
	analysed_sources | grep -zv '^lib/base/error\.c$' |
		xargs -0 -P"$jobs" -n1 scripts/analyse_source.sh clang-tidy
}

check_gcc_analyzer() {
	analysed_sources | xargs -0 -P"$jobs" -n1 scripts/analyse_source.sh gcc
}

# shellcheck disable=SC2086
check_bpf_for() {
	${CLANG:-clang} $BPF_CFLAGS -U__TARGET_ARCH_x86 -U__TARGET_ARCH_arm64 "-D__TARGET_ARCH_$1" \
		-c "$2" -o "$scratch/$1.bpf.o" || return
	# Their type information does not know it, and kernels refuse all of that then.
	if llvm-readelf -S "$scratch/$1.bpf.o" | grep -F .rodata.cst; then
		echo "constants are in a section of their own: put them into .rodata" >&2
		return 1
	fi
}

check_scripts() {
	sources '*.sh' | xargs -0 -n1 sh -n &&
		sources '*.py' | xargs -0 python3 -c '
import ast, sys
for name in sys.argv[1:]:
    ast.parse(open(name, encoding="utf-8").read(), name)'
}

check "boundaries, licences, names, sizes" scripts/check_boundaries.py
check "format (make format mends it)" check_format
check "words" scripts/check_words.py
check "scripts" check_scripts
check "kernel programs for x86-64" check_bpf_for x86 ebpf/allframes.bpf.c
check "kernel programs for arm64" check_bpf_for arm64 ebpf/allframes.bpf.c
check "kernel programs of -accounting for x86-64" check_bpf_for x86 ebpf/costs/costs.bpf.c
check "kernel programs of -accounting for arm64" check_bpf_for arm64 ebpf/costs/costs.bpf.c
check "hardening of the agent" scripts/check_hardening.py build/agent build/obj/liblib.a
check "gcc -fanalyzer" check_gcc_analyzer
check "clang-tidy" check_clang_tidy
if [ -n "$failed" ]; then
	echo "check: failed: ${failed#, }"
	exit 1
fi
echo "check: all good"
