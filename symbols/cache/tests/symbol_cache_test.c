/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/cache/symbol_cache.h"
#include "symbols/cache/symbol_cache_writer.h"

struct made {
	uint8_t *bytes;
	size_t size;
};

static uint32_t string(struct symbol_cache_writer *writer, const char *text)
{
	uint32_t number;

	assert_int_equal(string_table_add(&writer->strings, text, strlen(text), &number), 0);
	return number;
}

static uint32_t scope(struct symbol_cache_writer *writer, struct symbol_scope scope)
{
	uint32_t number;

	assert_int_equal(symbol_cache_writer_add_scope(writer, &scope, &number), 0);
	return number;
}

static void interval(struct interval_vector *intervals, uint64_t start, uint64_t end,
		     uint32_t value)
{
	assert_int_equal(interval_vector_push(intervals, (struct interval){ start, end, value,
									    intervals->count }),
			 0);
}

static struct made take_made(struct symbol_cache_writer *writer)
{
	int fd = memfd_create("symbol-cache", MFD_CLOEXEC);
	struct made made;

	assert_int_equal(symbol_cache_writer_finish(writer, (struct hash128){ 1, 2 }, fd), 0);
	made.size = lseek(fd, 0, SEEK_END);
	made.bytes = malloc(made.size);
	assert_non_null(made.bytes);
	assert_int_equal(pread(fd, made.bytes, made.size, 0), made.size);
	close(fd);
	return made;
}

/*
 * 0x1000 is outer (lines 10, 11), with middle inlined at 0x1010, and inner inlined in middle at
 * 0x1014. 0x1100 is plain, whose symbol has another name, and 0x1110 is its split-off part. 0x1200
 * has only a symbol, 0x1300 only a line.
 */
static struct made make(void)
{
	struct symbol_cache_writer writer = { .first_address = 0x1000 };
	struct interval_vector scopes = { 0 }, symbols = { 0 };
	uint32_t a = string(&writer, "a.c"), b = string(&writer, "b.h");
	uint32_t outer = scope(&writer, (struct symbol_scope){ .name = string(&writer, "outer") });
	uint32_t middle = scope(&writer, (struct symbol_scope){ .outer = outer,
								.name = string(&writer, "middle"),
								.call_file = a,
								.call_line = 100 });
	uint32_t inner = scope(&writer, (struct symbol_scope){ .outer = middle,
							       .name = string(&writer, "inner"),
							       .call_file = b,
							       .call_line = 200 });
	uint32_t plain = scope(&writer, (struct symbol_scope){ .name = string(&writer, "plain"),
							       .is_plain = true });
	const struct address_row rows[] = { { 0x1000, { a, 10 } }, { 0x1010, { b, 20 } },
					    { 0x1014, { b, 30 } }, { 0x1018, { a, 11 } },
					    { 0x1020, { 0, 0 } },  { 0x1300, { a, 40 } },
					    { 0x1310, { 0, 0 } } };

