#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes testdata/seeds/dwarf_unit/, the first inputs of dwarf_unit_fuzz: small programs with debug data in the
# ways in which compilers leave it.
set -eu
cd "$(dirname "$0")"
seeds=$PWD/dwarf_unit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$seeds"
cd "$work"
cat > code.cpp <<'EOC'
namespace shop {
struct basket {
	int count;
	__attribute__((noinline)) int outer(int x);
	static inline __attribute__((always_inline)) int middle(int x) { return inner(x) + x; }
	static inline __attribute__((always_inline)) int inner(int x) { return x * x + 7; }
};
__attribute__((noinline)) int basket::outer(int x)
{
	int sum = count;
	for (int i = 0; i < x; i++) {
		int y = middle(i);
		if (y & 1)
			sum += y;
		else
			sum -= inner(y);
	}
	return sum;
}
}
extern "C" __attribute__((noinline, cold)) int rare(int x) { return x ? rare(x - 1) + 3 : 0; }
template <typename T> __attribute__((noinline)) T twice(T x) { return x + x; }
extern "C" __attribute__((section(".text.start"))) void _start()
{
	shop::basket basket = { 3 };
	auto local = [&](int x) __attribute__((noinline)) { return basket.outer(x) + twice(x); };
	if (local(5) == 1)
		rare(local(2));
	for (;;)
		;
}
EOC
cat > code.c <<'EOC'
static inline int square(int x) { return x * x; }
__attribute__((noinline)) int called(int x) { return square(x) + 1; }
void _start(void) { for (int i = 0;; i++) called(i); }
EOC
link="-nostdlib -static -fno-exceptions -fno-asynchronous-unwind-tables -Wl,--build-id=none"
link="$link -Wl,-z,noseparate-code -Wl,-z,norelro -fdebug-prefix-map=$work=/w"
make_seed() {
	name=$1
	shift
	"$@" $link -o "$seeds/$name"
}
make_seed c_2 gcc -g -gdwarf-2 -gstrict-dwarf -O2 code.c
make_seed cxx_3 g++ -g -gdwarf-3 -O2 code.cpp
make_seed cxx_4 g++ -g -gdwarf-4 -O2 -ffunction-sections code.cpp
make_seed cxx_5 g++ -g -gdwarf-5 -O2 -ffunction-sections code.cpp
make_seed cxx_5_plain g++ -g -gdwarf-5 -O0 code.cpp
make_seed cxx_64 g++ -g -gdwarf-5 -gdwarf64 -O1 code.cpp
make_seed clang_5 clang++ -g -gdwarf-5 -O2 code.cpp
make_seed clang_4 clang++ -g -gdwarf-4 -O2 -fuse-ld=lld -Wl,--gc-sections -ffunction-sections code.cpp
make_seed split_5 g++ -g -gdwarf-5 -gsplit-dwarf -O2 code.cpp
make_seed split_4 g++ -g -gdwarf-4 -gsplit-dwarf -O2 code.cpp
rm -f "$seeds"/*.dwo
cp "$seeds/cxx_4" "$seeds/dwz_4"
dwz "$seeds/dwz_4" || true
# What two have in common in a file that no fuzzer finds.
for version in 4 5; do
	cp "$seeds/cxx_$version" "$seeds/common_$version"
	cp "$seeds/cxx_$version" twin
	more=
	[ "$version" = 4 ] || more=--dwarf-5
	dwz $more -m common -M /w/common "$seeds/common_$version" twin
done
objcopy --compress-debug-sections=zlib "$seeds/cxx_5" "$seeds/zlib_5"
objcopy --compress-debug-sections=zlib-gnu "$seeds/cxx_4" "$seeds/zdebug_4"
