/* SPDX-License-Identifier: Apache-2.0 */
/** A table of Go that the test makes, and the rows made from it. */
#ifndef STACKDELTAS_TESTS_GO_CODE_FIXTURE_H
#define STACKDELTAS_TESTS_GO_CODE_FIXTURE_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/elf/tests/go_table_builder.h"
#include "stackdeltas/extract_deltas.h"
#include "stackdeltas/go_code.h"
#include "stackdeltas/go_rules.h"
#include "stackdeltas/tests/eh_frame_bytes.h"
#include "stackdeltas/unwind_input.h"

enum {
	TEXT = MADE_GO_ADDRESS + MADE_GO_TEXT,
	/* Size of most functions here. */
	FUNCTION = 64,
	/* Flags of an ordinary function and of one that is not written in Go. */
	FLAGGED = 2 | 4,
};

struct fixture {
	struct made_go go;
	struct made_function functions[MADE_GO_FUNCTIONS_MAX];
	struct elf_image image;
	struct go_code *code;
	struct eh_frame_bytes eh_frame;
	struct unwind_input input;
	struct stack_deltas deltas;
};

static inline int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->go.version = GO_TABLE_1_20;
	fixture->go.minor = 27;
	fixture->go.machine = EM_X86_64;
	fixture->go.section_name = ".gopclntab";
	fixture->go.functions = fixture->functions;
	put_x86_cie(&fixture->eh_frame);
	*state = fixture;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	stack_deltas_deinit(&fixture->deltas);
	go_code_destroy(fixture->code);
	elf_image_deinit(&fixture->image);
	free(fixture);
	return 0;
}

/* Returns the function's number. */
static inline uint32_t add(struct fixture *fixture, const char *name, uint8_t flags,
			   const struct made_value *values)
{
	uint32_t index = fixture->go.function_count++;

	fixture->functions[index] = (struct made_function){
		.name = name, .bytes = FUNCTION, .flags = flags, .sizes = values
	};
	return index;
}

static inline int open_code(struct fixture *fixture)
{
	assert_int_equal(elf_image_init_memory(&fixture->image, fixture->go.bytes,
					       sizeof(fixture->go.bytes)),
			 0);
	return go_code_create(&fixture->image, &fixture->code);
}

static inline void extract(struct fixture *fixture)
{
	fixture->input = (struct unwind_input){
		.machine = fixture->go.machine,
		.segment_count = 1,
		.segments = { { TEXT, TEXT + MADE_GO_TEXT_BYTES } },
		.eh_frame_address = SECTION_ADDRESS,
		.eh_frame = fixture->eh_frame.bytes,
		.eh_frame_bytes = fixture->eh_frame.size,
		.go = fixture->code,
	};
	assert_int_equal(extract_deltas(&fixture->input, NULL, &fixture->deltas, NULL), 0);
	assert_int_equal(stack_deltas_check(&fixture->deltas), 0);
}

static inline void make_rows(struct fixture *fixture)
{
	made_go_make(&fixture->go);
	assert_int_equal(open_code(fixture), 0);
	extract(fixture);
}

/* Asserts that the rule at @offset in the text is that of @role and @frame_bytes. */
static inline void assert_row(const struct fixture *fixture, uint32_t offset, uint32_t role,
			      int32_t frame_bytes)
{
	const struct unwind_rule *rule = stack_deltas_lookup(&fixture->deltas, TEXT + offset);
	struct unwind_rule expected;

	go_rule_make(fixture->go.machine, role, frame_bytes, &expected);
	assert_non_null(rule);
	assert_memory_equal(rule, &expected, sizeof(expected));
}

#endif
