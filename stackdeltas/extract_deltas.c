/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The extractor: FDEs in the order of their addresses, each run row by row into the builder. Where
 * FDEs overlap, the one that starts later holds from its start on, as for an unwinder that searches
 * for the last start at or below an address. Between FDEs nothing is known, with two exceptions:
 * the entry point is the outermost frame (glibc's dynamic linker has no FDE for its own, under which
 * every program starts up), and a PLT stub has pushed nothing but, in its last instruction, a number.
 */
#include "stackdeltas/extract_deltas.h"

#include <errno.h>

#include "agent/base/error.h"
#include "stackdeltas/cfa_program.h"
#include "stackdeltas/cfa_rule.h"
#include "stackdeltas/delta_builder.h"
#include "stackdeltas/fde_table.h"

enum {
	/* Fewer than any compiler needs; the rest is growth. */
	EXPECTED_BYTES_PER_ROW = 8,
	KNOWN_RULE_COUNT = 2048,
	/* Of the CFA, in a packed state. */
	PACKED_OFFSET_MAX = (1 << 23) - 1,
	/* Of code at an entry point without FDE; glibc's _start and _dl_start_user have 61. */
	ENTRY_MAX_BYTES = 64,
	/* Offset in a PLT stub of 16 bytes from which on a number has been pushed. */
	PLT_PUSHED_FROM = 11,
};

/* What is known of addresses without FDE. */
struct gap_rule {
	uint64_t start;
	uint64_t end;
	/* Only where no FDE stands between an address and the start. */
	bool ends_at_fde;
	struct unwind_rule rule;
};

struct extraction {
	const struct unwind_input *input;
	/* Sorted by start. */
	struct gap_rule gap_rules[1 + UNWIND_INPUT_MAX_STUBS];
	uint32_t gap_rule_count;
	struct delta_report report;
	struct fde_table table;
	struct delta_builder builder;
	/*
	 * Plain states, packed, and the numbers of their rules; a key of 0 is free. Nearly all rows
	 * are found here, which makes the extractor much faster.
	 */
	uint64_t known_keys[KNOWN_RULE_COUNT];
	uint16_t known_numbers[KNOWN_RULE_COUNT];
	/* The packed state of the row before; 0 if that was not plain. */
	uint64_t last_key;
};

/*
 * Packs a state that says no more than: CFA = register + offset, return address at CFA + offset,
 * frame pointer unchanged or at CFA + offset. Returns 0 for any other.
 */
static inline uint64_t plain_state_key(const struct cfa_state *state)
{
	const struct cfa_value *cfa = &state->cfa, *fp = &state->frame_pointer;
	int64_t ra_offset = state->return_address.offset;
	int64_t fp_offset = fp->kind == CFA_VALUE_AT_CFA ? fp->offset : 0;

	if (cfa->kind != CFA_VALUE_REGISTER || cfa->number > UINT8_MAX ||
	    (uint64_t)cfa->offset > PACKED_OFFSET_MAX ||
	    state->return_address.kind != CFA_VALUE_AT_CFA || ra_offset != (int16_t)ra_offset ||
	    (fp->kind != CFA_VALUE_UNSPECIFIED && fp->kind != CFA_VALUE_AT_CFA) ||
	    fp_offset != (int16_t)fp_offset || state->stack_pointer.kind != CFA_VALUE_UNSPECIFIED)
		return 0;
	return (uint64_t)(uint16_t)ra_offset << 48 | (uint64_t)(uint16_t)fp_offset << 32 |
	       (uint64_t)cfa->number << 24 | (uint64_t)cfa->offset << 1 |
	       (fp->kind == CFA_VALUE_AT_CFA);
}

/* The same, from the key of the row before where only the CFA's offset changed since. */
static inline uint64_t next_state_key(const struct cfa_program *program, uint64_t last_key)
{
	uint64_t offset = program->state.cfa.offset;

	if (!last_key || program->change != CFA_CHANGE_OFFSET || offset > PACKED_OFFSET_MAX)
		return plain_state_key(&program->state);
	return (last_key & ~((uint64_t)PACKED_OFFSET_MAX << 1)) | offset << 1;
}

