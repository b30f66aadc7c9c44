/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The control flow graph of a function and its cold parts, for questions about the paths through it. Building the graph
 * and each question take at most O(n log n) time in the function's size.
 */
#ifndef INTERPRETERS_PHP_CODE_GRAPH_H
#define INTERPRETERS_PHP_CODE_GRAPH_H

#include "interpreters/function_table.h"
#include "interpreters/x86_code.h"

enum {
	CODE_GRAPH_PARTS_MAX = 4,
	/** Index that means no instruction. */
	CODE_GRAPH_NONE = -1,
};

struct code_graph_node {
	uint32_t address;
	uint8_t length;
	/** enum x86_kind. */
	uint8_t kind;
	/** The bits that the user's classify() returned. */
	uint8_t flags;
	/** Bits that questions set. */
	uint8_t marks;
	/** Indexes of the next node and of the jump target, or CODE_GRAPH_NONE. */
	int32_t next;
	int32_t target;
	/** Address of a jump target within the function; 0: there is none. */
	uint64_t target_address;
};

/** Owns its memory. */
struct code_graph {
	/** Sorted by address. */
	struct code_graph_node *nodes;
	uint32_t count;
	struct code_range parts[CODE_GRAPH_PARTS_MAX];
	uint32_t part_count;
	/** The predecessors of node i are before[first[i]] to before[first[i + 1] - 1]. */
	uint32_t *first;
	uint32_t *before;
	uint32_t *queue;
};

/** Callback and options of the user. */
struct code_graph_user {
	/** Returns the flags of an instruction. Within each part it is called in the order of addresses. */
	uint8_t (*classify)(const struct x86_code *code, void *context);
	void *context;
	/** Flag of nodes that leave the function: returns, indirect jumps, jumps to other functions. */
	uint8_t exit_flag;
	/** Limit of the size of a part; larger ones are refused (-E2BIG). */
	uint64_t part_limit;
};

/** Makes the graph of the function in @range. */
int code_graph_init(struct code_graph *graph, const struct elf_image *image,
		    const struct function_table *table, struct code_range range,
		    const struct code_graph_user *user);
void code_graph_deinit(struct code_graph *graph);

/** Marks the nodes after those with a flag of @from, up to and including nodes with a flag of @until. */
void code_graph_mark_behind(struct code_graph *graph, uint8_t from, uint8_t until, uint8_t mark);
/** Marks the nodes with a flag of @to, and the nodes on paths to them that have no node with a flag of @past. */
void code_graph_mark_before(struct code_graph *graph, uint8_t to, uint8_t past, uint8_t mark);

#endif
