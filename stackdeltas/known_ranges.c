/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises glibc's functions first by their unwind information, then by their bytes. */
#include "stackdeltas/known_ranges.h"

#include <elf.h>
#include <string.h>

#include "lib/elf/dwarf_constants.h"
#include "lib/elf/elf_image.h"
#include "stackdeltas/fde_table.h"

enum {
	/* Limits of the functions that are read; swapcontext has 260 bytes, and 600 with shadow stacks. */
	SWITCH_MIN_BYTES = 200,
	SWITCH_MAX_BYTES = 1024,
	/* Limit of the code from the load of the stack pointer to the push; it is a few instructions shorter. */
	SWITCH_MAX_DISTANCE = 64,
	/* Size of the code that is read in front of the child. */
	CLONE_END_BYTES = 64,
	/* Limit of the gap between the FDEs of parent and child. */
	CLONE_MAX_DISTANCE = 16,
	/* FDEs are padded to pointers. */
	FDE_ALIGNMENT = 8,
};

static const struct unwind_rule clone_x86 = {
	.cfa = CFA_SP,
	.cfa_offset = 8,
	.ra = SAVED_AT_CFA,
	.ra_offset = -8,
	.flags = RULE_ENDS_IN_CHILD,
};

static const struct unwind_rule clone_arm64 = { .cfa = CFA_SP, .flags = RULE_ENDS_IN_CHILD };

/* The registers of the new context are at the address in rdx. */
static const struct unwind_rule switch_x86 = { .cfa = CFA_CONTEXT, .cfa_register = DWARF_X86_RDX };

static bool next_clone_x86(const uint8_t *bytes, size_t size, size_t from, size_t *start,
			   size_t *end)
{
	/* syscall; test %rax,%rax; jl; jz; ret */
	static const uint8_t code[] = { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0, 0x74, 0, 0xc3 };

	for (; from + sizeof(code) <= size; from++) {
		if (memcmp(bytes + from, code, 6) || bytes[from + 7] != code[7] ||
		    bytes[from + 9] != code[9])
			continue;
		*start = from;
		*end = from + sizeof(code);
		return true;
	}
	return false;
}

static bool next_clone_arm64(const uint8_t *bytes, size_t size, size_t from, size_t *start,
			     size_t *end)
{
	/* svc #0; cmp x0, #0; b.eq; b.lt; ret, and the bits of them that count */
	static const uint32_t code[] = { 0xd4000001, 0xf100001f, 0x54000000, 0x5400000b,
					 0xd65f03c0 };
	static const uint32_t mask[] = { UINT32_MAX, UINT32_MAX, 0xff00001f, 0xff00001f,
					 UINT32_MAX };

	for (; from + sizeof(code) <= size; from += sizeof(code[0])) {
		uint32_t words[5];
		size_t equal = 0;

		memcpy(words, bytes + from, sizeof(words));
		while (equal < 5 && (words[equal] & mask[equal]) == code[equal])
			equal++;
		if (equal < 5)
			continue;
		*start = from;
		*end = from + sizeof(code);
		return true;
	}
	return false;
}

bool known_ranges_next_clone(uint16_t machine, const uint8_t *bytes, size_t size, size_t from,
			     size_t *start, size_t *end)
{
	if (machine == EM_AARCH64)
		return next_clone_arm64(bytes, size, from, start, end);
	return next_clone_x86(bytes, size, from, start, end);
}

bool known_ranges_next_switch(const uint8_t *bytes, size_t size, size_t from, size_t *start,
			      size_t *end)
{
	/* mov 160(%rdx),%rsp */
	static const uint8_t load[] = { 0x48, 0x8b, 0xa2, 0xa0, 0, 0, 0 };
	/* mov 168(%rdx),%rcx; push %rcx */
	static const uint8_t push[] = { 0x48, 0x8b, 0x8a, 0xa8, 0, 0, 0, 0x51 };

	for (; from + sizeof(load) <= size; from++) {
		size_t behind = from + sizeof(load), left = size - behind;
		const uint8_t *last;

		if (memcmp(bytes + from, load, sizeof(load)))
			continue;
		if (left > SWITCH_MAX_DISTANCE)
			left = SWITCH_MAX_DISTANCE;
		last = memmem(bytes + behind, left, push, sizeof(push));
		if (!last)
			continue;
		*start = behind;
		*end = last + sizeof(push) - bytes;
		return true;
	}
	return false;
}

struct ranges {
	struct known_range *items;
	uint32_t count;
};

static void add_range(struct ranges *ranges, uint64_t start, uint64_t end,
		      const struct unwind_rule *rule)
{
	uint32_t i = ranges->count;

	if (i == KNOWN_RANGES_MAX)
		return;
	while (i && ranges->items[i - 1].start > start)
		i--;
	/* Contradictory tables may lead to the same bytes twice. */
	if ((i && ranges->items[i - 1].end >= start) ||
	    (i < ranges->count && ranges->items[i].start <= end))
		return;
	memmove(&ranges->items[i + 1], &ranges->items[i],
		(ranges->count - i) * sizeof(ranges->items[0]));
	ranges->items[i] = (struct known_range){ start, end, *rule };
	ranges->count++;
}

