/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of functions in the file's tables are checked against the code. */
#include "interpreters/python/python_loop.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/function_table.h"
#include "interpreters/python/code_cursor.h"
#include "lib/base/error.h"
#include "lib/isa/x86_decode.h"

enum {
	/** Limit of a function's prologue, up to the allocation of its variables. */
	PROLOGUE_BYTES = 128,
	/** Size of the return address and rbx, rbp, r12 to r15. */
	PUSHED_MAX_BYTES = 7 * 8,
};

static bool range_has(struct code_range range, uint64_t address)
{
	return address >= range.start && address < range.end;
}

/* Finds out whether code in @part jumps into the middle of @function. */
static int jumps_back(const struct elf_image *image, struct code_range part,
		      struct code_range function, bool *result)
{
	__attribute__((cleanup(code_cursor_deinit))) struct code_cursor cursor = { 0 };
	uint64_t target;
	int err = code_cursor_init(&cursor, image, part);

	if (err)
		return err;
	*result = false;
	while (!*result && code_cursor_next(&cursor))
		*result = code_cursor_target(&cursor, &target) && target != function.start &&
			  range_has(function, target);
	return 0;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/** Functions that the loop jumps to. */
struct candidates {
	struct code_range ranges[PYTHON_LOOP_MAX_CANDIDATES];
	uint32_t count;
	uint32_t lookup_count;
};

static void add_candidate(const struct function_table *table, uint64_t target,
			  struct candidates *candidates)
{
	struct code_range *ranges = candidates->ranges;

	for (uint32_t i = 0; i < candidates->count; i++) {
		if (range_has(ranges[i], target))
			return;
	}
	/* Targets without a function are not cached. */
	if (candidates->count < PYTHON_LOOP_MAX_CANDIDATES &&
	    candidates->lookup_count++ < PYTHON_LOOP_MAX_LOOKUPS &&
	    !function_table_find(table, target, &ranges[candidates->count]))
		candidates->count++;
}

static int find_candidates(const struct elf_image *image, const struct function_table *table,
			   struct code_range function, struct candidates *candidates)
{
	__attribute__((cleanup(code_cursor_deinit))) struct code_cursor cursor = { 0 };
	int err = code_cursor_init(&cursor, image, function);
	uint64_t target;

	while (!err && code_cursor_next(&cursor)) {
		if (code_cursor_target(&cursor, &target) && !range_has(function, target))
			add_candidate(table, target, candidates);
	}
	return err;
}

static bool overlaps(struct code_range range, const struct code_range *ranges, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (range.start < ranges[i].end && ranges[i].start < range.end)
			return true;
	}
	return false;
}

/* Adds the candidates that are parts of ranges[0]. */
static void add_parts(const struct elf_image *image, const struct candidates *candidates,
		      struct code_range ranges[LOOP_RANGES_MAX], uint32_t *count)
{
	uint64_t bytes_left = CODE_CURSOR_MAX_BYTES;

	for (uint32_t i = 0; i < candidates->count && *count < LOOP_RANGES_MAX; i++) {
		struct code_range part = candidates->ranges[i];
		bool is_part = false;

		if (part.end - part.start > bytes_left || overlaps(part, ranges, *count))
			continue;
		bytes_left -= part.end - part.start;
		if (!jumps_back(image, part, ranges[0], &is_part) && is_part)
			ranges[(*count)++] = part;
	}
}

int python_loop_find_ranges(const struct elf_image *image, uint64_t start, uint64_t end,
			    struct code_range ranges[LOOP_RANGES_MAX], uint32_t *count)
{
	struct code_range function = { .start = start, .end = end };
	struct candidates candidates = { .count = 0 };
	struct function_table table;
	uint32_t found = 1;
	int err;

	/* If the symbol has no size, the FDE has it. */
	err = function_table_init(&table, image);
	if (!err && start == end)
		err = function_table_find(&table, start, &function);
	if (!err)
		err = find_candidates(image, &table, function, &candidates);
	if (err == -ENOENT && start != end)
		err = 0;
	if (err)
		return err == -ENOENT ? fail(-EBADMSG, "the loop has no size") : err;
	/* Without a table the range is not checked yet. */
	if (function.end <= function.start ||
	    function.end - function.start > elf_image_bytes_at_address(image, function.start))
		return fail(-EBADMSG, "a loop that ends at %#" PRIx64, function.end);
	ranges[0] = function;
	add_parts(image, &candidates, ranges, &found);
	qsort(ranges, found, sizeof(ranges[0]), compare_ranges);
	*count = found;
	return 0;
}

uint8_t python_loop_saved_bytes(const struct elf_image *image, uint64_t start)
{
	uint8_t code[PROLOGUE_BYTES];
	struct x86_instruction x86;
	uint32_t bytes = 8;

	if (image->machine != EM_X86_64 || elf_image_read_address(image, start, code, sizeof(code)))
		return 0;
	for (size_t offset = 0; x86_decode(code + offset, sizeof(code) - offset, &x86);
	     offset += x86.length) {
		if (x86.kind == X86_PUSH && x86.reg != X86_NO_REGISTER)
			bytes += 8;
		else if (x86.kind == X86_ADD && x86.reg == X86_RSP && x86.base == X86_RSP)
			return bytes > 8 && bytes <= PUSHED_MAX_BYTES ? (uint8_t)bytes : 0;
		else if (x86.kind >= X86_CALL)
			return 0;
	}
	return 0;
}
