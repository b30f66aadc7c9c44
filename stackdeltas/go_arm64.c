/* SPDX-License-Identifier: Apache-2.0 */
#include "stackdeltas/go_arm64.h"

#include <stdbool.h>
#include <string.h>

#include "ebpf/abi/go.h"
#include "stackdeltas/go_rules.h"

enum {
	INSTRUCTION_BYTES = 4,
	RETURN = 0xd65f03c0,
	REGISTER_SHIFT = 5,
	REGISTER_MASK = 0x1f,
	STACK_POINTER = 31,
	FRAME_POINTER = 29,
	LINK = 30,
	PAIR_OFFSET_SHIFT = 15,
	PAIR_OFFSET_MASK = 0x7f,
	WORD_OFFSET_SHIFT = 10,
	WORD_OFFSET_MASK = 0xfff,
};

static uint32_t instruction_at(const uint8_t *code, size_t at)
{
	uint32_t word;

	memcpy(&word, code + at, sizeof(word));
	return word;
}

/* mov sp,xN. What only says that it writes to it moves it to itself. */
static bool sets_sp(uint32_t word)
{
	return (word & 0xfffffc1f) == 0x9100001f &&
	       (word >> REGISTER_SHIFT & REGISTER_MASK) != STACK_POINTER;
}

/* bl */
static bool calls(uint32_t word)
{
	return (word & 0xfc000000) == 0x94000000;
}

/* blr xN */
static bool calls_register(uint32_t word)
{
	return (word & 0xfffffc1f) == 0xd63f0000;
}

/* ldr x30,[sp],#N */
static bool pops_link(uint32_t word)
{
	return (word & 0xffe00fff) == 0xf84007fe;
}

/* The first instruction of [@from, @bytes) that is as wanted; @bytes if there is none. */
static size_t find(const uint8_t *code, size_t from, size_t bytes, bool (*is_wanted)(uint32_t))
{
	for (size_t at = from; at < bytes; at += INSTRUCTION_BYTES)
		if (is_wanted(instruction_at(code, at)))
			return at;
	return bytes;
}

/* To another stack or frame, a call there, and back: in asmcgocall() once for each stack. */
static uint32_t find_calls(uint32_t role, uint64_t address, const uint8_t *code, size_t bytes,
			   struct go_arm64_part *parts)
{
	uint32_t count = 0;
	size_t at = 0;

	while (count + 2 <= GO_ARM64_PARTS_MAX) {
		size_t there = find(code, at, bytes, sets_sp);
		size_t call = find(code, there, bytes, calls_register);
		size_t back = find(code, call, bytes, sets_sp);

		if (back == bytes)
			break;
		at = back + INSTRUCTION_BYTES;
		there += INSTRUCTION_BYTES;
		if (role == GO_SWITCH_ASMCGOCALL)
			parts[count++] = (struct go_arm64_part){ .start = address + there,
								 .end = address + call,
								 .kind = GO_ARM64_CALLING };
		else
			call = there;
		parts[count++] = (struct go_arm64_part){ .start = address + call,
							 .end = address + at,
							 .kind = GO_ARM64_SWITCHED };
	}
	return count;
}

/* On the thread's own stack systemstack() ends by a jump, without its frame. */
static uint32_t find_popped(uint64_t address, uint64_t end, const uint8_t *code, size_t bytes,
			    struct go_arm64_part *part)
{
	size_t at = 0;

	while (at + INSTRUCTION_BYTES < bytes &&
	       (!pops_link(instruction_at(code, at)) ||
		instruction_at(code, at + INSTRUCTION_BYTES) == RETURN))
		at += INSTRUCTION_BYTES;
	if (at + INSTRUCTION_BYTES >= bytes)
		return 0;
	*part = (struct go_arm64_part){ .start = address + at + INSTRUCTION_BYTES,
					.end = end,
					.kind = GO_ARM64_POPPED };
	return 1;
}

/*
 * Functions that never come back have told where the goroutine goes on before they call save_g(), the last
 * call on its stack, which takes their own return address; or, gogo(), are told.
 */
