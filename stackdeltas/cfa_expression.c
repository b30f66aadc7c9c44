/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms of expressions. The bytes are hostile; at worst they are not recognised.
 */
#include "stackdeltas/cfa_expression.h"

#include <string.h>

#include "lib/base/byte_reader.h"
#include "lib/elf/dwarf_constants.h"

enum {
	PLT_RIP = DW_OP_breg0 + DWARF_X86_RIP,
	/*
	 * All forms are shorter. Each row of a hostile program may refer to the same expression, so a long
	 * one must not be read every time.
	 */
	EXPRESSION_MAX_BYTES = 64,
};

/* A value on the expression's stack, as far as its form is known. */
static bool read_base(struct byte_reader *reader, bool starts_with_cfa,
		      struct cfa_expression *expression)
{
	uint8_t operation;

	if (!byte_reader_left(reader))
		return starts_with_cfa && (expression->is_from_cfa = true);
	operation = *reader->position;
	if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) {
		byte_reader_skip(reader, 1);
		expression->number = operation - DW_OP_breg0;
		expression->offset = byte_reader_sleb128(reader);
		return true;
	}
	if (operation == DW_OP_bregx) {
		byte_reader_skip(reader, 1);
		expression->number = byte_reader_uleb128(reader);
		expression->offset = byte_reader_sleb128(reader);
		return true;
	}
	expression->is_from_cfa = true;
	return starts_with_cfa;
}

/* An operation that pushes a constant; false for any other. */
static bool read_constant(struct byte_reader *reader, uint8_t operation, int64_t *constant)
{
	if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) {
		*constant = operation - DW_OP_lit0;
		return true;
	}
	switch (operation) {
	case DW_OP_const1u:
		*constant = byte_reader_u8(reader);
		return true;
	case DW_OP_const1s:
		*constant = (int8_t)byte_reader_u8(reader);
		return true;
	case DW_OP_const2u:
		*constant = byte_reader_u16(reader);
		return true;
	case DW_OP_const2s:
		*constant = (int16_t)byte_reader_u16(reader);
		return true;
	case DW_OP_const4u:
		*constant = byte_reader_u32(reader);
		return true;
	case DW_OP_const4s:
		*constant = (int32_t)byte_reader_u32(reader);
		return true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		*constant = byte_reader_u64(reader);
		return true;
	case DW_OP_constu:
		*constant = byte_reader_uleb128(reader);
		return true;
	case DW_OP_consts:
		*constant = byte_reader_sleb128(reader);
		return true;
	default:
		return false;
	}
}

/* Adds the constants of the following additions to @sum. @next gets the first other operation; 0: the end. */
static bool read_sum(struct byte_reader *reader, int64_t *sum, uint8_t *next)
{
	while (byte_reader_left(reader)) {
		uint8_t operation = byte_reader_u8(reader);
		int64_t constant;

		if (operation == DW_OP_nop)
			continue;
		if (operation == DW_OP_plus_uconst) {
			constant = byte_reader_uleb128(reader);
		} else if (read_constant(reader, operation, &constant)) {
			uint8_t sign = byte_reader_u8(reader);

			if (sign != DW_OP_plus && sign != DW_OP_minus)
				return false;
			if (sign == DW_OP_minus && __builtin_sub_overflow(0, constant, &constant))
				return false;
		} else {
			*next = operation;
			return true;
		}
		if (__builtin_add_overflow(*sum, constant, sum))
			return false;
	}
	*next = 0;
	return !byte_reader_failed(reader);
}

/* breg7 offset; breg16 0; lit15; and; litN; ge; lit3; shl; plus */
static bool recognise_plt(struct byte_reader reader, struct cfa_expression *expression)
{
	static const uint8_t before[] = { PLT_RIP, 0, DW_OP_lit0 + 15, DW_OP_and };
	static const uint8_t after[] = { DW_OP_ge, DW_OP_lit0 + 3, DW_OP_shl, DW_OP_plus };
	const uint8_t *bytes = byte_reader_bytes(&reader, sizeof(before) + 1 + sizeof(after));
	uint8_t limit;

	if (!bytes || byte_reader_left(&reader) || expression->is_from_cfa ||
	    expression->number != DWARF_X86_RSP || memcmp(bytes, before, sizeof(before)) != 0 ||
	    memcmp(bytes + sizeof(before) + 1, after, sizeof(after)) != 0)
		return false;
	limit = bytes[sizeof(before)];
	if (limit < DW_OP_lit0 || limit > DW_OP_lit0 + 15)
		return false;
	expression->kind = CFA_EXPRESSION_PLT;
	expression->addend = limit - DW_OP_lit0;
	return true;
}

/* bregN 0; lit8; mul; plus; the caller reads the rest */
static bool recognise_index(struct byte_reader *reader, struct cfa_expression *expression)
{
	static const uint8_t after[] = { 0, DW_OP_lit0 + 8, DW_OP_mul, DW_OP_plus };
	struct byte_reader copy = *reader;
	const uint8_t *bytes = byte_reader_bytes(&copy, 1 + sizeof(after));

	if (!bytes || expression->is_from_cfa || bytes[0] < DW_OP_breg0 ||
	    bytes[0] > DW_OP_breg31 || memcmp(bytes + 1, after, sizeof(after)) != 0)
		return false;
	expression->index_number = bytes[0] - DW_OP_breg0;
	*reader = copy;
	return true;
}

bool cfa_expression_recognise(const uint8_t *bytes, size_t size, bool starts_with_cfa,
			      struct cfa_expression *expression)
{
	struct cfa_expression result = { .kind = CFA_EXPRESSION_SUM };
	struct byte_reader reader;
	bool is_indexed;
	uint8_t next;

	if (size > EXPRESSION_MAX_BYTES)
		return false;
	byte_reader_init(&reader, bytes, size);
	if (!read_base(&reader, starts_with_cfa, &result))
		return false;
	if (!recognise_plt(reader, &result)) {
		is_indexed = recognise_index(&reader, &result);
		if (!read_sum(&reader, &result.offset, &next))
			return false;
		if (is_indexed && next != DW_OP_deref)
			return false;
		if (next == DW_OP_deref) {
			result.kind = is_indexed ? CFA_EXPRESSION_DEREF_INDEXED :
						   CFA_EXPRESSION_DEREF;
			if (!read_sum(&reader, &result.addend, &next))
				return false;
		}
		if (next || byte_reader_failed(&reader))
			return false;
	}
	*expression = result;
	return true;
}
