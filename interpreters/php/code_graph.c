/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/php/code_graph.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

static bool has_address(const struct code_graph *graph, uint64_t address)
{
	for (uint32_t i = 0; i < graph->part_count; i++)
		if (address - graph->parts[i].start < graph->parts[i].end - graph->parts[i].start)
			return true;
	return false;
}

/* Adds the cold part that is jumped into at @target. A range that begins there is another function. */
static void add_part(struct code_graph *graph, const struct function_table *table, uint64_t target)
{
	struct code_range part;

	if (has_address(graph, target) || graph->part_count == CODE_GRAPH_PARTS_MAX ||
	    function_table_find(table, target, &part) || part.start == target)
		return;
	graph->parts[graph->part_count++] = part;
}

/** The code of each part. It is read once, because the file may change. */
struct parts {
	struct x86_code codes[CODE_GRAPH_PARTS_MAX];
	uint32_t count;
};

static void parts_deinit(struct parts *parts)
{
	for (uint32_t i = 0; i < parts->count; i++)
		x86_code_deinit(&parts->codes[i]);
}

/* Reads the parts and counts their instructions. Jumps in one part lead to the next one. */
static int read_parts(struct code_graph *graph, struct parts *parts, const struct elf_image *image,
		      const struct function_table *table, uint64_t limit, uint32_t *node_count)
{
	*node_count = 0;
	while (parts->count < graph->part_count) {
		struct x86_code *code = &parts->codes[parts->count];
		struct code_range range = graph->parts[parts->count];
		int err = x86_code_init(code, image, range, limit);

		if (err)
			return err;
		parts->count++;
		if (range.end > UINT32_MAX)
			return fail(-EOPNOTSUPP, "a file of more than 4 GB");
		while (x86_code_next_known(code)) {
			(*node_count)++;
			if (x86_code_is_jump(code))
				add_part(graph, table, x86_code_target(code));
		}
		code->next = code->start;
	}
	return 0;
}

static int compare_codes(const void *left, const void *right)
{
	const struct x86_code *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int compare_address(const void *key, const void *node)
{
	uint64_t address = *(const uint64_t *)key;
	uint64_t other = ((const struct code_graph_node *)node)->address;

	return address < other ? -1 : address > other;
}

static int32_t find_node(const struct code_graph *graph, uint64_t address)
{
	const struct code_graph_node *node = bsearch(&address, graph->nodes, graph->count,
						     sizeof(graph->nodes[0]), compare_address);

	return node ? (int32_t)(node - graph->nodes) : CODE_GRAPH_NONE;
}

static bool goes_on(uint8_t kind)
{
	return kind != X86_JUMP && kind != X86_JUMP_INDIRECT && kind != X86_RETURN &&
	       kind != X86_STOP;
}

static void fill_part(struct code_graph *graph, struct x86_code *code,
		      const struct code_graph_user *user)
{
	while (x86_code_next_known(code)) {
		struct code_graph_node *node = &graph->nodes[graph->count++];
		uint64_t target = x86_code_is_jump(code) ? x86_code_target(code) : 0;
		bool is_inside = target && has_address(graph, target);

		*node = (struct code_graph_node){
			.address = (uint32_t)code->address,
			.length = code->x86.length,
			.kind = code->x86.kind,
			.flags = user->classify(code, user->context),
			.target_address = is_inside ? target : 0,
		};
		if ((target && !is_inside) || code->x86.kind == X86_RETURN ||
		    code->x86.kind == X86_JUMP_INDIRECT)
			node->flags |= user->exit_flag;
	}
}

static void link_nodes(struct code_graph *graph)
{
	for (uint32_t i = 0; i < graph->count; i++) {
		struct code_graph_node *node = &graph->nodes[i];

		node->next = CODE_GRAPH_NONE;
		node->target = CODE_GRAPH_NONE;
		if (goes_on(node->kind))
			node->next = find_node(graph, (uint64_t)node->address + node->length);
		if (node->target_address)
			node->target = find_node(graph, node->target_address);
	}
}

static void count_before(struct code_graph *graph, int32_t node)
{
	if (node != CODE_GRAPH_NONE)
		graph->first[node + 1]++;
}

/* Adds @from to the predecessors of @node; first[node + 1] is the index for the next one. */
static void add_before(struct code_graph *graph, int32_t node, uint32_t from)
{
	if (node != CODE_GRAPH_NONE)
		graph->before[graph->first[node]++] = from;
}

/* Makes the lists of predecessors. */
static int link_before(struct code_graph *graph)
{
	graph->first = calloc(graph->count + 2, sizeof(graph->first[0]));
	graph->before = calloc(2 * (size_t)graph->count + 1, sizeof(graph->before[0]));
	graph->queue = calloc((size_t)graph->count + 1, sizeof(graph->queue[0]));
	if (!graph->first || !graph->before || !graph->queue)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->count; i++) {
		count_before(graph, graph->nodes[i].next);
		count_before(graph, graph->nodes[i].target);
	}
	for (uint32_t i = 0; i < graph->count; i++)
		graph->first[i + 1] += graph->first[i];
	for (uint32_t i = 0; i < graph->count; i++) {
		add_before(graph, graph->nodes[i].next, i);
		add_before(graph, graph->nodes[i].target, i);
	}
	/* Each index is now the start of the next node's list. */
	for (uint32_t i = graph->count; i > 0; i--)
		graph->first[i] = graph->first[i - 1];
	graph->first[0] = 0;
	return 0;
}

