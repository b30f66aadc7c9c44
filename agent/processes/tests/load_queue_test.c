/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>

#include "agent/processes/load_queue.h"

enum {
	SMALL = 100 << 10,
	LARGE = 100 << 20,
};

static int set_up(void **state)
{
	static struct load_queue queue;

	*state = &queue;
	return load_queue_init(&queue);
}

static int tear_down(void **state)
{
	load_queue_deinit(*state);
	return 0;
}

static void push(struct load_queue *queue, uint64_t executable_id, uint64_t bytes, bool is_wanted)
{
	const struct load_request request = {
		.executable_id = executable_id,
		.bytes = bytes,
		.is_wanted = is_wanted,
	};

	assert_int_equal(load_queue_push(queue, &request), 0);
}

/* Pops the next request, which must exist, and returns its id. */
static uint64_t pop(struct load_queue *queue, bool only_small)
{
	struct load_request request;

	assert_int_equal(load_queue_pop(queue, only_small, &request), 0);
	return request.executable_id;
}

static void the_small_thread_takes_small_files_while_large_ones_wait(void **state)
{
	struct load_queue *queue = *state;
	struct load_request request;

	push(queue, 1, LARGE, true);
	push(queue, 2, LARGE, false);
	push(queue, 3, SMALL, false);
	/* The other thread is busy with a large request. */
	assert_int_equal(pop(queue, false), 1);
	push(queue, 4, SMALL / 2, false);
	assert_int_equal(pop(queue, true), 4);
	assert_int_equal(pop(queue, true), 3);
	load_queue_close(queue);
	assert_int_equal(load_queue_pop(queue, true, &request), -EPIPE);
	assert_int_equal(pop(queue, false), 2);
}

static void what_a_sample_waits_for_goes_before_smaller_files(void **state)
{
	struct load_queue *queue = *state;

	push(queue, 1, SMALL / 2, false);
	push(queue, 2, SMALL, false);
	push(queue, 3, SMALL / 4, false);
	push(queue, 4, LARGE, false);
	push(queue, 5, LARGE + 1, false);
	assert_true(load_queue_raise(queue, 2));
	assert_true(load_queue_raise(queue, 5));
	assert_false(load_queue_raise(queue, 6));
	assert_int_equal(pop(queue, true), 2);
	assert_false(load_queue_raise(queue, 2));
	assert_int_equal(pop(queue, false), 5);
	assert_int_equal(pop(queue, true), 3);
	assert_int_equal(pop(queue, false), 1);
	assert_int_equal(pop(queue, false), 4);
}

static void of_equals_the_older_one_goes_first(void **state)
{
	struct load_queue *queue = *state;

	for (uint64_t id = 1; id <= 5; id++)
		push(queue, id, SMALL, false);
	for (uint64_t id = 1; id <= 5; id++)
		assert_int_equal(pop(queue, id % 2), id);
}

static void runtimes_are_small_and_what_turned_out_to_be_heavy_is_not(void **state)
{
	struct load_queue *queue = *state;
	const struct load_request heavy = { .executable_id = 1, .bytes = 1, .is_heavy = true };
	const struct load_request attach = {
		.attach = (struct attach_request *)queue,
		.executable_id = 2,
		.is_wanted = true,
	};
	struct load_request request;

	assert_int_equal(load_queue_push(queue, &heavy), 0);
	push(queue, 3, SMALL, false);
	assert_int_equal(load_queue_push(queue, &attach), 0);
	/* A request to attach has no rows, and is not raised. */
	assert_false(load_queue_raise(queue, 2));
	assert_int_equal(pop(queue, true), 2);
	assert_int_equal(pop(queue, true), 3);
	load_queue_close(queue);
	assert_int_equal(load_queue_pop(queue, true, &request), -EPIPE);
	assert_int_equal(pop(queue, false), 1);
}

