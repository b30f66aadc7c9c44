/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code without tables. Sections are hostile: there may be thousands, they may overlap, or be outside of
 * segments. So they are sorted, joined, cut to the segments and counted.
 */
#include "stackdeltas/bare_code.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/elf_image.h"
#include "lib/elf/elf_symbols.h"
#include "stackdeltas/fde_table.h"
#include "stackdeltas/go_code.h"
#include "stackdeltas/unwind_input.h"

enum {
	MAX_AREAS = 1 << 12,
	/* A shorter gap is padding between functions, and contains no function. */
	MIN_GAP_BYTES = 16,
};

VECTOR_DEFINE(area_vector, struct unwind_segment)

static int compare_areas(const void *a, const void *b)
{
	const struct unwind_segment *first = a, *second = b;

	return (first->start > second->start) - (first->start < second->start);
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

/* Adds the parts of [start, end) that are in segments. */
static int add_area(const struct unwind_input *input, uint64_t start, uint64_t end,
		    struct area_vector *areas)
{
	for (uint32_t i = 0; i < input->segment_count; i++) {
		const struct unwind_segment *segment = &input->segments[i];
		struct unwind_segment area = {
			.start = start > segment->start ? start : segment->start,
			.end = end < segment->end ? end : segment->end,
		};
		int error = area.start < area.end ? area_vector_push(areas, area) : 0;

		if (error)
			return error;
	}
	return 0;
}

/* Sorts the areas and joins those that overlap. */
static void tidy_areas(struct area_vector *areas)
{
	size_t count = 0;

	if (areas->count)
		qsort(areas->items, areas->count, sizeof(areas->items[0]), compare_areas);
	for (size_t i = 0; i < areas->count; i++) {
		struct unwind_segment area = areas->items[i];

		if (count && area.start < areas->items[count - 1].end) {
			if (area.end > areas->items[count - 1].end)
				areas->items[count - 1].end = area.end;
		} else {
			areas->items[count++] = area;
		}
	}
	areas->count = count;
}

/* Finds the areas that may have code. */
static int find_areas(const struct elf_image *image, const struct unwind_input *input,
		      struct area_vector *areas)
{
	const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;
	int error = 0;

	for (uint32_t i = 0; !error && i < image->section_count; i++) {
		const struct elf_section *section = &image->sections[i];
		uint64_t end = section->address + section->size;

		if ((section->flags & wanted) == wanted && section->type == SHT_PROGBITS &&
		    end > section->address && areas->count < MAX_AREAS)
			error = add_area(input, section->address, end, areas);
	}
	/* In a file without section headers the segments contain other data, too. */
	for (uint32_t i = 0; !error && !image->section_count && i < input->segment_count; i++)
		error = area_vector_push(areas, input->segments[i]);
	tidy_areas(areas);
	return error;
}

/* Finds the parts of the areas without FDE, in ascending order, each gap within one area. */
static int find_gaps(const struct fde_table *table, const struct area_vector *areas,
		     struct area_vector *gaps)
{
	uint64_t covered_end = 0;
	size_t next = 0;

	for (size_t i = 0; i < areas->count; i++) {
		const struct unwind_segment *area = &areas->items[i];
		uint64_t at = area->start;

		while (at < area->end) {
			uint64_t end = area->end;
			int error = 0;

			/* Skip all FDEs that start at or before this address. */
			while (next < table->fdes.count &&
			       table->base + table->fdes.items[next].start <= at) {
				covered_end = table->base + table->fdes.items[next].start +
					      table->fdes.items[next].length;
				next++;
			}
			if (next < table->fdes.count &&
			    table->base + table->fdes.items[next].start < end)
				end = table->base + table->fdes.items[next].start;
			if (covered_end > at)
				at = covered_end < end ? covered_end : end;
			if (at < end && (at == area->start || end - at >= MIN_GAP_BYTES))
				error = area_vector_push(gaps, (struct unwind_segment){ at, end });
			if (error)
				return error;
			at = end;
		}
	}
	return 0;
}

/* Cuts [start, end) out of the areas. */
static int cut_area(struct area_vector *areas, uint64_t start, uint64_t end)
{
	struct area_vector left = { 0 };
	int error = 0;

	for (size_t i = 0; !error && i < areas->count; i++) {
		struct unwind_segment area = areas->items[i];

		if (end <= area.start || start >= area.end) {
			error = area_vector_push(&left, area);
			continue;
		}
		if (start > area.start)
			error = area_vector_push(&left,
						 (struct unwind_segment){ area.start, start });
		if (!error && end < area.end)
			error = area_vector_push(&left, (struct unwind_segment){ end, area.end });
	}
	area_vector_deinit(areas);
	*areas = left;
	return error;
}

/* Cuts PLT stubs and functions of Go out of the areas. */
static int cut_known(const struct unwind_input *input, struct area_vector *areas)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < input->stub_count; i++)
		error = cut_area(areas, input->stubs[i].start, input->stubs[i].end);
	for (size_t i = 0; !error && input->go && i < input->go->spans.count; i++)
		error = cut_area(areas, input->go->spans.items[i].start,
				 input->go->spans.items[i].end);
	return error;
}

static uint64_t count_bytes(const struct area_vector *gaps)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < gaps->count; i++)
		bytes += gaps->items[i].end - gaps->items[i].start;
	return bytes;
}

/* Drops the gaps over the limits; returns the size of the rest. */
static size_t limit_gaps(struct area_vector *gaps)
{
	if (count_bytes(gaps) > BARE_CODE_MAX_BYTES)
		gaps->count = 0;
	if (gaps->count > BARE_CODE_MAX_RANGES)
		gaps->count = BARE_CODE_MAX_RANGES;
	return count_bytes(gaps);
}

