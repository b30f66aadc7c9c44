/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts ranges into chunks of limited size, runs the analysis of each, and passes on its rows: verified,
 * guessed, or not known.
 */
#include "stackdeltas/code/code_analysis.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/vector.h"
#include "stackdeltas/code/arm64_step.h"
#include "stackdeltas/code/code_flow.h"
#include "stackdeltas/code/x86_step.h"

enum {
	/* Size of a chunk; its analysis needs some 8 times as much memory. */
	CHUNK_BYTES = 2 << 20,
	/* Limit of the targets of calls, and of jumps, out of chunks. */
	MAX_TARGETS = 1 << 20,
};

VECTOR_DEFINE(target_vector, uint64_t)

/* Sorted; those before next are in chunks that are done. */
struct addresses {
	const uint64_t *items;
	size_t count;
	size_t next;
};

struct analysis {
	const struct code_analysis_input *input;
	const struct code_row_handler *handler;
	struct code_analysis_statistics statistics;
	/* The last row of the range, if there is one. */
	bool has_row;
	struct unwind_rule last;
	struct addresses starts;
	struct addresses pointers;
	struct addresses called;
	struct addresses jumped;
	struct target_vector called_targets;
	struct target_vector jumped_targets;
};

static int add_row(struct analysis *analysis, uint64_t address, const struct unwind_rule *rule)
{
	if (analysis->has_row && !memcmp(&analysis->last, rule, sizeof(*rule)))
		return 0;
	analysis->has_row = true;
	analysis->last = *rule;
	return analysis->handler->row(analysis->handler->context, address, rule);
}

/* Returns the rule of the instruction at @offset of @function, in a region that is trusted or not. */
static struct unwind_rule rule_at(const struct code_flow *flow, uint32_t offset,
				  const struct code_function *function, bool is_trusted,
				  bool needs_exits)
{
	struct unwind_rule rule = flow->rules.rules.items[flow->rule_ids[offset]];

	/* These rules come from known code, not from paths. */
	if (rule.cfa == CFA_END || rule.cfa == CFA_SIGNAL || rule.cfa == CFA_NONE)
		return rule;
	if (!function || (!function->is_known && !code_function_is_believed(function)))
		return (struct unwind_rule){ .cfa = CFA_NONE };
	if (!is_trusted || !code_function_is_believed(function) ||
	    (needs_exits && !function->has_good_exit))
		rule.flags |= RULE_GUESS;
	return rule;
}

/* True if no known path reaches @function, and stacks begin in its code at @offset. */
static bool is_stack_start(const struct code_marks *marks, uint32_t offset,
			   const struct code_function *function)
{
	return code_marks_begins_stack(marks, offset) &&
	       !(function && (function->is_known || code_function_is_believed(function)));
}

static void count_bytes(struct code_analysis_statistics *statistics, uint32_t count,
			const struct unwind_rule *rule)
{
	if (rule->cfa == CFA_NONE)
		statistics->unknown_bytes += count;
	else if (rule->flags & RULE_GUESS)
		statistics->guessed_bytes += count;
	else
		statistics->believed_bytes += count;
}

static void note_extent(const struct analysis *analysis, const struct code_flow *flow,
			uint32_t start, uint32_t end, const struct code_function *owner)
{
	const struct code_row_handler *handler = analysis->handler;
	const struct code_function *extent;
	uint64_t address = flow->chunk->address;

	if (!owner || !handler->extent)
		return;
	extent = code_flow_extent(flow, owner);
	/* The rule is another function's, in code that is in two functions. */
	if (extent->low == extent->high)
		return;
	handler->extent(handler->context, address + start, address + end, address + extent->low,
			address + extent->high);
}

