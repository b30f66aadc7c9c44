/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over each section, then a radix sort if its FDEs need it. Each CIE is read and run once,
 * however many FDEs refer to it, and its length is limited, so that time is linear for hostile files
 * as well.
 */
#include "stackdeltas/fde_table.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/radix_sort.h"
#include "lib/elf/dwarf_constants.h"

enum {
	NO_CIE = UINT32_MAX,
	/* Size of the smallest usual FDEs. Memory that is not needed is never touched. */
	EXPECTED_BYTES_PER_FDE = 32,
	/* The section's index is above every offset in a key. */
	SECTION_KEY_SHIFT = 56,
	/*
	 * Compilers need less than 100. FDEs may refer to CIEs that overlap, so that the same bytes are run
	 * as part of each of them.
	 */
	CIE_MAX_BYTES = 1024,
};

/* State of the pass over the FDEs. */
struct fde_scan {
	struct fde_table *table;
	const struct unwind_input *input;
	struct eh_frame frame;
	/* Index of the section in the table. */
	uint32_t section;
	/* The FDEs of this section. */
	struct fde_record_vector fdes;
	struct delta_report *report;
	size_t last_cie_offset;
	uint32_t last_cie;
	uint32_t last_segment;
};

static bool read_shared_cie(struct fde_scan *scan, size_t offset, struct shared_cie *shared)
{
	struct eh_frame_entry entry;
	struct cie *cie = &shared->cie;
	bool is_aarch64 = scan->input->machine == EM_AARCH64;

	if (eh_frame_entry_at(&scan->frame, offset, &entry) <= 0 || !entry.is_cie ||
	    entry.end - entry.content > CIE_MAX_BYTES ||
	    eh_frame_read_cie(&scan->frame, &entry, cie))
		return false;
	shared->defaults = (struct cfa_defaults){
		.registers = {
			.return_address = cie->return_address_register,
			.frame_pointer = is_aarch64 ? DWARF_ARM64_FP : DWARF_X86_RBP,
			.stack_pointer = is_aarch64 ? DWARF_ARM64_SP : DWARF_X86_RSP,
			.rbx = is_aarch64 ? CFA_NO_REGISTER : DWARF_X86_RBX,
			.is_aarch64 = is_aarch64,
		},
		.code_alignment = cie->code_alignment,
		.data_alignment = cie->data_alignment,
		.pointer_encoding = cie->pointer_encoding,
		.section_address = scan->frame.address,
	};
	return !cfa_program_run_initial(scan->frame.bytes, cie->instructions, cie->instructions_end,
					&shared->defaults);
}

static int add_cie(struct fde_scan *scan, size_t offset, uint64_t key, uint64_t *index)
{
	struct fde_table *table = scan->table;
	struct shared_cie shared = { .is_usable = false, .section = scan->section };
	int error;

	if (table->cies.count == FDE_TABLE_MAX_CIES)
		return fail(-E2BIG, "more than %d CIEs", FDE_TABLE_MAX_CIES);
	shared.is_usable = read_shared_cie(scan, offset, &shared);
	if (!shared.is_usable)
		delta_report_problem(scan->report, 0, DELTA_PROBLEM_BAD_CIE);
	*index = table->cies.count;
	error = shared_cie_vector_push(&table->cies, shared);
	return error ? error : hash_map_set(&table->cie_by_offset, key, *index);
}

/* Finds the index of the CIE at @offset, and reads the CIE if it is new. */
static int find_cie(struct fde_scan *scan, size_t offset, uint32_t *index)
{
	uint64_t key = (uint64_t)scan->section << SECTION_KEY_SHIFT | offset;
	uint64_t found;
	int error;

	if (offset != scan->last_cie_offset || scan->last_cie == NO_CIE) {
		if (!hash_map_find(&scan->table->cie_by_offset, key, &found)) {
			error = add_cie(scan, offset, key, &found);
			if (error)
				return error;
		}
		scan->last_cie_offset = offset;
		scan->last_cie = found;
	}
	*index = scan->last_cie;
	return 0;
}

/* Returns the segment that contains @address; NULL if there is none. */
static const struct unwind_segment *find_segment(struct fde_scan *scan, uint64_t address)
{
	const struct unwind_segment *segments = scan->input->segments;

	if (address >= segments[scan->last_segment].start &&
	    address < segments[scan->last_segment].end)
		return &segments[scan->last_segment];
	for (uint32_t i = 0; i < scan->input->segment_count; i++) {
		if (address >= segments[i].start && address < segments[i].end) {
			scan->last_segment = i;
			return &segments[i];
		}
	}
	return NULL;
}

static int add_fde(struct fde_scan *scan, const struct eh_frame_entry *entry)
{
	const struct unwind_segment *segment;
	struct fde_record record = { .cie = NO_CIE };
	struct fde fde;
	int error;

	/* An offset beyond the section has no CIE, and as a key it could be that of another section's CIE. */
	error = entry->cie_offset < scan->frame.size ?
			find_cie(scan, entry->cie_offset, &record.cie) :
			0;
	if (error)
		return error;
	if (record.cie == NO_CIE || !scan->table->cies.items[record.cie].is_usable ||
	    eh_frame_read_fde(&scan->frame, entry, &scan->table->cies.items[record.cie].cie,
			      &fde)) {
		delta_report_problem(scan->report, 0, DELTA_PROBLEM_BAD_FDE);
		return 0;
	}
	/* Linkers leave the FDEs of dropped functions, in .debug_frame with the address 0. */
	if (!fde.length || (scan->frame.is_debug_frame && !fde.start)) {
		scan->report->statistics.empty_fde_count++;
		return 0;
	}
	segment = find_segment(scan, fde.start);
	if (!segment || fde.start - scan->table->base > UINT32_MAX) {
		delta_report_problem(scan->report, fde.start, DELTA_PROBLEM_OUTSIDE);
		return 0;
	}
	if (fde.length > segment->end - fde.start)
		fde.length = segment->end - fde.start;
	record.start = fde.start - scan->table->base;
	record.length = fde.length > UINT32_MAX ? UINT32_MAX : fde.length;
	record.instructions = fde.instructions;
	record.instructions_end = fde.instructions_end;
	return fde_record_vector_push(&scan->fdes, record);
}

