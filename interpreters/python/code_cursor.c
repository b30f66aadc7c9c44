/* SPDX-License-Identifier: Apache-2.0 */
/* arm64: Arm ARM C4.1. What is not told apart is taken to write its lowest register. */
#include "interpreters/python/code_cursor.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/isa/arm64_bits.h"
#include "lib/isa/x86_decode.h"

enum {
	ARM64_INSTRUCTION_BYTES = 4,
	ARM64_SP = 31,
	ARM64_FP = 29,
	WORD_BYTES = 8,
	SIB_ONLY_RSP = 0x24
};

static const struct code_registers registers_x86 = {
	.stack_pointer = X86_RSP,
	.frame_pointer = X86_RBP,
	.arguments = { X86_RDI, X86_RSI },
	.saved = 1U << X86_RBX | 1U << X86_RBP | 0xf000,
};

static const struct code_registers registers_arm64 = {
	.stack_pointer = ARM64_SP,
	.frame_pointer = ARM64_FP,
	.arguments = { 0, 1 },
	/* x19 to x29 */
	.saved = 0x3ff80000,
};

int code_cursor_init(struct code_cursor *cursor, const struct elf_image *image,
		     struct code_range range)
{
	uint64_t size = range.end - range.start;
	uint8_t *data;
	int err;

	if (range.end <= range.start || size > CODE_CURSOR_MAX_BYTES)
		return fail(-EBADMSG, "a loop of %" PRIu64 " bytes", size);
	data = malloc(size);
	if (!data)
		return -ENOMEM;
	err = elf_image_read_address(image, range.start, data, size);
	if (err) {
		free(data);
		return err;
	}
	*cursor = (struct code_cursor){
		.code = { .data = data, .size = size },
		.machine = image->machine,
		.registers = image->machine == EM_X86_64 ? &registers_x86 : &registers_arm64,
		.start = range.start,
	};
	return 0;
}

void code_cursor_deinit(struct code_cursor *cursor)
{
	elf_bytes_deinit(&cursor->code);
}

/* --- x86-64 --- */

static uint8_t kind_of_x86(uint8_t kind)
{
	switch (kind) {
	case X86_OTHER:
	case X86_NOP:
	case X86_COMPARE:
		return CODE_OTHER;
	case X86_MOVE:
		return CODE_MOVE;
	case X86_LOAD:
		return CODE_LOAD;
	case X86_STORE:
		return CODE_STORE;
	case X86_ADD:
		return CODE_ADD;
	case X86_POP:
	case X86_LEAVE:
		return CODE_RESTORE;
	case X86_CALL:
		return CODE_CALL;
	case X86_CALL_INDIRECT:
		return CODE_CALL_INDIRECT;
	case X86_JUMP:
		return CODE_JUMP;
	case X86_BRANCH:
		return CODE_BRANCH;
	case X86_RETURN:
		return CODE_RETURN;
	default:
		return CODE_STOP;
	}
}

/* movaps, movups, movdqa, movdqu of 16 bytes to what is told from rsp or another register on. */
static void find_wide_store(const uint8_t *bytes, uint32_t length,
			    struct code_instruction *instruction)
{
	uint32_t at = bytes[0] == 0x66 || bytes[0] == 0xf3;
	int32_t displacement = 0;
	uint8_t mode, base;

	/* With REX.B the base is another register. */
	if (at < length && (bytes[at] & 0xf0) == 0x40 && bytes[at++] & 1)
		return;
	if (at + 3 > length || bytes[at] != 0x0f ||
	    (bytes[at + 1] != 0x29 && bytes[at + 1] != 0x11 && bytes[at + 1] != 0x7f))
		return;
	at += 2;
	mode = bytes[at] >> 6;
	base = bytes[at] & 7;
	/* From the pc on, or with an index. */
	if (mode == 3 || (!mode && base == X86_RBP) ||
	    (base == X86_RSP && (at + 2 > length || bytes[at + 1] != SIB_ONLY_RSP)))
		return;
	at += base == X86_RSP ? 2 : 1;
	if (at + (mode == 1 ? 1U : mode == 2 ? 4U : 0U) > length)
		return;
	if (mode == 1)
		displacement = (int8_t)bytes[at];
	else if (mode == 2)
		memcpy(&displacement, bytes + at, sizeof(displacement));
	instruction->kind = CODE_STORE;
	instruction->base = base;
	instruction->displacement = displacement;
	instruction->stored_bytes = 2 * WORD_BYTES;
}

