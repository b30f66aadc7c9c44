#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The include table, licences, names and sizes of files, as CONTRIBUTING.md has them.
cd "$(dirname "$0")/../.." || exit 1
echo "1..1"
if scripts/check_boundaries.py; then
	echo "ok 1 - files keep their boundaries"
else
	echo "not ok 1 - files keep their boundaries"
	exit 1
fi
