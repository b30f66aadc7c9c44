/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts ranges into chunks of limited size, runs the analysis of each, and passes on its rows: verified,
 * guessed, or not known.
 */
#include "stackdeltas/code/code_analysis.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/error.h"
#include "stackdeltas/code/arm64_step.h"
#include "stackdeltas/code/code_flow.h"
#include "stackdeltas/code/x86_step.h"

enum {
	/* Size of a chunk; its analysis needs some 8 times as much memory. */
	CHUNK_BYTES = 2 << 20,
};

struct analysis {
	const struct code_analysis_input *input;
	const struct code_row_handler *handler;
	struct code_analysis_statistics statistics;
	/* The last row of the range, if there is one. */
	bool has_row;
	struct unwind_rule last;
	size_t next_start;
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
				  const struct code_function *function, bool is_trusted)
{
	struct unwind_rule rule = flow->rules.rules.items[flow->rule_ids[offset]];

	/* These rules come from known code, not from paths. */
	if (rule.cfa == CFA_END || rule.cfa == CFA_SIGNAL || rule.cfa == CFA_NONE)
		return rule;
	if (!function || (!function->is_known && !code_function_is_believed(function)))
		return (struct unwind_rule){ .cfa = CFA_NONE };
	if (!is_trusted || !code_function_is_believed(function))
		rule.flags |= RULE_GUESS;
	return rule;
}

/* True if no known path reaches @function, and stacks begin in its code at @mark. */
static bool is_stack_start(uint8_t mark, const struct code_function *function)
{
	return mark & CODE_MARK_STACK_START &&
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

static int add_rows(struct analysis *analysis, const struct code_flow *flow)
{
	const struct code_chunk *chunk = flow->chunk;
	const uint8_t *marks = flow->marks.marks;
	const struct code_function *function = NULL;
	struct unwind_rule rule = { .cfa = CFA_NONE };
	bool is_trusted = false;
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
		if (is_stack_start(marks[offset], function))
			rule = (struct unwind_rule){ .cfa = CFA_END };
		else if (marks[offset] & CODE_MARK_INSTRUCTION)
			rule = rule_at(flow, offset, function, is_trusted);
		else if (!(marks[offset] & (CODE_MARK_VISITED | CODE_MARK_PADDING)) ||
			 !analysis->has_row)
			rule = (struct unwind_rule){ .cfa = CFA_NONE };
		error = add_row(analysis, chunk->address + offset, &rule);
		/* The other bytes of an instruction have no rule of their own. */
		rest = marks[offset] & CODE_MARK_INSTRUCTION ?
			       CODE_MARK_VISITED | (marks[offset] & CODE_MARK_STACK_START) :
			       marks[offset];
		next = offset + 1;
		while (next < chunk->size && marks[next] == rest &&
		       !code_marks_is_leader(&flow->marks, next))
			next++;
		count_bytes(&analysis->statistics, next - offset, &rule);
	}
	return error;
}

static int analyse_chunk(struct analysis *analysis, const struct code_chunk *chunk)
{
	const struct code_analysis_input *input = analysis->input;
	/* Without any starts the pointer may be NULL, to which nothing may be added. */
	const uint64_t *starts = input->start_count ? input->starts + analysis->next_start : NULL;
	struct code_flow flow;
	size_t count = 0;
	int error;

	while (analysis->next_start + count < input->start_count &&
	       starts[count] - chunk->address < chunk->size)
		count++;
	error = code_flow_init(&flow, chunk, starts, count, input->entry);
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
static uint64_t find_chunk_end(const struct analysis *analysis, uint64_t address, uint64_t end)
{
	const struct code_analysis_input *input = analysis->input;
	uint64_t chunk_end = address + CHUNK_BYTES, last = chunk_end;

	if (end - address <= CHUNK_BYTES)
		return end;
	for (size_t i = analysis->next_start;
	     i < input->start_count && input->starts[i] <= chunk_end; i++)
		last = input->starts[i];
	return last > address + CHUNK_BYTES / 2 ? last : chunk_end;
}

static int analyse_range(struct analysis *analysis, const struct code_bytes *range)
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
			.is_hotspot = input->is_hotspot,
			.is_thrown_to = input->is_thrown_to && address == range->address,
			.frame_bytes = address == range->address ? input->frame_bytes : 0,
		};

		while (analysis->next_start < input->start_count &&
		       input->starts[analysis->next_start] < address)
			analysis->next_start++;
		chunk.size = find_chunk_end(analysis, address, end) - address;
		error = analyse_chunk(analysis, &chunk);
		address += chunk.size;
	}
	return error;
}

int code_analysis_run(const struct code_analysis_input *input,
		      const struct code_row_handler *handler,
		      struct code_analysis_statistics *statistics)
{
	struct analysis analysis = { .input = input, .handler = handler };
	int error = 0;

	if (input->machine != EM_X86_64 && input->machine != EM_AARCH64)
		return fail(-EOPNOTSUPP, "code of machine %u", input->machine);
	for (size_t i = 0; !error && i < input->range_count; i++)
		error = analyse_range(&analysis, &input->ranges[i]);
	if (!error && statistics)
		*statistics = analysis.statistics;
	return error;
}
