/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/bounded_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/clock.h"

static void records_of_all_sizes_come_out_as_they_went_in(void **state)
{
	struct bounded_queue queue;
	unsigned char record[64], popped[64];
	size_t bytes;

	(void)state;
	/* Small and odd, so that records and lengths run over the end of the ring. */
	assert_int_equal(bounded_queue_init(&queue, 151, sizeof(record), NULL, NULL), 0);
	for (int i = 0; i < 1000; i++) {
		for (int j = 0; j < 2; j++) {
			memset(record, i + j, sizeof(record));
			assert_int_equal(bounded_queue_push(&queue, record, (i + j * 13) % 65), 0);
		}
		for (int j = 0; j < 2; j++) {
			memset(record, i + j, sizeof(record));
			assert_int_equal(bounded_queue_pop(&queue, popped, &bytes, 0), 0);
			assert_int_equal(bytes, (i + j * 13) % 65);
			assert_memory_equal(popped, record, bytes);
		}
	}
	assert_int_equal(bounded_queue_pop(&queue, popped, &bytes, 0), -EAGAIN);
	assert_int_equal(bounded_queue_push(&queue, record, 65), -E2BIG);
	bounded_queue_deinit(&queue);
}

static void note_drop(void *context, void *record, size_t bytes)
{
	int *sum = context;

	assert_int_equal(bytes, sizeof(int));
	*sum += *(int *)record;
}

static void the_oldest_are_dropped(void **state)
{
	struct bounded_queue queue;
	int dropped_sum = 0, value;

	(void)state;
	assert_int_equal(bounded_queue_init_fixed(&queue, 4, sizeof(int), note_drop, &dropped_sum),
			 0);
	for (int i = 1; i <= 7; i++)
		assert_int_equal(bounded_queue_push(&queue, &i, sizeof(i)), 0);
	assert_int_equal(bounded_queue_count(&queue), 4);
	assert_int_equal(dropped_sum, 1 + 2 + 3);
	assert_int_equal(bounded_queue_pop(&queue, &value, NULL, 0), 0);
	assert_int_equal(value, 4);
	/* Records left at the end are passed to the drop function as well. */
	bounded_queue_deinit(&queue);
	assert_int_equal(dropped_sum, 1 + 2 + 3 + 5 + 6 + 7);
}

static void a_queue_that_could_hold_no_record_is_refused(void **state)
{
	struct bounded_queue queue;

	(void)state;
	assert_int_equal(bounded_queue_init(&queue, 11, 8, NULL, NULL), -EINVAL);
	assert_int_equal(bounded_queue_init_fixed(&queue, 0, 8, NULL, NULL), -EINVAL);
	assert_int_equal(bounded_queue_init_fixed(&queue, SIZE_MAX / 2, 8, NULL, NULL), -EINVAL);
}

static void waiting_ends_when_the_time_is_over(void **state)
{
	struct bounded_queue queue;
	uint64_t before;
	int value;

	(void)state;
	assert_int_equal(bounded_queue_init_fixed(&queue, 4, sizeof(int), NULL, NULL), 0);
	before = clock_monotonic_ns();
	assert_int_equal(bounded_queue_pop(&queue, &value, NULL, 20 * NS_PER_MS), -EAGAIN);
	assert_true(clock_monotonic_ns() - before >= 20 * NS_PER_MS);
	bounded_queue_deinit(&queue);
}

static void a_closed_queue_gives_what_it_has_and_takes_nothing(void **state)
{
	struct bounded_queue queue;
	int value = 5;

	(void)state;
	assert_int_equal(bounded_queue_init_fixed(&queue, 4, sizeof(int), NULL, NULL), 0);
	bounded_queue_push(&queue, &value, sizeof(value));
	bounded_queue_close(&queue);
	assert_int_equal(bounded_queue_push(&queue, &value, sizeof(value)), -EPIPE);
	value = 0;
	assert_int_equal(bounded_queue_pop(&queue, &value, NULL, -1), 0);
	assert_int_equal(value, 5);
	assert_int_equal(bounded_queue_pop(&queue, &value, NULL, -1), -EPIPE);
	assert_int_equal(bounded_queue_pop(&queue, &value, NULL, 0), -EPIPE);
	bounded_queue_deinit(&queue);
}

