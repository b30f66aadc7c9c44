/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/queue_delay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct record {
	uint64_t time_ns;
	uint32_t more;
};

static void push(struct queue_delay *delay, uint64_t time_ns)
{
	const struct record record = { .time_ns = time_ns, .more = 7 };

	assert_int_equal(bounded_queue_push(delay->queue, &record, sizeof(record)), 0);
}

static void take(struct queue_delay *delay)
{
	struct record record;

	assert_int_equal(bounded_queue_pop(delay->queue, &record, NULL, 0), 0);
	queue_delay_begin(delay, record.time_ns);
}

static void the_oldest_counts_in_the_queue_or_at_hand(void **state)
{
	struct bounded_queue queue;
	struct queue_delay delay = { .queue = &queue };

	(void)state;
	assert_int_equal(bounded_queue_init_fixed(&queue, 4, sizeof(struct record), NULL, NULL), 0);
	assert_int_equal(queue_delay_age(&delay, 5000), 0);
	push(&delay, 1000);
	push(&delay, 3000);
	assert_int_equal(queue_delay_age(&delay, 5000), 4000);
	take(&delay);
	/* It is not done with: the queue alone would say 2000. */
	assert_int_equal(queue_delay_age(&delay, 5000), 4000);
	queue_delay_end(&delay);
	assert_int_equal(queue_delay_age(&delay, 5000), 2000);
	take(&delay);
	assert_int_equal(queue_delay_age(&delay, 6000), 3000);
	queue_delay_end(&delay);
	assert_int_equal(queue_delay_age(&delay, 7000), 0);
	bounded_queue_deinit(&queue);
}

static void something_younger_than_the_queue_does_not_hide_it(void **state)
{
	struct bounded_queue queue;
	struct queue_delay delay = { .queue = &queue };

	(void)state;
	assert_int_equal(bounded_queue_init_fixed(&queue, 4, sizeof(struct record), NULL, NULL), 0);
	push(&delay, 1000);
	queue_delay_begin(&delay, 4000);
	assert_int_equal(queue_delay_age(&delay, 5000), 4000);
	/* A time that is still to come is no age. */
	assert_int_equal(queue_delay_age(&delay, 500), 0);
	bounded_queue_deinit(&queue);
}

static void drop(void *context, void *record, size_t bytes)
{
	struct record *dropped = record;

	assert_int_equal(bytes, sizeof(*dropped));
	queue_delay_drop(context, dropped->time_ns);
}

static void a_thread_that_takes_nothing_is_behind_what_its_queue_dropped(void **state)
{
	struct bounded_queue queue;
	struct queue_delay delay = { .queue = &queue };

	(void)state;
	assert_int_equal(bounded_queue_init_fixed(&queue, 2, sizeof(struct record), drop, &delay),
			 0);
	for (uint64_t time_ns = 1000; time_ns <= 9000; time_ns += 1000)
		push(&delay, time_ns);
	assert_int_equal(queue_delay_age(&delay, 10000), 9000);
	/* Now it takes one. */
	take(&delay);
	assert_int_equal(queue_delay_age(&delay, 10000), 2000);
	push(&delay, 10000);
	push(&delay, 11000);
	/* The record in work is older than the one that was dropped meanwhile. */
	assert_int_equal(queue_delay_age(&delay, 12000), 4000);
	bounded_queue_deinit(&queue);
}

static void a_stall_is_the_time_beyond_the_limit(void **state)
{
	(void)state;
	assert_int_equal(queue_delay_stalled(0, 1000, 5000, 6000), 0);
	assert_int_equal(queue_delay_stalled(1000, 1000, 5000, 6000), 0);
	assert_int_equal(queue_delay_stalled(1300, 1000, 5000, 6000), 300);
	/* It was stalled at the last look already: only the time since then is new. */
	assert_int_equal(queue_delay_stalled(90000, 1000, 5000, 6000), 1000);
	assert_int_equal(queue_delay_stalled(90000, 1000, 6000, 5000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stall_is_the_time_beyond_the_limit),
		cmocka_unit_test(the_oldest_counts_in_the_queue_or_at_hand),
		cmocka_unit_test(a_thread_that_takes_nothing_is_behind_what_its_queue_dropped),
		cmocka_unit_test(something_younger_than_the_queue_does_not_hide_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