int code_graph_init(struct code_graph *graph, const struct elf_image *image,
		    const struct function_table *table, struct code_range range,
		    const struct code_graph_user *user)
{
	_cleanup_(parts_deinit) struct parts parts = { 0 };
	uint32_t node_count;
	int err;

	*graph = (struct code_graph){ .parts = { range }, .part_count = 1 };
	err = read_parts(graph, &parts, image, table, user->part_limit, &node_count);
	if (err)
		return err;
	graph->nodes = calloc((size_t)node_count + 1, sizeof(graph->nodes[0]));
	if (!graph->nodes)
		return -ENOMEM;
	qsort(parts.codes, parts.count, sizeof(parts.codes[0]), compare_codes);
	for (uint32_t i = 0; i < parts.count; i++)
		fill_part(graph, &parts.codes[i], user);
	link_nodes(graph);
	err = link_before(graph);
	if (err)
		code_graph_deinit(graph);
	return err;
}

void code_graph_deinit(struct code_graph *graph)
{
	free(graph->nodes);
	free(graph->first);
	free(graph->before);
	free(graph->queue);
	*graph = (struct code_graph){ 0 };
}

/* Marks the node, if there is one without the mark, and queues it unless it has a flag of @until. */
static void mark_node(struct code_graph *graph, int32_t node, uint8_t mark, uint8_t until,
		      uint32_t *queued)
{
	if (node == CODE_GRAPH_NONE || graph->nodes[node].marks & mark)
		return;
	graph->nodes[node].marks |= mark;
	if (!(graph->nodes[node].flags & until))
		graph->queue[(*queued)++] = (uint32_t)node;
}

void code_graph_mark_behind(struct code_graph *graph, uint8_t from, uint8_t until, uint8_t mark)
{
	uint32_t queued = 0;

	for (uint32_t i = 0; i < graph->count; i++) {
		if (!(graph->nodes[i].flags & from))
			continue;
		mark_node(graph, graph->nodes[i].next, mark, until, &queued);
		mark_node(graph, graph->nodes[i].target, mark, until, &queued);
		while (queued) {
			const struct code_graph_node *node = &graph->nodes[graph->queue[--queued]];

			mark_node(graph, node->next, mark, until, &queued);
			mark_node(graph, node->target, mark, until, &queued);
		}
	}
}

void code_graph_mark_before(struct code_graph *graph, uint8_t to, uint8_t past, uint8_t mark)
{
	uint32_t queued = 0;

	for (uint32_t i = 0; i < graph->count; i++)
		if (graph->nodes[i].flags & to)
			mark_node(graph, (int32_t)i, mark, 0, &queued);
	while (queued) {
		uint32_t node = graph->queue[--queued];

		for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++)
			if (!(graph->nodes[graph->before[i]].flags & past))
				mark_node(graph, (int32_t)graph->before[i], mark, 0, &queued);
	}
}
