#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing, and says so; with nothing missing it does nothing.
# On other distributions it checks for the commands and headers and names what is missing.
#
#	setup.sh build|test|long|check|fuzz|page...
#
# Each list below has one package a line, and behind a colon the command or header by which it is
# recognised (python:MODULE is a module of Python's): where that is there already, by whatever way,
# the package is not asked for.
set -eu

build_packages='
gcc:gcc
libc6-dev:stdio.h
clang:clang
llvm:llvm-strip
bpftool:bpftool
libbpf-dev:bpf/libbpf.h
libssl-dev:openssl/evp.h
libxxhash-dev:xxhash.h
zlib1g-dev:zlib.h
libzstd-dev:zstd.h
libdeflate-dev:libdeflate.h
liblzma-dev:lzma.h
libelf-dev:libelf.h
libdw-dev:elfutils/libdw.h
libiberty-dev:libiberty/demangle.h
libprotobuf-c-dev:protobuf-c/protobuf-c.h
libgrpc-dev:grpc/grpc.h
libmicrohttpd-dev:microhttpd.h
libjansson-dev:jansson.h
libncurses-dev:ncurses.h
protobuf-c-compiler:protoc-c'

# elfutils, gdb and perf are other readers of the same stacks; the compilers and emulator of arm64
# are for its unwinder; nodejs makes code while it runs. golang-go compiles targets, and its
# `go tool pprof` must read our profiles; the JDK compiles targets and runs them; qemu and busybox for
# older kernels, and for those of arm64; tmux is the terminal of tests, and ping and sudo are commands with privileges of their
# own; groff reads the manual page; chromium clicks through the viewer's page.
test_packages='
libcmocka-dev:cmocka.h
python3:python3
python3-yaml:python:yaml
python3-greenlet:python:greenlet
protobuf-compiler:protoc
binutils:readelf
elfutils:eu-stack
dwz:dwz
gdb:gdb
gcc-aarch64-linux-gnu:aarch64-linux-gnu-gcc
g++-aarch64-linux-gnu:aarch64-linux-gnu-g++
qemu-user-static:qemu-aarch64-static
xz-utils:xz
g++:g++
golang-go:go
default-jdk-headless:javac
rustc:rustc
musl-tools:musl-gcc
lld:ld.lld
linux-perf:perf
nodejs:node
openssl:openssl
sqlite3:sqlite3
debuginfod:debuginfod
qemu-system-x86:qemu-system-x86_64
qemu-system-arm:qemu-system-aarch64
busybox-static:busybox
tmux:tmux
iputils-ping:ping
strace:strace
sudo:sudo
groff-base:groff
chromium:chromium'

# Maven fetches compilers of other languages of the JVM for the long tier.
long_packages='
maven:mvn'

# The viewer's page is built by them; what comes of it is committed.
page_packages='
nodejs:node
npm:npm'

check_packages='
python3:python3
clang-format:clang-format
clang-tidy:clang-tidy
libcmocka-dev:cmocka.h'

fuzz_packages='
python3:python3
libclang-rt-dev:fuzzer/FuzzedDataProvider.h'

PATH="$PATH:/usr/sbin:/sbin"

# True if command or header $1 is there.
is_there() {
	case $1 in
	fuzzer/*) ls /usr/lib/llvm-*/lib/clang/*/include/"$1" /usr/lib*/clang/*/include/"$1" \
		>/dev/null 2>&1 ;;
	python:*) python3 -c "import ${1#python:}" >/dev/null 2>&1 ||
		[ -e "/usr/lib/python3/dist-packages/${1#python:}" ] ;;
	*.h) [ -e "/usr/include/$1" ] || ls /usr/include/*-linux-gnu/"$1" >/dev/null 2>&1 ;;
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}

missing=
missing_things=
for list in "$@"; do
	case $list in
	build) packages=$build_packages ;;
	test) packages=$test_packages ;;
	long) packages=$long_packages ;;
	check) packages=$check_packages ;;
	fuzz) packages=$fuzz_packages ;;
	page) packages=$page_packages ;;
	*)
		echo "setup.sh: $list: give build, test, long, check, fuzz or page" >&2
		exit 2
		;;
	esac
	for line in $packages; do
		is_there "${line#*:}" && continue
		case " $missing " in *" ${line%%:*} "*) continue ;; esac
		missing="$missing ${line%%:*}"
		missing_things="$missing_things ${line#*:}"
	done
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: missing here:$missing_things" >&2
	echo "setup: their Debian packages are:$missing" >&2
	echo "setup: install your distribution's (docs/install.md names some), then run this again" >&2
	exit 1
fi
as_root=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "setup: as root, run: apt-get install -y$missing" >&2
		exit 1
	fi
	as_root=sudo
fi
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -qq update
# shellcheck disable=SC2086 # a list of words
$as_root apt-get -qq install -y --no-install-recommends -o Dpkg::Use-Pty=0 $missing >/dev/null