/* The length. */
static uint32_t decode_x86(const uint8_t *bytes, size_t size, struct code_instruction *instruction)
{
	struct x86_instruction x86;

	if (!x86_decode(bytes, size, &x86)) {
		*instruction = (struct code_instruction){ .kind = CODE_STOP };
		return 1;
	}
	*instruction = (struct code_instruction){
		.kind = kind_of_x86(x86.kind),
		.reg = x86.reg < CODE_REGISTERS ? x86.reg : CODE_NO_REGISTER,
		.second = CODE_NO_REGISTER,
		.base = x86.base < CODE_REGISTERS ? x86.base : CODE_NO_REGISTER,
		.stored_bytes = x86.kind == X86_STORE ? WORD_BYTES : 0,
		.writes = x86.writes,
		.displacement = x86.displacement,
	};
	if (x86.kind == X86_OTHER)
		find_wide_store(bytes, x86.length, instruction);
	return x86.length;
}

/* --- arm64 --- */

/* As a bit; the zero register is none. */
static uint32_t register_bit(uint32_t number)
{
	return number == ARM64_SP ? 0 : 1U << number;
}

/* b, bl, b.cond, cbz, tbz, br, blr, ret, brk and their like; false for others. */
static bool decode_arm64_branch(uint32_t word, struct code_instruction *instruction)
{
	if (arm64_bits(word, 26, 3) != 5)
		return false;
	if (arm64_bits(word, 26, 5) == 5)
		instruction->kind = arm64_bits(word, 31, 1) ? CODE_CALL : CODE_JUMP;
	else if ((word & 0xff000010) == 0x54000000 || (word & 0x7c000000) == 0x34000000)
		instruction->kind = CODE_BRANCH;
	else if ((word & 0xfe1ff000) == 0xd61f0000)
		instruction->kind = arm64_bits(word, 21, 3) == 2 ? CODE_RETURN :
				    arm64_bits(word, 21, 3) == 1 ? CODE_CALL_INDIRECT :
								   CODE_STOP;
	else if ((word & 0xffc00000) == 0xd5000000)
		/* Hints and system registers; mrs writes one. */
		instruction->writes =
			arm64_bits(word, 21, 1) ? register_bit(arm64_bits(word, 0, 5)) : 0;
	else
		instruction->kind = CODE_STOP;
	return true;
}

/* ldp, stp and their like, of all sizes. */
static void decode_arm64_pair(uint32_t word, struct code_instruction *instruction)
{
	bool is_vector = arm64_bits(word, 26, 1), is_load = arm64_bits(word, 22, 1);
	/* 1: behind it base changes, 3: before, 0 and 2: not. */
	uint32_t mode = arm64_bits(word, 23, 2), base = arm64_bits(word, 5, 5),
		 size = arm64_bits(word, 30, 2);
	uint8_t bytes = is_vector ? (uint8_t)(4U << size) : size == 2 ? 8 : 4;
	uint32_t loaded = register_bit(arm64_bits(word, 0, 5)) |
			  register_bit(arm64_bits(word, 10, 5));

	instruction->writes = is_load && !is_vector ? loaded : 0;
	if (mode & 1)
		instruction->writes |= 1U << base;
	if (is_load && base == ARM64_SP)
		instruction->kind = CODE_RESTORE;
	if (mode & 1 || (is_load && (is_vector || bytes != WORD_BYTES)))
		return;
	if (!is_load || base != ARM64_SP)
		instruction->kind = is_load ? CODE_LOAD : CODE_STORE;
	instruction->base = (uint8_t)base;
	instruction->displacement = arm64_signed_bits(word, 15, 7) * bytes;
	instruction->stored_bytes = is_load ? 0 : 2 * bytes;
	if (!is_vector && bytes == WORD_BYTES) {
		instruction->reg = (uint8_t)arm64_bits(word, 0, 5);
		instruction->second = (uint8_t)arm64_bits(word, 10, 5);
	}
}

/* Loads and stores of one register. */
static void decode_arm64_single(uint32_t word, struct code_instruction *instruction)
{
	bool is_vector = arm64_bits(word, 26, 1), has_unsigned = arm64_bits(word, 24, 1);
	uint32_t size = arm64_bits(word, 30, 2), operation = arm64_bits(word, 22, 2);
	uint32_t base = arm64_bits(word, 5, 5), mode = arm64_bits(word, 10, 2);
	uint32_t shift = is_vector && operation & 2 ? 4 : size;
	bool is_load = is_vector ? operation & 1 : operation;

	instruction->writes = is_load && !is_vector ? register_bit(arm64_bits(word, 0, 5)) : 0;
	/* A prefetch. */
	if (!is_vector && size == 3 && operation == 2) {
		instruction->writes = 0;
		return;
	}
	if (!has_unsigned && arm64_bits(word, 21, 1) && mode != 2 && !is_vector)
		/* Atomic, which loads too; mode 2 is an index. */
		instruction->writes = register_bit(arm64_bits(word, 0, 5));
	else if (!has_unsigned && mode & 1)
		instruction->writes |= 1U << base;
	if (is_load && base == ARM64_SP)
		instruction->kind = CODE_RESTORE;
	if ((!has_unsigned && (mode || arm64_bits(word, 21, 1))) ||
	    (is_load && (is_vector || size != 3)))
		return;
	/* Its own stack is where a function keeps registers, and values as well. */
	instruction->kind = is_load ? CODE_LOAD : CODE_STORE;
	instruction->base = (uint8_t)base;
	instruction->displacement = has_unsigned ? (int64_t)arm64_bits(word, 10, 12) << shift :
						   arm64_signed_bits(word, 12, 9);
	instruction->stored_bytes = is_load ? 0 : (uint8_t)(1U << shift);
	if (!is_vector && size == 3)
		instruction->reg = (uint8_t)arm64_bits(word, 0, 5);
}

