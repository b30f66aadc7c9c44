/* SPDX-License-Identifier: Apache-2.0 */
#include "stackdeltas/unwind_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>

#include "lib/elf/tests/elf_builder.h"
#include "stackdeltas/tests/extraction.h"

static void other_sources_and_code_fill_what_eh_frame_leaves_out(void **state)
{
	/* push %rbp; mov %rsp,%rbp; pop %rbp; ret, at offset 0x80 */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3 };
	static uint64_t start = TEXT_ADDRESS + 0x80;
	struct fixture *fixture = *state;
	struct eh_frame_bytes *debug = calloc(1, sizeof(*debug));
	struct code_bytes ranges[] = { { TEXT_ADDRESS + 0x80, code, sizeof(code) } };

	PUT_FDE(&fixture->bytes, TEXT_ADDRESS, 0x10, DW_CFA_nop);
	put_debug_cie(debug);
	put_debug_fde(debug, TEXT_ADDRESS, 0x10, 96);
	put_debug_fde(debug, TEXT_ADDRESS + 0x20, 0x10, 32);
	/* Damaged, then good: each counts for itself. */
	fixture->input.sources[0] = (struct unwind_source){ .kind = UNWIND_SOURCE_MINI_DEBUG,
							    .raw = { debug->bytes, 16 } };
	fixture->input.sources[1] = (struct unwind_source){ .kind = UNWIND_SOURCE_DEBUG_FRAME,
							    .raw = { debug->bytes, debug->size } };
	fixture->input.source_count = 2;
	fixture->input.code.ranges = ranges;
	fixture->input.code.range_count = 1;
	fixture->input.code.starts.items = &start;
	fixture->input.code.starts.count = 1;
	assert_extracts(fixture);
	assert_rule(fixture, 0, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 0x10, "none");
	assert_rule(fixture, 0x20, "cfa=sp+32 ra=cfa-8 fp=same");
	assert_rule(fixture, 0x30, "none");
	assert_rule(fixture, 0x80, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 0x81, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	assert_rule(fixture, 0x85, "cfa=sp+8 ra=cfa-8 fp=same");
	assert_rule(fixture, 0x86, "none");
	assert_int_equal(fixture->statistics.fde_count, 2);
	assert_int_equal(fixture->statistics.problems[DELTA_PROBLEM_BAD_SOURCE], 1);
	assert_int_equal(fixture->statistics.code.believed_bytes, sizeof(code));
	/* A table is better than code. */
	put_debug_fde(debug, TEXT_ADDRESS + 0x80, 6, 48);
	fixture->input.sources[1].raw.size = debug->size;
	assert_extracts(fixture);
	assert_rule(fixture, 0x81, "cfa=sp+48 ra=cfa-8 fp=same");
	/* And code alone is enough. */
	fixture->input.source_count = 0;
	fixture->bytes.size = 0;
	assert_extracts(fixture);
	assert_rule(fixture, 0x81, "cfa=sp+16 ra=cfa-8 fp=cfa-16");
	free(debug);
}

static void debug_frame_is_found_under_both_names_and_left_as_it_is(void **state)
{
	static const char *const names[] = { ".debug_frame", ".zdebug_frame", ".debug_line" };
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct elf_builder *builder = calloc(1, sizeof(*builder));

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct unwind_source source = { 0 };
		struct unwind_source_content content;
		struct elf_image image;

		elf_builder_init(builder, 1);
		elf_builder_add(builder, names[i], SHT_PROGBITS, 0, bytes, sizeof(bytes));
		elf_builder_finish(builder);
		assert_int_equal(elf_image_init_memory(&image, builder->bytes, BUILT_BYTES), 0);
		assert_int_equal(unwind_source_read_mini_debug(&image, &source), -ENOENT);
		assert_int_equal(unwind_source_read_debug_frame(&image, &source),
				 i < 2 ? 0 : -ENOENT);
		if (i < 2) {
			assert_int_equal(source.raw.size, sizeof(bytes));
			/* Three bytes are no compressed section. */
			assert_int_equal(unwind_source_unpack(&source, EM_X86_64, &content),
					 i ? -EBADMSG : 0);
			assert_int_equal(content.section_count, !i);
			unwind_source_content_deinit(&content);
		}
		unwind_source_deinit(&source);
		elf_image_deinit(&image);
	}
	free(builder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			other_sources_and_code_fill_what_eh_frame_leaves_out, set_up, tear_down),
		cmocka_unit_test(debug_frame_is_found_under_both_names_and_left_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
