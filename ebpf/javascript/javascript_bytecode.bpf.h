/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Finds the bytecode that an interpreted frame executes: by the offset in the frame, or in a register or a handler's frame
 * while a bytecode handler runs. Source: interpreter/interpreter-assembler.cc @ V8 9.4 to 14.6.
 *
 * An offset that is no bytecode's of the handler is not used.
 */
#ifndef EBPF_JAVASCRIPT_BYTECODE_BPF_H
#define EBPF_JAVASCRIPT_BYTECODE_BPF_H

#include "ebpf/javascript/javascript_machine.bpf.h"

enum {
	/* The first bytecodes are prefixes. The handlers of bytecodes with a prefix are in further tables behind the first. */
	JAVASCRIPT_PREFIXES = 2,
	JAVASCRIPT_HANDLERS = 256,
	/* Limit of a handler's size. */
	JAVASCRIPT_HANDLER_MAX_BYTES = 1 << 13,
	/* Limit of the words in a handler's frame that may be the offset. */
	JAVASCRIPT_SPILLED_MAX = 10,
};

/** Returns the offset of the bytecode that the frame with frame pointer @fp executes. */
static __always_inline __u32 javascript_bytecode(struct unwind_state *state, __u64 fp, __u32 *code)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u64 slot = 0, offset = unwind->bytecode_offset;

	*code = unwind->is_before ? JAVASCRIPT_INTERPRETED_BEFORE : JAVASCRIPT_INTERPRETED;
	if (!offset && !window_read_up(&state->stack, fp + JAVASCRIPT_SLOT_OFFSET, &slot))
		offset = slot >> 32;
	unwind->bytecode_offset = 0;
	unwind->is_before = 0;
	if (offset < unwind->process.bytecodes_before)
		return JAVASCRIPT_NO_OFFSET;
	return offset - unwind->process.bytecodes_before;
}

/* True if @pc is in the handler whose address is in @entry of the table. */
static __always_inline bool javascript_is_in_handler(__u64 pc, __u64 entry)
{
	__u64 handler = 0;

	return !read_word(entry, &handler) && pc - handler < JAVASCRIPT_HANDLER_MAX_BYTES;
}

/*
 * True if the handler at @pc is that of the bytecode at @offset, a value from the registers; with a prefix the offset is
 * that of the bytecode behind it. @bytecodes: tagged; @table: the handlers.
 */
static __always_inline bool javascript_is_executed(const struct javascript_unwind *unwind, __u64 pc,
						   __u64 bytecodes, __u64 table, __u64 offset)
{
	/* The byte before, which may be a prefix, and the bytecode. */
	__u8 codes[2] = { 0 };

	if (offset < unwind->process.bytecodes_before || offset > JAVASCRIPT_OFFSET_MASK ||
	    bpf_probe_read_user(codes, sizeof(codes), (const void *)(bytecodes + offset - 1)))
		return false;
	table += 8ULL * codes[1];
	return javascript_is_in_handler(pc, table) ||
	       (codes[0] < JAVASCRIPT_PREFIXES &&
		javascript_is_in_handler(pc, table + 8 * JAVASCRIPT_HANDLERS * (1ULL + codes[0])));
}

/*
 * True if @offset is in @bytecodes. A handler without a frame has only offsets in the register, and so has one with the
 * bytecodes in their register. At its end that is the offset of the next bytecode, some of which it executes itself
 * (interpreter-assembler.cc, StarDispatchLookahead).
 */
static __always_inline bool javascript_is_offset(const struct javascript_unwind *unwind,
						 __u64 bytecodes, __u64 offset)
{
	__u64 length = 0;

	return !read_word(bytecodes - JAVASCRIPT_TAG + JAVASCRIPT_ARRAY_LENGTH, &length) &&
	       offset - unwind->process.bytecodes_before < length >> 32;
}

/**
 * Finds the offset of the bytecode that the leaf, a handler, executes for the interpreted frame with frame pointer @fp.
 * It is in a register until the handler overwrites that. By then the handler has stored it in that frame's slot, as for
 * a call, or in its own frame at @handler_fp, 0: it has none.
 */
static __always_inline void javascript_find_bytecode(struct unwind_state *state, __u64 fp,
						     __u64 handler_fp)
{
	struct javascript_unwind *unwind = &state->javascript;
	__u64 pc = state->registers[PC_REGISTER], bytecodes = 0, table = 0;
	__u64 offset = state->registers[JAVASCRIPT_OFFSET_REGISTER];

	unwind->is_before = 1;
	if (read_word(fp + JAVASCRIPT_SLOT_BYTECODES, &bytecodes) ||
	    read_word(state->registers[JAVASCRIPT_ROOT_REGISTER] + unwind->process.dispatch_table,
		      &table))
		return;
	unwind->check =
		javascript_is_executed(unwind, pc, bytecodes, table, offset) ||
		((!handler_fp || state->registers[JAVASCRIPT_BYTECODES_REGISTER] == bytecodes) &&
		 javascript_is_offset(unwind, bytecodes, offset));
	if (!unwind->check && !read_word(fp + JAVASCRIPT_SLOT_OFFSET, &offset)) {
		offset >>= 32;
		unwind->check = javascript_is_executed(unwind, pc, bytecodes, table, offset);
	}
	for (int i = 0; handler_fp && !unwind->check && i < JAVASCRIPT_SPILLED_MAX; i++) {
		if (read_word(handler_fp + JAVASCRIPT_SLOT_SPILLED - 8 * i, &offset))
			return;
		unwind->check = javascript_is_executed(unwind, pc, bytecodes, table, offset);
	}
	if (!unwind->check)
		return;
	unwind->bytecode_offset = offset;
	unwind->is_before = 0;
}

#endif
