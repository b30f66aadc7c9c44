/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "lib/elf/go_function.h"
#include "lib/elf/tests/go_table_example.h"

static struct made_go go;
static struct elf_image image;
static struct go_table table;

enum { TEXT = MADE_GO_ADDRESS + MADE_GO_TEXT };

static void open_made(void)
{
	assert_int_equal(elf_image_init_memory(&image, go.bytes, sizeof(go.bytes)), 0);
	assert_int_equal(go_table_init(&table, &image), 0);
}

static void open_example(int index, bool is_relocated, uint16_t machine)
{
	made_go_example(&go, made_go_versions[index].version, made_go_versions[index].minor);
	go.is_relocated = is_relocated;
	go.machine = machine;
	made_go_make(&go);
	open_made();
}

static void close_made(void)
{
	go_table_deinit(&table);
	elf_image_deinit(&image);
}

static void functions_are_found_at_each_of_their_addresses(void **state)
{
	struct go_function function;

	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS * 4; i++) {
		uint64_t start = TEXT;

		open_example(i / 4, i & 1, i & 2 ? EM_AARCH64 : EM_X86_64);
		for (uint32_t k = 0; k < 4; k++) {
			for (uint64_t at = start; at < start + go.functions[k].bytes; at++) {
				assert_int_equal(go_function_find(&table, at, &function), 0);
				assert_int_equal(function.start, start);
				assert_int_equal(function.end, start + go.functions[k].bytes);
			}
			start += go.functions[k].bytes;
		}
		assert_int_equal(go_function_find(&table, TEXT - 1, &function), -ENOENT);
		assert_int_equal(go_function_find(&table, start, &function), -ENOENT);
		close_made();
	}
}

static void fields_are_those_of_the_version(void **state)
{
	struct go_function function;

	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS; i++) {
		open_example(i, false, EM_X86_64);
		assert_int_equal(go_function_read(&table, 3, &function), 0);
		assert_int_equal(function.argument_bytes, INT32_MIN);
		assert_int_equal(function.defer_return, go.minor >= 12 ? 5 : 0);
		assert_int_equal(function.pcsp, 0);
		assert_int_equal(function.flags,
				 go.version == GO_TABLE_1_2 ?
					 0 :
					 GO_FUNCTION_SP_WRITE | GO_FUNCTION_ASSEMBLY);
		assert_int_equal(go_function_read(&table, 1, &function), 0);
		assert_int_equal(function.start_line, go.version == GO_TABLE_1_20 ? 99 : 0);
		assert_string_equal((char *)go.bytes + table.header.names.offset + function.name,
				    "main.outer");
		assert_int_equal(go_function_read(&table, 2, &function), 0);
		assert_int_equal(go_function_kind(&table, function.id),
				 go.minor > 12 ? GO_FUNCTION_WRAPPER : GO_FUNCTION_ORDINARY);
		close_made();
	}
}

static void kinds_have_the_numbers_of_the_version(void **state)
{
	struct go_table of_version = { .minor = 26 };

	(void)state;
	assert_int_equal(go_function_kind(&of_version, 10), GO_FUNCTION_GOPANIC);
	assert_int_equal(go_function_kind(&of_version, 15), GO_FUNCTION_PANICWRAP);
	assert_int_equal(go_function_kind(&of_version, 20), GO_FUNCTION_SIGPANIC);
	assert_int_equal(go_function_kind(&of_version, 23), GO_FUNCTION_WRAPPER);
	assert_int_equal(go_function_kind(&of_version, 22), GO_FUNCTION_ORDINARY);
	of_version.minor = 16;
	assert_int_equal(go_function_kind(&of_version, 18), GO_FUNCTION_GOPANIC);
	assert_int_equal(go_function_kind(&of_version, 22), GO_FUNCTION_WRAPPER);
	of_version.minor = 0;
	assert_int_equal(go_function_kind(&of_version, 22), GO_FUNCTION_ORDINARY);
}

static void sizes_of_frames_cover_the_function(void **state)
{
	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS * 2; i++) {
		struct go_function function;
		struct go_values values;
		struct go_value value;

		open_example(i / 2, false, i & 1 ? EM_AARCH64 : EM_X86_64);
		assert_int_equal(go_function_read(&table, 1, &function), 0);
		go_values_init(&values, &table, &function, function.pcsp);
		assert_int_equal(go_values_next(&values, &value), 1);
		assert_int_equal(value.start, TEXT + 64);
		assert_int_equal(value.end, TEXT + 64 + 8);
		assert_int_equal(value.value, 0);
		assert_int_equal(go_values_next(&values, &value), 1);
		assert_int_equal(value.start, TEXT + 64 + 8);
		assert_int_equal(value.end, TEXT + 64 + 1000);
		assert_int_equal(value.value, 100000);
		assert_int_equal(go_values_next(&values, &value), 0);
		close_made();
	}
}

