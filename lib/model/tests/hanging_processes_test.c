/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/model/hanging_processes.h"

/* All tests share one list, so each uses its own times. */
#define HOUR_NS (3600 * NS_PER_SECOND)

static void the_newest_is_first_and_each_is_there_once(void **state)
{
	uint32_t pids[HANGING_PROCESSES_MAX];

	(void)state;
	assert_int_equal(hanging_processes_list(HOUR_NS, pids), 0);
	hanging_processes_note(1, HOUR_NS);
	hanging_processes_note(2, HOUR_NS + 1);
	hanging_processes_note(3, HOUR_NS + 2);
	hanging_processes_note(2, HOUR_NS + 3);
	assert_int_equal(hanging_processes_list(HOUR_NS + 4, pids), 3);
	assert_int_equal(pids[0], 2);
	assert_int_equal(pids[1], 3);
	assert_int_equal(pids[2], 1);
	/* The oldest goes first. */
	assert_int_equal(hanging_processes_list(HOUR_NS + HANGING_PROCESS_NS + 1, pids), 2);
	assert_int_equal(hanging_processes_list(2 * HOUR_NS, pids), 0);
}

static void the_newest_stay_when_there_are_many(void **state)
{
	uint32_t pids[HANGING_PROCESSES_MAX];

	(void)state;
	for (uint32_t pid = 1; pid <= 3 * HANGING_PROCESSES_MAX; pid++)
		hanging_processes_note(pid, 3 * HOUR_NS);
	assert_int_equal(hanging_processes_list(3 * HOUR_NS, pids), HANGING_PROCESSES_MAX);
	for (uint32_t i = 0; i < HANGING_PROCESSES_MAX; i++)
		assert_int_equal(pids[i], 3 * HANGING_PROCESSES_MAX - i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_is_first_and_each_is_there_once),
		cmocka_unit_test(the_newest_stay_when_there_are_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