static int read_entries(struct fde_scan *scan)
{
	struct eh_frame_entry entry;
	size_t offset = 0;
	int found, error;

	while ((found = eh_frame_next(&scan->frame, &offset, &entry)) > 0) {
		if (++scan->table->entry_count > FDE_TABLE_MAX_FDES)
			return fail(-E2BIG, "more than %d FDEs", FDE_TABLE_MAX_FDES);
		error = entry.is_cie ? 0 : add_fde(scan, &entry);
		if (error)
			return error;
	}
	/* Entries behind an invalid length are lost, those before it are good. */
	if (found < 0)
		delta_report_problem(scan->report, 0, DELTA_PROBLEM_BAD_FDE);
	return 0;
}

static bool is_sorted(const struct fde_record_vector *fdes)
{
	for (size_t i = 1; i < fdes->count; i++)
		if (fdes->items[i].start < fdes->items[i - 1].start)
			return false;
	return true;
}

/* FDEs with the same address stay in the order of the file. */
static int sort_fdes(struct fde_record_vector *fdes)
{
	_cleanup_(free_pointer) uint64_t *keys = NULL;
	struct fde_record *sorted;

	if (is_sorted(fdes))
		return 0;
	keys = malloc(fdes->count * sizeof(*keys));
	sorted = malloc(fdes->capacity * sizeof(*sorted));
	for (size_t i = 0; keys && i < fdes->count; i++)
		keys[i] = (uint64_t)fdes->items[i].start << 32 | i;
	if (!keys || !sorted || radix_sort_upper_half(keys, fdes->count)) {
		free(sorted);
		return fail(-ENOMEM, "no memory to sort %zu FDEs", fdes->count);
	}
	for (size_t i = 0; i < fdes->count; i++)
		sorted[i] = fdes->items[(uint32_t)keys[i]];
	free(fdes->items);
	fdes->items = sorted;
	return 0;
}

/* Adds the FDEs of @added for addresses that @fdes, the better source, does not cover; both are sorted. */
static int merge_fdes(struct fde_record_vector *fdes, const struct fde_record_vector *added)
{
	struct fde_record_vector merged = { 0 };
	uint64_t covered_end = 0, last_start = UINT64_MAX;
	size_t next = 0;

	if (fde_record_vector_reserve(&merged, fdes->count + added->count))
		return fail(-ENOMEM, "no memory for %zu FDEs", fdes->count + added->count);
	for (size_t i = 0; i < added->count; i++) {
		struct fde_record record = added->items[i];

		for (; next < fdes->count && fdes->items[next].start <= record.start; next++) {
			const struct fde_record *better = &fdes->items[next];

			/* If several start at one address, the first is used. */
			if (better->start != last_start)
				covered_end = (uint64_t)better->start + better->length;
			last_start = better->start;
			merged.items[merged.count++] = *better;
		}
		if (record.start < covered_end)
			continue;
		if (next < fdes->count && record.length > fdes->items[next].start - record.start)
			record.length = fdes->items[next].start - record.start;
		merged.items[merged.count++] = record;
	}
	while (next < fdes->count)
		merged.items[merged.count++] = fdes->items[next++];
	fde_record_vector_deinit(fdes);
	*fdes = merged;
	return 0;
}

int fde_table_add(struct fde_table *table, const struct unwind_input *input,
		  const struct eh_frame *section, struct delta_report *report)
{
	struct fde_scan scan = {
		.table = table,
		.input = input,
		.frame = *section,
		.section = table->section_count,
		.report = report,
		.last_cie = NO_CIE,
	};
	int error;

	if (table->section_count == FDE_TABLE_MAX_SECTIONS)
		return fail(-E2BIG, "more than %d sections of FDEs", FDE_TABLE_MAX_SECTIONS);
	table->sections[table->section_count++] = *section;
	error = fde_record_vector_reserve(&scan.fdes, section->size / EXPECTED_BYTES_PER_FDE);
	if (!error)
		error = read_entries(&scan);
	if (!error)
		error = sort_fdes(&scan.fdes);
	if (!error && table->fdes.count) {
		error = merge_fdes(&table->fdes, &scan.fdes);
	} else if (!error) {
		fde_record_vector_deinit(&table->fdes);
		table->fdes = scan.fdes;
		memset(&scan.fdes, 0, sizeof(scan.fdes));
	}
	fde_record_vector_deinit(&scan.fdes);
	report->statistics.cie_count = table->cies.count;
	return error;
}

int fde_table_init(struct fde_table *table, const struct unwind_input *input,
		   struct delta_report *report)
{
	const struct eh_frame eh_frame = {
		.bytes = input->eh_frame,
		.size = input->eh_frame_bytes,
		.address = input->eh_frame_address,
	};

	memset(table, 0, sizeof(*table));
	if (!input->segment_count)
		return fail(-ENOENT, "no executable segment");
	table->base = input->segments[0].start;
	return eh_frame.size ? fde_table_add(table, input, &eh_frame, report) : 0;
}

void fde_table_deinit(struct fde_table *table)
{
	if (!table)
		return;
	shared_cie_vector_deinit(&table->cies);
	fde_record_vector_deinit(&table->fdes);
	hash_map_deinit(&table->cie_by_offset);
}