static void values_are_found_and_are_minus_1_where_there_are_none(void **state)
{
	struct go_function function;
	int32_t value;

	(void)state;
	open_example(9, false, EM_X86_64);
	assert_int_equal(go_function_read(&table, 1, &function), 0);
	assert_int_equal(
		go_function_value(&table, &function, function.pcsp, function.start + 7, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(
		go_function_value(&table, &function, function.pcsp, function.start + 8, &value), 0);
	assert_int_equal(value, 100000);
	/* In the gap behind the function's code. */
	assert_int_equal(go_function_value(&table, &function, function.pcsp, function.start + 1000,
					   &value),
			 0);
	assert_int_equal(value, -1);
	assert_int_equal(go_function_value(&table, &function, 0, function.start, &value), 0);
	assert_int_equal(value, -1);
	assert_int_equal(table.step_count, 1 + 2 + 3);
	close_made();
}

/* A table of values with these bytes at the end of the part. */
static int read_values(const uint8_t *bytes, uint32_t count, struct go_value *last)
{
	struct go_part *part = &table.header.values;
	struct go_function function;
	struct go_values values;
	struct go_value value;
	int more;

	assert_int_equal(go_function_read(&table, 1, &function), 0);
	memcpy(go.bytes + part->offset + part->bytes - count, bytes, count);
	elf_pages_release(&table.pages);
	go_values_init(&values, &table, &function, part->bytes - count);
	while ((more = go_values_next(&values, &value)) > 0)
		*last = value;
	return more;
}

static void damaged_values_end(void **state)
{
	struct go_value last = { 0 };
	uint8_t empty[64] = { 0 };

	(void)state;
	open_example(9, false, EM_X86_64);
	/* It ends with the part. */
	assert_int_equal(read_values((uint8_t[]){ 2, 3, 4 }, 3, &last), -EBADMSG);
	assert_int_equal(last.end, TEXT + 64 + 3);
	assert_int_equal(read_values((uint8_t[]){ 2 }, 1, &last), -EBADMSG);
	assert_int_equal(read_values((uint8_t[]){ 2, 0x80, 0x80 }, 3, &last), -EBADMSG);
	assert_int_equal(read_values((uint8_t[]){ 2, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0 }, 8,
				     &last),
			 -EBADMSG);
	/* Beyond the function's end. */
	assert_int_equal(read_values((uint8_t[]){ 1, 0xff, 0xff, 0xff, 0xff, 15, 0 }, 7, &last), 0);
	assert_int_equal(last.end, TEXT + 64 + 1008);
	assert_int_equal(last.value, -2);
	/* Steps that go nowhere. */
	memset(empty, 2, sizeof(empty));
	for (size_t i = 1; i < sizeof(empty); i += 2)
		empty[i] = 0;
	assert_int_equal(read_values(empty, sizeof(empty), &last), -EBADMSG);
	close_made();
}

static void a_first_value_may_be_minus_1(void **state)
{
	struct go_value last = { 0 };

	(void)state;
	open_example(9, false, EM_X86_64);
	assert_int_equal(read_values((uint8_t[]){ 0, 5, 0 }, 3, &last), 0);
	assert_int_equal(last.value, -1);
	assert_int_equal(last.end, TEXT + 64 + 5);
	close_made();
}

static void data_of_functions_are_found(void **state)
{
	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS * 2; i++) {
		struct go_function function;
		uint64_t offset, bytes;
		uint32_t values = 7;

		open_example(i / 2, i & 1, EM_X86_64);
		assert_int_equal(go_function_read(&table, 1, &function), 0);
		assert_int_equal(go_function_pcdata(&table, &function, function.pcdata_count - 1,
						    &values),
				 0);
		assert_int_not_equal(values, 0);
		assert_int_equal(
			go_function_pcdata(&table, &function, function.pcdata_count, &values), 0);
		assert_int_equal(values, 0);
		assert_int_equal(go_function_funcdata(&table, &function,
						      function.funcdata_count - 1, &offset, &bytes),
				 0);
		assert_true(offset > MADE_GO_TABLE && offset < MADE_GO_DATA);
		assert_int_equal(bytes, MADE_GO_DATA - offset);
		assert_int_equal(go_function_funcdata(&table, &function, 0, &offset, &bytes),
				 -ENOENT);
		assert_int_equal(go_function_funcdata(&table, &function, function.funcdata_count,
						      &offset, &bytes),
				 -ENOENT);
		close_made();
	}
}

static void damaged_functions_are_refused(void **state)
{
	struct go_function function;
	uint64_t offset, bytes;

	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS; i++) {
		uint32_t number_bytes, index;

		open_example(i, false, EM_X86_64);
		number_bytes = made_go_number_bytes(&go);
		index = table.header.index.offset;
		/* One that starts behind its end, and one that stands outside of the table. */
		made_go_put(&go, index + 2 * number_bytes, UINT32_MAX, number_bytes);
		made_go_put(&go, index + 5 * number_bytes, 1 << 20, number_bytes);
		elf_pages_release(&table.pages);
		assert_int_equal(go_function_read(&table, 1, &function), -EBADMSG);
		assert_int_equal(go_function_read(&table, 2, &function), -EBADMSG);
		assert_int_equal(go_function_read(&table, 3, &function), 0);
		function.pcdata_count = UINT32_MAX;
		assert_int_equal(go_function_funcdata(&table, &function, 0, &offset, &bytes),
				 -EBADMSG);
		close_made();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_found_at_each_of_their_addresses),
		cmocka_unit_test(fields_are_those_of_the_version),
		cmocka_unit_test(kinds_have_the_numbers_of_the_version),
		cmocka_unit_test(sizes_of_frames_cover_the_function),
		cmocka_unit_test(values_are_found_and_are_minus_1_where_there_are_none),
		cmocka_unit_test(damaged_values_end),
		cmocka_unit_test(a_first_value_may_be_minus_1),
		cmocka_unit_test(data_of_functions_are_found),
		cmocka_unit_test(damaged_functions_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