static int add_rows(struct analysis *analysis, const struct code_flow *flow)
{
	const struct code_chunk *chunk = flow->chunk;
	const uint8_t *marks = flow->marks.marks;
	/* The function at the offset, and the one from which the rule comes. */
	const struct code_function *function = NULL, *owner = NULL;
	struct unwind_rule rule = { .cfa = CFA_NONE };
	bool needs_exits = analysis->input->needs_exits;
	bool is_trusted = false, begins_stack;
	uint32_t block = 0, next;
	uint8_t rest;
	int error = 0;

	for (uint32_t offset = 0; !error && offset < chunk->size; offset = next) {
		if (code_marks_is_leader(&flow->marks, offset)) {
			const struct code_block *entered = &flow->blocks[block++];
			bool is_reached = entered->function != CODE_NO_FUNCTION;

			function = is_reached ? &flow->functions.items[entered->function] : NULL;
			is_trusted = is_reached &&
				     flow->regions.regions.items[entered->region].is_trusted;
		}
		if (flow->owners && marks[offset] & CODE_MARK_INSTRUCTION)
			function = &flow->functions.items[flow->owners[offset]];
		if (is_stack_start(&flow->marks, offset, function))
			rule = (struct unwind_rule){ .cfa = CFA_END, .flags = RULE_BEGINS_STACK };
		else if (marks[offset] & CODE_MARK_INSTRUCTION)
			rule = rule_at(flow, offset, function, is_trusted, needs_exits);
		else if (!(marks[offset] & CODE_MARK_VISITED) &&
			 (needs_exits || !(marks[offset] & CODE_MARK_PADDING)))
			rule = (struct unwind_rule){ .cfa = CFA_NONE };
		else if (!analysis->has_row)
			rule = (struct unwind_rule){ .cfa = CFA_NONE };
		if (marks[offset] & CODE_MARK_INSTRUCTION || rule.cfa == CFA_NONE)
			owner = rule.cfa == CFA_NONE ? NULL : function;
		error = add_row(analysis, chunk->address + offset, &rule);
		/* The other bytes of an instruction have no rule of their own. */
		rest = marks[offset] & CODE_MARK_INSTRUCTION ? CODE_MARK_VISITED : marks[offset];
		begins_stack = code_marks_begins_stack(&flow->marks, offset);
		next = offset + 1;
		while (next < chunk->size && marks[next] == rest &&
		       code_marks_begins_stack(&flow->marks, next) == begins_stack &&
		       !code_marks_is_leader(&flow->marks, next))
			next++;
		count_bytes(&analysis->statistics, next - offset, &rule);
		note_extent(analysis, flow, offset, next, owner);
	}
	return error;
}

/* Finds the addresses that are in @chunk. Chunks come in the order of addresses. */
static const uint64_t *in_chunk(const struct code_chunk *chunk, struct addresses *addresses,
				size_t *count)
{
	size_t first, i;

	while (addresses->next < addresses->count &&
	       addresses->items[addresses->next] < chunk->address)
		addresses->next++;
	first = i = addresses->next;
	while (i < addresses->count && addresses->items[i] - chunk->address < chunk->size)
		i++;
	*count = i - first;
	/* Without any the pointer may be NULL, to which nothing may be added. */
	return *count ? addresses->items + first : NULL;
}

static int analyse_chunk(struct analysis *analysis, const struct code_chunk *chunk)
{
	struct code_hints hints = { .entry = analysis->input->entry };
	struct code_flow flow;
	int error;

	hints.starts = in_chunk(chunk, &analysis->starts, &hints.start_count);
	hints.pointers = in_chunk(chunk, &analysis->pointers, &hints.pointer_count);
	hints.called = in_chunk(chunk, &analysis->called, &hints.called_count);
	hints.jumped = in_chunk(chunk, &analysis->jumped, &hints.jumped_count);
	error = code_flow_init(&flow, chunk, &hints);
	if (!error)
		error = add_rows(analysis, &flow);
	for (size_t i = 0; i < flow.functions.count; i++) {
		bool is_believed = code_function_is_believed(&flow.functions.items[i]);

		/* Code that is neither a known start nor verified may not be a function. */
		analysis->statistics.believed_count += is_believed;
		analysis->statistics.function_count += is_believed ||
						       flow.functions.items[i].is_known;
	}
	code_flow_deinit(&flow);
	return error;
}

