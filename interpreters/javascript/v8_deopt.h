/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Two tables that optimized code has for the deoptimizer, and which say exactly which functions are inlined at a
 * call: the safepoint table, from pc offsets to deoptimization entries, and translations, programs that describe the
 * frames which one optimized frame stands for.
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
	/** V8 inlines less deep (--max-inlined-bytecode-size-cumulative, --max-turbolev-...). */
	V8_INLINED_MAX = 128,
};

struct v8_safepoint {
	/** Of the return address, from the start of the instructions. */
	uint32_t pc_offset;
	/** -1: nothing is known for the deoptimizer. */
	int32_t deopt_index;
};

/**
 * The entry of @table of the return address @pc_offset. The deoptimizer may have put another one in its place on the
 * stack, into code behind the instructions (the entry's trampoline), which is found as well. -ENOENT, -EBADMSG.
 */
int v8_safepoint_find(enum v8_line line, bool is_maglev, const uint8_t *table, size_t size,
		      uint32_t pc_offset, struct v8_safepoint *safepoint);

struct v8_translated_frame {
	/** Of a builtin that continues in JavaScript: not a bytecode's. */
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
