/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/elf/tests/go_table_example.h"
#include "symbols/go_symbols.h"
#include "symbols/symbol_store.h"

enum { TEXT = MADE_GO_ADDRESS + MADE_GO_TEXT, OUTER = TEXT + 64, WRAPPER = OUTER + 1008 };

static const struct program_facts facts = { .languages = 1
							 << (FRAME_GO - FRAME_FIRST_INTERPRETED) };
static struct made_go go;
static struct go_symbols *symbols;

static int setup(void **state)
{
	(void)state;
	made_go_example(&go, GO_TABLE_1_20, 26);
	made_go_make(&go);
	return go_symbols_create(&symbols, false, NULL);
}

static int teardown(void **state)
{
	(void)state;
	go_symbols_destroy(symbols);
	return 0;
}

static struct binary open_made(void)
{
	static uint64_t last_id = 1 << 16;
	struct binary binary = {
		.executable_id = ++last_id,
		.fd = memfd_create("go_symbols_test", MFD_CLOEXEC),
		.facts = &facts,
		.path = "/opt/made",
	};

	assert_int_equal(write(binary.fd, go.bytes, sizeof(go.bytes)), sizeof(go.bytes));
	return binary;
}

static void expect_of(struct symbol_lookup *lookup, struct binary *binary, uint64_t address,
		      uint32_t capacity, const char *expected)
{
	struct symbol found[8];
	uint32_t count = lookup->ops->resolve(lookup, binary, address, found, capacity);
	char text[512] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < count; i++) {
		assert_true(found[i].language == FRAME_GO);
		used += snprintf(text + used, sizeof(text) - used, "%s%s %s:%u", i ? "; " : "",
				 found[i].function, found[i].file ? found[i].file : "-",
				 found[i].line);
	}
	if (strcmp(text, expected) != 0)
		fail_msg("%#lx: %s, not %s", address, text, expected);
}

static void expect(struct binary *binary, uint64_t address, const char *expected)
{
	/* First from the table, then from the cache of answers. */
	for (int i = 0; i < 2; i++)
		expect_of(go_symbols_lookup(symbols), binary, address, 8, expected);
}

static void code_of_go_has_functions_files_and_lines(void **state)
{
	struct binary binary = open_made();

	(void)state;
	expect(&binary, TEXT + 8, "main.leaf /src/main.go:12");
	expect(&binary, OUTER + 300,
	       "main.inner[...] /src/inner.go:7; main.middle /src/main.go:51; "
	       "main.outer /src/main.go:101");
	/* The file of the function is unknown. */
	expect(&binary, WRAPPER + 64, "runtime.assembly -:0");
	close(binary.fd);
}

static void where_there_is_little_room_the_function_with_the_code_is_given(void **state)
{
	struct symbol_lookup *lookup = go_symbols_lookup(symbols);
	struct binary binary = open_made();

	(void)state;
	expect_of(lookup, &binary, OUTER + 300, 1, "main.outer /src/main.go:101");
	expect_of(lookup, &binary, OUTER + 300, 2,
		  "main.inner[...] /src/inner.go:7; main.outer /src/main.go:101");
	expect_of(lookup, &binary, OUTER + 300, 0, "");
	close(binary.fd);
}

static void other_code_is_for_others_to_name(void **state)
{
	struct binary binary = open_made(), plain = open_made(), closed = open_made();

	(void)state;
	expect(&binary, TEXT - 1, "");
	expect(&binary, WRAPPER + 128, "");
	plain.facts = NULL;
	expect(&plain, TEXT, "");
	close(closed.fd);
	closed.fd = -1;
	expect(&closed, TEXT, "");
	close(binary.fd);
	close(plain.fd);
}

/* The entry that Go's own linker makes for C functions. */
static void c_in_the_table_is_for_others_to_name(void **state)
{
	struct binary binary;

	(void)state;
	/* Flags of the last function, which has no tables of files and sizes either. */
	made_go_put(&go, go.function_at[3] + 41, 0, 1);
	binary = open_made();
	expect(&binary, WRAPPER + 64, "");
	expect(&binary, WRAPPER, "main.(*wrapped).run /src/main.go:10");
	close(binary.fd);
}

