/* SPDX-License-Identifier: Apache-2.0 */
/* Files as runtimes write them, made here record by record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/host/jitdump.h"

struct fixture {
	uint8_t bytes[256 << 10];
	size_t size;
	struct jitdump dump;
};

static void put(struct fixture *fixture, uint64_t value, size_t bytes)
{
	assert_true(fixture->size + bytes <= sizeof(fixture->bytes));
	for (size_t i = 0; i < bytes; i++)
		fixture->bytes[fixture->size++] = i < 8 ? value >> 8 * i : 0;
}

static void put_text(struct fixture *fixture, const char *text)
{
	for (; *text; text++)
		put(fixture, (uint8_t)*text, 1);
	put(fixture, 0, 1);
}

static void put_header(struct fixture *fixture, uint32_t magic, uint32_t version, uint32_t bytes)
{
	put(fixture, magic, 4);
	put(fixture, version, 4);
	put(fixture, bytes, 4);
	put(fixture, 62, 4);
	put(fixture, 0, 4);
	put(fixture, 7, 4);
	put(fixture, 0, 16);
}

/* Begins a record and returns its offset; end_record() sets its size. */
static size_t begin_record(struct fixture *fixture, uint32_t type)
{
	size_t start = fixture->size;

	put(fixture, type, 4);
	put(fixture, 0, 4);
	put(fixture, 12345, 8);
	return start;
}

static void end_record(struct fixture *fixture, size_t start)
{
	size_t end = fixture->size;

	fixture->size = start + 4;
	put(fixture, end - start, 4);
	fixture->size = end;
}

static void put_load(struct fixture *fixture, uint64_t start, uint64_t size, const char *name,
		     size_t code_bytes)
{
	size_t record = begin_record(fixture, 0);

	put(fixture, 7, 4);
	put(fixture, 7, 4);
	put(fixture, start, 8);
	put(fixture, start, 8);
	put(fixture, size, 8);
	put(fixture, 1, 8);
	put_text(fixture, name);
	for (size_t i = 0; i < code_bytes; i++)
		put(fixture, 0xcc, 1);
	end_record(fixture, record);
}

static void put_move(struct fixture *fixture, uint64_t old_start, uint64_t start, uint64_t size)
{
	size_t record = begin_record(fixture, 1);

	put(fixture, 7, 4);
	put(fixture, 7, 4);
	put(fixture, start, 8);
	put(fixture, old_start, 8);
	put(fixture, start, 8);
	put(fixture, size, 8);
	put(fixture, 1, 8);
	end_record(fixture, record);
}

struct row {
	uint64_t address;
	uint32_t line;
	const char *file;
};

static void put_lines(struct fixture *fixture, uint64_t start, const struct row *rows,
		      uint64_t count)
{
	size_t record = begin_record(fixture, 2);

	put(fixture, start, 8);
	put(fixture, count, 8);
	for (uint64_t i = 0; i < count; i++) {
		put(fixture, rows[i].address, 8);
		put(fixture, rows[i].line, 4);
		put(fixture, 5, 4);
		put_text(fixture, rows[i].file);
	}
	end_record(fixture, record);
}

/* Reads as a file is read, in windows of the rest of @size bytes. Returns the final offset, and the error. */
static size_t read_all(struct fixture *fixture, size_t from, size_t size, int *err)
{
	uint64_t used = 1;

	*err = 0;
	while (from < size && used && !*err) {
		size_t left = size - from;

		used = 0;
		*err = jitdump_add(&fixture->dump, fixture->bytes + from,
				   left < JITDUMP_READ_BYTES ? left : JITDUMP_READ_BYTES, left,
				   &used);
		assert_true(used <= left);
		from += used;
	}
	return from;
}

static void take_all(struct fixture *fixture)
{
	int err;

	assert_int_equal(read_all(fixture, 0, fixture->size, &err), fixture->size);
	assert_int_equal(err, 0);
}

static void check_name(const struct fixture *fixture, uint64_t address, const char *expected)
{
	struct code_location location;
	bool is_found = jitdump_find(&fixture->dump, address, &location);

	assert_int_equal(is_found, expected != NULL);
	if (expected)
		assert_string_equal(location.function, expected);
}

