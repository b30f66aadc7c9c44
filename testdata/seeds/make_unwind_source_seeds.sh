#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes testdata/seeds/unwind_source/, the first inputs of unwind_source_fuzz: ELF files that
# have their unwind tables in every place, and bytes that become sections.
set -eu
cd "$(dirname "$0")"
seeds=$PWD/unwind_source
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$seeds"
cd "$work"
# Enough code without .eh_frame that other sources are looked for.
cat > code.s <<'EOF'
	.cfi_sections .debug_frame
	.globl _start
_start:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	.zero 1100, 0x90
	pop %rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.type _start, @function
	.size _start, . - _start
bare:
	sub $24, %rsp
	call _start
	add $24, %rsp
	ret
	.type bare, @function
# So many that compression makes the table smaller.
.rept 24
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.endr
EOF
as -o code.o code.s
ld -o plain -z noseparate-code --build-id=none code.o
objcopy --compress-debug-sections=zlib plain zlib
objcopy --compress-debug-sections=zlib-gnu plain zdebug
objcopy --compress-debug-sections=zstd plain zstd
objcopy --only-keep-debug plain keep
xz --force --keep keep
objcopy --strip-all --add-section=.gnu_debugdata=keep.xz plain mini
objcopy --strip-all plain bare
# Code with tables beside code without, whose functions the former calls and data has the addresses of.
cat > beside.s <<'EOF'
	.globl _start
_start:
	.cfi_startproc
	lea bare(%rip), %rdi
	call bare
	lea other(%rip), %r8
	jmp other
	.cfi_endproc
	.p2align 4
bare:
	sub $24, %rsp
	call other
	add $24, %rsp
	ret
	.zero 1100, 0x90
other:
	push %rbx
	pop %rbx
	ret
	.data
	.p2align 3
	.quad bare, other, _start, 17
EOF
as -o beside.o beside.s
for kind in beside beside_pie; do
	flags=-no-pie
	[ $kind = beside ] || flags="-pie --no-dynamic-linker"
	# shellcheck disable=SC2086 # a list
	ld -o $kind -z noseparate-code --build-id=none --eh-frame-hdr $flags beside.o
	strip $kind
done
for kind in plain zlib zdebug zstd mini bare beside beside_pie; do
	printf '\001' | cat - $kind > "$seeds/elf_$kind"
done
# 16 bytes of code, then two sections of a CIE and four FDEs.
printf '\000\020\000\125\110\211\345\120\130\135\303\220\220\220\220\220\220\220\220' > "$seeds/fields"
for section in 1 2; do
	printf '\004\000\100\000\001\000\001\003\000\040\001\020\004\060' >> "$seeds/fields"
	printf '\100\100\001\100\000\002\001\020\002\006\101\200\001\100\000\001\000' >> "$seeds/fields"
	printf '\100\000\002\040\000\003\001\040\006\007' >> "$seeds/fields"
done
