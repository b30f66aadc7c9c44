#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 1200 s
# code_steps_test beyond the start of a program: a compiler at work.
cd "$(dirname "$0")/../.." || exit 1
SOURCE=$(mktemp --suffix=.c)
trap 'rm -f "$SOURCE"' EXIT
echo '#include <stdio.h>
int main(void) { return printf("%d", 1); }' > "$SOURCE"
build/asan/stackdeltas/tests/code_steps_test 3000000 \
	"$(gcc -print-prog-name=cc1)" -quiet -O2 -o /dev/null "$SOURCE"
