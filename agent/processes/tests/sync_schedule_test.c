/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/processes/sync_schedule.h"

static void add(struct sync_schedule *schedule, uint32_t pid, uint32_t reasons, uint64_t due_ns)
{
	const struct scheduled_sync request = {
		.pid = pid,
		.reasons = reasons,
		.due_ns = due_ns,
		.touched_start = UINT64_MAX,
	};

	assert_int_equal(sync_schedule_add(schedule, &request), 0);
}

static void entries_come_out_in_the_order_of_their_times(void **state)
{
	static const uint64_t times[] = { 50, 10, 40, 20, 30, 60, 5 };
	struct sync_schedule schedule = { 0 };
	struct scheduled_sync entry;
	uint64_t last_ns = 0;
	uint32_t count = 0;

	(void)state;
	for (uint32_t i = 0; i < 7; i++)
		add(&schedule, i, SYNC_MAPPINGS, times[i]);
	assert_int_equal(sync_schedule_next_due(&schedule), 5);
	assert_false(sync_schedule_pop(&schedule, 4, &entry));
	while (sync_schedule_pop(&schedule, 45, &entry)) {
		assert_true(entry.due_ns > last_ns);
		last_ns = entry.due_ns;
		count++;
	}
	assert_int_equal(count, 5);
	assert_int_equal(sync_schedule_count(&schedule), 2);
	sync_schedule_deinit(&schedule);
}

static void requests_for_one_pid_become_one_entry_at_the_earliest_time(void **state)
{
	struct sync_schedule schedule = { 0 };
	struct scheduled_sync request = { .pid = 7,
					  .reasons = SYNC_MAPPINGS,
					  .due_ns = 100,
					  .touched_start = 0x2000,
					  .touched_end = 0x3000 };
	struct scheduled_sync entry;

	(void)state;
	assert_int_equal(sync_schedule_add(&schedule, &request), 0);
	request.touched_start = 0x8000;
	request.touched_end = 0x9000;
	request.due_ns = 120;
	assert_int_equal(sync_schedule_add(&schedule, &request), 0);
	add(&schedule, 7, SYNC_UNKNOWN_ADDRESS, 50);
	assert_true(sync_schedule_pop(&schedule, 50, &entry));
	assert_int_equal(entry.reasons, SYNC_MAPPINGS | SYNC_UNKNOWN_ADDRESS);
	assert_int_equal(entry.touched_start, 0x2000);
	assert_int_equal(entry.touched_end, 0x9000);
	assert_false(sync_schedule_pop(&schedule, 1000, &entry));
	sync_schedule_deinit(&schedule);
}

static void a_postponed_entry_waits_for_its_new_time(void **state)
{
	struct sync_schedule schedule = { 0 };
	struct scheduled_sync entry;

	(void)state;
	add(&schedule, 7, SYNC_MAPPINGS, 10);
	sync_schedule_postpone(&schedule, 7, SYNC_MAPPINGS, 30);
	sync_schedule_postpone(&schedule, 8, SYNC_MAPPINGS, 30);
	assert_false(sync_schedule_pop(&schedule, 29, &entry));
	assert_int_equal(sync_schedule_next_due(&schedule), 30);
	assert_true(sync_schedule_pop(&schedule, 30, &entry));
	assert_int_equal(entry.pid, 7);
	sync_schedule_deinit(&schedule);
}

static void an_entry_with_an_urgent_reason_is_not_postponed(void **state)
{
	struct sync_schedule schedule = { 0 };
	struct scheduled_sync entry;

	(void)state;
	add(&schedule, 7, SYNC_MAPPINGS, 20);
	add(&schedule, 7, SYNC_UNKNOWN_PROCESS, 10);
	sync_schedule_postpone(&schedule, 7, SYNC_MAPPINGS, 30);
	assert_true(sync_schedule_pop(&schedule, 10, &entry));
	/* The time that was moved forward leaves nothing behind. */
	assert_false(sync_schedule_pop(&schedule, 100, &entry));
	assert_int_equal(sync_schedule_next_due(&schedule), UINT64_MAX);
	sync_schedule_deinit(&schedule);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_out_in_the_order_of_their_times),
		cmocka_unit_test(requests_for_one_pid_become_one_entry_at_the_earliest_time),
		cmocka_unit_test(a_postponed_entry_waits_for_its_new_time),
		cmocka_unit_test(an_entry_with_an_urgent_reason_is_not_postponed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