/* Returns the instructions of an FDE; the padding is zeros, which have no effect. */
static const uint8_t *instructions_of(const struct fde_table *table, const struct fde_record *fde,
				      size_t *size)
{
	const struct eh_frame *section = &table->sections[table->cies.items[fde->cie].section];

	*size = fde->instructions_end - fde->instructions;
	return section->bytes + fde->instructions;
}

bool known_ranges_has_one_row(const struct fde_table *table, const struct fde_record *fde)
{
	size_t size;
	const uint8_t *bytes = instructions_of(table, fde, &size);

	while (size && bytes[size - 1] == DW_CFA_nop)
		size--;
	return !size;
}

/* True if @fde ends like that of setcontext, whose registers are all at rdx in the end. */
static bool is_setcontext(const struct fde_table *table, const struct fde_record *fde)
{
	/* DW_CFA_def_cfa rdx, 0; DW_CFA_offset_extended_sf for rbx, rbp, r12 to r15, rsp and rip */
	static const uint8_t tail[] = { 0x0c, 1,  0,	0x11, 3,  0x70, 0x11, 6,  0x71,
					0x11, 12, 0x77, 0x11, 13, 0x76, 0x11, 14, 0x75,
					0x11, 15, 0x74, 0x11, 7,  0x6c, 0x11, 16, 0x6b };
	size_t size, padding = 0;
	const uint8_t *bytes = instructions_of(table, fde, &size);

	while (padding < FDE_ALIGNMENT && padding < size && bytes[size - padding - 1] == DW_CFA_nop)
		padding++;
	size -= padding;
	return size >= sizeof(tail) && !memcmp(bytes + size - sizeof(tail), tail, sizeof(tail));
}

/* A file with swapcontext has setcontext as well, since the start of every context calls that. */
static void find_switches(const struct elf_image *image, const struct fde_table *table,
			  struct ranges *ranges)
{
	uint8_t bytes[SWITCH_MAX_BYTES];
	bool is_there = false;

	for (size_t i = 0; !is_there && i < table->fdes.count; i++)
		is_there = is_setcontext(table, &table->fdes.items[i]);
	for (size_t i = 0; is_there && i < table->fdes.count; i++) {
		const struct fde_record *fde = &table->fdes.items[i];
		uint64_t address = table->base + fde->start;
		size_t start, end;

		if (fde->length < SWITCH_MIN_BYTES || fde->length > SWITCH_MAX_BYTES ||
		    !known_ranges_has_one_row(table, fde) ||
		    elf_image_read_address(image, address, bytes, fde->length))
			continue;
		for (end = 0; known_ranges_next_switch(bytes, fde->length, end, &start, &end);)
			add_range(ranges, address + start, address + end, &switch_x86);
	}
}

/*
 * True if the return address is undefined from the beginning of @fde. Older assemblers express that in
 * a CIE of its own (glibc of Debian 11).
 */
static bool has_no_caller(const struct fde_table *table, uint16_t machine,
			  const struct fde_record *fde)
{
	const struct cfa_state *initial = &table->cies.items[fde->cie].defaults.initial;
	size_t size;
	const uint8_t *instructions = instructions_of(table, fde, &size);

	return initial->return_address.kind == CFA_VALUE_UNDEFINED ||
	       (size >= 2 && instructions[0] == DW_CFA_undefined &&
		instructions[1] == (machine == EM_AARCH64 ? DWARF_ARM64_LR : DWARF_X86_RIP));
}

/*
 * True if @child can describe the child of a clone, and the FDE before it the parent: its only content is
 * that there is no caller, and it is on x86-64 behind a gap, on arm64 behind padding.
 */
static bool is_clone(const struct fde_table *table, uint16_t machine,
		     const struct fde_record *parent, const struct fde_record *child)
{
	return has_no_caller(table, machine, child) &&
	       child->start - parent->start >= parent->length &&
	       child->start - parent->start - parent->length <= CLONE_MAX_DISTANCE &&
	       known_ranges_has_one_row(table, parent);
}

static void find_clones(const struct elf_image *image, const struct fde_table *table,
			struct ranges *ranges)
{
	uint8_t bytes[CLONE_END_BYTES];

	for (size_t i = 1; i < table->fdes.count; i++) {
		const struct fde_record *parent = &table->fdes.items[i - 1];
		const struct fde_record *child = parent + 1;
		size_t size = child->start - parent->start, start, end;
		uint64_t address;

		if (!is_clone(table, image->machine, parent, child))
			continue;
		if (size > sizeof(bytes))
			size = sizeof(bytes);
		address = table->base + child->start - size;
		if (elf_image_read_address(image, address, bytes, size) ||
		    !known_ranges_next_clone(image->machine, bytes, size, 0, &start, &end))
			continue;
		add_range(ranges, address + start, address + end,
			  image->machine == EM_AARCH64 ? &clone_arm64 : &clone_x86);
	}
}

uint32_t known_ranges_find(const struct elf_image *image, const struct fde_table *table,
			   struct known_range items[KNOWN_RANGES_MAX])
{
	struct ranges ranges = { .items = items };

	find_clones(image, table, &ranges);
	if (image->machine == EM_X86_64)
		find_switches(image, table, &ranges);
	return ranges.count;
}
