/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/languages.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ebpf/abi/programs.h"

static void languages_are_found_by_all_that_they_have(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		const struct language_id *language = &language_ids[i];

		assert_ptr_equal(language_by_kind(language->kind), language);
		assert_ptr_equal(language_by_otlp_type(language->otlp_type), language);
		assert_true(frame_kind_is_interpreted(language->kind));
		assert_in_range(unwinder_of(language->kind), UNWINDER_FIRST_INTERPRETED,
				UNWINDER_COUNT - 1);
		for (const char *c = language->name; *c; c++)
			assert_true(islower((unsigned char)*c));
	}
	assert_null(language_by_kind(FRAME_NATIVE));
	assert_null(language_by_kind(FRAME_KERNEL));
	assert_null(language_by_otlp_type("native"));
	assert_null(language_by_otlp_type(""));
}

static void each_language_has_a_bit_of_its_own(void **state)
{
	uint32_t all = 0;

	(void)state;
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		assert_false(all & language_bit(language_ids[i].kind));
		all |= language_bit(language_ids[i].kind);
	}
}

static void source_files_tell_their_language(void **state)
{
	static const struct {
		const char *file;
		uint8_t kind;
	} files[] = {
		{ "/src/main.go", FRAME_GO },	{ "x.py", FRAME_PYTHON }, { "A.java", FRAME_JAVA },
		{ "a/b.kt", FRAME_JAVA },	{ ".scala", FRAME_JAVA }, { "b.clj", FRAME_JAVA },
		{ "x.groovy", FRAME_JAVA },	{ "x.c", FRAME_NONE },	  { "", FRAME_NONE },
		{ "x.java .kt", FRAME_JAVA },	{ "java", FRAME_NONE },	  { "x.py.c", FRAME_NONE },
		{ ".java .kt .x", FRAME_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const struct language_id *language = language_by_file(files[i].file);

		assert_int_equal(language ? language->kind : FRAME_NONE, files[i].kind);
	}
}

static void native_languages_have_no_frames_of_their_own(void **state)
{
	(void)state;
	assert_int_equal(language_by_kind(FRAME_GO)->frames, LANGUAGE_NATIVE);
	assert_int_equal(language_by_kind(FRAME_PYTHON)->frames, LANGUAGE_LOOP);
	assert_int_equal(language_by_kind(FRAME_JAVA)->frames, LANGUAGE_OWN_CODE);
	assert_string_equal(LANGUAGE_NAMES_LISTED,
			    ", go, python, java, javascript, ruby, php, perl");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(languages_are_found_by_all_that_they_have),
		cmocka_unit_test(each_language_has_a_bit_of_its_own),
		cmocka_unit_test(source_files_tell_their_language),
		cmocka_unit_test(native_languages_have_no_frames_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
