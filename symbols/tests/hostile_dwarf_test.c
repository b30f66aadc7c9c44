/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug data made to keep a reader busy for ever or to use all memory. Each file must give an error
 * or a result within the limits, and another file must still get names. The limits are near those of
 * the agent; the reading processes are this program itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "symbols/build/tests/symbol_cache_maker_fixture.h"
#include "symbols/tests/dwarf_fixture.h"

enum {
	NESTED_DIES = 1000000,
	ABBREVIATIONS_BYTES = 64 << 20,
	BOMB_BYTES = 1 << 30,
	/* Compressed size of a bomb: a fraction that the allowed ratio permits. */
	BOMB_PACKED_BYTES = 32 << 20,
	MEMORY_BYTES = 300 << 20,
	CPU_S = 5,
	/* In the short tier, files and the memory limit are smaller by this factor. */
	SHORT_PART = 4,
};

static struct symbol_cache_maker_limits limits = {
	.cpu_ns = CPU_S * NS_PER_SECOND,
	.memory_bytes = MEMORY_BYTES,
	.output_bytes = 64 << 20,
};
/* The divisor of all sizes. */
static int part = 1;

/* --- the results --- */

static void expect_another_is_named(void)
{
	struct symbol_cache file;

	assert_int_equal(make(open_self(), SYMBOL_DEPTH_FULL, &wide, &file), 0);
	expect_known_function(&file, true);
}

/* The function's name at CODE; NULL without one. */
static const char *name_of_code(const struct symbol_cache *file)
{
	struct symbol_frame frames[2];

	return symbol_cache_lookup(file, CODE, frames, 2) ? frames[0].function : NULL;
}

static void expect_symbol(int fd)
{
	struct symbol_cache file;

	assert_int_equal(make(fd, SYMBOL_DEPTH_FULL, &limits, &file), 0);
	assert_string_equal(name_of_code(&file), "of_symbols");
}

/* --- entries --- */

static void siblings_that_point_backwards_end(void **state)
{
	/* Targets in the unit: its header, its first entry, the entry itself, beyond the end. */
	static const uint32_t targets[] = { 0, 11, 12, 17, 1 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		struct byte_vector info = { 0 }, abbreviations = { 0 };

		put_unit_abbreviation(&abbreviations);
		PUT(&abbreviations, 2, DW_TAG_namespace, DW_CHILDREN_yes, DW_AT_sibling,
		    DW_FORM_ref4, 0, 0, 0);
		begin_unit(&info);
		for (int k = 0; k < 2; k++) {
			PUT(&info, 2);
			put_number(&info, targets[i], 4);
			PUT(&info, 0);
		}
		end_unit(&info);
		expect_symbol(write_dwarf(&info, &abbreviations));
	}
	expect_another_is_named();
}

static void many_entries_in_each_other_end(void **state)
{
	struct byte_vector info = { 0 }, abbreviations = { 0 };
	struct symbol_cache file;
	int err;

	(void)state;
	put_unit_abbreviation(&abbreviations);
	PUT(&abbreviations, 2, DW_TAG_namespace, DW_CHILDREN_yes, 0, 0, 0);
	begin_unit(&info);
	for (int i = 0; i < NESTED_DIES / part; i++)
		PUT(&info, 2);
	end_unit(&info);
	err = make(write_dwarf(&info, &abbreviations), SYMBOL_DEPTH_FULL, &limits, &file);
	assert_true(!err || err == -ETIME);
	expect_another_is_named();
}

/* Two functions that each refer to the other, and one that refers to itself. */
static void references_in_a_circle_end(void **state)
{
	static const uint8_t attributes[] = { DW_AT_abstract_origin, DW_AT_specification };

	(void)state;
	for (size_t i = 0; i < sizeof(attributes); i++) {
		struct byte_vector info = { 0 }, abbreviations = { 0 };
		const uint32_t first = 12, second = first + 1 + 4 + 8 + 4;

		put_unit_abbreviation(&abbreviations);
		PUT(&abbreviations, 2, DW_TAG_subprogram, DW_CHILDREN_no, attributes[i],
		    DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0, 0,
		    0);
		begin_unit(&info);
		for (int k = 0; k < 3; k++) {
			PUT(&info, 2);
			put_number(&info, k ? k == 1 ? first : second + second - first : second, 4);
			put_number(&info, CODE, 8);
			put_number(&info, CODE_BYTES, 4);
		}
		end_unit(&info);
		expect_symbol(write_dwarf(&info, &abbreviations));
	}
	expect_another_is_named();
}

