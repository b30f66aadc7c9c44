/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Follows the paths of a chunk of code (code_sweep.h) block by block. It makes a rule for every
 * instruction that it reaches, and decides for every function whether it is verified.
 *
 * A block stores only the state at its start. A path that reaches a block lowers that state to the
 * part on which both agree, and the block is followed again. States can be lowered only a few times, so
 * time is linear. Code behind calls is followed last: if a call's return would contradict another path,
 * the call does not return.
 */
#ifndef STACKDELTAS_CODE_CODE_FLOW_H
#define STACKDELTAS_CODE_CODE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/slab.h"
#include "lib/base/vector.h"
#include "stackdeltas/code/code_queue.h"
#include "stackdeltas/code/code_regions.h"
#include "stackdeltas/code/code_rules.h"
#include "stackdeltas/code/code_state.h"
#include "stackdeltas/code/code_sweep.h"

enum {
	CODE_NO_FUNCTION = UINT32_MAX,
};

struct code_block {
	struct code_state state;
	uint32_t offset;
	/** Index of a code_function; CODE_NO_FUNCTION until a path comes here. */
	uint32_t function;
	/** Index of the code_region of the first path. */
	uint32_t region;
	/** The block is in the queue. */
	bool is_queued;
	/** Only the return of a call led here so far. */
	bool is_weak;
};

struct code_function {
	uint32_t offset;
	/** Index of an earlier function with which it shares code, or its own one (code_flow_extent()). */
	uint32_t group;
	/** The code that paths of the group's functions go through; of the group's first function only. */
	uint32_t low;
	uint32_t high;
	/** The start was given or is called, and was not only found behind the end of another function. */
	bool is_known;
	bool is_distrusted;
	/** A return or a tail call finds the stack as at the entry. */
	bool has_good_exit;
	/** It has indirect jumps: their targets are not known, but their state is table_state. */
	bool has_table_jump;
	bool tables_differ;
	struct code_state table_state;
	uint32_t table_region;
	/** Offset of the first such jump. */
	uint32_t table_offset;
};

/** Evidence against a function: two regions that disagree, or a bad exit of one region, which is in both fields then. */
struct code_doubt {
	uint32_t function;
	uint32_t region;
	uint32_t other_region;
};

VECTOR_DEFINE(code_function_vector, struct code_function)
VECTOR_DEFINE(code_doubt_vector, struct code_doubt)

/** The state of the analysis of one chunk. */
struct code_flow {
	const struct code_chunk *chunk;
	struct code_marks marks;
	/** By rank of the leader. */
	struct code_block *blocks;
	/** Index in rules for each byte that starts an instruction. */
	uint16_t *rule_ids;
	/**
	 * The function of the path to which the rule belongs, for each byte that starts an instruction; NULL unless the
	 * chunk needs exits. Where data is among the code, a path through it may come into the middle of another function's block.
	 */
	uint32_t *owners;
	struct code_rules rules;
	struct code_function_vector functions;
	struct code_doubt_vector doubts;
	struct code_queue queue;
	struct code_regions regions;
	int error;
};

/** Analyses @chunk. -ENOMEM. The caller deinits in any case. */
int code_flow_init(struct code_flow *flow, const struct code_chunk *chunk,
		   const struct code_hints *hints);
void code_flow_deinit(struct code_flow *flow);

/**
 * Returns the function whose low and high enclose all code on which the rules of @function depend: its own, and that of functions
 * with paths that meet its paths.
 */
const struct code_function *code_flow_extent(const struct code_flow *flow,
					     const struct code_function *function);

/** True if the function is verified: all its paths agree, and an exit or a known start confirms them. */
static inline bool code_function_is_believed(const struct code_function *function)
{
	return !function->is_distrusted && (function->has_good_exit || function->is_known);
}

#endif
