/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes are hostile. A process can at most make its own stacks wrong: the analysis bounds all accesses, and
 * fingerprints are made of the bytes of whole pages of the copy.
 */
#include "stackdeltas/copied_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "stackdeltas/code/code_analysis.h"
#include "stackdeltas/delta_builder.h"

enum {
	/* An estimate; generated code has a row in 10 to 30 bytes. */
	BYTES_PER_ROW = 24,
	PAGES_MAX = COPIED_CODE_MAX_BYTES / UNWIND_PAGE_BYTES,
};

#define ADDRESS_MAX (1ULL << 48)

/* Receiver of the analysis's rows. */
struct copy {
	uint64_t address;
	struct delta_builder builder;
	/* The first and the last page on which the rows of each page depend. */
	uint32_t first_pages[PAGES_MAX];
	uint32_t last_pages[PAGES_MAX];
};

bool copied_code_is_range(uint64_t address, uint64_t size)
{
	return size && size <= COPIED_CODE_MAX_BYTES && size % COPIED_CODE_UNIT_BYTES == 0 &&
	       address % COPIED_CODE_UNIT_BYTES == 0 && address < ADDRESS_MAX &&
	       size <= ADDRESS_MAX - address;
}

/*
 * Whether the rule is certain, and one of a function that is called and returns. Where stacks begin or are switched the bytes
 * around a function say too little: they may be anything in such memory.
 */
static bool is_used(const struct unwind_rule *rule)
{
	if (rule->flags)
		return false;
	switch (rule->cfa) {
	case CFA_SP:
	case CFA_FP:
	case CFA_REGISTER:
	case CFA_DEREF_SP:
	case CFA_DEREF_FP:
	case CFA_DEREF_REGISTER:
		return true;
	default:
		return false;
	}
}

static int add_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct copy *copy = context;
	uint32_t id = DELTA_RULE_NONE;
	int err = is_used(rule) ? delta_builder_intern(&copy->builder, rule, &id) : 0;

	return err ? err : delta_builder_add(&copy->builder, address, id);
}

static uint32_t page_of(const struct copy *copy, uint64_t address)
{
	return (uint32_t)((address - copy->address) / UNWIND_PAGE_BYTES);
}

static void note_extent(void *context, uint64_t start, uint64_t end, uint64_t low, uint64_t high)
{
	struct copy *copy = context;
	uint32_t first = page_of(copy, low), last = page_of(copy, high - 1);

	for (uint32_t page = page_of(copy, start); page <= page_of(copy, end - 1); page++) {
		if (first < copy->first_pages[page])
			copy->first_pages[page] = first;
		if (last > copy->last_pages[page])
			copy->last_pages[page] = last;
	}
}

static uint32_t fingerprint(const uint8_t *bytes, uint32_t first, uint32_t last)
{
	uint64_t sum = 0, word;

	for (uint32_t at = first * UNWIND_PAGE_BYTES; at < (last + 1) * UNWIND_PAGE_BYTES;
	     at += sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		sum = fingerprint_mix(sum, word);
	}
	return fingerprint_end(sum);
}

static int make_checks(const struct copy *copy, const uint8_t *bytes, struct stack_deltas *deltas)
{
	deltas->checks = calloc(deltas->page_count, sizeof(*deltas->checks));
	if (!deltas->checks)
		return fail(-ENOMEM, "no memory for the checks of a copy of code");
	for (uint32_t page = 0; page < deltas->page_count; page++) {
		uint32_t first = copy->first_pages[page], last = copy->last_pages[page];

		/* Without a fingerprint its rows are not used. */
		if (last - first < CODE_CHECK_PAGES)
			deltas->checks[page] = (struct code_check){
				.fingerprint = fingerprint(bytes, first, last),
				.pages_before = page - first,
				.pages_after = last - page,
			};
	}
	return 0;
}

static int analyse(struct copy *copy, uint16_t machine, const uint8_t *bytes, size_t size,
		   struct stack_deltas *deltas)
{
	const struct code_bytes range = { copy->address, bytes, size };
	const struct code_analysis_input input = {
		.machine = machine,
		.ranges = &range,
		.range_count = 1,
		.needs_exits = true,
	};
	const struct code_row_handler handler = {
		.context = copy,
		.row = add_row,
		.extent = note_extent,
	};
	int err = delta_builder_init(&copy->builder, copy->address, copy->address + size,
				     size / BYTES_PER_ROW);

	if (!err)
		err = code_analysis_run(&input, &handler, NULL);
	return err ? err : delta_builder_finish(&copy->builder, deltas);
}

int copied_code_analyse(uint16_t machine, uint64_t address, const uint8_t *bytes, size_t size,
			struct stack_deltas *deltas)
{
	_cleanup_(stack_deltas_deinit) struct stack_deltas made = { 0 };
	_cleanup_(free_pointer) struct copy *copy = NULL;
	int err;

	if (!copied_code_is_range(address, size))
		return fail(-EINVAL, "%zu bytes of code at %#llx", size,
			    (unsigned long long)address);
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return fail(-ENOMEM, "no memory for a copy of code");
	copy->address = address;
	for (uint32_t page = 0; page < PAGES_MAX; page++)
		copy->first_pages[page] = copy->last_pages[page] = page;
	err = analyse(copy, machine, bytes, size, &made);
	delta_builder_deinit(&copy->builder);
	if (!err)
		err = make_checks(copy, bytes, &made);
	if (!err) {
		*deltas = made;
		memset(&made, 0, sizeof(made));
	}
	return err;
}
