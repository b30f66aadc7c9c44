/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The extractor runs the FDEs in the order of their addresses, and adds their rows to the builder. Where
 * FDEs overlap, the one that starts later is valid from its start on, as for an unwinder that searches
 * for the last start at or below an address. Between FDEs rows come from the analysis of instructions.
 * Two kinds of code have rules even without their bytes: the entry point, which is the outermost frame,
 * and PLT stubs, which push nothing except, on x86-64 before the last instruction, a number. Known ranges
 * (known_ranges.h) have precedence over everything.
 */
#include "stackdeltas/extract_deltas.h"

#include <elf.h>
#include <errno.h>

#include "lib/base/error.h"
#include "stackdeltas/bare_code.h"
#include "stackdeltas/cfa_program.h"
#include "stackdeltas/cfa_rule.h"
#include "stackdeltas/code_rows.h"
#include "stackdeltas/delta_builder.h"
#include "stackdeltas/fde_table.h"
#include "stackdeltas/go_code.h"
#include "stackdeltas/plain_program.h"

enum {
	/* Bytes of .eh_frame per row where rows are densest; memory that is not needed is never touched. */
	EXPECTED_BYTES_PER_ROW = 5,
	/* Limit of the code at an entry point without FDE; glibc's _start and _dl_start_user have 61 bytes. */
	ENTRY_MAX_BYTES = 64,
	/* Offset in a PLT stub of 16 bytes from which on a number has been pushed. */
	PLT_PUSHED_FROM = 11,
};

/* The rule of addresses without FDE. */
struct gap_rule {
	uint64_t start;
	uint64_t end;
	/* The rule is only for addresses with no FDE between them and the start. */
	bool ends_at_fde;
	struct unwind_rule rule;
};

struct extraction {
	const struct unwind_input *input;
	/* The table borrows their bytes. */
	struct unwind_source_content contents[UNWIND_INPUT_MAX_SOURCES];
	/* Code that no table describes, and its rows in the order of addresses. */
	struct code_bytes_vector code;
	struct address_vector starts;
	struct code_rows code_rows;
	/* Sorted by start. */
	struct gap_rule gap_rules[1 + UNWIND_INPUT_MAX_STUBS + KNOWN_RANGES_MAX];
	uint32_t gap_rule_count;
	/* Index of the first one that ends above the last gap's start. */
	uint32_t next_gap_rule;
	/* Index of the first of Go's spans that ends above the last gap's start. */
	size_t next_span;
	struct delta_report report;
	/* Points to the input's table, or to own_table. */
	const struct fde_table *table;
	struct fde_table own_table;
	struct delta_builder builder;
	struct plain_programs plain;
};

/* Finds the id of the rule for the current row. */
static int find_rule(struct extraction *extraction, const struct cfa_rule_context *context,
		     const struct cfa_program *program, uint32_t *id)
{
	struct unwind_rule rule;
	enum delta_problem problem = cfa_rule_make(context, &program->state, &rule);
	int error;

	if (problem)
		delta_report_problem(&extraction->report, program->row_start, problem);
	error = delta_builder_intern(&extraction->builder, &rule, id);
	if (!error && *id == DELTA_RULE_UNSUPPORTED && rule.cfa != CFA_UNSUPPORTED)
		delta_report_problem(&extraction->report, program->row_start,
				     DELTA_PROBLEM_TOO_MANY_RULES);
	return error;
}

/* Adds the rows of one FDE before @end. -EBADMSG: it is malformed, and some of its rows were added. */
static int add_program(struct extraction *extraction, const struct fde_record *record,
		       const struct cfa_rule_context *context, uint64_t start, uint64_t end)
{
	const struct shared_cie *shared = &extraction->table->cies.items[record->cie];
	struct cfa_program program;
	uint32_t id;
	int found, error = 0;

	cfa_program_init(&program, &shared->defaults, context->section, record->instructions,
			 record->instructions_end, start, end);
	while (!error && (found = cfa_program_next(&program)) > 0) {
		error = find_rule(extraction, context, &program, &id);
		if (!error)
			error = delta_builder_add(&extraction->builder, program.row_start, id);
	}
	cfa_program_deinit(&program);
	return error ? error : found;
}