/* The number of the rule for the present row. */
static int find_rule(struct extraction *extraction, const struct cfa_rule_context *context,
		     const struct cfa_program *program, uint32_t *number)
{
	uint64_t key = context->is_signal_frame ? 0 : next_state_key(program, extraction->last_key);
	uint32_t slot = key * 0x9e3779b97f4a7c15ULL >> 32 & (KNOWN_RULE_COUNT - 1);
	struct unwind_rule rule;
	enum delta_problem problem;
	int error;

	extraction->last_key = key;
	if (key && extraction->known_keys[slot] == key) {
		*number = extraction->known_numbers[slot];
		return 0;
	}
	problem = cfa_rule_make(context, &program->state, &rule);
	if (problem)
		delta_report_problem(&extraction->report, program->row_start, problem);
	error = delta_builder_intern(&extraction->builder, &rule, number);
	if (error)
		return error;
	if (*number == DELTA_RULE_UNSUPPORTED && rule.cfa != CFA_UNSUPPORTED) {
		delta_report_problem(&extraction->report, program->row_start,
				     DELTA_PROBLEM_TOO_MANY_RULES);
	} else if (key && !problem) {
		extraction->known_keys[slot] = key;
		extraction->known_numbers[slot] = *number;
	}
	return 0;
}

static int add_row(struct extraction *extraction, const struct cfa_rule_context *context,
		   struct cfa_program *program)
{
	uint32_t number;
	int error;

	if (program->change == CFA_CHANGE_NONE)
		return 0;
	error = find_rule(extraction, context, program, &number);
	program->change = CFA_CHANGE_NONE;
	return error ? error : delta_builder_add(&extraction->builder, program->row_start, number);
}

/* The rows of one FDE, as far as they lie before @end. */
static int add_fde(struct extraction *extraction, const struct fde_record *record, uint64_t end)
{
	const struct shared_cie *shared = &extraction->table.cies.items[record->cie];
	const struct cfa_rule_context context = {
		.section = extraction->input->eh_frame,
		.machine = extraction->input->machine,
		.is_signal_frame = shared->cie.is_signal_frame,
	};
	uint64_t start = extraction->table.base + record->start;
	struct delta_builder_mark mark = delta_builder_mark(&extraction->builder);
	struct cfa_program program;
	int found, error = 0;

	cfa_program_init(&program, &shared->defaults, context.section, record->instructions,
			 record->instructions_end, start, end);
	while (!error && (found = cfa_program_next(&program)) > 0)
		error = add_row(extraction, &context, &program);
	if (error)
		return error;
	extraction->report.statistics.fde_count++;
	if (!found)
		return 0;
	delta_report_problem(&extraction->report, start, DELTA_PROBLEM_BAD_FDE);
	delta_builder_rollback(&extraction->builder, &mark);
	return delta_builder_add(&extraction->builder, start, DELTA_RULE_UNSUPPORTED);
}

/* Keeps the order by start. */
static void add_gap_rule(struct extraction *extraction, const struct gap_rule *rule)
{
	uint32_t i = extraction->gap_rule_count++;

	for (; i && extraction->gap_rules[i - 1].start > rule->start; i--)
		extraction->gap_rules[i] = extraction->gap_rules[i - 1];
	extraction->gap_rules[i] = *rule;
}

static void find_gap_rules(struct extraction *extraction)
{
	const struct unwind_input *input = extraction->input;

	for (uint32_t i = 0; i < input->segment_count; i++) {
		const struct unwind_segment *segment = &input->segments[i];
		struct gap_rule rule = {
			.start = input->entry,
			.end = input->entry + ENTRY_MAX_BYTES,
			.ends_at_fde = true,
			.rule = { .cfa = CFA_END },
		};

		if (!input->entry || input->entry < segment->start || input->entry >= segment->end)
			continue;
		if (rule.end > segment->end)
			rule.end = segment->end;
		add_gap_rule(extraction, &rule);
	}
	for (uint32_t i = 0; i < input->stub_count; i++) {
		/* As in the expression that linkers write for .plt where they write one. */
		const struct gap_rule rule = {
			.start = input->stubs[i].start,
			.end = input->stubs[i].end,
			.rule = { .cfa = CFA_PLT,
				  .cfa_offset = 8,
				  .cfa_addend = PLT_PUSHED_FROM,
				  .ra = SAVED_AT_CFA,
				  .ra_offset = -8 },
		};

		add_gap_rule(extraction, &rule);
	}
}

