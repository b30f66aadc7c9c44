/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/code_hits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/processes/code_copies.h"

#define ADDRESS 0x7f0000000000ULL

static void a_window_is_passed_on_once_in_a_while(void **state)
{
	struct code_hits hits = { 0 };
	uint64_t now_ns = NS_PER_SECOND;

	(void)state;
	assert_true(code_hits_take(&hits, 7, ADDRESS, false, now_ns));
	assert_false(code_hits_take(&hits, 7, ADDRESS + 100, false, now_ns + 1));
	assert_true(code_hits_take(&hits, 7, ADDRESS + 100, true, now_ns + 1));
	assert_true(code_hits_take(&hits, 8, ADDRESS, false, now_ns + 1));
	assert_true(code_hits_take(&hits, 7, ADDRESS + CODE_WINDOW_BYTES, false, now_ns + 1));
	now_ns += CODE_HITS_PERIOD_NS;
	assert_true(code_hits_take(&hits, 7, ADDRESS, false, now_ns));
}

static void all_together_have_a_limit(void **state)
{
	struct code_hits hits = { 0 };
	uint64_t start_ns = NS_PER_SECOND, end_ns = start_ns + NS_PER_SECOND;
	uint32_t pid = 1, count = 0;

	(void)state;
	for (uint64_t now_ns = start_ns; now_ns < end_ns; now_ns += NS_PER_MS / 10)
		count += code_hits_take(&hits, pid++, ADDRESS, true, now_ns);
	assert_int_equal(count, 10 * CODE_HITS_MAX);
}

static void a_process_has_a_share(void **state)
{
	struct code_hits hits = { 0 };
	uint64_t address = ADDRESS;
	uint32_t count = 0;

	(void)state;
	for (int i = 0; i < 100; i++, address += CODE_WINDOW_BYTES)
		count += code_hits_take(&hits, 7, address, false, NS_PER_SECOND);
	assert_int_equal(count, CODE_HITS_OF_PROCESS_MAX);
	assert_true(code_hits_take(&hits, 8, ADDRESS, false, NS_PER_SECOND));
	assert_true(code_hits_take(&hits, 7, address, false, NS_PER_SECOND + CODE_HITS_PERIOD_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_is_passed_on_once_in_a_while),
		cmocka_unit_test(all_together_have_a_limit),
		cmocka_unit_test(a_process_has_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
