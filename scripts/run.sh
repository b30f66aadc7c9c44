#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Profiles this machine at 99 Hz and shows it as a page until Ctrl-C: the end of `make run`.
set -eu
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo

exec $as_root build/agent -samples-per-second 99
