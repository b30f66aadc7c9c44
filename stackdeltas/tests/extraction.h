/* SPDX-License-Identifier: Apache-2.0 */
/** Extracts rules from tables that tests write, with all steps. Include it after <cmocka.h>. */
#ifndef STACKDELTAS_TESTS_EXTRACTION_H
#define STACKDELTAS_TESTS_EXTRACTION_H

#include <elf.h>
#include <stdlib.h>

#include "stackdeltas/extract_deltas.h"
#include "stackdeltas/rule_text.h"
#include "stackdeltas/tests/eh_frame_bytes.h"

struct fixture {
	struct eh_frame_bytes bytes;
	struct unwind_input input;
	struct stack_deltas deltas;
	struct delta_statistics statistics;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->input.machine = EM_X86_64;
	fixture->input.eh_frame_address = SECTION_ADDRESS;
	fixture->input.segment_count = 1;
	fixture->input.segments[0] =
		(struct unwind_segment){ TEXT_ADDRESS, TEXT_ADDRESS + TEXT_BYTES };
	put_x86_cie(&fixture->bytes);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	stack_deltas_deinit(&fixture->deltas);
	free(fixture);
	return 0;
}

static inline int extract(struct fixture *fixture)
{
	fixture->input.eh_frame = fixture->bytes.bytes;
	fixture->input.eh_frame_bytes = fixture->bytes.size;
	stack_deltas_deinit(&fixture->deltas);
	return extract_deltas(&fixture->input, NULL, &fixture->deltas, &fixture->statistics);
}

static inline void assert_extracts(struct fixture *fixture)
{
	assert_int_equal(extract(fixture), 0);
	assert_int_equal(stack_deltas_check(&fixture->deltas), 0);
}

static inline void assert_rule(struct fixture *fixture, uint64_t offset, const char *expected)
{
	const struct unwind_rule *rule =
		stack_deltas_lookup(&fixture->deltas, TEXT_ADDRESS + offset);
	char text[RULE_TEXT_MAX_BYTES];

	assert_non_null(rule);
	rule_text(rule, fixture->input.machine, text);
	assert_string_equal(text, expected);
}

#endif