static void decode_arm64_other(uint32_t word, struct code_instruction *instruction)
{
	uint32_t to = arm64_bits(word, 0, 5);

	instruction->writes = register_bit(to);
	if ((word & 0xbf800000) == 0x91000000) {
		int64_t number = (int64_t)arm64_bits(word, 10, 12)
				 << (arm64_bits(word, 22, 1) ? 12 : 0);

		instruction->kind = CODE_ADD;
		instruction->reg = (uint8_t)to;
		instruction->writes = 1U << to;
		instruction->base = (uint8_t)arm64_bits(word, 5, 5);
		instruction->displacement = arm64_bits(word, 30, 1) ? -number : number;
	} else if ((word & 0xffe0ffe0) == 0xaa0003e0 && to != ARM64_SP &&
		   arm64_bits(word, 16, 5) != ARM64_SP) {
		instruction->kind = CODE_MOVE;
		instruction->reg = (uint8_t)to;
		instruction->base = (uint8_t)arm64_bits(word, 16, 5);
	}
}

static void decode_arm64(uint32_t word, struct code_instruction *instruction)
{
	*instruction = (struct code_instruction){
		.kind = CODE_OTHER,
		.reg = CODE_NO_REGISTER,
		.second = CODE_NO_REGISTER,
		.base = CODE_NO_REGISTER,
	};
	/* udf, and what is reserved. */
	if (!arm64_bits(word, 25, 4))
		instruction->kind = CODE_STOP;
	else if (decode_arm64_branch(word, instruction))
		return;
	else if ((word & 0x3a000000) == 0x28000000)
		decode_arm64_pair(word, instruction);
	else if ((word & 0x3a000000) == 0x38000000)
		decode_arm64_single(word, instruction);
	else
		decode_arm64_other(word, instruction);
}

/* --- both --- */

bool code_cursor_next(struct code_cursor *cursor)
{
	const uint8_t *bytes;
	size_t left;

	cursor->offset += cursor->length;
	if (cursor->offset >= cursor->code.size)
		return false;
	bytes = (const uint8_t *)cursor->code.data + cursor->offset;
	left = cursor->code.size - cursor->offset;
	cursor->address = cursor->start + cursor->offset;
	if (cursor->machine == EM_X86_64) {
		cursor->length = decode_x86(bytes, left, &cursor->instruction);
	} else {
		uint32_t word;

		if (left < ARM64_INSTRUCTION_BYTES)
			return false;
		memcpy(&word, bytes, sizeof(word));
		decode_arm64(word, &cursor->instruction);
		cursor->length = ARM64_INSTRUCTION_BYTES;
	}
	return true;
}

void code_cursor_go(struct code_cursor *cursor, uint64_t address)
{
	cursor->offset = address - cursor->start;
	cursor->length = 0;
}

bool code_cursor_has(const struct code_cursor *cursor, uint64_t address)
{
	return address >= cursor->start && address - cursor->start < cursor->code.size;
}

bool code_cursor_target(const struct code_cursor *cursor, uint64_t *target)
{
	const struct code_instruction *instruction = &cursor->instruction;
	uint32_t word;

	if (instruction->kind != CODE_JUMP && instruction->kind != CODE_BRANCH)
		return false;
	if (cursor->machine == EM_X86_64) {
		*target = cursor->address + cursor->length + (uint64_t)instruction->displacement;
		return true;
	}
	memcpy(&word, (const uint8_t *)cursor->code.data + cursor->offset, sizeof(word));
	if (instruction->kind == CODE_JUMP)
		*target = cursor->address + (uint64_t)(arm64_signed_bits(word, 0, 26) * 4);
	else if ((word & 0x7e000000) == 0x36000000)
		*target = cursor->address + (uint64_t)(arm64_signed_bits(word, 5, 14) * 4);
	else
		*target = cursor->address + (uint64_t)(arm64_signed_bits(word, 5, 19) * 4);
	return true;
}
