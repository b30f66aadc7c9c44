#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Profiles this machine for 10 seconds at 99 Hz and shows the most frequent stacks: the end of
# `make run`.
set -eu
shown=25
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo

$as_root build/agent -duration 10s -samples-per-second 99 -output profile.html -output profile.pb.gz \
	-output build/profile.txt
total=$(wc -l <build/profile.txt)
echo
head -n "$shown" build/profile.txt
[ "$total" -le "$shown" ] || echo "... and $((total - shown)) more stacks in build/profile.txt"
echo
echo "Wrote profile.html, a flame graph: open it in a browser; and profile.pb.gz, for go tool pprof"