/* A wanted request is next, however many there are; a full queue refuses more. */
static void it_is_bounded_and_in_order_when_full(void **state)
{
	struct load_queue *queue = *state;
	const struct load_request request = { .executable_id = 1 };
	struct load_request taken;
	uint64_t last = 0;
	uint32_t count = 0;

	for (uint64_t i = 0; i < LOAD_QUEUE_MAX; i++)
		push(queue, i + 1, (i * 7919) % 10007, false);
	assert_int_equal(load_queue_push(queue, &request), -ENOSPC);
	assert_int_equal(load_queue_count(queue), LOAD_QUEUE_MAX);
	assert_true(load_queue_raise(queue, 4711));
	assert_int_equal(pop(queue, true), 4711);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(load_queue_pop(queue, i % 2, &taken), 0);
		assert_true(taken.bytes >= last);
		last = taken.bytes;
	}
	load_queue_close(queue);
	assert_int_equal(load_queue_push(queue, &request), -EPIPE);
	while (load_queue_take_any(queue, &taken))
		count++;
	assert_int_equal(count, LOAD_QUEUE_MAX - 101);
}

static void *take_small(void *queue)
{
	return (void *)(uintptr_t)pop(queue, true);
}

static void who_waits_for_a_small_one_is_woken_by_it(void **state)
{
	struct load_queue *queue = *state;
	pthread_t thread;
	void *taken;

	assert_int_equal(pthread_create(&thread, NULL, take_small, queue), 0);
	push(queue, 1, LARGE, true);
	push(queue, 2, SMALL, false);
	assert_int_equal(pthread_join(thread, &taken), 0);
	assert_int_equal((uintptr_t)taken, 2);
	assert_int_equal(pop(queue, false), 1);
}

static void one_thread_at_a_time_attaches(void **state)
{
	const struct load_request attach = { .attach = (struct attach_request *)state };
	struct load_queue *queue = *state;
	struct load_request request;

	assert_int_equal(load_queue_push(queue, &attach), 0);
	assert_int_equal(load_queue_push(queue, &attach), 0);
	push(queue, 1, SMALL, false);
	assert_int_equal(load_queue_pop(queue, true, &request), 0);
	assert_non_null(request.attach);
	/* The other thread makes rows, however long attaching takes. */
	assert_int_equal(pop(queue, false), 1);
	load_queue_memory_done(queue);
	assert_int_equal(load_queue_pop(queue, false, &request), 0);
	assert_non_null(request.attach);
	load_queue_memory_done(queue);
}

static void copies_of_code_wait_while_a_thread_attaches(void **state)
{
	const struct load_request attach = { .attach = (struct attach_request *)state };
	const struct load_request copy = {
		.copy = (struct code_copy_request *)state,
		.is_wanted = true,
	};
	struct load_queue *queue = *state;
	struct load_request request;

	assert_true(load_request_is_small(&copy));
	assert_int_equal(load_queue_push(queue, &copy), 0);
	/* It has no executable. */
	assert_false(load_queue_raise(queue, 0));
	assert_int_equal(load_queue_pop(queue, true, &request), 0);
	assert_non_null(request.copy);
	assert_int_equal(load_queue_push(queue, &attach), 0);
	assert_int_equal(load_queue_push(queue, &copy), 0);
	push(queue, 1, SMALL, false);
	assert_int_equal(pop(queue, false), 1);
	load_queue_memory_done(queue);
	assert_int_equal(load_queue_pop(queue, false, &request), 0);
	load_queue_memory_done(queue);
	assert_int_equal(load_queue_pop(queue, true, &request), 0);
	load_queue_memory_done(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_small_thread_takes_small_files_while_large_ones_wait, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(what_a_sample_waits_for_goes_before_smaller_files,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_equals_the_older_one_goes_first, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			runtimes_are_small_and_what_turned_out_to_be_heavy_is_not, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(one_thread_at_a_time_attaches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(copies_of_code_wait_while_a_thread_attaches, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(it_is_bounded_and_in_order_when_full, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(who_waits_for_a_small_one_is_woken_by_it, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
