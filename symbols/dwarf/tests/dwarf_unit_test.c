/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which entries of a unit are functions; tests with compilers check the names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symbols/build/tests/symbol_cache_maker_fixture.h"
#include "symbols/tests/dwarf_fixture.h"

enum {
	ABBREVIATION_OUTER = 2,
	/* More abbreviations than a reader caches. */
	ABBREVIATION_LATE = 100000,
};

/* Adds an abbreviation of a function that has code and a linkage name. */
static void put_code_abbreviation(struct byte_vector *abbreviations, uint64_t code)
{
	assert_int_equal(byte_vector_reserve(abbreviations, abbreviations->count + 16), 0);
	put_uleb128(abbreviations, code);
	PUT(abbreviations, DW_TAG_subprogram, DW_CHILDREN_no, DW_AT_linkage_name, DW_FORM_string,
	    DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0, 0);
}

static void put_code(struct byte_vector *info, uint64_t code)
{
	assert_int_equal(byte_vector_reserve(info, info->count + 16), 0);
	put_uleb128(info, code);
	put(info, "inner", sizeof("inner"));
	put_number(info, CODE, 8);
	put_number(info, CODE_BYTES, 4);
}

/* Asserts that the function at CODE is @name, from DWARF or from its symbol. */
static void expect_function(int fd, const char *name)
{
	struct symbol_frame frames[2];
	struct symbol_cache file;

	assert_int_equal(make(fd, SYMBOL_DEPTH_FULL, &wide, &file), 0);
	assert_int_equal(symbol_cache_lookup(&file, CODE, frames, 2), 1);
	assert_string_equal(frames[0].function, name);
}

/*
 * Writes a function with code inside a function with @attribute but without code; with DW_FORM_flag
 * the attribute is 0.
 */
static int write_nested(uint8_t attribute, uint8_t form, uint64_t code)
{
	struct byte_vector info = { 0 }, abbreviations = { 0 };

	put_unit_abbreviation(&abbreviations);
	PUT(&abbreviations, ABBREVIATION_OUTER, DW_TAG_subprogram, DW_CHILDREN_yes, attribute, form,
	    0, 0);
	put_code_abbreviation(&abbreviations, code);
	PUT(&abbreviations, 0);
	begin_unit(&info);
	/* Twice, because the cached abbreviation is used from the second time on. */
	for (int i = 0; i < 2; i++) {
		PUT(&info, ABBREVIATION_OUTER);
		if (form == DW_FORM_flag)
			PUT(&info, 0);
		if (i)
			put_code(&info, code);
		PUT(&info, 0);
	}
	end_unit(&info);
	return write_dwarf(&info, &abbreviations);
}

static void functions_in_one_without_code_are_found(void **state)
{
	(void)state;
	expect_function(write_nested(DW_AT_inline, DW_FORM_flag_present, 3), "inner");
	expect_function(write_nested(DW_AT_inline, DW_FORM_flag_present, ABBREVIATION_LATE),
			"inner");
	expect_function(write_nested(DW_AT_declaration, DW_FORM_flag, 3), "inner");
}

static void a_declaration_is_not_looked_into(void **state)
{
	(void)state;
	expect_function(write_nested(DW_AT_declaration, DW_FORM_flag_present, 3), "of_symbols");
}

/* The same number is a different abbreviation in each unit. */
static void units_have_abbreviations_of_their_own(void **state)
{
	struct byte_vector info = { 0 }, second = { 0 }, abbreviations = { 0 };
	uint32_t offset;

	(void)state;
	put_unit_abbreviation(&abbreviations);
	PUT(&abbreviations, 2, DW_TAG_subprogram, DW_CHILDREN_no, DW_AT_declaration,
	    DW_FORM_flag_present, 0, 0, 0);
	offset = abbreviations.count;
	put_unit_abbreviation(&abbreviations);
	put_code_abbreviation(&abbreviations, 2);
	PUT(&abbreviations, 0);
	begin_unit(&info);
	PUT(&info, 2);
	end_unit(&info);
	begin_unit(&second);
	memcpy(second.items + 6, &offset, sizeof(offset));
	put_code(&second, 2);
	end_unit(&second);
	put(&info, second.items, second.count);
	byte_vector_deinit(&second);
	expect_function(write_dwarf(&info, &abbreviations), "inner");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_in_one_without_code_are_found),
		cmocka_unit_test(a_declaration_is_not_looked_into),
		cmocka_unit_test(units_have_abbreviations_of_their_own),
	};

	symbol_cache_maker_enter(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
