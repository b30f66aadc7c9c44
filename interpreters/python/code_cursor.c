/* SPDX-License-Identifier: Apache-2.0 */
/* An unknown instruction of arm64 is assumed to write the register in its lowest bits. */
#include "interpreters/python/code_cursor.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/isa/arm64_decode.h"
#include "lib/isa/x86_decode.h"
#include "lib/isa/x86_opcode.h"

enum { WORD_BYTES = 8 };

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

/* Recognizes stores of 16 bytes (movaps, movups, movdqa, movdqu) at an offset from rsp or another register. */
static void find_wide_store(const uint8_t *bytes, uint32_t length,
			    struct code_instruction *instruction)
{
	struct x86_operands operands;

	if (!x86_decode_operands(bytes, length, &operands) || operands.map != MAP_0F ||
	    operands.is_vector || operands.repeat == 0xf2 ||
	    (operands.opcode != 0x29 && operands.opcode != 0x11 && operands.opcode != 0x7f))
		return;
	if (!operands.is_memory || operands.is_of_fs || operands.has_67 ||
	    operands.base > X86_RDI || operands.index != X86_NO_REGISTER)
		return;
	instruction->kind = CODE_STORE;
	instruction->base = operands.base;
	instruction->displacement = operands.displacement;
	instruction->stored_bytes = 2 * WORD_BYTES;
}

/* Decodes an instruction and returns its length. Bytes that cannot be decoded are a CODE_STOP of length 1. */
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

/* Loads and stores of one register and of pairs, at an offset from a register. */
static void decode_arm64_access(const struct arm64_instruction *arm64,
				struct code_instruction *instruction)
{
	bool is_pair = arm64->operation == ARM64_LOAD_PAIR || arm64->operation == ARM64_STORE_PAIR;
	bool is_load = arm64->operation == ARM64_LOAD || arm64->operation == ARM64_LOAD_PAIR;
	bool is_whole = !arm64->is_vector && arm64->bytes == WORD_BYTES;

	if (is_load && arm64->rn == ARM64_SP)
		instruction->kind = CODE_RESTORE;
	if (arm64->mode != ARM64_OFFSET || (is_load && !is_whole))
		return;
	/* Loads of pairs from the stack restore registers; any other access may be of values. */
	if (!is_pair || !is_load || arm64->rn != ARM64_SP)
		instruction->kind = is_load ? CODE_LOAD : CODE_STORE;
	instruction->base = arm64->rn;
	instruction->displacement = arm64->immediate;
	instruction->stored_bytes = is_load ? 0 : (is_pair ? 2 : 1) * arm64->bytes;
	if (is_whole) {
		instruction->reg = arm64->rd;
		instruction->second = is_pair ? arm64->second : CODE_NO_REGISTER;
	}
}

/* add and sub with an immediate; mov. */
static void decode_arm64_sum(const struct arm64_instruction *arm64,
			     struct code_instruction *instruction)
{
	bool is_subtraction = arm64->operation == ARM64_SUBTRACT;

	if (arm64->bytes != WORD_BYTES || arm64->sets_flags)
		return;
	if (arm64->operation == ARM64_OR) {
		if (arm64->operand != ARM64_SHIFTED || arm64->shift_kind || arm64->shift ||
		    arm64->rn != ARM64_ZERO || arm64->rm == ARM64_ZERO || arm64->rd == ARM64_ZERO)
			return;
		instruction->kind = CODE_MOVE;
		instruction->reg = arm64->rd;
		instruction->base = arm64->rm;
	} else if (arm64->operand == ARM64_IMMEDIATE) {
		instruction->kind = CODE_ADD;
		instruction->reg = arm64->rd;
		instruction->base = arm64->rn;
		instruction->displacement = is_subtraction ? -arm64->immediate : arm64->immediate;
	}
}

static uint8_t kind_of_arm64(uint8_t operation)
{
	switch (operation) {
	case ARM64_JUMP:
		return CODE_JUMP;
	case ARM64_BRANCH:
	case ARM64_BRANCH_ZERO:
	case ARM64_BRANCH_BIT:
		return CODE_BRANCH;
	case ARM64_CALL:
		return CODE_CALL;
	case ARM64_CALL_REGISTER:
		return CODE_CALL_INDIRECT;
	case ARM64_RETURN:
		return CODE_RETURN;
	case ARM64_JUMP_REGISTER:
	case ARM64_SYSCALL:
	case ARM64_STOP:
	case ARM64_UNALLOCATED:
		return CODE_STOP;
	default:
		return CODE_OTHER;
	}
}

static void decode_arm64(uint32_t word, uint64_t address, struct code_instruction *instruction)
{
	struct arm64_instruction arm64;

	arm64_decode(word, address, &arm64);
	*instruction = (struct code_instruction){
		.kind = kind_of_arm64(arm64.operation),
		.reg = CODE_NO_REGISTER,
		.second = CODE_NO_REGISTER,
		.base = CODE_NO_REGISTER,
		.writes = arm64.writes,
	};
	switch (arm64.operation) {
	case ARM64_JUMP:
	case ARM64_BRANCH:
	case ARM64_BRANCH_ZERO:
	case ARM64_BRANCH_BIT:
		instruction->displacement =
			(int64_t)(arm64.target - address - ARM64_INSTRUCTION_BYTES);
		break;
	case ARM64_LOAD:
	case ARM64_STORE:
	case ARM64_LOAD_PAIR:
	case ARM64_STORE_PAIR:
		decode_arm64_access(&arm64, instruction);
		break;
	case ARM64_ADD:
	case ARM64_SUBTRACT:
	case ARM64_OR:
		decode_arm64_sum(&arm64, instruction);
		break;
	case ARM64_OTHER:
		if (arm64.rd != ARM64_ZERO)
			instruction->writes |= 1U << arm64.rd;
		break;
	default:
		break;
	}
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
		decode_arm64(word, cursor->address, &cursor->instruction);
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

	if (instruction->kind != CODE_JUMP && instruction->kind != CODE_BRANCH)
		return false;
	*target = cursor->address + cursor->length + (uint64_t)instruction->displacement;
	return true;
}
