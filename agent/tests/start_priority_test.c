/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "agent/start_priority.h"

static int own_policy(void)
{
	return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

static void *read_policy(void *policy)
{
	*(int *)policy = own_policy();
	return NULL;
}

static void it_lasts_until_its_end_and_is_not_inherited(void **state)
{
	struct start_priority priority;
	int policy = -1;
	pthread_t thread;

	(void)state;
	start_priority_begin(&priority, UINT64_MAX);
	if (!priority.has_watch)
		skip();
	assert_int_equal(own_policy(), SCHED_RR);
	assert_int_equal(pthread_create(&thread, NULL, read_policy, &policy), 0);
	pthread_join(thread, NULL);
	assert_int_equal(policy, SCHED_OTHER);
	start_priority_end(&priority);
	assert_int_equal(own_policy(), SCHED_OTHER);
	start_priority_end(&priority);
}

static void it_ends_by_itself_when_it_is_used_up(void **state)
{
	struct start_priority priority;

	(void)state;
	start_priority_begin(&priority, clock_thread_cpu_ns() + NS_PER_MS);
	if (!priority.has_watch)
		skip();
	while (own_policy() == SCHED_RR)
		;
	assert_true(clock_thread_cpu_ns() >= priority.max_cpu_ns);
	start_priority_end(&priority);
}

static void a_policy_that_was_chosen_stays(void **state)
{
	const struct sched_param param = { .sched_priority = 0 };
	struct start_priority priority;

	(void)state;
	assert_int_equal(sched_setscheduler(0, SCHED_BATCH, &param), 0);
	start_priority_begin(&priority, UINT64_MAX);
	assert_int_equal(own_policy(), SCHED_BATCH);
	start_priority_end(&priority);
	assert_int_equal(own_policy(), SCHED_BATCH);
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &param), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_lasts_until_its_end_and_is_not_inherited),
		cmocka_unit_test(it_ends_by_itself_when_it_is_used_up),
		cmocka_unit_test(a_policy_that_was_chosen_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
