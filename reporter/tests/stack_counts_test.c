/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/stack_counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/folded.h"
#include "reporter/stack_table.h"
#include "reporter/tests/fixture.h"

static int setup(void **state)
{
	static struct fixture fixture;

	fixture_init(&fixture);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	fixture_deinit(*state);
	return 0;
}

/* The output of @write over all that is in the store; the caller frees it. */
static char *output_of(struct fixture *f, void (*write)(FILE *, const struct stack_counts *))
{
	struct sample_snapshot snapshot;
	struct stack_counts counts;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(sample_store_take_snapshot(f->store, &snapshot), 0);
	assert_int_equal(stack_counts_init(&counts, &snapshot, &f->lookup), 0);
	write(out, &counts);
	fclose(out);
	stack_counts_deinit(&counts);
	sample_snapshot_deinit(&snapshot);
	return text;
}

static void folded_stacks_are_merged_over_processes_and_addresses(void **state)
{
	struct fixture *f = *state;
	char *text;

	fixture_report_all_kinds(f);
	text = output_of(f, folded_write);
	assert_string_equal(
		text,
		"prog;main;outer;middle_[i];tiny_[i] 7\n"
		"a:b;[error: no unwind information];lib:x.so+0x6000_[?];lib:x.so+0x5000 4\n"
		"prog;main;foo:bar baz;ext4+0xffffffff81000040_[k];bpf_prog_1_[k];ext4_read_[k];"
		"do_sys:call_[k] 3\n"
		"[unknown];[truncated];main_[?];[anonymous]+0x7f0000001000_[j] 2\n"
		"kworker/0:1;worker_[k] 1\n");
	free(text);
}

static void the_stack_table_has_shares_most_frequent_first(void **state)
{
	struct fixture *f = *state;
	char *text;

	REPORT(f, "b", 1, 1, native_frame(f->prog, 0x1000, 0));
	REPORT(f, "a", 2, 1, native_frame(f->prog, 0x1000, 0));
	REPORT(f, "c", 3, 5, native_frame(f->prog, 0x1000, 0));
	REPORT(f, "a", 4, 1, native_frame(f->prog, 0x2000, 0), native_frame(f->prog, 0x1000, 0));
	text = output_of(f, stack_table_write);
	assert_string_equal(text, "62.5% c;main\n"
				  "12.5% a;main\n"
				  "12.5% a;main;foo:bar baz\n"
				  "12.5% b;main\n");
	free(text);
}

static void an_address_is_looked_up_once(void **state)
{
	struct fixture *f = *state;

	for (uint32_t pid = 1; pid <= 50; pid++)
		REPORT(f, "p", pid, 1, native_frame(f->prog, 0x3000 + pid % 2, pid % 2),
		       native_frame(f->prog, 0x1000, 0));
	free(output_of(f, folded_write));
	assert_int_equal(f->lookups, 2);
}

static void no_samples_make_an_empty_file(void **state)
{
	char *text = output_of(*state, stack_table_write);

	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(folded_stacks_are_merged_over_processes_and_addresses),
		TEST(the_stack_table_has_shares_most_frequent_first),
		TEST(an_address_is_looked_up_once),
		TEST(no_samples_make_an_empty_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
