/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/php/php_opcodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

/* Zend/zend_vm_opcodes.h; the same numbers since 7.4. */
enum opcode {
	OP_JMP = 42,
	OP_JMPZ = 43,
	OP_JMPNZ = 44,
	OP_JMPZ_EX = 46,
	OP_JMPNZ_EX = 47,
	OP_DO_FCALL = 60,
	OP_RETURN = 62,
	OP_RECV = 63,
	OP_RECV_INIT = 64,
	OP_FE_FETCH_R = 78,
	OP_RETURN_BY_REF = 111,
	OP_FE_FETCH_RW = 126,
	OP_DO_ICALL = 129,
	OP_DO_UCALL = 130,
	OP_DO_FCALL_BY_NAME = 131,
	OP_RECV_VARIADIC = 164,
};

/* Offsets in a zend_op: operands, in which jumps have a distance in bytes. */
enum {
	OPERAND_1 = 8,
	OPERAND_2 = 12,
	EXTENDED_VALUE = PHP_OPCODE_EXTENDED,
	OPCODE = PHP_OPCODE_LINE + 4,
};

int php_opcodes_read(struct php_opcodes *opcodes, struct remote_memory *memory, uint64_t address,
		     uint32_t count)
{
	uint8_t *bytes;
	int err;

	if (!count || count > PHP_OPCODES_MAX)
		return fail(-E2BIG, "a function of %u instructions", count);
	bytes = malloc((size_t)count * PHP_OPCODE_BYTES);
	if (!bytes)
		return -ENOMEM;
	err = remote_memory_read(memory, address, bytes, (size_t)count * PHP_OPCODE_BYTES);
	if (err) {
		free(bytes);
		return err;
	}
	*opcodes =
		(struct php_opcodes){ .address = address, .count = (int32_t)count, .bytes = bytes };
	return 0;
}

void php_opcodes_deinit(struct php_opcodes *opcodes)
{
	free(opcodes->bytes);
	opcodes->bytes = NULL;
}

int32_t php_opcodes_index(const struct php_opcodes *opcodes, uint64_t address)
{
	uint64_t offset = address - opcodes->address;

	return offset % PHP_OPCODE_BYTES || offset / PHP_OPCODE_BYTES >= (uint64_t)opcodes->count ?
		       PHP_OPCODE_NONE :
		       (int32_t)(offset / PHP_OPCODE_BYTES);
}

static uint8_t opcode_of(const struct php_opcodes *opcodes, int32_t index)
{
	return opcodes->bytes[(size_t)index * PHP_OPCODE_BYTES + OPCODE];
}

static int32_t field_of(const struct php_opcodes *opcodes, int32_t index, size_t offset)
{
	int32_t value;

	memcpy(&value, opcodes->bytes + (size_t)index * PHP_OPCODE_BYTES + offset, sizeof(value));
	return value;
}

uint32_t php_opcodes_line(const struct php_opcodes *opcodes, int32_t index)
{
	return (uint32_t)field_of(opcodes, index, PHP_OPCODE_LINE);
}

static bool is_conditional(uint8_t opcode)
{
	return opcode == OP_JMPZ || opcode == OP_JMPNZ || opcode == OP_JMPZ_EX ||
	       opcode == OP_JMPNZ_EX || opcode == OP_FE_FETCH_R || opcode == OP_FE_FETCH_RW;
}

static bool is_call(uint8_t opcode)
{
	return opcode == OP_DO_FCALL || opcode == OP_DO_ICALL || opcode == OP_DO_UCALL ||
	       opcode == OP_DO_FCALL_BY_NAME;
}

static bool is_parameter(uint8_t opcode)
{
	return opcode == OP_RECV || opcode == OP_RECV_INIT || opcode == OP_RECV_VARIADIC;
}

static bool is_return(uint8_t opcode)
{
	return opcode == OP_RETURN || opcode == OP_RETURN_BY_REF;
}