static void check_line(const struct fixture *fixture, uint64_t address, const char *file,
		       uint32_t line)
{
	struct code_location location;

	assert_true(jitdump_find(&fixture->dump, address, &location));
	if (!file) {
		assert_null(location.file);
		assert_int_equal(location.line, 0);
		return;
	}
	assert_non_null(location.file);
	assert_string_equal(location.file, file);
	assert_int_equal(location.line, line);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (fixture)
		put_header(fixture, 0x4a695444, 1, 40);
	return !fixture;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	jitdump_deinit(&fixture->dump);
	free(fixture);
	return 0;
}

static void functions_have_their_names_and_the_latest_at_an_address_stands(void **state)
{
	struct fixture *fixture = *state;

	put_load(fixture, 0x1000, 0x100, "py::one:file.py", 0x100);
	put_load(fixture, 0x2000, 0x10, "two", 0);
	put_load(fixture, 0x10f0, 0x20, "three", 0x20);
	put_load(fixture, 0x4000, 0, "empty", 0);
	put_load(fixture, 0x5000, 0x100000000, "too long", 0);
	put_load(fixture, UINT64_MAX - 4, 8, "over the end", 0);
	put_load(fixture, 0x6000, 8, "", 0);
	take_all(fixture);
	check_name(fixture, 0x1000, NULL);
	check_name(fixture, 0x10f0, "three");
	check_name(fixture, 0x110f, "three");
	check_name(fixture, 0x1110, NULL);
	check_name(fixture, 0x200f, "two");
	assert_int_equal(fixture->dump.names.functions.count, 2);
}

static void a_function_that_moves_takes_its_name_and_lines_along(void **state)
{
	const struct row rows[] = { { 0x1000, 3, "a.js" } };
	struct fixture *fixture = *state;

	put_lines(fixture, 0x1000, rows, 1);
	put_load(fixture, 0x1000, 0x100, "one", 0);
	put_move(fixture, 0x1000, 0x3000, 0x100);
	put_load(fixture, 0x1000, 0x80, "other", 0);
	/* Moves of a missing function, of one of another size, and to an impossible address. */
	put_move(fixture, 0x9000, 0x4000, 0x100);
	put_move(fixture, 0x3000, 0x5000, 0x80);
	put_move(fixture, 0x3000, UINT64_MAX - 8, 0x100);
	take_all(fixture);
	check_name(fixture, 0x1000, "other");
	check_name(fixture, 0x30ff, "one");
	check_line(fixture, 0x3010, "a.js", 3);
	check_name(fixture, 0x4000, NULL);
	check_name(fixture, 0x5000, NULL);
	/* A function that was read before is moved too. */
	fixture->size = 0;
	put_move(fixture, 0x3000, 0x7000, 0x100);
	take_all(fixture);
	check_line(fixture, 0x7010, "a.js", 3);
}

static void addresses_have_the_file_and_line_of_the_row_before(void **state)
{
	const struct row rows[] = {
		{ 0x1020, 8, "b.java" }, { 0x1000, 7, "a.java" }, { 0x1028, 9, "\xff" },
		{ 0x1030, 7, "a.java" }, { 0x1038, 7, "a.java" },
	};
	struct fixture *fixture = *state;

	put_lines(fixture, 0x1000, rows, 5);
	put_load(fixture, 0x1000, 0x40, "one", 0x40);
	put_load(fixture, 0x2000, 0x40, "no lines", 0x40);
	take_all(fixture);
	check_line(fixture, 0x1000, "a.java", 7);
	check_line(fixture, 0x101f, "a.java", 7);
	check_line(fixture, 0x1020, "b.java", 8);
	check_line(fixture, 0x1029, "a.java", 9);
	check_line(fixture, 0x103f, "a.java", 7);
	check_line(fixture, 0x2000, NULL, 0);
}

