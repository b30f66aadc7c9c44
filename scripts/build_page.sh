#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the viewer's page into folder $1, with the packages of viewer/page/package-lock.json.
set -eu
mkdir -p "$1"
PAGE_OUTPUT=$(cd "$1" && pwd)
export PAGE_OUTPUT
cd "$(dirname "$0")/../viewer/page"
# Scripts of packages do not run: none of them needs one.
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
npm run --silent build
