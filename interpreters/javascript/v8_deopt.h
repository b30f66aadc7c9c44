/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Two tables that optimized code has for the deoptimizer. They give the exact functions that are inlined at a call: the
 * safepoint table maps pc offsets to deoptimization entries, and translations are programs that describe the frames in
 * an optimized frame.
 *
 * Source: codegen/safepoint-table.h, codegen/maglev-safepoint-table.h; deoptimizer/translation-opcode.h,
 * translation-array.cc, from 12.4 on objects/deoptimization-data.cc (DeoptTranslationIterator::NextOpcode); base/vlq.h
 * @ V8 9.4 to 14.6. Compressed translations (--turbo-compress-...) are off in V8 and not read. The bytes are hostile.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_DEOPT_H
#define INTERPRETERS_JAVASCRIPT_V8_DEOPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpreters/javascript/v8_layout.h"

enum {
	/** Limit of depth; V8's own limits are lower (--max-inlined-bytecode-size-cumulative, --max-turbolev-...). */
	V8_INLINED_MAX = 128,
};

struct v8_safepoint {
	/** Offset of the return address from the start of the instructions. */
	uint32_t pc_offset;
	/** Index of the deoptimization entry; -1: there is none. */
	int32_t deopt_index;
};

/**
 * Finds the entry of @table for the return address @pc_offset. The deoptimizer may have replaced the return address on
 * the stack by the entry's trampoline, which is after the instructions; its entry is found as well. -ENOENT, -EBADMSG.
 */
int v8_safepoint_find(enum v8_line line, bool is_maglev, const uint8_t *table, size_t size,
		      uint32_t pc_offset, struct v8_safepoint *safepoint);

struct v8_translated_frame {
	/** A frame of a builtin that continues in JavaScript; it has no bytecodes. */
	bool is_builtin;
	/** It was called by `new`. */
	bool is_construct;
	int32_t bytecode_offset;
	/** Index of its SharedFunctionInfo among the literals. */
	int32_t literal;
	/** Index of its BytecodeArray among the protected literals; -1: the version has none. */
	int32_t bytecodes;
};

/** The JavaScript frames, outermost first. */
struct v8_translated_frames {
	uint32_t count;
	struct v8_translated_frame items[V8_INLINED_MAX];
};

/** Reads the translation that begins at byte @index of @bytes. -EBADMSG, -E2BIG over V8_INLINED_MAX frames. */
int v8_translation_read(enum v8_line line, const uint8_t *bytes, size_t size, size_t index,
			struct v8_translated_frames *frames);

#endif