static void tables_of_abbreviations_are_bounded_by_memory(void **state)
{
	struct byte_vector info = { 0 }, abbreviations = { 0 };
	struct symbol_cache file;
	int err;

	(void)state;
	put_unit_abbreviation(&abbreviations);
	for (uint64_t i = 3; abbreviations.count < (size_t)(ABBREVIATIONS_BYTES / part); i++)
		PUT(&abbreviations, (i & 127) | 128, (i >> 7 & 127) | 128, (i >> 14 & 127) | 128,
		    i >> 21, DW_TAG_subprogram, DW_CHILDREN_no, 0, 0);
	/* The wanted entry is last. */
	PUT(&abbreviations, 2, DW_TAG_subprogram, DW_CHILDREN_no, 0, 0, 0);
	begin_unit(&info);
	PUT(&info, 2);
	end_unit(&info);
	err = make(write_dwarf(&info, &abbreviations), SYMBOL_DEPTH_FULL, &limits, &file);
	assert_true(err == -ENOMEM || err == -E2BIG || err == -ETIME);
	expect_another_is_named();
}

/* --- compression --- */

/* BOMB_BYTES of zeros, as the section declares; the section is large enough to permit that. */
static void sections_that_become_huge_are_bounded_by_memory(void **state)
{
	const int bomb_bytes = BOMB_BYTES / part;
	const Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB,
				    .ch_size = (Elf64_Xword)bomb_bytes,
				    .ch_addralign = 1 };
	struct byte_vector info = { 0 }, abbreviations = { 0 };
	const struct part parts[] = {
		{ .name = ".debug_info", .bytes = &info, .flags = SHF_COMPRESSED },
		{ .name = ".debug_abbrev", .bytes = &abbreviations }
	};
	static uint8_t nothing[1 << 20], packed[1 << 16];
	z_stream stream = { 0 };
	struct symbol_cache file;
	int err;

	(void)state;
	put(&info, &header, sizeof(header));
	assert_int_equal(deflateInit(&stream, Z_BEST_SPEED), Z_OK);
	for (int i = 0; i <= bomb_bytes / (int)sizeof(nothing); i++) {
		stream.next_in = nothing;
		stream.avail_in = i < bomb_bytes / (int)sizeof(nothing) ? sizeof(nothing) : 0;
		do {
			stream.next_out = packed;
			stream.avail_out = sizeof(packed);
			assert_true(deflate(&stream, stream.avail_in ? Z_NO_FLUSH : Z_FINISH) >=
				    Z_BUF_ERROR);
			put(&info, packed, sizeof(packed) - stream.avail_out);
		} while (!stream.avail_out);
	}
	deflateEnd(&stream);
	while (info.count < (size_t)(BOMB_PACKED_BYTES / part))
		put(&info, nothing, sizeof(nothing));
	put_unit_abbreviation(&abbreviations);
	err = make(write_file(parts, 2), SYMBOL_DEPTH_FULL, &limits, &file);
	byte_vector_deinit(&info);
	byte_vector_deinit(&abbreviations);
	/* libdw may only report that there is no DWARF. */
	if (err)
		assert_true(err == -ENOMEM || err == -ETIME || err == -E2BIG);
	else
		assert_string_equal(name_of_code(&file), "of_symbols");
}

int main(int argument_count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siblings_that_point_backwards_end),
		cmocka_unit_test(many_entries_in_each_other_end),
		cmocka_unit_test(references_in_a_circle_end),
		cmocka_unit_test(tables_of_abbreviations_are_bounded_by_memory),
		cmocka_unit_test(sections_that_become_huge_are_bounded_by_memory),
	};

	symbol_cache_maker_enter(argument_count, arguments);
	if (!getenv("ALLFRAMES_LONG"))
		part = SHORT_PART;
	limits.memory_bytes = MEMORY_BYTES / part;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
