#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lists the licences of program $1: ours, then those of the libraries that it loads. Which licence a
# library has is written down here, since a package's copyright file tells of its tools and tests
# too; that file is named for who wants to see. A library that is not listed is an error.
set -eu
program=$1

# The libraries' own words: what the code that is loaded may be used under.
license_of() {
	case $1 in
	libbpf.so.*) echo "BSD-2-Clause OR LGPL-2.1-only" ;;
	libbz2.so.*) echo "bzip2-1.0.6" ;;
	libffi.so.* | libjansson.so.*) echo "MIT" ;;
	libgmp.so.* | libhogweed.so.* | libidn2.so.* | libnettle.so.* | libunistring.so.*)
		echo "LGPL-3.0-or-later OR GPL-2.0-or-later"
		;;
	libgnutls.so.* | libmicrohttpd.so.* | libtasn1.so.*) echo "LGPL-2.1-or-later" ;;
	libp11-kit.so.*) echo "BSD-3-Clause" ;;
	libc.so.* | libm.so.* | ld-linux*.so.*) echo "LGPL-2.1-or-later" ;;
	libcrypto.so.* | libssl.so.*) echo "Apache-2.0" ;;
	libgrpc.so.* | libgpr.so.* | libabsl_*.so.*) echo "Apache-2.0" ;;
	libaddress_sorting.so.*) echo "Apache-2.0 AND BSD-3-Clause" ;;
	libupb.so.* | libre2.so.*) echo "BSD-3-Clause" ;;
	libcares.so.*) echo "MIT" ;;
	libstdc++.so.* | libgcc_s.so.*) echo "GPL-3.0-or-later WITH GCC-exception-3.1" ;;
	libdeflate.so.*) echo "MIT" ;;
	libdw.so.* | libelf.so.*) echo "LGPL-3.0-or-later OR GPL-2.0-or-later" ;;
	libncursesw.so.* | libtinfo.so.*) echo "X11-distribute-modifications-variant" ;;
	libprotobuf-c.so.*) echo "BSD-2-Clause" ;;
	liblzma.so.*) echo "public domain; 0BSD from 5.6 on" ;;
	libxxhash.so.*) echo "BSD-2-Clause" ;;
	libz.so.*) echo "Zlib" ;;
	libzstd.so.*) echo "BSD-3-Clause OR GPL-2.0-only" ;;
	*) return 1 ;;
	esac
}

libraries=$(ldd "$program" | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }' | sort -u)

# The packages of all libraries, as dpkg has them: "PACKAGE:ARCHITECTURE: FILE" and "PACKAGE VERSION". One takes it as long as all.
# A package knows a file by its real name, with /usr in front or without.
owners=
versions=
if command -v dpkg-query >/dev/null 2>&1; then
	# shellcheck disable=SC2046,SC2086
	owners=$(dpkg-query -S $(readlink -f $libraries | sed 'p; s/^\/usr//') 2>/dev/null || true)
	# shellcheck disable=SC2046
	versions=$(dpkg-query -W -f '${Package} ${Version}\n' $(echo "$owners" | sed 's/:.*//' | sort -u) 2>/dev/null || true)
fi

# The package of library $1 and its copyright file, where dpkg knows them.
package_of() {
	real=$(readlink -f "$1")
	package=$(echo "$owners" | awk -v one="$real" -v other="${real#/usr}" '$NF == one || $NF == other { print $1; exit }')
	package=${package%%:*}
	[ -n "$package" ] || return 0
	version=$(echo "$versions" | awk -v package="$package" '$1 == package { print $2; exit }')
	echo "$package $version, /usr/share/doc/$package/copyright"
}

cat <<END
allframes             Apache-2.0 (LICENSE)
  kernel programs     GPL-2.0-only (LICENSES/GPL-2.0-only.txt), from ebpf/; built with headers
                      of libbpf, BSD-2-Clause OR LGPL-2.1-only
  shared definitions  GPL-2.0-only OR Apache-2.0, from ebpf/abi/, and the unwinder that unwinds
                      first samples in user space, from ebpf/host/ and what it includes

  build/symbols       has of libiberty cp-demangle.c (GPL-2.0-or-later) and rust-demangle.c
                      (LGPL-2.0-or-later), both with leave to link them into anything, and
                      what they need (LGPL-2.0-or-later); the agent has nothing of it

  the viewer's page   has of npm packages (viewer/assets/LICENSES.txt):
$(sed -nE 's/^([a-z0-9@/.-]+ [0-9.]+, .*)$/                      \1/p' viewer/assets/LICENSES.txt)

Loaded at run time:
END
status=0
for library in $libraries; do
	name=$(basename "$library")
	if ! license=$(license_of "$name"); then
		license="NOT KNOWN: find out, and add it to scripts/legal.sh"
		status=1
	fi
	printf '%-21s %s\n' "$name" "$license"
	package_of "$library" | sed 's/^/                      /'
done
exit $status
