#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 3600 s
# The oracle over every ELF file of the machine: oracle_test with /usr as its argument.
cd "$(dirname "$0")/../.." || exit 1
exec build/asan/stackdeltas/tests/oracle_test /usr
