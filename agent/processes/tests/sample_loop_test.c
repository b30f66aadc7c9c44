/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/tests/trace_handler_fixture.h"

#include <pthread.h>

#include "agent/processes/sample_loop.h"

static void *run(void *context)
{
	sample_loop_run(context);
	return NULL;
}

static pthread_t start(struct fixture *fixture, struct sample_loop *loop)
{
	pthread_t thread;

	loop->handler = fixture->handler;
	assert_int_equal(pthread_create(&thread, NULL, run, loop), 0);
	return thread;
}

static void end(struct sample_loop *loop, pthread_t thread)
{
	sample_loop_stop(loop);
	assert_int_equal(pthread_join(thread, NULL), 0);
	sample_loop_drop_rest(loop);
}

static void add(struct sample_loop *loop, const struct record *record)
{
	sample_loop_add(loop, &record->head,
			sizeof(record->head) + record->head.word_count * sizeof(uint64_t));
}

/* Generous: nothing here is about speed. */
static void wait_taken(struct sample_loop *loop)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (uint32_t i = 0; i < 20000 && bounded_queue_count(&loop->queue); i++)
		nanosleep(&pause, NULL);
	assert_int_equal(bounded_queue_count(&loop->queue), 0);
}

static uint64_t classes(const struct fixture *fixture)
{
	return fixture->reporter.count + metrics_read(METRIC_SAMPLES_DROPPED) +
	       metrics_read(METRIC_SAMPLES_MALFORMED);
}

static void each_record_is_reported_or_malformed_or_dropped(void **state)
{
	struct fixture *fixture = *state;
	struct record good = make_record(1, 2000), bad = make_record(1, 2000);
	const uint32_t count = 60000;
	struct sample_loop loop;
	pthread_t thread;

	assert_int_equal(sample_loop_init(&loop), 0);
	push_native(&good, 0x1000, EXECUTABLE_ID_ANONYMOUS);
	/* Half a frame. */
	push_native(&bad, 0x1000, EXECUTABLE_ID_ANONYMOUS);
	bad.head.word_count--;
	/* More records than the queue holds, while no thread takes them out. */
	for (uint32_t i = 0; i < count; i++)
		add(&loop, i % 4 ? &good : &bad);
	assert_true(metrics_read(METRIC_SAMPLES_DROPPED) > 0);
	thread = start(fixture, &loop);
	for (uint32_t i = 0; i < count; i++)
		add(&loop, &good);
	end(&loop, thread);
	assert_true(fixture->reporter.count > 0);
	assert_true(metrics_read(METRIC_SAMPLES_MALFORMED) > 0);
	assert_int_equal(classes(fixture), 2 * count);
	assert_true(sample_loop_has_done(&loop, sample_loop_count(&loop)));
	/* After the stop records are dropped. */
	add(&loop, &good);
	assert_int_equal(classes(fixture), 2 * count + 1);
	sample_loop_deinit(&loop);
}

static void what_there_is_no_time_for_at_the_stop_is_dropped(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(1, 2000);
	struct sample_loop loop;

	assert_int_equal(sample_loop_init(&loop), 0);
	loop.finish_ns = 0;
	push_native(&record, 0x1000, EXECUTABLE_ID_ANONYMOUS);
	for (int i = 0; i < 100; i++)
		add(&loop, &record);
	sample_loop_stop(&loop);
	end(&loop, start(fixture, &loop));
	assert_int_equal(fixture->reporter.count, 0);
	assert_int_equal(metrics_read(METRIC_SAMPLES_DROPPED), 100);
	assert_true(sample_loop_has_done(&loop, 100));
	/* And once only. */
	sample_loop_drop_rest(&loop);
	assert_int_equal(metrics_read(METRIC_SAMPLES_DROPPED), 100);
	sample_loop_deinit(&loop);
}

static void what_waits_for_its_process_at_the_stop_is_reported(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(1, 2000);
	struct process *process = add_process(fixture, 1);
	struct sample_loop loop;
	pthread_t thread;

	assert_int_equal(sample_loop_init(&loop), 0);
	push_native(&record, 0x1000, fixture->ls->id);
	record.head.flags |= RECORD_PARENT_ENTRY;
	thread = start(fixture, &loop);
	for (int i = 0; i < 3; i++)
		add(&loop, &record);
	wait_taken(&loop);
	end(&loop, thread);
	assert_int_equal(fixture->reporter.count, 3);
	assert_int_equal(classes(fixture), 3);
	sample_loop_deinit(&loop);
	process_table_remove(&fixture->table, process);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_record_is_reported_or_malformed_or_dropped),
		TEST(what_there_is_no_time_for_at_the_stop_is_dropped),
		TEST(what_waits_for_its_process_at_the_stop_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