/* They could hang the report thread. */
static void files_that_may_never_answer_are_read_only_if_that_is_wanted(void **state)
{
	struct binary binary = open_made();
	struct go_symbols *patient;

	(void)state;
	binary.may_hang = true;
	expect(&binary, TEXT, "");
	assert_int_equal(go_symbols_create(&patient, true, NULL), 0);
	expect_of(go_symbols_lookup(patient), &binary, TEXT, 8, "main.leaf /src/main.go:10");
	go_symbols_destroy(patient);
	close(binary.fd);
}

static void answers_outlive_a_rest_and_tables_are_read_again(void **state)
{
	struct symbol_lookup *lookup = go_symbols_lookup(symbols);
	struct binary binary = open_made();

	(void)state;
	lookup->ops->rest(lookup);
	expect(&binary, TEXT, "main.leaf /src/main.go:10");
	lookup->ops->rest(lookup);
	lookup->ops->rest(lookup);
	expect(&binary, TEXT + 8, "main.leaf /src/main.go:12");
	/* The answer is still cached, although the file has lost the data. */
	assert_int_equal(ftruncate(binary.fd, 0), 0);
	lookup->ops->rest(lookup);
	expect(&binary, TEXT, "main.leaf /src/main.go:10");
	expect(&binary, TEXT + 12, "");
	close(binary.fd);
}

/* Two descriptors of one file: the first may be closed while the table is cached. */
static void a_table_is_read_by_the_descriptor_at_hand(void **state)
{
	struct binary binary = open_made();
	struct binary other = binary;

	(void)state;
	expect(&binary, TEXT, "main.leaf /src/main.go:10");
	other.fd = dup(binary.fd);
	close(binary.fd);
	go_symbols_lookup(symbols)->ops->rest(go_symbols_lookup(symbols));
	expect(&other, OUTER + 99, "main.outer /src/main.go:100");
	close(other.fd);
}

static void more_tables_than_are_kept_open_have_names(void **state)
{
	struct binary binaries[2 * GO_SYMBOLS_MAX_OPEN];

	(void)state;
	for (uint32_t i = 0; i < 2 * GO_SYMBOLS_MAX_OPEN; i++)
		binaries[i] = open_made();
	for (uint32_t turn = 0; turn < 3; turn++) {
		for (uint32_t i = 0; i < 2 * GO_SYMBOLS_MAX_OPEN; i++)
			expect(&binaries[i], TEXT + turn, "main.leaf /src/main.go:10");
	}
	for (uint32_t i = 0; i < 2 * GO_SYMBOLS_MAX_OPEN; i++)
		close(binaries[i].fd);
}

static void a_damaged_function_has_no_name(void **state)
{
	struct binary binary;

	(void)state;
	/* The offset of the function's name. */
	made_go_put(&go, go.function_at[0] + 4, 0x7fffffff, 4);
	binary = open_made();
	expect(&binary, TEXT, "");
	expect(&binary, OUTER + 99, "main.outer /src/main.go:100");
	close(binary.fd);
}

static void a_damaged_table_costs_the_names_of_its_file(void **state)
{
	struct binary binary, whole = open_made();

	(void)state;
	made_go_put(&go, MADE_GO_TABLE, 0xfffffff5, 4);
	binary = open_made();
	expect(&binary, TEXT, "");
	expect(&whole, TEXT, "main.leaf /src/main.go:10");
	close(binary.fd);
	close(whole.fd);
}

static void the_store_has_names_of_go_before_its_own(void **state)
{
	struct binary binary = open_made(), damaged;
	struct symbol_lookup *lookup;
	const struct symbol_store_options options = { .table_limit_bytes = 64 << 20 };
	struct symbol_store *store;

	(void)state;
	made_go_put(&go, go.function_at[0] + 4, 0x7fffffff, 4);
	damaged = open_made();
	assert_int_equal(symbol_store_create(&options, &store), 0);
	lookup = symbol_store_lookup(store);
	expect_of(lookup, &binary, TEXT, 8, "main.leaf /src/main.go:10");
	expect_of(lookup, &damaged, TEXT, 8, "");
	expect_of(lookup, &binary, WRAPPER + 128, 8, "");
	lookup->ops->rest(lookup);
	expect_of(lookup, &binary, TEXT, 8, "main.leaf /src/main.go:10");
	symbol_store_destroy(store);
	close(binary.fd);
	close(damaged.fd);
}