static void lines_of_v8_begin_behind_an_elf_header(void **state)
{
	const struct row rows[] = { { 0x1040, 7, "a.js" }, { 0x1050, 8, "a.js" } };
	const struct row plain[] = { { 0x3000, 1, "c.js" } };
	struct fixture *fixture = *state;

	put_lines(fixture, 0x1000, rows, 2);
	put_load(fixture, 0x1000, 0x20, "one", 0);
	take_all(fixture);
	check_line(fixture, 0x1000, "a.js", 7);
	check_line(fixture, 0x1010, "a.js", 8);
	/* A file with a lower address is not V8's. */
	fixture->size = 0;
	put_lines(fixture, 0x3000, plain, 1);
	put_load(fixture, 0x3000, 0x20, "two", 0);
	take_all(fixture);
	check_line(fixture, 0x1000, NULL, 0);
	check_line(fixture, 0x3000, "c.js", 1);
}

static void lines_that_make_no_sense_are_left_out(void **state)
{
	const struct row below[] = { { 0x1000, 7, "a.js" }, { 0xfff, 7, "a.js" } };
	const struct row beyond[] = { { 0x1000, 7, "a.js" }, { 0x1081, 8, "a.js" } };
	const struct row garbage[] = { { 0x1000, 7, "\x01\x02" } };
	const struct row repeated[] = { { 0x1000, 7, "\xff" } };
	const struct row nameless[] = { { 0x1000, 7, "" } };
	struct fixture *fixture = *state;
	size_t record;

	put_lines(fixture, 0x1000, below, 2);
	put_load(fixture, 0x1000, 0x40, "one", 0);
	put_lines(fixture, 0x1000, beyond, 2);
	put_load(fixture, 0x1000, 0x40, "one", 0);
	put_lines(fixture, 0x2000, garbage, 1);
	put_load(fixture, 0x2000, 0x40, "two", 0);
	put_lines(fixture, 0x3000, repeated, 1);
	put_load(fixture, 0x3000, 0x40, "three", 0);
	put_lines(fixture, 0x4000, nameless, 1);
	put_load(fixture, 0x4000, 0x40, "four", 0);
	/* Lines of another function, and fewer lines than stated. */
	put_lines(fixture, 0x1000, below, 1);
	put_load(fixture, 0x5000, 0x40, "five", 0);
	record = begin_record(fixture, 2);
	put(fixture, 0x6000, 8);
	put(fixture, 4000, 8);
	end_record(fixture, record);
	put_load(fixture, 0x6000, 0x40, "six", 0);
	record = begin_record(fixture, 2);
	put(fixture, 0x7000, 8);
	put(fixture, UINT64_MAX, 8);
	end_record(fixture, record);
	put_load(fixture, 0x7000, 0x40, "seven", 0);
	take_all(fixture);
	for (uint64_t start = 0x1000; start <= 0x7000; start += 0x1000)
		check_line(fixture, start, NULL, 0);
	assert_int_equal(fixture->dump.names.functions.count, 7);
}

/* As node 20 writes them: malloc() has overwritten 16 bytes of each name, some of them by zeros. */
static void free_names(struct fixture *fixture, size_t record, uint64_t count)
{
	/* Type, size and time; start and count. */
	for (size_t at = record + 32; count--; at += 16) {
		size_t length = strlen((const char *)fixture->bytes + at + 16);

		for (size_t i = 0; i < 16 && i < length; i++)
			fixture->bytes[at + 16 + i] = i % 8 < 6 ? 'A' + i : 0;
		at += length + 1;
	}
}

/* Adds lines; the names of the first @freed_count are freed, and the record is padded with @fill. */
static void put_freed_lines(struct fixture *fixture, const struct row *rows, uint64_t count,
			    uint64_t freed_count, uint8_t fill)
{
	uint64_t start = rows[0].address - 0x40;
	size_t record = fixture->size;

	put_lines(fixture, start, rows, count);
	free_names(fixture, record, freed_count);
	while ((fixture->size - record) % 8)
		put(fixture, fill, 1);
	end_record(fixture, record);
}

#define LONG_FILE "/srv/in some folder/name.js"