static int add_fde(struct extraction *extraction, const struct fde_record *record, uint64_t end)
{
	const struct shared_cie *shared = &extraction->table->cies.items[record->cie];
	const struct eh_frame *section = &extraction->table->sections[shared->section];
	const struct cfa_rule_context context = {
		.section = section->bytes,
		.machine = extraction->input->machine,
		.is_signal_frame = shared->cie.is_signal_frame,
	};
	uint64_t start = extraction->table->base + record->start;
	uint64_t base = extraction->builder.text_start;
	struct delta_builder_mark mark = delta_builder_mark(&extraction->builder);
	int error;

	extraction->report.statistics.fde_count++;
	if (!context.is_signal_frame) {
		int done = plain_programs_run(&extraction->plain, &shared->defaults, section,
					      record->instructions, record->instructions_end,
					      start - base, end - base);

		if (done)
			return done < 0 ? done : 0;
		delta_builder_rollback(&extraction->builder, &mark);
	}
	error = add_program(extraction, record, &context, start, end);
	if (error != -EBADMSG)
		return error;
	delta_report_problem(&extraction->report, start, DELTA_PROBLEM_BAD_FDE);
	delta_builder_rollback(&extraction->builder, &mark);
	return delta_builder_add(&extraction->builder, start, DELTA_RULE_UNSUPPORTED);
}

/* As add_program(), but with the rules of known ranges, where the table is wrong. */
static int add_fde_with_known_ranges(struct extraction *extraction, const struct fde_record *record,
				     uint64_t end)
{
	const struct unwind_input *input = extraction->input;
	struct delta_builder *builder = &extraction->builder;
	uint64_t start = extraction->table->base + record->start;
	uint32_t id, row_rule = DELTA_RULE_NONE;
	int error = 0;
	bool is_begun = false;

	for (uint32_t i = 0; !error && i < input->known_range_count; i++) {
		const struct known_range *range = &input->known_ranges[i];

		if (range->start <= start || range->end > end ||
		    !known_ranges_has_one_row(extraction->table, record))
			continue;
		if (!is_begun) {
			error = add_fde(extraction, record, range->start);
			row_rule = builder->last_rule;
			is_begun = true;
		}
		if (!error)
			error = delta_builder_intern(builder, &range->rule, &id);
		if (!error)
			error = delta_builder_add(builder, range->start, id);
		if (!error && range->end < end)
			error = delta_builder_add(builder, range->end, row_rule);
	}
	return error || is_begun ? error : add_fde(extraction, record, end);
}

/* Inserts the rule in the order of starts. */
static void add_gap_rule(struct extraction *extraction, const struct gap_rule *rule)
{
	uint32_t i = extraction->gap_rule_count++;

	for (; i && extraction->gap_rules[i - 1].start > rule->start; i--)
		extraction->gap_rules[i] = extraction->gap_rules[i - 1];
	extraction->gap_rules[i] = *rule;
}

/* The rule of the expression that linkers write for .plt, if they write one. */
static const struct unwind_rule stub_x86 = {
	.cfa = CFA_PLT,
	.cfa_offset = 8,
	.cfa_addend = PLT_PUSHED_FROM,
	.ra = SAVED_AT_CFA,
	.ra_offset = -8,
};

/* The rule at the first instruction of a function. */
static const struct unwind_rule stub_arm64 = { .cfa = CFA_SP };

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

		if (!input->entry || input->entry < segment->start ||
		    input->entry >= segment->end || bare_code_contains(&input->code, input->entry))
			continue;
		if (rule.end > segment->end)
			rule.end = segment->end;
		add_gap_rule(extraction, &rule);
	}
	for (uint32_t i = 0; i < input->stub_count; i++) {
		const struct gap_rule rule = {
			.start = input->stubs[i].start,
			.end = input->stubs[i].end,
			.rule = input->machine == EM_AARCH64 ? stub_arm64 : stub_x86,
		};

		add_gap_rule(extraction, &rule);
	}
	for (uint32_t i = 0; i < input->known_range_count; i++) {
		const struct gap_rule rule = {
			.start = input->known_ranges[i].start,
			.end = input->known_ranges[i].end,
			.rule = input->known_ranges[i].rule,
		};

		add_gap_rule(extraction, &rule);
	}
}

