/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/folded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/tests/fixture.h"

static void folded_stacks_are_merged_over_processes_and_addresses(void **state)
{
	struct fixture *f = *state;
	char *text;

	fixture_report_all_kinds(f);
	text = fixture_output(f, folded_write);
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(folded_stacks_are_merged_over_processes_and_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