enum { THREAD_RECORDS = 20000, THREAD_COUNT = 2 };

static void *push_many(void *context)
{
	for (uint64_t i = 1; i <= THREAD_RECORDS; i++)
		bounded_queue_push(context, &i, sizeof(i));
	return NULL;
}

static void *pop_all(void *context)
{
	uint64_t value, sum = 0;

	while (bounded_queue_pop(context, &value, NULL, -1) == 0)
		sum += value;
	return (void *)(uintptr_t)sum;
}

static void nothing_is_lost_or_doubled_between_threads(void **state)
{
	struct bounded_queue queue;
	pthread_t writers[THREAD_COUNT], readers[THREAD_COUNT];
	uint64_t sum = 0;
	void *result;

	(void)state;
	assert_int_equal(bounded_queue_init_fixed(&queue, THREAD_COUNT * THREAD_RECORDS,
						  sizeof(uint64_t), NULL, NULL),
			 0);
	for (int i = 0; i < THREAD_COUNT; i++) {
		pthread_create(&readers[i], NULL, pop_all, &queue);
		pthread_create(&writers[i], NULL, push_many, &queue);
	}
	for (int i = 0; i < THREAD_COUNT; i++)
		pthread_join(writers[i], NULL);
	bounded_queue_close(&queue);
	for (int i = 0; i < THREAD_COUNT; i++) {
		pthread_join(readers[i], &result);
		sum += (uintptr_t)result;
	}
	assert_int_equal(sum, (uint64_t)THREAD_COUNT * THREAD_RECORDS * (THREAD_RECORDS + 1) / 2);
	bounded_queue_deinit(&queue);
}

/* Number of pages of the ring that are in memory. */
static size_t resident_pages(const struct bounded_queue *queue)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)queue->ring + page_bytes - 1) & ~(page_bytes - 1);
	size_t pages = (queue->ring_bytes - page_bytes) / page_bytes, count = 0;
	unsigned char *is_resident = calloc(pages, 1);

	assert_non_null(is_resident);
	assert_int_equal(mincore((void *)from, pages * page_bytes, is_resident), 0);
	for (size_t i = 0; i < pages; i++)
		count += is_resident[i] & 1;
	free(is_resident);
	return count;
}

static void memory_of_a_burst_goes_back_when_the_queue_is_empty(void **state)
{
	enum { RING_BYTES = 4 << 20, RECORD_BYTES = 1000 };
	struct bounded_queue queue;
	char record[RECORD_BYTES], back[RECORD_BYTES];
	size_t before, full;

	(void)state;
	memset(record, 'x', sizeof(record));
	assert_int_equal(bounded_queue_init(&queue, RING_BYTES, RECORD_BYTES, NULL, NULL), 0);
	before = resident_pages(&queue);
	/* One at a time, more than fits into the ring. */
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(bounded_queue_push(&queue, record, sizeof(record)), 0);
		assert_int_equal(bounded_queue_pop(&queue, back, NULL, 0), 0);
	}
	assert_true(resident_pages(&queue) < before + 4);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 4000; i++)
			assert_int_equal(bounded_queue_push(&queue, record, sizeof(record)), 0);
		full = resident_pages(&queue);
		for (int i = 0; i < 4000; i++) {
			memset(back, 0, sizeof(back));
			assert_int_equal(bounded_queue_pop(&queue, back, NULL, 0), 0);
			assert_memory_equal(back, record, sizeof(record));
		}
		assert_true(full > before + 900);
		assert_true(resident_pages(&queue) < before + 70);
	}
	bounded_queue_deinit(&queue);
}

