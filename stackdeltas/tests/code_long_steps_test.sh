#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 1200 s
# code_steps_test beyond the start of a program: a compiler at work, and over an exec.
cd "$(dirname "$0")/../.." || exit 1
SOURCE=$(mktemp --suffix=.c)
trap 'rm -f "$SOURCE"' EXIT
echo '#include <stdio.h>
int main(void) { return printf("%d", 1); }' > "$SOURCE"
STEPS_TEST=build/asan/stackdeltas/tests/code_steps_test
FAILED=0
"$STEPS_TEST" 3000000 "$(gcc -print-prog-name=cc1)" -quiet -O2 -o /dev/null "$SOURCE" || FAILED=1
"$STEPS_TEST" 600000 env ls -l /usr || FAILED=1
exit $FAILED
