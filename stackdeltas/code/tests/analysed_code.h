/* SPDX-License-Identifier: Apache-2.0 */
/** Rows of functions that are written out in bytes. Include it behind cmocka.h. */
#ifndef STACKDELTAS_CODE_TESTS_ANALYSED_CODE_H
#define STACKDELTAS_CODE_TESTS_ANALYSED_CODE_H

#include <elf.h>
#include <string.h>

#include "stackdeltas/code/code_analysis.h"
#include "stackdeltas/rule_text.h"

enum { BASE = 0x1000, MAX_ROWS = 64 };

struct rows {
	uint64_t addresses[MAX_ROWS];
	struct unwind_rule rules[MAX_ROWS];
	size_t count;
	struct code_analysis_statistics statistics;
};

static inline int keep_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct rows *rows = context;

	assert_true(rows->count < MAX_ROWS);
	assert_true(!rows->count || address > rows->addresses[rows->count - 1]);
	rows->addresses[rows->count] = address;
	rows->rules[rows->count++] = *rule;
	return 0;
}

/** Analyses @input, whose first range is at BASE. */
static inline void analyse_input(const struct code_analysis_input *input, struct rows *rows)
{
	const struct code_row_handler handler = { .context = rows, .row = keep_row };

	memset(rows, 0, sizeof(*rows));
	assert_int_equal(code_analysis_run(input, &handler, &rows->statistics), 0);
	assert_true(rows->count > 0);
	assert_int_equal(rows->addresses[0], BASE);
}

/** Analyses @bytes at BASE with a known function at the start. @entry: an offset, or -1. */
static inline void analyse(uint16_t machine, const void *bytes, size_t size, int entry,
			   struct rows *rows)
{
	const struct code_bytes range = { BASE, bytes, size };
	const uint64_t start = BASE;
	const struct code_analysis_input input = {
		.machine = machine,
		.entry = entry < 0 ? 0 : BASE + entry,
		.ranges = &range,
		.range_count = 1,
		.starts = &start,
		.start_count = 1,
	};

	analyse_input(&input, rows);
}

static inline const struct unwind_rule *rule_at(const struct rows *rows, size_t offset)
{
	size_t i = rows->count;

	while (rows->addresses[i - 1] > BASE + offset)
		i--;
	return &rows->rules[i - 1];
}

static inline void expect(uint16_t machine, const struct rows *rows, size_t offset,
			  const char *text)
{
	char actual[RULE_TEXT_MAX_BYTES];
	struct unwind_rule rule = *rule_at(rows, offset);

	assert_false(rule.flags & RULE_GUESS);
	rule_text(&rule, machine, actual);
	assert_string_equal(actual, text);
}

#define ANALYSE_X86(rows, ...)                                                                     \
	do {                                                                                       \
		static const uint8_t code[] = { __VA_ARGS__ };                                     \
		analyse(EM_X86_64, code, sizeof(code), -1, rows);                                  \
	} while (0)

#define ANALYSE_ARM64(rows, ...)                                                                   \
	do {                                                                                       \
		static const uint32_t code[] = { __VA_ARGS__ };                                    \
		analyse(EM_AARCH64, code, sizeof(code), -1, rows);                                 \
	} while (0)

#endif
