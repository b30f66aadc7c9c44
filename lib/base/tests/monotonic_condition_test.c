/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/monotonic_condition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/base/clock.h"

struct shared {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool has_changed;
};

static void a_wait_ends_at_its_time_and_not_before(void **state)
{
	struct shared shared = { .lock = PTHREAD_MUTEX_INITIALIZER };
	uint64_t until_ns = clock_monotonic_ns() + 20 * NS_PER_MS;

	(void)state;
	assert_int_equal(monotonic_condition_init(&shared.changed), 0);
	pthread_mutex_lock(&shared.lock);
	while (monotonic_condition_wait(&shared.changed, &shared.lock, until_ns))
		;
	assert_true(clock_monotonic_ns() >= until_ns);
	/* One that is over already does not wait. */
	assert_false(monotonic_condition_wait(&shared.changed, &shared.lock, 0));
	pthread_mutex_unlock(&shared.lock);
	pthread_cond_destroy(&shared.changed);
}

static void *change(void *context)
{
	struct shared *shared = context;

	pthread_mutex_lock(&shared->lock);
	shared->has_changed = true;
	pthread_cond_broadcast(&shared->changed);
	pthread_mutex_unlock(&shared->lock);
	return NULL;
}

static void a_change_ends_it(void **state)
{
	struct shared shared = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread;

	(void)state;
	assert_int_equal(monotonic_condition_init(&shared.changed), 0);
	pthread_mutex_lock(&shared.lock);
	assert_int_equal(pthread_create(&thread, NULL, change, &shared), 0);
	while (!shared.has_changed)
		assert_true(monotonic_condition_wait(&shared.changed, &shared.lock, UINT64_MAX));
	pthread_mutex_unlock(&shared.lock);
	pthread_join(thread, NULL);
	pthread_cond_destroy(&shared.changed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_ends_at_its_time_and_not_before),
		cmocka_unit_test(a_change_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