static void expect_traits(struct binary *binary, uint64_t address, uint32_t traits)
{
	struct symbol_lookup *lookup = go_symbols_lookup(symbols);

	assert_int_equal(lookup->ops->traits(lookup, binary, address), traits);
}

static void what_the_runtime_leaves_out_is_left_out(void **state)
{
	struct symbol symbol;
	struct binary binary = open_made();

	(void)state;
	expect(&binary, WRAPPER + 8, "main.run /src/main.go:12");
	expect(&binary, WRAPPER, "main.(*wrapped).run /src/main.go:10");
	expect_traits(&binary, WRAPPER, FUNCTION_IS_GENERATED);
	assert_int_equal(go_symbols_lookup(symbols)->ops->resolve(go_symbols_lookup(symbols),
								  &binary, WRAPPER + 8, &symbol, 1),
			 1);
	assert_true(symbol.flags & SYMBOL_INLINED);
	/* The functions shown there are inlined. */
	expect_traits(&binary, WRAPPER + 8, 0);
	expect_traits(&binary, TEXT + 8, 0);
	expect_traits(&binary, WRAPPER + 128, 0);
	binary.may_hang = true;
	expect_traits(&binary, WRAPPER, 0);
	close(binary.fd);
}

static void a_wrapper_inlined_into_others_is_told_apart(void **state)
{
	static const struct made_value lines[] = { { 10, 64 }, { 0, 0 } };
	static const struct made_value calls[] = { { -1, 8 }, { 0, 64 }, { 0, 0 } };
	static const struct made_call tree[] = {
		{ .name = "main.(*wrapped).run", .id = 23, .start_line = 1 }
	};
	struct made_function functions[] = {
		{ .name = "main.caller",
		  .bytes = 64,
		  .sizes = lines,
		  .files = lines,
		  .lines = lines,
		  .calls = calls,
		  .tree = tree,
		  .tree_count = 1,
		  .start_line = 9 },
		{ .name = "main.(*wrapped).other",
		  .bytes = 64,
		  .sizes = lines,
		  .files = lines,
		  .lines = lines,
		  .calls = calls,
		  .tree = tree,
		  .tree_count = 1,
		  .start_line = 1,
		  .id = 23 },
	};
	struct symbol found[8];
	struct binary binary;

	(void)state;
	go.functions = functions;
	go.function_count = 2;
	made_go_make(&go);
	binary = open_made();
	expect_traits(&binary, TEXT, 0);
	expect_traits(&binary, TEXT + 8, FUNCTION_BEGINS_GENERATED);
	assert_int_equal(go_symbols_lookup(symbols)->ops->resolve(go_symbols_lookup(symbols),
								  &binary, TEXT + 8, found, 8),
			 2);
	assert_true(found[0].flags & SYMBOL_GENERATED);
	assert_false(found[1].flags & SYMBOL_GENERATED);
	/* Of nested wrappers the innermost one is left, which is shown in panics. */
	expect_traits(&binary, TEXT + 64 + 8, FUNCTION_IS_GENERATED);
	close(binary.fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(code_of_go_has_functions_files_and_lines),
		TEST(what_the_runtime_leaves_out_is_left_out),
		TEST(a_wrapper_inlined_into_others_is_told_apart),
		TEST(where_there_is_little_room_the_function_with_the_code_is_given),
		TEST(other_code_is_for_others_to_name),
		TEST(c_in_the_table_is_for_others_to_name),
		TEST(files_that_may_never_answer_are_read_only_if_that_is_wanted),
		TEST(answers_outlive_a_rest_and_tables_are_read_again),
		TEST(a_table_is_read_by_the_descriptor_at_hand),
		TEST(more_tables_than_are_kept_open_have_names),
		TEST(a_damaged_function_has_no_name),
		TEST(a_damaged_table_costs_the_names_of_its_file),
		TEST(the_store_has_names_of_go_before_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
