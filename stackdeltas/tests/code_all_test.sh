#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 7200 s
# The analysis of code over every ELF file of the machine: code_oracle_test with /usr as its argument.
cd "$(dirname "$0")/../.." || exit 1
exec build/asan/stackdeltas/tests/code_oracle_test /usr
