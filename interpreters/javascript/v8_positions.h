/* SPDX-License-Identifier: Apache-2.0 */
/**
 * V8's tables that map code to positions in the source. The table of a BytecodeArray is by bytecode offset, that of
 * optimized code by pc offset. Sparkplug's code has a table that maps pc offsets to bytecode offsets.
 *
 * Source: codegen/source-position-table.cc (DecodeEntry), codegen/source-position.h, base/vlq.h,
 * baseline/bytecode-offset-iterator.h, interpreter/bytecodes.h (BYTECODE_LIST) @ V8 9.4 to 14.6. All numbers are
 * unsigned, 7 bits a byte, the low ones first, which is LEB128. The bytes are hostile.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_POSITIONS_H
#define INTERPRETERS_JAVASCRIPT_V8_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpreters/javascript/v8_layout.h"

struct v8_position {
	/** Offset in the script of its function, in UTF-16 units; -1: unknown. */
	int32_t script_offset;
	/** Index into the inlining positions; -1: the function that was compiled. */
	int32_t inlining_id;
};

/** Decodes a position that is packed into 64 bits, as in tables and in the inlining positions of optimized code. */
struct v8_position v8_position_decode(uint64_t packed);

/**
 * Finds the position of @code_offset in a table of @line: that of the last entry at or before it. -ENOENT: there is no
 * such entry; -EBADMSG.
 */
int v8_positions_find(enum v8_line line, const uint8_t *table, size_t size, int32_t code_offset,
		      struct v8_position *position);

/**
 * Finds the offset of the bytecode for Sparkplug's instruction at @pc_offset; a return address is passed as it is.
 * @bytecodes has all bytecodes of the function. -1: the instruction is before the first one. -EBADMSG: the table does
 * not match the bytecodes.
 */
int v8_baseline_offset(enum v8_line line, const uint8_t *table, size_t size,
		       const uint8_t *bytecodes, size_t bytecode_bytes, uint32_t pc_offset,
		       bool is_return_address, int32_t *bytecode_offset);

#endif
