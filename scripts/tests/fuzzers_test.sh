#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The fuzzers, for some hundred or thousand inputs each, until their code is covered: that they still run, find nothing
# new at once, and can cover it. `make fuzz` runs them for long.
cd "$(dirname "$0")/../.." || exit 1
exec scripts/run_fuzzers.py --runs 250
