/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The instructions of a function, of its cold parts too, and which follows which: for questions about the ways through it.
 * Building it takes time in proportion to the function's size, but for a logarithm, as does each question.
 */
#ifndef INTERPRETERS_PHP_CODE_GRAPH_H
#define INTERPRETERS_PHP_CODE_GRAPH_H

#include "interpreters/function_table.h"
#include "interpreters/x86_code.h"

enum {
	CODE_GRAPH_PARTS_MAX = 4,
	/** There is no such instruction. */
	CODE_GRAPH_NONE = -1,
};

struct code_graph_node {
	uint32_t address;
	uint8_t length;
	/** enum x86_kind */
	uint8_t kind;
	/** The bits that the user's classify() gave. */
	uint8_t flags;
	/** Bits of questions. */
	uint8_t marks;
	/** The indexes of the nodes that follow it, or CODE_GRAPH_NONE. */
	int32_t next;
	int32_t target;
	/** Where it jumps to within the function; 0: it does not. */
	uint64_t target_address;
};

/** Owns its memory. */
struct code_graph {
	/** In the order of addresses. */
	struct code_graph_node *nodes;
	uint32_t count;
	struct code_range parts[CODE_GRAPH_PARTS_MAX];
	uint32_t part_count;
	/** The nodes that come before node i: indexes before[first[i]] to before[first[i + 1] - 1]. */
	uint32_t *first;
	uint32_t *before;
	uint32_t *queue;
};

/** The user's functions. */
struct code_graph_user {
	/** The flags of an instruction. Instructions come in the order of addresses within each part. */
	uint8_t (*classify)(const struct x86_code *code, void *context);
	void *context;
	/** Set of what code of the function does not go on behind: returns, indirect jumps, jumps to other functions. */
	uint8_t exit_flag;
	/** Larger parts are refused (-E2BIG). */
	uint64_t part_limit;
};

/** Makes the graph of the function that has @range. */
int code_graph_init(struct code_graph *graph, const struct elf_image *image,
		    const struct function_table *table, struct code_range range,
		    const struct code_graph_user *user);
void code_graph_deinit(struct code_graph *graph);

/** Marks what follows the nodes that have one of the flags @from: those with one of @until, but nothing behind them. */
void code_graph_mark_behind(struct code_graph *graph, uint8_t from, uint8_t until, uint8_t mark);
/** Marks the nodes that have one of the flags @to, and those from which they are reached without one that has @past. */
void code_graph_mark_before(struct code_graph *graph, uint8_t to, uint8_t past, uint8_t mark);

#endif
