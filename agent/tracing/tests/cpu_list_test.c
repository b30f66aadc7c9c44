/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/cpu_list.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static void check(const char *text, const uint32_t *cpus, uint32_t count)
{
	struct cpu_list list;

	assert_int_equal(cpu_list_parse(text, &list), 0);
	assert_int_equal(list.count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(list.cpus[i], cpus[i]);
		assert_true(cpu_list_contains(&list, cpus[i]));
	}
	assert_false(cpu_list_contains(&list, 4000));
	cpu_list_deinit(&list);
}

static void numbers_and_ranges_are_read(void **state)
{
	(void)state;
	check("0\n", (uint32_t[]){ 0 }, 1);
	check("0-3,5\n", (uint32_t[]){ 0, 1, 2, 3, 5 }, 5);
	check("7,2-3", (uint32_t[]){ 2, 3, 7 }, 3);
	check("1-2,2-3,2", (uint32_t[]){ 1, 2, 3 }, 3);
	check("8191", (uint32_t[]){ 8191 }, 1);
}

static void no_cpu_at_all_is_an_empty_list(void **state)
{
	(void)state;
	check("\n", NULL, 0);
	check("", NULL, 0);
}

static void other_texts_are_refused(void **state)
{
	static const char *const texts[] = { "a", "-1", "1-", "3-1", "1,", "1,,2", "1 2", "0-3;5" };
	struct cpu_list list = { NULL, 42 };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(cpu_list_parse(texts[i], &list), -EBADMSG);
	assert_int_equal(cpu_list_parse("8192", &list), -E2BIG);
	assert_int_equal(cpu_list_parse("99999999999999999999", &list), -E2BIG);
	assert_int_equal(list.count, 42);
}

static void the_online_cpus_are_those_that_the_c_library_counts(void **state)
{
	struct cpu_list list;

	(void)state;
	assert_int_equal(cpu_list_read_online(&list), 0);
	assert_int_equal(list.count, sysconf(_SC_NPROCESSORS_ONLN));
	cpu_list_deinit(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_ranges_are_read),
		cmocka_unit_test(no_cpu_at_all_is_an_empty_list),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(the_online_cpus_are_those_that_the_c_library_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
