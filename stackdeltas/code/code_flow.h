/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Follows the paths of a piece of code (code_sweep.h) block by block, and gives every instruction
 * that it reaches a rule, and every function belief or none.
 *
 * Blocks know their state at the start only. Where a path meets a block it lowers that block's state
 * to what both agree on, and the block is walked again; states can only be lowered a few times, so
 * time stays linear. What comes back from calls is followed last: a call that, were it to return,
 * would contradict another path does not return.
 */
#ifndef STACKDELTAS_CODE_CODE_FLOW_H
#define STACKDELTAS_CODE_CODE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/slab.h"
#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "stackdeltas/code/code_regions.h"
#include "stackdeltas/code/code_state.h"
#include "stackdeltas/code/code_sweep.h"

enum {
	CODE_NO_FUNCTION = UINT32_MAX,
	CODE_RULE_CACHE = 1024,
};

struct code_block {
	struct code_state state;
	uint32_t offset;
	/** Index of a code_function; CODE_NO_FUNCTION until a path comes here. */
	uint32_t function;
	/** Of the path that came first. */
	uint32_t region;
	/** Waits to be walked. */
	bool is_queued;
	/** Only the return of a call led here so far. */
	bool is_weak;
};

struct code_function {
	uint32_t offset;
	/** Given or called, and not only found behind the end of another. */
	bool is_known;
	bool is_distrusted;
	/** A return or a tail call finds the stack as at the entry. */
	bool has_good_exit;
	/** Where its indirect jumps lead: not known, but with this state. */
	bool has_table_jump;
	bool tables_differ;
	struct code_state table_state;
	uint32_t table_region;
};

/** What speaks against a function: a bad exit of a region, here twice, or two that disagree. */
struct code_doubt {
	uint32_t function;
	uint32_t region;
	uint32_t other_region;
};

VECTOR_DEFINE(code_block_list, uint32_t)
VECTOR_DEFINE(code_rule_vector, struct unwind_rule)
VECTOR_DEFINE(code_function_vector, struct code_function)
VECTOR_DEFINE(code_doubt_vector, struct code_doubt)

/**
 * Blocks that are still to be walked: those that a jump or the instruction before leads to, the last
 * one first; when there are none of these, those behind calls, the one at the lowest address first.
 * Zeroed: none.
 */
struct code_queue {
	struct code_block_list jumped;
	/** A heap. */
	struct code_block_list returned;
};

/** The different rules of a piece of code, numbered, so that an instruction's takes two bytes. */
struct code_rules {
	/** By number; rule 0 is CFA_NONE, which stands for those that are too many as well. */
	struct code_rule_vector rules;
	struct hash_map index;
	uint16_t cache[CODE_RULE_CACHE];
};

/** Lives while one piece is analysed. */
struct code_flow {
	const struct code_piece *piece;
	struct code_marks marks;
	/** By rank of the leader. */
	struct code_block *blocks;
	/** Index in rules of each byte that starts an instruction. */
	uint16_t *rule_numbers;
	struct code_rules rules;
	struct code_function_vector functions;
	struct code_doubt_vector doubts;
	struct code_queue queue;
	struct code_regions regions;
	int error;
};

/**
 * Analyses @piece. @starts: @start_count addresses, sorted, in the piece. @entry: address of the
 * outermost frame's code, in the piece or not. -ENOMEM. The caller deinits in any case.
 */
int code_flow_init(struct code_flow *flow, const struct code_piece *piece, const uint64_t *starts,
		   size_t start_count, uint64_t entry);
void code_flow_deinit(struct code_flow *flow);

/** All its paths agree, and one shows that they are right. */
static inline bool code_function_is_believed(const struct code_function *function)
{
	return !function->is_distrusted && (function->has_good_exit || function->is_known);
}

#endif