/* Adds the rows from @start to @end, without FDE and gap rule: those of Go, and between them those of the analysis. */
static int add_code(struct extraction *extraction, uint64_t start, uint64_t end)
{
	struct go_code *go = extraction->input->go;
	int error = 0;

	while (go && extraction->next_span < go->spans.count &&
	       go->spans.items[extraction->next_span].end <= start)
		extraction->next_span++;
	for (size_t i = extraction->next_span; !error && go && i < go->spans.count; i++) {
		const struct go_span *span = &go->spans.items[i];
		uint64_t from = span->start > start ? span->start : start;
		uint64_t to = span->end < end ? span->end : end;

		if (from >= end)
			break;
		error = code_rows_add(&extraction->code_rows, start, from, &extraction->builder);
		if (!error && from < to)
			error = go_code_add_rows(go, span, from, to, &extraction->builder);
		start = to;
	}
	return error ? error :
		       code_rows_add(&extraction->code_rows, start, end, &extraction->builder);
}

/* Adds the rows from @start to the next FDE at @end. */
static int add_gap(struct extraction *extraction, uint64_t start, uint64_t end)
{
	uint64_t gap_start = start;
	uint32_t id;
	int error = 0;

	while (extraction->next_gap_rule < extraction->gap_rule_count &&
	       extraction->gap_rules[extraction->next_gap_rule].end <= start)
		extraction->next_gap_rule++;
	for (uint32_t i = extraction->next_gap_rule; !error && i < extraction->gap_rule_count;
	     i++) {
		const struct gap_rule *known = &extraction->gap_rules[i];
		uint64_t from = known->start > start ? known->start : start;
		uint64_t to = known->end < end ? known->end : end;

		if (from >= end)
			break;
		if (from >= to || (known->ends_at_fde && known->start < gap_start))
			continue;
		error = add_code(extraction, start, from);
		if (!error)
			error = delta_builder_intern(&extraction->builder, &known->rule, &id);
		if (!error)
			error = delta_builder_add(&extraction->builder, from, id);
		start = to;
	}
	return error ? error : add_code(extraction, start, end);
}

static int add_all(struct extraction *extraction)
{
	const struct fde_record *fdes = extraction->table->fdes.items;
	size_t count = extraction->table->fdes.count;
	uint64_t base = extraction->table->base;
	uint64_t covered_end = extraction->builder.text_start;
	size_t next;

	for (size_t i = 0; i < count; i = next) {
		uint64_t start = base + fdes[i].start;
		uint64_t end = start + fdes[i].length;
		int error;

		if (start >= extraction->builder.text_end) {
			delta_report_problem(&extraction->report, start, DELTA_PROBLEM_OUTSIDE);
			next = i + 1;
			continue;
		}
		for (next = i + 1; next < count && fdes[next].start == fdes[i].start; next++)
			delta_report_problem(&extraction->report, start, DELTA_PROBLEM_OVERLAP);
		if (next < count && end > base + fdes[next].start)
			end = base + fdes[next].start;
		if (end > extraction->builder.text_end)
			end = extraction->builder.text_end;
		if (start > covered_end) {
			error = add_gap(extraction, covered_end, start);
			if (error)
				return error;
		}
		error = add_fde_with_known_ranges(extraction, &fdes[i], end);
		if (error)
			return error;
		covered_end = end;
	}
	if (covered_end < extraction->builder.text_end)
		return add_gap(extraction, covered_end, extraction->builder.text_end);
	return 0;
}

/* If several FDEs start at one address, the first is used (see add_all()). */
static uint64_t find_fde_end(const struct fde_table *table)
{
	size_t last = table->fdes.count - 1;

	while (last && table->fdes.items[last - 1].start == table->fdes.items[last].start)
		last--;
	return table->base + table->fdes.items[last].start + table->fdes.items[last].length;
}

static void include(struct unwind_segment *text, uint64_t start, uint64_t end)
{
	if (start < text->start)
		text->start = start;
	if (end > text->end)
		text->end = end;
}

/* False also for a table in which all functions are damaged, or are C functions. */
static bool has_go_spans(const struct extraction *extraction)
{
	return extraction->input->go && extraction->input->go->spans.count;
}

/* Returns the range of addresses that may have rows, within the limit of the page index. */
static struct unwind_segment find_text(const struct extraction *extraction)
{
	const struct fde_table *table = extraction->table;
	struct unwind_segment text = { UINT64_MAX, 0 };
	uint64_t limit;