/* The index that the jump at @index goes to; PHP_OPCODE_NONE: it is no jump, or goes elsewhere. */
static int32_t target_of(const struct php_opcodes *opcodes, int32_t index)
{
	uint8_t opcode = opcode_of(opcodes, index);
	size_t operand = opcode == OP_JMP				     ? OPERAND_1 :
			 opcode == OP_FE_FETCH_R || opcode == OP_FE_FETCH_RW ? EXTENDED_VALUE :
									       OPERAND_2;

	if (opcode != OP_JMP && !is_conditional(opcode))
		return PHP_OPCODE_NONE;
	return php_opcodes_index(opcodes,
				 opcodes->address + (uint64_t)index * PHP_OPCODE_BYTES +
					 (uint64_t)(int64_t)field_of(opcodes, index, operand));
}

int32_t php_opcodes_branch_to(const struct php_opcodes *opcodes, int32_t index, int32_t *other)
{
	if (index > 0 && is_conditional(opcode_of(opcodes, index - 1))) {
		*other = target_of(opcodes, index - 1);
		if (*other != PHP_OPCODE_NONE)
			return index - 1;
	}
	for (int32_t i = 0; i + 1 < opcodes->count; i++)
		if (is_conditional(opcode_of(opcodes, i)) && target_of(opcodes, i) == index) {
			*other = i + 1;
			return i;
		}
	return PHP_OPCODE_NONE;
}

int32_t php_opcodes_next(const struct php_opcodes *opcodes, int32_t index, int32_t last)
{
	uint8_t opcode = opcode_of(opcodes, index);
	int32_t target = target_of(opcodes, index), next = index + 1;
	bool is_near = target != PHP_OPCODE_NONE && target <= last &&
		       (next > last || target > next);

	if (opcode == OP_JMP || (is_conditional(opcode) && is_near))
		return target;
	return is_return(opcode) || next >= opcodes->count ? PHP_OPCODE_NONE : next;
}

struct php_line php_opcodes_between(const struct php_opcodes *opcodes, int32_t first,
				    const int32_t *lasts, uint32_t count, bool is_before)
{
	struct php_line result = { php_opcodes_line(opcodes, first), true };
	int32_t index = first;

	for (int32_t i = 0; i < opcodes->count; i++) {
		uint32_t line = php_opcodes_line(opcodes, index);
		int32_t next = php_opcodes_next(opcodes, index, lasts[0]);

		result.is_only &= line == result.line;
		result.line = line;
		for (uint32_t j = 0; j < count; j++)
			if (index == lasts[j] || php_opcodes_next(opcodes, index, lasts[j]) != next)
				return result;
		if (next == PHP_OPCODE_NONE)
			break;
		if (is_before && next == lasts[0])
			return result;
		index = next;
	}
	return (struct php_line){ .line = php_opcodes_line(opcodes, lasts[0]) };
}

struct php_line php_opcodes_after(const struct php_opcodes *opcodes, int32_t first)
{
	struct php_line result = { php_opcodes_line(opcodes, first), true };

	for (int32_t i = first; i < opcodes->count && result.is_only; i++) {
		uint8_t opcode = opcode_of(opcodes, i);

		result.is_only = php_opcodes_line(opcodes, i) == result.line;
		if (opcode == OP_JMP || is_conditional(opcode) || is_call(opcode) ||
		    is_return(opcode))
			break;
	}
	return result;
}

struct php_line php_opcodes_before(const struct php_opcodes *opcodes, int32_t last,
				   bool is_call_only)
{
	struct php_line result = { php_opcodes_line(opcodes, last), true };

	for (int32_t i = last - 1; i >= 0 && result.is_only; i--) {
		uint8_t opcode = opcode_of(opcodes, i);

		if (is_parameter(opcode) ||
		    (!is_call_only && (opcode == OP_JMP || is_conditional(opcode))))
			break;
		result.is_only = php_opcodes_line(opcodes, i) == result.line;
		if (is_call(opcode))
			break;
	}
	return result;
}
