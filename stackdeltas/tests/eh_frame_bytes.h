/* SPDX-License-Identifier: Apache-2.0 */
/** Writes .eh_frame by hand, for tests. */
#ifndef STACKDELTAS_TESTS_EH_FRAME_BYTES_H
#define STACKDELTAS_TESTS_EH_FRAME_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/elf/dwarf_constants.h"

enum {
	/** ELF virtual addresses of the section and of the text. */
	SECTION_ADDRESS = 0x1000,
	TEXT_ADDRESS = 0x10000,
	TEXT_BYTES = 0x100000,
	EH_FRAME_BYTES_MAX = 1 << 16,
	ENTRY_HEADER_BYTES = 4,
};

struct eh_frame_bytes {
	uint8_t bytes[EH_FRAME_BYTES_MAX];
	size_t size;
	/** Offsets of the entry that is being written, and of the last CIE. */
	size_t entry;
	size_t cie;
};

static inline void put(struct eh_frame_bytes *out, const void *bytes, size_t count)
{
	if (count > sizeof(out->bytes) - out->size)
		abort();
	memcpy(out->bytes + out->size, bytes, count);
	out->size += count;
}

static inline void put_u8(struct eh_frame_bytes *out, uint8_t value)
{
	put(out, &value, sizeof(value));
}

static inline void put_u32(struct eh_frame_bytes *out, uint32_t value)
{
	put(out, &value, sizeof(value));
}

/** As put(), the bytes being the arguments. */
#define PUT(out, ...)                                                                              \
	put(out, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static inline void end_entry(struct eh_frame_bytes *out)
{
	uint32_t length;

	while (out->size % 8)
		put_u8(out, DW_CFA_nop);
	length = out->size - out->entry - ENTRY_HEADER_BYTES;
	memcpy(out->bytes + out->entry, &length, sizeof(length));
}

/** Writes a CIE up to its augmentation data; code alignment 1, data alignment -8. */
static inline void begin_cie(struct eh_frame_bytes *out, const char *augmentation,
			     uint8_t return_address_register)
{
	out->entry = out->cie = out->size;
	put_u32(out, 0);
	put_u32(out, 0);
	put_u8(out, 1);
	put(out, augmentation, strlen(augmentation) + 1);
	PUT(out, 1, 0x78, return_address_register);
}

/** The CIE of every x86-64 compiler: zR, pcrel sdata4, CFA = rsp + 8, rip at CFA - 8. */
static inline void put_x86_cie(struct eh_frame_bytes *out)
{
	begin_cie(out, "zR", DWARF_X86_RIP);
	PUT(out, 1, 0x1b, DW_CFA_def_cfa, DWARF_X86_RSP, 8, DW_CFA_offset | DWARF_X86_RIP, 1);
	end_entry(out);
}

/** Writes an FDE of the last CIE, which must be that of put_x86_cie(), up to its instructions. */
static inline void begin_fde(struct eh_frame_bytes *out, uint64_t start, uint32_t length)
{
	out->entry = out->size;
	put_u32(out, 0);
	put_u32(out, out->size - out->cie);
	put_u32(out, start - SECTION_ADDRESS - out->size);
	put_u32(out, length);
	put_u8(out, 0);
}

/** For .debug_frame: a CIE at offset 0 as compilers write it, CFA = rsp + 8, rip at CFA - 8. */
static inline void put_debug_cie(struct eh_frame_bytes *out)
{
	out->entry = out->cie = out->size;
	put_u32(out, 0);
	put_u32(out, 0xffffffff);
	PUT(out, 1, 0, 1, 0x78, DWARF_X86_RIP, DW_CFA_def_cfa, DWARF_X86_RSP, 8,
	    DW_CFA_offset | DWARF_X86_RIP, 1);
	end_entry(out);
}

/** An FDE of that CIE with the CFA at rsp + @cfa_offset, at most 127, all along. */
static inline void put_debug_fde(struct eh_frame_bytes *out, uint64_t start, uint64_t length,
				 uint8_t cfa_offset)
{
	out->entry = out->size;
	put_u32(out, 0);
	put_u32(out, out->cie);
	put(out, &start, sizeof(start));
	put(out, &length, sizeof(length));
	PUT(out, DW_CFA_def_cfa_offset, cfa_offset);
	end_entry(out);
}

/** Writes a whole FDE; the instructions are the arguments. */
#define PUT_FDE(out, start, length, ...)                                                           \
	do {                                                                                       \
		begin_fde(out, start, length);                                                     \
		PUT(out, __VA_ARGS__);                                                             \
		end_entry(out);                                                                    \
	} while (0)

#endif