	interval(&scopes, 0x1000, 0x1020, outer);
	interval(&scopes, 0x1010, 0x1018, middle);
	interval(&scopes, 0x1014, 0x1018, inner);
	interval(&scopes, 0x1100, 0x1120, plain);
	interval(&scopes, 0x1108, 0x110c,
		 scope(&writer, (struct symbol_scope){ .outer = plain,
						       .name = string(&writer, "part"),
						       .call_file = a,
						       .call_line = 50,
						       .is_plain = true }));
	interval(&symbols, 0x1000, 0x1020, string(&writer, "outer.cold"));
	interval(&symbols, 0x1100, 0x1110, string(&writer, "_Z5plainv"));
	interval(&symbols, 0x1110, 0x1120, string(&writer, "plain.cold"));
	interval(&symbols, 0x1200, 0x1210, string(&writer, "only_symbol"));
	assert_int_equal(symbol_cache_writer_add_intervals(&writer, SYMBOL_DATA_SCOPES, &scopes),
			 0);
	assert_int_equal(symbol_cache_writer_add_intervals(&writer, SYMBOL_DATA_SYMBOLS, &symbols),
			 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(address_runs_add(&writer.runs[SYMBOL_DATA_LINES], rows[i]), 0);
	interval_vector_deinit(&scopes);
	interval_vector_deinit(&symbols);
	return take_made(&writer);
}

/* "function file:line" of each frame, with "*" after inlined ones. */
static void expect(const struct made *made, uint64_t address, uint32_t capacity,
		   const char *expected)
{
	struct symbol_frame frames[8];
	struct symbol_cache file;
	char text[256] = "";
	uint32_t count;

	assert_int_equal(symbol_cache_init(&file, made->bytes, made->size), 0);
	count = symbol_cache_lookup(&file, address, frames, capacity);
	for (uint32_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %s:%u%s",
			 i ? ", " : "", frames[i].function ? frames[i].function : "?",
			 frames[i].file ? frames[i].file : "?", frames[i].line,
			 frames[i].is_inlined ? "*" : "");
	assert_string_equal(text, expected);
}

static void tables_may_be_empty_whatever_lies_before_them(void **state)
{
	(void)state;
	for (size_t length = 1; length <= 16; length++) {
		struct symbol_cache_writer writer = { .first_address = 0x1000 };
		struct interval_vector scopes = { 0 };
		char name[17] = "", expected[32];
		struct made made;

		memset(name, 'n', length);
		interval(&scopes, 0x1000, 0x1020,
			 scope(&writer, (struct symbol_scope){ .name = string(&writer, name) }));
		assert_int_equal(
			symbol_cache_writer_add_intervals(&writer, SYMBOL_DATA_SCOPES, &scopes), 0);
		interval_vector_deinit(&scopes);
		made = take_made(&writer);
		snprintf(expected, sizeof(expected), "%s ?:0", name);
		expect(&made, 0x1010, 8, expected);
		free(made.bytes);
	}
}

static void a_chain_has_the_lines_of_its_calls(void **state)
{
	struct made made = make();

	(void)state;
	expect(&made, 0xfff, 8, "");
	expect(&made, 0x1000, 8, "outer a.c:10");
	expect(&made, 0x100f, 8, "outer a.c:10");
	expect(&made, 0x1010, 8, "middle b.h:20*, outer a.c:100");
	expect(&made, 0x1017, 8, "inner b.h:30*, middle b.h:200*, outer a.c:100");
	expect(&made, 0x1018, 8, "outer a.c:11");
	expect(&made, 0x1020, 8, "");
	free(made.bytes);
}

static void the_innermost_and_the_outermost_stay(void **state)
{
	struct made made = make();

	(void)state;
	expect(&made, 0x1014, 2, "inner b.h:30*, outer a.c:100");
	expect(&made, 0x1014, 1, "outer a.c:100");
	expect(&made, 0x1014, 0, "");
	free(made.bytes);
}

static void symbols_name_what_has_no_linkage_name(void **state)
{
	struct made made = make();

	(void)state;
	expect(&made, 0x1100, 8, "_Z5plainv ?:0");
	/* Inlined functions have no symbol. */
	expect(&made, 0x1108, 8, "part ?:0*, _Z5plainv a.c:50");
	/* A split-off part belongs to the function, under either name. */
	expect(&made, 0x1110, 8, "plain ?:0");
	expect(&made, 0x1200, 8, "only_symbol ?:0");
	expect(&made, 0x1300, 8, "? a.c:40");
	free(made.bytes);
}

/* Calls that do not fit into a block are stored outside of it; at most 256 frames are returned. */
static void chains_may_be_deep(void **state)
{
	enum { DEPTH = 300, SPAN = 0x10000 };
	struct symbol_cache_writer writer = { .first_address = 0x1000 };
	struct interval_vector scopes = { 0 };
	struct symbol_frame frames[DEPTH];
	uint32_t outer = 0, file = string(&writer, "a.c");
	struct symbol_cache cache;
	struct made made;

	(void)state;
	for (uint32_t i = 0; i < DEPTH; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		outer = scope(&writer, (struct symbol_scope){ .outer = outer,
							      .name = string(&writer, name),
							      .call_file = file,
							      .call_line = i });
		interval(&scopes, 0x1000 + i, 0x1000 + SPAN - i, outer);
	}
	interval(&scopes, 0x1000 + SPAN, 0x1001 + SPAN, outer);
	assert_int_equal(symbol_cache_writer_add_intervals(&writer, SYMBOL_DATA_SCOPES, &scopes),
			 0);
	interval_vector_deinit(&scopes);
	made = take_made(&writer);
	assert_int_equal(symbol_cache_init(&cache, made.bytes, made.size), 0);
	for (uint32_t depth = 1; depth <= DEPTH; depth++) {
		uint32_t count = symbol_cache_lookup(&cache, 0x1000 + depth - 1, frames, DEPTH);
		uint32_t shown = depth < SYMBOL_CACHE_MAX_DEPTH ? depth : SYMBOL_CACHE_MAX_DEPTH;

		assert_int_equal(count, shown);
		for (uint32_t i = 0; i < count; i++) {
			char name[16];

			snprintf(name, sizeof(name), "f%u", depth - 1 - i);
			assert_string_equal(frames[i].function, name);
			assert_int_equal(frames[i].line, i ? depth - i : 0);
			assert_int_equal(frames[i].is_inlined, i + 1 < depth);
		}
	}
	free(made.bytes);
}

static void any_changed_byte_is_noticed(void **state)
{
	struct made made = make();
	struct symbol_cache file;
	size_t unnoticed = 0;

	(void)state;
	for (size_t i = 0; i < made.size; i++) {
		made.bytes[i] ^= 0x10;
		unnoticed += !symbol_cache_init(&file, made.bytes, made.size);
		made.bytes[i] ^= 0x10;
	}
	/* The padding of parts to cache lines is not checked. */
	assert_true(unnoticed < 64 * SYMBOL_CACHE_PART_COUNT);
	assert_int_equal(symbol_cache_init(&file, made.bytes, made.size), 0);
	for (size_t size = 0; size < made.size; size++)
		assert_int_not_equal(symbol_cache_init(&file, made.bytes, size), 0);
	free(made.bytes);
}

static void another_version_is_refused(void **state)
{
	struct made made = make();
	struct symbol_cache file;

	(void)state;
	made.bytes[offsetof(struct symbol_cache_header, version)]++;
	assert_int_equal(symbol_cache_init(&file, made.bytes, made.size), -EOPNOTSUPP);
	free(made.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_may_be_empty_whatever_lies_before_them),
		cmocka_unit_test(a_chain_has_the_lines_of_its_calls),
		cmocka_unit_test(the_innermost_and_the_outermost_stay),
		cmocka_unit_test(symbols_name_what_has_no_linkage_name),
		cmocka_unit_test(chains_may_be_deep),
		cmocka_unit_test(any_changed_byte_is_noticed),
		cmocka_unit_test(another_version_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
