#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The fuzzers, for a few thousand inputs each: that they still run, find nothing new at once, and
# cover their code. `make fuzz` runs them for long.
cd "$(dirname "$0")/../.." || exit 1
exec scripts/run_fuzzers.py --runs 4000
