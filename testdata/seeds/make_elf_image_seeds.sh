#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes testdata/seeds/elf_image/: small ELF files with all that the readers look at. Needs gcc, clang (for
# arm64) and binutils. The seeds are committed, so that fuzzing needs none of them.
set -e
folder=$(cd "$(dirname "$0")" && pwd)/elf_image
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder"
cat > "$work/a.s" <<'S'
	.text
	.globl outer
	.type outer, %function
outer:
	nop
	nop
	.local inner
	.type inner, %function
inner:
	nop
	.size inner, 1
	nop
	.size outer, . - outer
label:
	nop
	.weak open
	.type open, %gnu_indirect_function
open:
	nop
	.section .debug_text,"",%progbits
	.rept 200
	.ascii "text that can be packed"
	.endr
S
flags="-nostdlib -Wl,-z,noseparate-code,-z,max-page-size=4096,-z,norelro,--build-id"
gcc -shared $flags -o "$folder/shared" "$work/a.s"
gcc -static $flags -Wl,-e,outer -o "$folder/static" "$work/a.s" 2>/dev/null
objcopy --compress-debug-sections=zlib "$folder/shared" "$folder/zlib"
objcopy --compress-debug-sections=zstd "$folder/shared" "$folder/zstd" 2>/dev/null || rm -f "$folder/zstd"
objcopy --strip-all "$folder/shared" "$folder/stripped"
clang --target=aarch64-linux-gnu -c -o "$folder/arm64" "$work/a.s"
# The last byte chooses how the image is read (elf_image_fuzz.c).
for seed in shared zlib; do
	(cat "$folder/$seed"; printf '\001') > "$folder/$seed.file"
	(cat "$folder/$seed"; printf '\003') > "$folder/$seed.cut"
done