	if (table->fdes.count)
		include(&text, table->base + table->fdes.items[0].start, find_fde_end(table));
	for (uint32_t i = 0; i < extraction->gap_rule_count; i++)
		include(&text, extraction->gap_rules[i].start, extraction->gap_rules[i].end);
	for (size_t i = 0; i < extraction->code.count; i++)
		include(&text, extraction->code.items[i].address,
			extraction->code.items[i].address + extraction->code.items[i].size);
	if (has_go_spans(extraction)) {
		const struct go_span_vector *spans = &extraction->input->go->spans;

		include(&text, spans->items[0].start, spans->items[spans->count - 1].end);
	}
	limit = (text.start & ~(uint64_t)(UNWIND_PAGE_BYTES - 1)) +
		(uint64_t)UNWIND_MAX_PAGES * UNWIND_PAGE_BYTES;
	if (text.end > limit)
		text.end = limit;
	return text;
}

/* Finds the starts of functions, by the file's own symbols and by those in its sources. */
static int find_starts(struct extraction *extraction)
{
	const struct bare_code *code = &extraction->input->code;
	int error = address_vector_reserve(&extraction->starts, code->starts.count);

	for (size_t i = 0; !error && i < code->starts.count; i++)
		error = address_vector_push(&extraction->starts, code->starts.items[i]);
	for (uint32_t i = 0; !error && i < extraction->input->source_count; i++)
		error = bare_code_select_starts(code, &extraction->contents[i].starts,
						&extraction->starts);
	return error;
}

/* Reads all FDEs: those of .eh_frame, then those of the other sources, the most reliable first. */
static int read_own_table(struct extraction *extraction)
{
	const struct unwind_input *input = extraction->input;
	struct fde_table *table = &extraction->own_table;
	int error = fde_table_init(table, input, &extraction->report);

	for (uint32_t i = 0; !error && i < input->source_count; i++) {
		struct unwind_source_content *content = &extraction->contents[i];

		error = unwind_source_unpack(&input->sources[i], input->machine, content);
		if (error && error != -ENOMEM) {
			delta_report_problem(&extraction->report, 0, DELTA_PROBLEM_BAD_SOURCE);
			error = 0;
		}
		for (uint32_t j = 0; !error && j < content->section_count; j++)
			error = fde_table_add(table, input, &content->sections[j],
					      &extraction->report);
	}
	extraction->table = table;
	return error;
}

static int read_tables(struct extraction *extraction)
{
	const struct unwind_input *input = extraction->input;
	int error = 0;

	/* The input's table has no FDEs of sources, and for an observer the problems must be found again. */
	if (!input->fdes || input->source_count || extraction->report.observer) {
		error = read_own_table(extraction);
	} else {
		extraction->table = input->fdes;
		extraction->report.statistics = input->fde_statistics;
	}
	if (!error)
		error = bare_code_rest(&input->code, extraction->table, &extraction->code);
	return error ? error : find_starts(extraction);
}

static int read_code(struct extraction *extraction)
{
	const struct address_vector *pointers = &extraction->input->code.pointers;
	const struct code_analysis_input input = {
		.machine = extraction->input->machine,
		.entry = extraction->input->entry,
		.ranges = extraction->code.items,
		.range_count = extraction->code.count,
		.starts = extraction->starts.items,
		.start_count = extraction->starts.count,
		.pointers = pointers->items,
		.pointer_count = pointers->count,
	};

	return code_rows_init(&extraction->code_rows, &input, &extraction->builder,
			      &extraction->report.statistics.code);
}

static int extract(struct extraction *extraction, struct stack_deltas *deltas)
{
	struct unwind_segment text;
	int error = read_tables(extraction);

	if (error)
		return error;
	if (!extraction->table->fdes.count && !extraction->code.count && !has_go_spans(extraction))
		return fail(-ENOENT, "no unwind table describes a function, and there is no code");
	find_gap_rules(extraction);
	text = find_text(extraction);
	error = delta_builder_init(&extraction->builder, text.start, text.end,
				   extraction->input->eh_frame_bytes / EXPECTED_BYTES_PER_ROW);
	plain_programs_init(&extraction->plain, &extraction->builder, extraction->input->machine);
	if (!error)
		error = read_code(extraction);
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

	for (uint32_t i = 0; i < input->source_count; i++)
		unwind_source_content_deinit(&extraction.contents[i]);
	code_bytes_vector_deinit(&extraction.code);
	address_vector_deinit(&extraction.starts);
	code_rows_deinit(&extraction.code_rows);
	fde_table_deinit(&extraction.own_table);
	delta_builder_deinit(&extraction.builder);
	if (!error && statistics)
		*statistics = extraction.report.statistics;
	return error;
}
