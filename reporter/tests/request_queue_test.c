// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "reporter/request_queue.h"

#include <cmocka.h>

/* @number becomes the first byte of the request. */
static void push(struct request_queue *queue, uint8_t number, size_t byte_count)
{
	struct otlp_request request = {
		.bytes = calloc(1, byte_count),
		.byte_count = byte_count,
		.sample_count = 10,
	};

	request.bytes[0] = number;
	request_queue_push(queue, &request);
}

static void assert_oldest(struct request_queue *queue, uint8_t number)
{
	struct otlp_request request;

	assert_true(request_queue_take(queue, &request));
	assert_int_equal(request.bytes[0], number);
	request_queue_release(queue, &request);
}

static void requests_come_out_as_they_went_in(void **state)
{
	struct request_queue queue;
	struct otlp_request request;

	(void)state;
	assert_int_equal(request_queue_init(&queue, 3, 100), 0);
	assert_false(request_queue_take(&queue, &request));
	for (uint8_t round = 0; round < 10; round++) {
		push(&queue, 1, 10);
		push(&queue, 2, 10);
		assert_oldest(&queue, 1);
		assert_oldest(&queue, 2);
	}
	assert_int_equal(queue.bytes, 0);
	assert_int_equal(queue.dropped_requests, 0);
	request_queue_deinit(&queue);
}

static void without_room_the_oldest_go_and_are_counted(void **state)
{
	struct request_queue queue;

	(void)state;
	assert_int_equal(request_queue_init(&queue, 4, 100), 0);
	for (uint8_t number = 1; number <= 6; number++)
		push(&queue, number, 10);
	assert_int_equal(queue.count, 4);
	assert_int_equal(queue.dropped_requests, 2);
	assert_int_equal(queue.dropped_samples, 20);
	push(&queue, 7, 80);
	assert_int_equal(queue.count, 3);
	assert_int_equal(queue.bytes, 100);
	assert_oldest(&queue, 5);
	assert_oldest(&queue, 6);
	assert_oldest(&queue, 7);
	request_queue_deinit(&queue);
}

static void a_request_larger_than_the_queue_is_dropped(void **state)
{
	struct request_queue queue;

	(void)state;
	assert_int_equal(request_queue_init(&queue, 4, 100), 0);
	push(&queue, 1, 10);
	push(&queue, 2, 101);
	assert_int_equal(queue.dropped_requests, 1);
	assert_oldest(&queue, 1);
	assert_int_equal(queue.bytes, 0);
	request_queue_deinit(&queue);
}

static void the_one_that_is_out_keeps_its_position_and_can_always_come_back(void **state)
{
	struct request_queue queue;
	struct otlp_request request;

	(void)state;
	assert_int_equal(request_queue_init(&queue, 4, 100), 0);
	push(&queue, 1, 40);
	assert_true(request_queue_take(&queue, &request));
	for (uint8_t number = 2; number <= 9; number++)
		push(&queue, number, 20);
	assert_int_equal(queue.count, 3);
	assert_int_equal(queue.bytes, 100);
	push(&queue, 10, 61);
	assert_int_equal(queue.count, 3);
	request_queue_put_back(&queue, &request);
	assert_int_equal(queue.count, 4);
	assert_int_equal(queue.bytes, 100);
	assert_int_equal(queue.dropped_requests, 6);
	assert_oldest(&queue, 1);
	assert_oldest(&queue, 7);
	assert_oldest(&queue, 8);
	assert_oldest(&queue, 9);
	request_queue_deinit(&queue);
}

static void the_one_that_is_out_counts_among_the_requests(void **state)
{
	struct request_queue queue;
	struct otlp_request request;

	(void)state;
	assert_int_equal(request_queue_init(&queue, 3, 100), 0);
	push(&queue, 1, 1);
	assert_true(request_queue_take(&queue, &request));
	for (uint8_t number = 2; number <= 5; number++)
		push(&queue, number, 1);
	assert_int_equal(queue.count, 2);
	request_queue_put_back(&queue, &request);
	assert_int_equal(queue.count, 3);
	assert_oldest(&queue, 1);
	assert_oldest(&queue, 4);
	assert_oldest(&queue, 5);
	request_queue_deinit(&queue);
}

static void what_is_left_at_the_end_is_dropped_and_counted(void **state)
{
	struct request_queue queue;

	(void)state;
	assert_int_equal(request_queue_init(&queue, 4, 100), 0);
	push(&queue, 1, 40);
	push(&queue, 2, 40);
	request_queue_clear(&queue);
	assert_int_equal(queue.dropped_samples, 20);
	assert_int_equal(queue.bytes, 0);
	request_queue_deinit(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_come_out_as_they_went_in),
		cmocka_unit_test(without_room_the_oldest_go_and_are_counted),
		cmocka_unit_test(a_request_larger_than_the_queue_is_dropped),
		cmocka_unit_test(the_one_that_is_out_keeps_its_position_and_can_always_come_back),
		cmocka_unit_test(the_one_that_is_out_counts_among_the_requests),
		cmocka_unit_test(what_is_left_at_the_end_is_dropped_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
