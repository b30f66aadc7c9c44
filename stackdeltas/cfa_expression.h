/* SPDX-License-Identifier: Apache-2.0 */
/**
 * DWARF expressions in call frame information. They are recognised by their form, never evaluated: the
 * kernel side has no stack machine, and compilers and linkers emit few forms.
 */
#ifndef STACKDELTAS_CFA_EXPRESSION_H
#define STACKDELTAS_CFA_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cfa_expression_kind {
	/** base + offset */
	CFA_EXPRESSION_SUM,
	/** *(base + offset) + addend */
	CFA_EXPRESSION_DEREF,
	/** *(base + offset + 8 * index) + addend: OpenSSL, behind arrays of a size in a register */
	CFA_EXPRESSION_DEREF_INDEXED,
	/**
	 * The PLT of x86-64, as GNU ld and lld describe it: base + offset + ((pc & 15) >= addend) * 8,
	 * where base is rsp
	 */
	CFA_EXPRESSION_PLT,
};

struct cfa_expression {
	enum cfa_expression_kind kind;
	/** The base is the CFA, not a register. */
	bool is_from_cfa;
	/** DWARF number of the base register. */
	uint64_t number;
	/** DWARF number of the index register. */
	uint32_t index_number;
	int64_t offset;
	int64_t addend;
};

/**
 * Recognises @size bytes. @starts_with_cfa: the CFA is on the stack at the start, as for rules of
 * registers. False for any other form, which includes damaged expressions and those of more than 64
 * bytes.
 */
bool cfa_expression_recognise(const uint8_t *bytes, size_t size, bool starts_with_cfa,
			      struct cfa_expression *expression);

#endif