/* Returns the end of a chunk that starts at @address: before a function that would be cut, if possible. */
static uint64_t find_chunk_end(struct analysis *analysis, uint64_t address, uint64_t end)
{
	struct addresses *starts = &analysis->starts;
	uint64_t chunk_end = address + CHUNK_BYTES, last = chunk_end;

	if (end - address <= CHUNK_BYTES)
		return end;
	while (starts->next < starts->count && starts->items[starts->next] < address)
		starts->next++;
	for (size_t i = starts->next; i < starts->count && starts->items[i] <= chunk_end; i++)
		last = starts->items[i];
	return last > address + CHUNK_BYTES / 2 ? last : chunk_end;
}

/* Collects the targets of calls and jumps that lead out of @chunk. */
static int collect_targets(struct analysis *analysis, const struct code_chunk *chunk)
{
	struct code_step step;
	int error = 0;

	for (uint32_t offset = 0; !error && offset < chunk->size; offset += step.length) {
		struct target_vector *targets = &analysis->jumped_targets;

		chunk->step(chunk->bytes + offset, chunk->size - offset, NULL, &step);
		if (step.flow == CODE_FLOW_CALL)
			targets = &analysis->called_targets;
		else if (step.flow != CODE_FLOW_JUMP && step.flow != CODE_FLOW_BRANCH)
			continue;
		if ((uint64_t)(offset + step.target) >= chunk->size && targets->count < MAX_TARGETS)
			error = target_vector_push(targets, chunk->address + offset + step.target);
	}
	return error;
}

/* Cuts @range into chunks and hands them out. */
static int visit_range(struct analysis *analysis, const struct code_bytes *range,
		       int (*visit)(struct analysis *, const struct code_chunk *))
{
	const struct code_analysis_input *input = analysis->input;
	uint64_t address = range->address, end = range->address + range->size;
	int error = 0;

	analysis->has_row = false;
	while (!error && address < end) {
		struct code_chunk chunk = {
			.machine = input->machine,
			.step = input->machine == EM_X86_64 ? x86_step : arm64_step,
			.address = address,
			.bytes = range->bytes + (address - range->address),
			.needs_exits = input->needs_exits,
			.is_hotspot = input->is_hotspot,
			.is_thrown_to = input->is_thrown_to && address == range->address,
			.frame_bytes = address == range->address ? input->frame_bytes : 0,
		};

		chunk.size = find_chunk_end(analysis, address, end) - address;
		error = visit(analysis, &chunk);
		address += chunk.size;
	}
	return error;
}

static int visit_chunks(struct analysis *analysis,
			int (*visit)(struct analysis *, const struct code_chunk *))
{
	const struct code_analysis_input *input = analysis->input;
	int error = 0;

	analysis->starts = (struct addresses){ input->starts, input->start_count, 0 };
	for (size_t i = 0; !error && i < input->range_count; i++)
		error = visit_range(analysis, &input->ranges[i], visit);
	return error;
}

static int compare_targets(const void *a, const void *b)
{
	const uint64_t *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

static struct addresses sort_targets(struct target_vector *targets)
{
	if (targets->count)
		qsort(targets->items, targets->count, sizeof(targets->items[0]), compare_targets);
	return (struct addresses){ targets->items, targets->count, 0 };
}

int code_analysis_run(const struct code_analysis_input *input,
		      const struct code_row_handler *handler,
		      struct code_analysis_statistics *statistics)
{
	struct analysis analysis = { .input = input, .handler = handler };
	int error = 0;

	if (input->machine != EM_X86_64 && input->machine != EM_AARCH64)
		return fail(-EOPNOTSUPP, "code of machine %u", input->machine);
	analysis.pointers = (struct addresses){ input->pointers, input->pointer_count, 0 };
	if (!input->is_hotspot)
		error = visit_chunks(&analysis, collect_targets);
	analysis.called = sort_targets(&analysis.called_targets);
	analysis.jumped = sort_targets(&analysis.jumped_targets);
	if (!error)
		error = visit_chunks(&analysis, analyse_chunk);
	target_vector_deinit(&analysis.called_targets);
	target_vector_deinit(&analysis.jumped_targets);
	if (!error && statistics)
		*statistics = analysis.statistics;
	return error;
}