static void of_lines_whose_file_was_freed_the_function_tells_the_file(void **state)
{
	const struct row rows[] = {
		{ 0x1040, 7, LONG_FILE },
		{ 0x1050, 8, LONG_FILE },
		{ 0x1058, 9, LONG_FILE },
	};
	const struct row one[] = { { 0x2040, 3, LONG_FILE } };
	struct fixture *fixture = *state;

	put_freed_lines(fixture, rows, 3, 3, 0);
	put_load(fixture, 0x1000, 0x20, "JS:*work " LONG_FILE ":8:18", 0);
	put_freed_lines(fixture, one, 1, 1, 0);
	put_load(fixture, 0x2000, 0x20, "JS:^ " LONG_FILE ":1:1", 0);
	/* Undamaged lines behind them are read as usual. */
	put_lines(fixture, 0x3000, (const struct row[]){ { 0x3040, 4, "b.js" } }, 1);
	put_load(fixture, 0x3000, 0x20, "JS:*other c.js:1:1", 0);
	take_all(fixture);
	check_line(fixture, 0x1000, LONG_FILE, 7);
	check_line(fixture, 0x1010, LONG_FILE, 8);
	check_line(fixture, 0x101f, LONG_FILE, 9);
	check_line(fixture, 0x2010, LONG_FILE, 3);
	check_line(fixture, 0x3000, "b.js", 4);
}

static void lines_whose_file_was_freed_and_is_not_told_are_left_out(void **state)
{
	const char *const names[] = {
		/* Another file, another length, no columns, nothing in front. */
		"JS:*work /srv/in some folder/nama.js:8:18",
		"JS:*work /srv/in a folder/name.js:8:18",
		"JS:*work " LONG_FILE ":8",
		"JS:*work " LONG_FILE,
		LONG_FILE ":8:18",
		"JS:*work" LONG_FILE ":8:18",
		":8:18",
		"8",
	};
	struct fixture *fixture = *state;
	uint64_t start = 0x10000;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++, start += 0x1000) {
		const struct row row = { start + 0x40, 7, LONG_FILE };

		put_freed_lines(fixture, &row, 1, 1, 0);
		put_load(fixture, start, 0x20, names[i], 0);
	}
	take_all(fixture);
	while (start > 0x10000)
		check_line(fixture, start -= 0x1000, NULL, 0);
}

static void lines_of_which_too_much_was_freed_are_left_out(void **state)
{
	const struct {
		struct row rows[2];
		uint64_t count, freed_count;
		uint8_t fill;
	} tables[] = {
		/* Files of two lengths, two of one, and one whole. */
		{ { { 0, 7, LONG_FILE }, { 0, 8, "/srv/in some folder/n.js" } }, 2, 2, 0 },
		{ { { 0, 7, LONG_FILE }, { 0, 8, "/srv/in some folder/nama.js" } }, 2, 2, 0 },
		{ { { 0, 7, LONG_FILE }, { 0, 8, LONG_FILE } }, 2, 1, 0 },
		/* Names that are a part of the file's own name. */
		{ { { 0, 7, "/srv/long/long-name.js" } }, 1, 1, 0 },
		{ { { 0, 7, "short.js" } }, 1, 1, 0 },
		/* No fill. */
		{ { { 0, 7, LONG_FILE } }, 1, 1, 1 },
		{ { { 0, 7, "short.js" } }, 1, 0, 1 },
	};
	struct fixture *fixture = *state;
	char name[64];

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		uint64_t start = 0x1000 * (i + 1);
		struct row rows[] = { tables[i].rows[0], tables[i].rows[1] };

		rows[0].address = start + 0x40;
		rows[1].address = start + 0x48;
		put_freed_lines(fixture, rows, tables[i].count, tables[i].freed_count,
				tables[i].fill);
		snprintf(name, sizeof(name), "JS:*work %s:8:18", rows[0].file);
		put_load(fixture, start, 0x20, name, 0);
	}
	take_all(fixture);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		check_line(fixture, 0x1000 * (i + 1), NULL, 0);
}