static uint32_t find_leaving(uint32_t role, uint64_t address, uint64_t end, const uint8_t *code,
			     size_t bytes, struct go_arm64_part *parts)
{
	size_t there = find(code, 0, bytes, sets_sp), last = there;
	uint64_t start = address;
	uint32_t count = 0;

	for (size_t at = 0; at < there; at += INSTRUCTION_BYTES)
		if (calls(instruction_at(code, at)))
			last = at;
	start += last;
	if (there == bytes || last == there)
		return 0;
	if (role == GO_SWITCH_MORESTACK)
		parts[count++] = (struct go_arm64_part){ .start = address,
							 .end = start,
							 .kind = GO_ARM64_GROWING };
	parts[count++] =
		(struct go_arm64_part){ .start = start, .end = end, .kind = GO_ARM64_SWITCHED };
	return count;
}

/* Whether @word stores or loads x30 at an offset from sp, which *@offset gets, and x29 just below. */
static bool accesses_link(uint32_t word, bool is_load, int32_t *offset)
{
	uint32_t pair = 0xa9000000 | STACK_POINTER << REGISTER_SHIFT | LINK << WORD_OFFSET_SHIFT |
			FRAME_POINTER;
	uint32_t single = 0xf9000000 | STACK_POINTER << REGISTER_SHIFT | LINK;

	pair |= is_load ? 1 << 22 : 0;
	single |= is_load ? 1 << 22 : 0;
	if ((word & ~(uint32_t)(PAIR_OFFSET_MASK << PAIR_OFFSET_SHIFT)) == pair)
		*offset = 8 * (int32_t)(word >> PAIR_OFFSET_SHIFT & PAIR_OFFSET_MASK);
	else if ((word & ~(uint32_t)(WORD_OFFSET_MASK << WORD_OFFSET_SHIFT)) == single)
		*offset = 8 * (int32_t)(word >> WORD_OFFSET_SHIFT & WORD_OFFSET_MASK) - 8;
	else
		return false;
	return *offset >= 0;
}

static uint32_t find_saved(uint64_t address, const uint8_t *code, size_t bytes,
			   struct go_arm64_part *parts)
{
	int32_t offset = 0, loaded = -1;
	size_t stored = 0, at;

	while (stored < bytes && !accesses_link(instruction_at(code, stored), false, &offset))
		stored += INSTRUCTION_BYTES;
	for (at = stored; at < bytes; at += INSTRUCTION_BYTES)
		if (accesses_link(instruction_at(code, at), true, &loaded) && loaded == offset)
			break;
	if (at >= bytes)
		return 0;
	/* What the load reads stays there. */
	parts[0] = (struct go_arm64_part){
		.start = address + stored + INSTRUCTION_BYTES,
		.end = address + at + INSTRUCTION_BYTES,
		.kind = GO_ARM64_SAVED,
		.offset = (int16_t)offset,
	};
	return 1;
}

uint32_t go_arm64_find_parts(uint32_t role, uint64_t address, uint64_t end, const uint8_t *code,
			     size_t bytes, struct go_arm64_part parts[GO_ARM64_PARTS_MAX])
{
	uint32_t count;

	bytes -= bytes % INSTRUCTION_BYTES;
	switch (role) {
	case GO_SWITCH_SYSTEMSTACK:
		count = find_calls(role, address, code, bytes, parts);
		if (count != 1)
			return count;
		return count + find_popped(address, end, code, bytes, &parts[count]);
	case GO_SWITCH_ASMCGOCALL:
		return find_calls(role, address, code, bytes, parts);
	case GO_SWITCH_MCALL:
	case GO_SWITCH_MORESTACK:
	case GO_SWITCH_GOGO:
		return find_leaving(role, address, end, code, bytes, parts);
	case GO_SWITCH_GROWING:
		parts[0] = (struct go_arm64_part){ .start = address,
						   .end = end,
						   .kind = GO_ARM64_GROWING };
		return 1;
	case GO_ROLE_FROM_C:
		return find_saved(address, code, bytes, parts);
	default:
		return 0;
	}
}