/* The rows from @start to the next FDE at @end. */
static int add_gap(struct extraction *extraction, uint64_t start, uint64_t end)
{
	uint64_t gap_start = start;
	uint32_t number;
	int error = 0;

	for (uint32_t i = 0; !error && i < extraction->gap_rule_count; i++) {
		const struct gap_rule *known = &extraction->gap_rules[i];
		uint64_t from = known->start > start ? known->start : start;
		uint64_t to = known->end < end ? known->end : end;

		if (from >= to || (known->ends_at_fde && known->start < gap_start))
			continue;
		if (start < from)
			error = delta_builder_add(&extraction->builder, start, DELTA_RULE_NONE);
		if (!error)
			error = delta_builder_intern(&extraction->builder, &known->rule, &number);
		if (!error)
			error = delta_builder_add(&extraction->builder, from, number);
		start = to;
	}
	if (!error && start < end)
		error = delta_builder_add(&extraction->builder, start, DELTA_RULE_NONE);
	return error;
}

static int add_all(struct extraction *extraction)
{
	const struct fde_record *fdes = extraction->table.fdes.items;
	size_t count = extraction->table.fdes.count;
	uint64_t base = extraction->table.base;
	uint64_t covered_end = extraction->builder.text_start;
	size_t next;

	for (size_t i = 0; i < count; i = next) {
		uint64_t start = base + fdes[i].start;
		uint64_t end = start + fdes[i].length;
		int error;

		for (next = i + 1; next < count && fdes[next].start == fdes[i].start; next++)
			delta_report_problem(&extraction->report, start, DELTA_PROBLEM_OVERLAP);
		if (next < count && end > base + fdes[next].start)
			end = base + fdes[next].start;
		if (start > covered_end) {
			error = add_gap(extraction, covered_end, start);
			if (error)
				return error;
		}
		error = add_fde(extraction, &fdes[i], end);
		if (error)
			return error;
		covered_end = end;
	}
	if (covered_end < extraction->builder.text_end)
		return add_gap(extraction, covered_end, extraction->builder.text_end);
	return 0;
}

/* Of FDEs that start at one address, the first counts (see add_all()). */
static uint64_t find_fde_end(const struct fde_table *table)
{
	size_t last = table->fdes.count - 1;

	while (last && table->fdes.items[last - 1].start == table->fdes.items[last].start)
		last--;
	return table->base + table->fdes.items[last].start + table->fdes.items[last].length;
}

/* The addresses of which anything is known. */
static struct unwind_segment find_text(const struct extraction *extraction)
{
	const struct fde_table *table = &extraction->table;
	struct unwind_segment text = { table->base + table->fdes.items[0].start,
				       find_fde_end(table) };

	for (uint32_t i = 0; i < extraction->gap_rule_count; i++) {
		const struct gap_rule *rule = &extraction->gap_rules[i];

		if (rule->start < text.start)
			text.start = rule->start;
		if (rule->end > text.end)
			text.end = rule->end;
	}
	return text;
}

static int extract(struct extraction *extraction, struct stack_deltas *deltas)
{
	const struct fde_table *table = &extraction->table;
	struct unwind_segment text;
	int error;

	error = fde_table_init(&extraction->table, extraction->input, &extraction->report);
	if (error)
		return error;
	if (!table->fdes.count)
		return fail(-ENOENT, ".eh_frame describes no function");
	find_gap_rules(extraction);
	text = find_text(extraction);
	error = delta_builder_init(&extraction->builder, text.start, text.end,
				   extraction->input->eh_frame_bytes / EXPECTED_BYTES_PER_ROW);
	if (!error)
		error = add_all(extraction);
	if (!error)
		error = delta_builder_finish(&extraction->builder, deltas);
	return error;
}

int extract_deltas(const struct unwind_input *input, const struct delta_observer *observer,
		   struct stack_deltas *deltas, struct delta_statistics *statistics)
{
	struct extraction extraction = {
		.input = input,
		.report = { .observer = observer },
	};
	int error = extract(&extraction, deltas);

	fde_table_deinit(&extraction.table);
	delta_builder_deinit(&extraction.builder);
	if (!error && statistics)
		*statistics = extraction.report.statistics;
	return error;
}