static void too_many_files_or_rows_leave_a_function_without_lines(void **state)
{
	struct row *rows = calloc(CODE_LINES_MAX_ROWS + 1, sizeof(*rows));
	struct fixture *fixture = *state;
	char names[CODE_LINES_MAX_FILES + 1][16];

	assert_non_null(rows);
	for (uint32_t i = 0; i <= CODE_LINES_MAX_FILES; i++) {
		snprintf(names[i], sizeof(names[i]), "%u.js", i);
		rows[i] = (struct row){ 0x1000 + i, i + 1, names[i] };
	}
	put_lines(fixture, 0x1000, rows, CODE_LINES_MAX_FILES + 1);
	put_load(fixture, 0x1000, 0x100, "files", 0);
	for (uint32_t i = 0; i <= CODE_LINES_MAX_FILES; i++)
		rows[i].address += 0x1000;
	put_lines(fixture, 0x2000, rows, CODE_LINES_MAX_FILES);
	put_load(fixture, 0x2000, 0x100, "not too many", 0);
	for (uint32_t i = 0; i <= CODE_LINES_MAX_ROWS; i++)
		rows[i] = (struct row){ 0x10000 + i, i, "a" };
	put_lines(fixture, 0x10000, rows, CODE_LINES_MAX_ROWS + 1);
	put_load(fixture, 0x10000, 0x2000, "rows", 0);
	take_all(fixture);
	check_line(fixture, 0x1010, NULL, 0);
	check_line(fixture, 0x2010, "16.js", 17);
	check_line(fixture, 0x10010, NULL, 0);
	free(rows);
}

static void a_file_is_read_on_as_it_grows(void **state)
{
	struct fixture *fixture = *state;
	size_t at = 0, first;
	int err;

	put_load(fixture, 0x1000, 0x10, "one", 0x10);
	first = fixture->size;
	/* Code that is longer than what is read at once. */
	put_load(fixture, 0x10000, 100 << 10, "two", 100 << 10);
	put_load(fixture, 0x2000, 0x10, "three", 0x10);
	for (size_t size = 1; size <= fixture->size; size += size < first + 100 ? 1 : 1000) {
		at = read_all(fixture, at, size, &err);
		assert_int_equal(err, 0);
		/* Whole records only. */
		assert_true(at == 0 || at == 40 || at == first || at > first + (100 << 10));
	}
	assert_int_equal(read_all(fixture, at, fixture->size, &err), fixture->size);
	check_name(fixture, 0x1000, "one");
	check_name(fixture, 0x10000 + (100 << 10) - 1, "two");
	check_name(fixture, 0x2000, "three");
}

static void other_files_and_broken_ones_are_told(void **state)
{
	static const struct {
		uint32_t magic, version, bytes;
		int err;
	} headers[] = {
		{ 0x4454694a, 1, 40, -EOPNOTSUPP },   { 0x464c457f, 1, 40, -EOPNOTSUPP },
		{ 0x4a695444, 2, 40, -EOPNOTSUPP },   { 0x4a695444, 1, 39, -EBADMSG },
		{ 0x4a695444, 1, 1 << 20, -EBADMSG },
	};
	struct fixture *fixture = *state;
	size_t record;
	int err;

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		fixture->size = 0;
		put_header(fixture, headers[i].magic, headers[i].version, headers[i].bytes);
		assert_int_equal(read_all(fixture, 0, fixture->size, &err), 0);
		assert_int_equal(err, headers[i].err);
		read_all(fixture, 0, fixture->size, &err);
		assert_int_equal(err, -EBADMSG);
		jitdump_deinit(&fixture->dump);
	}
	fixture->size = 0;
	put_header(fixture, 0x4a695444, 1, 40);
	put_load(fixture, 0x1000, 0x10, "one", 0);
	record = begin_record(fixture, 3);
	end_record(fixture, record);
	fixture->size = record + 4;
	put(fixture, 15, 4);
	put(fixture, 0, 8);
	read_all(fixture, 0, fixture->size, &err);
	assert_int_equal(err, -EBADMSG);
	assert_true(fixture->dump.is_broken);
	/* Later code at this address is not known. */
	check_name(fixture, 0x1000, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_have_their_names_and_the_latest_at_an_address_stands),
		TEST(a_function_that_moves_takes_its_name_and_lines_along),
		TEST(addresses_have_the_file_and_line_of_the_row_before),
		TEST(lines_of_v8_begin_behind_an_elf_header),
		TEST(lines_that_make_no_sense_are_left_out),
		TEST(of_lines_whose_file_was_freed_the_function_tells_the_file),
		TEST(lines_whose_file_was_freed_and_is_not_told_are_left_out),
		TEST(lines_of_which_too_much_was_freed_are_left_out),
		TEST(too_many_files_or_rows_leave_a_function_without_lines),
		TEST(a_file_is_read_on_as_it_grows),
		TEST(other_files_and_broken_ones_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