static void the_oldest_record_can_be_looked_at(void **state)
{
	struct bounded_queue queue;
	uint64_t record[2], start;

	(void)state;
	/* Odd, so that records run over the end of the ring. */
	assert_int_equal(bounded_queue_init(&queue, 61, sizeof(record), NULL, NULL), 0);
	assert_int_equal(bounded_queue_peek(&queue, &start, sizeof(start)), -EAGAIN);
	for (uint64_t i = 0; i < 100; i++) {
		record[0] = i;
		assert_int_equal(bounded_queue_push(&queue, record, sizeof(record)), 0);
		record[0] = i + 1000;
		assert_int_equal(bounded_queue_push(&queue, record, sizeof(record)), 0);
		for (int again = 0; again < 2; again++) {
			assert_int_equal(bounded_queue_peek(&queue, &start, sizeof(start)), 0);
			assert_int_equal(start, i);
		}
		assert_int_equal(bounded_queue_count(&queue), 2);
		for (int j = 0; j < 2; j++)
			assert_int_equal(bounded_queue_pop(&queue, record, NULL, 0), 0);
	}
	assert_int_equal(bounded_queue_push(&queue, record, 7), 0);
	assert_int_equal(bounded_queue_peek(&queue, &start, sizeof(start)), -E2BIG);
	bounded_queue_close(&queue);
	assert_int_equal(bounded_queue_peek(&queue, &start, 7), 0);
	bounded_queue_deinit(&queue);
}

static void *pop_two(void *argument)
{
	struct bounded_queue *queue = argument;
	uint64_t record, sum = 0;

	for (int i = 0; i < 2; i++)
		if (!bounded_queue_pop(queue, &record, NULL, -1))
			sum += record;
	return (void *)(uintptr_t)sum;
}

static unsigned int waiting_count(struct bounded_queue *queue)
{
	unsigned int count;

	pthread_mutex_lock(&queue->lock);
	count = queue->waiting_count;
	pthread_mutex_unlock(&queue->lock);
	return count;
}

static void a_reader_is_woken_for_many_records_at_once(void **state)
{
	struct bounded_queue queue;
	uint64_t record = 30;
	pthread_t reader;
	void *sum;

	(void)state;
	assert_int_equal(bounded_queue_init_fixed(&queue, 4, sizeof(record), NULL, NULL), 0);
	/* There is nobody, and nothing. */
	bounded_queue_wake(&queue);
	assert_int_equal(pthread_create(&reader, NULL, pop_two, &queue), 0);
	while (!waiting_count(&queue))
		usleep(1000);
	assert_int_equal(bounded_queue_put(&queue, &record, sizeof(record)), 0);
	record = 12;
	assert_int_equal(bounded_queue_put(&queue, &record, sizeof(record)), 0);
	bounded_queue_wake(&queue);
	assert_int_equal(pthread_join(reader, &sum), 0);
	assert_int_equal((uintptr_t)sum, 42);
	assert_int_equal(waiting_count(&queue), 0);
	assert_int_equal(bounded_queue_put(&queue, &record, sizeof(record) + 1), -E2BIG);
	bounded_queue_close(&queue);
	assert_int_equal(bounded_queue_put(&queue, &record, sizeof(record)), -EPIPE);
	bounded_queue_deinit(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_all_sizes_come_out_as_they_went_in),
		cmocka_unit_test(the_oldest_are_dropped),
		cmocka_unit_test(the_oldest_record_can_be_looked_at),
		cmocka_unit_test(a_queue_that_could_hold_no_record_is_refused),
		cmocka_unit_test(waiting_ends_when_the_time_is_over),
		cmocka_unit_test(a_closed_queue_gives_what_it_has_and_takes_nothing),
		cmocka_unit_test(nothing_is_lost_or_doubled_between_threads),
		cmocka_unit_test(a_reader_is_woken_for_many_records_at_once),
		cmocka_unit_test(memory_of_a_burst_goes_back_when_the_queue_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