static int read_ranges(const struct elf_image *image, const struct area_vector *gaps, size_t bytes,
		       struct bare_code *code)
{
	size_t at = 0;

	code->bytes = malloc(bytes ? bytes : 1);
	code->ranges = calloc(gaps->count ? gaps->count : 1, sizeof(code->ranges[0]));
	if (!code->bytes || !code->ranges)
		return fail(-ENOMEM, "no memory for %zu bytes of code", bytes);
	for (size_t i = 0; i < gaps->count; i++) {
		const struct unwind_segment *gap = &gaps->items[i];
		struct code_bytes range = { gap->start, code->bytes + at, gap->end - gap->start };
		int error =
			elf_image_read_address(image, range.address, code->bytes + at, range.size);

		if (error)
			return error;
		code->ranges[code->range_count++] = range;
		at += range.size;
	}
	return 0;
}

/* Linkers put whole functions in a section, so its first byte starts one. */
static int add_area_starts(const struct elf_image *image, const struct area_vector *areas,
			   struct bare_code *code)
{
	_cleanup_(address_vector_deinit) struct address_vector starts = { 0 };
	int error = 0;

	for (size_t i = 0; !error && image->section_count && i < areas->count; i++)
		error = address_vector_push(&starts, areas->items[i].start);
	return error ? error : bare_code_select_starts(code, &starts, &code->starts);
}

int bare_code_read(const struct elf_image *image, const struct unwind_input *input,
		   const struct fde_table *table, struct bare_code *code, uint64_t *all_bytes)
{
	_cleanup_(area_vector_deinit) struct area_vector areas = { 0 };
	_cleanup_(area_vector_deinit) struct area_vector gaps = { 0 };
	uint64_t all;
	int error;

	if (code)
		memset(code, 0, sizeof(*code));
	error = find_areas(image, input, &areas);
	if (!error)
		error = cut_known(input, &areas);
	if (!error)
		error = find_gaps(table, &areas, &gaps);
	if (error)
		return error;
	all = count_bytes(&gaps);
	if (code)
		error = read_ranges(image, &gaps, limit_gaps(&gaps), code);
	if (code && !error)
		error = add_area_starts(image, &areas, code);
	if (!error)
		*all_bytes = all;
	return error;
}

void bare_code_deinit(struct bare_code *code)
{
	free(code->ranges);
	free(code->bytes);
	address_vector_deinit(&code->starts);
	address_vector_deinit(&code->pointers);
	memset(code, 0, sizeof(*code));
}

bool bare_code_contains(const struct bare_code *code, uint64_t address)
{
	uint32_t low = 0, high = code->range_count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (code->ranges[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address - code->ranges[low - 1].address < code->ranges[low - 1].size;
}

/* Sorts the starts and drops duplicates. */
static void tidy_starts(struct address_vector *starts)
{
	size_t count = 0;

	if (starts->count)
		qsort(starts->items, starts->count, sizeof(starts->items[0]), compare_addresses);
	for (size_t i = 0; i < starts->count; i++)
		if (!count || starts->items[i] != starts->items[count - 1])
			starts->items[count++] = starts->items[i];
	starts->count = count;
}

int bare_code_select_starts(const struct bare_code *code, const struct address_vector *starts,
			    struct address_vector *selected)
{
	int error = 0;

	for (size_t i = 0; !error && i < starts->count; i++)
		if (selected->count < BARE_CODE_MAX_STARTS &&
		    bare_code_contains(code, starts->items[i]))
			error = address_vector_push(selected, starts->items[i]);
	tidy_starts(selected);
	return error;
}

int bare_code_add_symbols(struct bare_code *code, const struct elf_image *image)
{
	_cleanup_(address_vector_deinit) struct address_vector starts = { 0 };
	struct elf_symbols symbols;
	int error;

	if (!code->range_count)
		return 0;
	error = elf_symbols_init(&symbols, image);
	/* The analysis finds most functions without symbols. */
	if (error)
		return error == -ENOMEM ? error : 0;
	for (uint32_t i = 0; !error && i < symbols.count; i++) {
		const struct elf_symbol *symbol = &symbols.symbols[i];

		if (bare_code_contains(code, symbol->address) &&
		    elf_symbols_is_entry(&symbols, image, symbol))
			error = address_vector_push(&starts, symbol->address);
	}
	elf_symbols_deinit(&symbols);
	return error ? error : bare_code_select_starts(code, &starts, &code->starts);
}

int bare_code_rest(const struct bare_code *code, const struct fde_table *table,
		   struct code_bytes_vector *rest)
{
	_cleanup_(area_vector_deinit) struct area_vector areas = { 0 };
	_cleanup_(area_vector_deinit) struct area_vector gaps = { 0 };
	int error = 0;
	uint32_t at = 0;

	for (uint32_t i = 0; !error && i < code->range_count; i++)
		error = area_vector_push(
			&areas,
			(struct unwind_segment){ code->ranges[i].address,
						 code->ranges[i].address + code->ranges[i].size });
	if (!error)
		error = find_gaps(table, &areas, &gaps);
	for (size_t i = 0; !error && i < gaps.count; i++) {
		const struct unwind_segment *gap = &gaps.items[i];
		struct code_bytes range = { .address = gap->start, .size = gap->end - gap->start };

		while (gap->start - code->ranges[at].address >= code->ranges[at].size)
			at++;
		range.bytes = code->ranges[at].bytes + (gap->start - code->ranges[at].address);
		error = code_bytes_vector_push(rest, range);
	}
	return error;
}
