/* SPDX-License-Identifier: Apache-2.0 */
#include "stackdeltas/go_arm64.h"

#include <stdbool.h>
#include <string.h>

#include "ebpf/abi/go.h"
#include "lib/isa/arm64_decode.h"
#include "stackdeltas/go_rules.h"

enum { WORD_BYTES = 8 };

static struct arm64_instruction instruction_at(const uint8_t *code, size_t at)
{
	struct arm64_instruction instruction;
	uint32_t word;

	memcpy(&word, code + at, sizeof(word));
	/* The target is not used. */
	arm64_decode(word, 0, &instruction);
	return instruction;
}

/* mov sp,xN. The assembler also emits moves of sp to itself, which do not count. */
static bool sets_sp(const struct arm64_instruction *instruction)
{
	return instruction->operation == ARM64_ADD && instruction->operand == ARM64_IMMEDIATE &&
	       instruction->bytes == WORD_BYTES && !instruction->sets_flags &&
	       !instruction->immediate && instruction->rd == ARM64_SP &&
	       instruction->rn != ARM64_SP;
}

/* blr xN */
static bool calls_register(const struct arm64_instruction *instruction)
{
	return instruction->operation == ARM64_CALL_REGISTER && !instruction->is_authenticated;
}

/* ldr x30,[sp],#N */
static bool pops_link(const struct arm64_instruction *instruction)
{
	return instruction->operation == ARM64_LOAD && instruction->mode == ARM64_POST_INDEX &&
	       !instruction->is_vector && instruction->bytes == WORD_BYTES &&
	       instruction->rd == ARM64_LR && instruction->rn == ARM64_SP;
}

static bool returns(const uint8_t *code, size_t at)
{
	struct arm64_instruction instruction = instruction_at(code, at);

	return instruction.operation == ARM64_RETURN && instruction.rn == ARM64_LR;
}

/* Returns the offset of the first matching instruction in [@from, @bytes); @bytes if there is none. */
static size_t find(const uint8_t *code, size_t from, size_t bytes,
		   bool (*is_wanted)(const struct arm64_instruction *))
{
	for (size_t at = from; at < bytes; at += ARM64_INSTRUCTION_BYTES) {
		struct arm64_instruction instruction = instruction_at(code, at);

		if (is_wanted(&instruction))
			return at;
	}
	return bytes;
}

/* Finds switches to another stack or frame with a call there, and back: in asmcgocall() one for each stack. */
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
		at = back + ARM64_INSTRUCTION_BYTES;
		there += ARM64_INSTRUCTION_BYTES;
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
	size_t next = 0;

	do
		next = find(code, next, bytes, pops_link) + ARM64_INSTRUCTION_BYTES;
	while (next < bytes && returns(code, next));
	if (next >= bytes)
		return 0;
	*part = (struct go_arm64_part){ .start = address + next,
					.end = end,
					.kind = GO_ARM64_POPPED };
	return 1;
}

/*
 * Functions that never return have stored where the goroutine resumes before they call save_g(), the last call on
 * its stack, which overwrites their own return address. gogo() is called with such an address.
 */
static uint32_t find_leaving(uint32_t role, uint64_t address, uint64_t end, const uint8_t *code,
			     size_t bytes, struct go_arm64_part *parts)
{
	size_t there = find(code, 0, bytes, sets_sp), last = there;
	uint64_t start = address;
	uint32_t count = 0;

	for (size_t at = 0; at < there; at += ARM64_INSTRUCTION_BYTES)
		if (instruction_at(code, at).operation == ARM64_CALL)
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

/*
 * True if the instruction at @at stores or loads x30 at an offset from sp, which *@offset gets, and x29
 * just below.
 */
static bool accesses_link(const uint8_t *code, size_t at, bool is_load, int32_t *offset)
{
	struct arm64_instruction instruction = instruction_at(code, at);
	uint8_t operation = instruction.operation;

	if (instruction.mode != ARM64_OFFSET || instruction.rn != ARM64_SP ||
	    instruction.is_vector || instruction.bytes != WORD_BYTES)
		return false;
	if (operation == (is_load ? ARM64_LOAD_PAIR : ARM64_STORE_PAIR) &&
	    instruction.rd == ARM64_FP && instruction.second == ARM64_LR)
		*offset = (int32_t)instruction.immediate;
	else if (operation == (is_load ? ARM64_LOAD : ARM64_STORE) && instruction.rd == ARM64_LR)
		*offset = (int32_t)instruction.immediate - WORD_BYTES;
	else
		return false;
	return *offset >= 0;
}

static uint32_t find_saved(uint64_t address, const uint8_t *code, size_t bytes,
			   struct go_arm64_part *parts)
{
	int32_t offset = 0, loaded = -1;
	size_t stored = 0, at;

	while (stored < bytes && !accesses_link(code, stored, false, &offset))
		stored += ARM64_INSTRUCTION_BYTES;
	for (at = stored; at < bytes; at += ARM64_INSTRUCTION_BYTES)
		if (accesses_link(code, at, true, &loaded) && loaded == offset)
			break;
	if (at >= bytes)
		return 0;
	/* The slot has the values up to the load that reads them. */
	parts[0] = (struct go_arm64_part){
		.start = address + stored + ARM64_INSTRUCTION_BYTES,
		.end = address + at + ARM64_INSTRUCTION_BYTES,
		.kind = GO_ARM64_SAVED,
		.offset = (int16_t)offset,
	};
	return 1;
}

uint32_t go_arm64_find_parts(uint32_t role, uint64_t address, uint64_t end, const uint8_t *code,
			     size_t bytes, struct go_arm64_part parts[GO_ARM64_PARTS_MAX])
{
	uint32_t count;

	bytes -= bytes % ARM64_INSTRUCTION_BYTES;
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
