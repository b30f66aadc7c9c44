#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lists the licences of program $1: ours, then those of the libraries that it loads, as the
# copyright files of their Debian packages have them.
set -eu
program=$1

echo "allframes-agent         Apache-2.0 (LICENSE)"
echo "  its kernel programs   GPL-2.0-only (LICENSES/GPL-2.0-only.txt), from ebpf/"
echo "  shared definitions    GPL-2.0-only OR Apache-2.0, from ebpf/abi/"
echo
echo "Loaded by the agent, not part of it:"
if ! command -v dpkg-query >/dev/null 2>&1; then
	echo "legal: no dpkg here to name the packages of these libraries" >&2
	ldd "$program"
	exit 1
fi

ldd "$program" | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }' | sort -u |
while read -r library; do
	# The package knows the file by its real name, with /usr in front or without.
	real=$(readlink -f "$library")
	package=$(dpkg-query -S "$real" 2>/dev/null || dpkg-query -S "${real#/usr}" 2>/dev/null ||
		echo "unknown: $real")
	package=${package%%:*}
	file=/usr/share/doc/$package/copyright
	licenses=unknown
	if [ -e "$file" ]; then
		licenses=$(sed -n 's/^License: *//p' "$file" | sort -u | paste -sd, | sed 's/,/, /g')
		[ -n "$licenses" ] || licenses="free text"
	fi
	printf '%-24s %s %s\n  licences in the package: %s\n  (%s)\n' "$(basename "$library")" \
		"$package" "$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null)" "$licenses" "$file"
done
