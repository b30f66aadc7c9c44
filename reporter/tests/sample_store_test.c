/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sample_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "lib/base/log.h"
#include "lib/model/metrics.h"
#include "reporter/tests/fake_transport.h"
#include "reporter/tests/fixture.h"

static const struct sample_event plain_event = {
	.sample.pid = 1,
	.sample.tid = 2,
	.sample.process_comm = "p",
	.sample.thread_comm = "t",
	.was_known = true,
};

static const struct sample_store_options with_times = { .keeps_times = true };

static void report_one(struct sample_store *store, struct trace *trace,
		       const struct sample_event *event)
{
	struct reporter *reporter = sample_store_reporter(store);
	struct sample_event with_trace = *event;

	with_trace.sample.trace = trace;
	reporter->ops->report(reporter, &with_trace);
}

static struct sample_snapshot take(struct sample_store *store)
{
	struct sample_snapshot snapshot;

	assert_int_equal(sample_store_take(store, &snapshot), 0);
	return snapshot;
}

static uint64_t sum_of(const struct sample_snapshot *snapshot)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < snapshot->count; i++)
		sum += snapshot->samples[i].count;
	return sum;
}

static void equal_samples_are_counted_and_kept_once(void **state)
{
	struct fixture *f = *state;
	struct frame frame = native_frame(f->prog, 0x1000, 0);
	struct trace *trace = trace_create(&frame, 1, true, false);
	/* The same stack, converted again after the cache forgot it. */
	struct trace *again = trace_create(&frame, 1, true, false);
	struct sample_snapshot snapshot;

	report_one(f->store, trace, &plain_event);
	report_one(f->store, trace, &plain_event);
	report_one(f->store, again, &plain_event);
	snapshot = take(f->store);
	assert_int_equal(snapshot.count, 1);
	assert_int_equal(snapshot.samples[0].count, 3);
	assert_ptr_equal(snapshot.samples[0].sample.trace, trace);
	assert_string_equal(snapshot.samples[0].sample.process_comm, "p");
	assert_string_equal(snapshot.samples[0].sample.thread_comm, "t");
	assert_null(snapshot.samples[0].sample.process);
	assert_int_equal(snapshot.samples[0].sample.pid, 1);
	assert_int_equal(snapshot.samples[0].sample.tid, 2);
	assert_int_equal(snapshot.samples[0].sample.cpu, SAMPLE_NO_NUMBER);
	assert_null(snapshot.samples[0].times_ns);
	sample_snapshot_deinit(&snapshot);
	assert_int_equal(trace->references, 1);
	assert_int_equal(again->references, 1);
	trace_unref(trace);
	trace_unref(again);
}

static void every_part_of_the_identity_makes_another_sample(void **state)
{
	enum { KINDS = 9 };

	struct fixture *f = *state;
	struct frame frame = native_frame(f->prog, 0x1000, 0);
	struct frame other_frame = native_frame(f->prog, 0x1001, 0);
	struct trace *trace = trace_create(&frame, 1, true, false);
	struct trace *other = trace_create(&other_frame, 1, true, false);
	struct process_info *infos[] = {
		process_info_create(&(struct process_info){ .pid = 1 }),
		process_info_create(&(struct process_info){ .pid = 1, .executable_path = "x" }),
		process_info_create(&(struct process_info){ .pid = 1, .container_id = "x" }),
		process_info_create(&(struct process_info){ .pid = 1, .service_name = "x" }),
	};
	struct sample_event events[KINDS];
	struct sample_snapshot snapshot;

	for (int i = 0; i < KINDS; i++)
		events[i] = plain_event;
	events[1].sample.pid = 9;
	events[2].sample.tid = 9;
	events[3].sample.process_comm = "x";
	events[4].sample.thread_comm = "x";
	for (int i = 0; i < 4; i++)
		events[5 + i].sample.process = infos[i];
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < KINDS; i++)
			report_one(f->store, trace, &events[i]);
		report_one(f->store, other, &plain_event);
	}
	snapshot = take(f->store);
	assert_int_equal(snapshot.count, KINDS + 1);
	/* Samples of equal count are in the order of arrival. */
	for (int i = 0; i < KINDS; i++) {
		const struct stored_sample *sample = &snapshot.samples[i];

		assert_int_equal(sample->count, 2);
		assert_ptr_equal(sample->sample.trace, trace);
		assert_ptr_equal(sample->sample.process, events[i].sample.process);
		assert_int_equal(sample->sample.pid, events[i].sample.pid);
		assert_int_equal(sample->sample.tid, events[i].sample.tid);
		assert_string_equal(sample->sample.process_comm, events[i].sample.process_comm);
		assert_string_equal(sample->sample.thread_comm, events[i].sample.thread_comm);
	}
	assert_ptr_equal(snapshot.samples[KINDS].sample.trace, other);
	/* Only the store's references are left now. */
	for (int i = 0; i < 4; i++)
		process_info_unref(infos[i]);
	assert_string_equal(snapshot.samples[8].sample.process->service_name, "x");
	sample_snapshot_deinit(&snapshot);
	trace_unref(trace);
	trace_unref(other);
}

static void a_process_that_was_learnt_of_again_is_the_same(void **state)
{
	struct fixture *f = *state;
	const struct process_info values = { .pid = 1, .executable_path = "/p" };
	struct process_info *infos[] = { process_info_create(&values),
					 process_info_create(&values) };
	struct trace *trace = trace_create(NULL, 0, true, false);
	struct sample_event event = plain_event;
	struct sample_snapshot snapshot;

	for (int i = 0; i < 4; i++) {
		/* Each of two threads is first seen with a different one of the two. */
		event.sample.process = infos[(i + i / 2) % 2];
		event.sample.tid = i / 2;
		report_one(f->store, trace, &event);
	}
	process_info_unref(infos[0]);
	process_info_unref(infos[1]);
	snapshot = take(f->store);
	assert_int_equal(snapshot.count, 2);
	assert_int_equal(snapshot.samples[0].count, 2);
	assert_ptr_equal(snapshot.samples[0].sample.process, snapshot.samples[1].sample.process);
	assert_ptr_equal(snapshot.samples[0].sample.thread_comm,
			 snapshot.samples[1].sample.thread_comm);
	sample_snapshot_deinit(&snapshot);
	trace_unref(trace);
}

static void equal_stacks_of_many_threads_are_one_trace(void **state)
{
	struct fixture *f = *state;
	struct frame frame = native_frame(f->prog, 0x1000, 0);
	struct sample_event event = plain_event;
	struct sample_snapshot snapshot;

	for (event.sample.tid = 0; event.sample.tid < 100; event.sample.tid++) {
		struct trace *trace = trace_create(&frame, 1, true, false);

		report_one(f->store, trace, &event);
		trace_unref(trace);
	}
	snapshot = take(f->store);
	assert_int_equal(snapshot.count, 100);
	for (size_t i = 0; i < 100; i++)
		assert_ptr_equal(snapshot.samples[i].sample.trace,
				 snapshot.samples[0].sample.trace);
	assert_int_equal(snapshot.samples[0].sample.trace->references, 1);
	sample_snapshot_deinit(&snapshot);
}

static void many_files_of_one_file_id_stay_apart(void **state)
{
	enum { COPIES = 40 };

	struct fixture *f = *state;
	struct sample_snapshot snapshot;
	struct hash128 hash = { 0 };

	for (uint32_t i = 0; i < 2 * COPIES; i++) {
		struct binary values = *f->prog;
		struct binary *copy;
		struct trace *trace;
		struct frame frame;

		values.executable_id += i % COPIES;
		values.fd = -1;
		copy = binary_create(&values);
		frame = native_frame(copy, 0x1000, 0);
		trace = trace_create(&frame, 1, true, false);
		if (i)
			assert_true(hash128_equal(trace->hash, hash));
		hash = trace->hash;
		report_one(f->store, trace, &plain_event);
		trace_unref(trace);
		binary_unref(copy);
	}
	snapshot = take(f->store);
	assert_int_equal(snapshot.count, COPIES);
	sample_snapshot_deinit(&snapshot);
}

static void the_most_frequent_come_first(void **state)
{
	struct fixture *f = *state;
	struct trace *trace = trace_create(NULL, 0, true, false);
	static const uint32_t counts[] = { 2, 1, 3, 2 };
	static const uint32_t expected[] = { 2, 0, 3, 1 };
	struct sample_event event = plain_event;
	struct sample_snapshot snapshot;

	for (event.sample.tid = 0; event.sample.tid < 4; event.sample.tid++)
		for (uint32_t i = 0; i < counts[event.sample.tid]; i++)
			report_one(f->store, trace, &event);
	snapshot = take(f->store);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(snapshot.samples[i].sample.tid, expected[i]);
		assert_int_equal(snapshot.samples[i].count, counts[expected[i]]);
	}
	sample_snapshot_deinit(&snapshot);
	trace_unref(trace);
}

static void cpus_tell_samples_apart_only_if_that_is_wanted(void **state)
{
	const struct sample_store_options options = { .keeps_cpus = true };
	struct sample_store *store = sample_store_create(&options);
	struct trace *trace = trace_create(NULL, 0, true, false);
	struct sample_event event = plain_event;
	struct fixture *f = *state;
	struct sample_snapshot with, without;

	for (int i = 0; i < 6; i++) {
		event.sample.cpu = i % 3;
		report_one(store, trace, &event);
		report_one(f->store, trace, &event);
	}
	with = take(store);
	without = take(f->store);
	assert_int_equal(with.count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(with.samples[i].sample.cpu, i);
		assert_int_equal(with.samples[i].count, 2);
	}
	assert_int_equal(without.count, 1);
	assert_int_equal(without.samples[0].count, 6);
	sample_snapshot_deinit(&with);
	sample_snapshot_deinit(&without);
	sample_store_destroy(store);
	trace_unref(trace);
}

/* Pseudo-random, the same in every run (Numerical Recipes' constants). */
static uint64_t next_random(uint64_t *random)
{
	*random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
	return *random >> 33;
}

/* Sample @i of the test below. */
static struct sample_event random_event(uint64_t *random, uint64_t start_ns)
{
	struct sample_event event = plain_event;

	event.sample.tid = next_random(random) % 300;
	/* Times are nearly in order, but sometimes far off, like those of deferred samples. */
	event.time_ns = start_ns + next_random(random) % 1000000;
	if (next_random(random) % 50 == 0)
		event.time_ns -= 2000000000;
	return event;
}

static int compare_times(const void *a, const void *b)
{
	uint64_t time_a = *(const uint64_t *)a, time_b = *(const uint64_t *)b;

	return time_a < time_b ? -1 : time_a > time_b;
}

static void every_time_comes_back_in_order_and_at_its_sample(void **state)
{
	enum { SAMPLES = 60000, THREADS = 300 };

	struct sample_store *store = sample_store_create(&with_times);
	struct trace *trace = trace_create(NULL, 0, true, false);
	uint64_t *expected[THREADS];
	size_t counts[THREADS] = { 0 };
	struct sample_snapshot snapshot;
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < THREADS; i++)
		expected[i] = calloc(SAMPLES, sizeof(uint64_t));
	for (uint64_t i = 0; i < SAMPLES; i++) {
		struct sample_event event = random_event(&random, 5000000000000 + i * 500000);

		report_one(store, trace, &event);
		expected[event.sample.tid][counts[event.sample.tid]++] = event.time_ns;
	}
	snapshot = take(store);
	assert_int_equal(snapshot.count, THREADS);
	assert_int_equal(sum_of(&snapshot), SAMPLES);
	for (size_t i = 0; i < snapshot.count; i++) {
		const struct stored_sample *sample = &snapshot.samples[i];
		uint64_t *times = expected[sample->sample.tid];

		assert_int_equal(sample->count, counts[sample->sample.tid]);
		qsort(times, sample->count, sizeof(*times), compare_times);
		assert_memory_equal(sample->times_ns, times, sample->count * sizeof(*times));
		free(times);
	}
	sample_snapshot_deinit(&snapshot);
	sample_store_destroy(store);
	trace_unref(trace);
}

static void any_time_is_kept_as_it_is(void **state)
{
	static const uint64_t times[] = { UINT64_MAX, 0, 1, UINT64_MAX / 2, 127, 128, 1ULL << 63 };
	enum { COUNT = sizeof(times) / sizeof(times[0]) };

	struct sample_store *store = sample_store_create(&with_times);
	struct trace *trace = trace_create(NULL, 0, true, false);
	struct sample_event event = plain_event;
	struct sample_snapshot snapshot;

	(void)state;
	for (event.sample.tid = 0; event.sample.tid < COUNT; event.sample.tid++) {
		event.time_ns = times[event.sample.tid];
		report_one(store, trace, &event);
	}
	snapshot = take(store);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(snapshot.samples[i].times_ns[0], times[i]);
	sample_snapshot_deinit(&snapshot);
	sample_store_destroy(store);
	trace_unref(trace);
}

static void what_was_taken_is_out_of_the_store_which_goes_on(void **state)
{
	struct sample_store *store = sample_store_create(&with_times);
	struct trace *trace = trace_create(NULL, 0, true, false);
	struct sample_event event = plain_event;
	struct sample_snapshot first, second, third;

	(void)state;
	event.time_ns = 7;
	report_one(store, trace, &event);
	first = take(store);
	event.time_ns = 8;
	report_one(store, trace, &event);
	second = take(store);
	third = take(store);
	sample_store_destroy(store);
	assert_int_equal(first.count, 1);
	assert_int_equal(first.samples[0].count, 1);
	assert_int_equal(first.samples[0].times_ns[0], 7);
	assert_int_equal(second.count, 1);
	assert_int_equal(second.samples[0].times_ns[0], 8);
	assert_int_equal(third.count, 0);
	assert_int_equal(trace->references, 3);
	sample_snapshot_deinit(&first);
	sample_snapshot_deinit(&second);
	sample_snapshot_deinit(&third);
	sample_snapshot_deinit(&third);
	assert_int_equal(trace->references, 1);
	trace_unref(trace);
}

static void over_the_limit_new_samples_are_dropped_and_known_ones_counted(void **state)
{
	const struct sample_store_options options = { .max_bytes = 20000 };
	struct sample_store *store = sample_store_create(&options);
	struct trace *trace = trace_create(NULL, 0, true, false);
	struct sample_event event = plain_event;
	struct sample_snapshot snapshot;
	uint64_t dropped;

	(void)state;
	metrics_reset();
	/* The warning is not shown. */
	log_set_level(LOG_ERROR);
	for (event.sample.tid = 0; event.sample.tid < 1000; event.sample.tid++)
		report_one(store, trace, &event);
	dropped = metrics_read(METRIC_SAMPLES_UNSTORED);
	assert_in_range(dropped, 500, 900);
	event.sample.tid = 0;
	report_one(store, trace, &event);
	assert_int_equal(metrics_read(METRIC_SAMPLES_UNSTORED), dropped);
	/* A name that is too long for the remaining room cannot bypass the limit. */
	event.sample.process_comm = "another";
	report_one(store, trace, &event);
	assert_int_equal(metrics_read(METRIC_SAMPLES_UNSTORED), dropped + 1);
	snapshot = take(store);
	assert_int_equal(snapshot.count, 1000 - dropped);
	assert_int_equal(sum_of(&snapshot), 1000 - dropped + 1);
	sample_snapshot_deinit(&snapshot);
	/* The emptied store has room again. */
	report_one(store, trace, &event);
	assert_int_equal(metrics_read(METRIC_SAMPLES_UNSTORED), dropped + 1);
	log_set_level(LOG_INFO);
	sample_store_destroy(store);
	trace_unref(trace);
}

static void times_have_the_limit_too(void **state)
{
	const struct sample_store_options options = { .max_bytes = 20000, .keeps_times = true };
	struct sample_store *store = sample_store_create(&options);
	struct trace *trace = trace_create(NULL, 0, true, false);
	struct sample_event event = plain_event;
	struct sample_snapshot snapshot;
	uint64_t dropped;

	(void)state;
	metrics_reset();
	log_set_level(LOG_ERROR);
	for (int i = 0; i < 20000; i++) {
		event.time_ns += 1000000;
		report_one(store, trace, &event);
	}
	log_set_level(LOG_INFO);
	dropped = metrics_read(METRIC_SAMPLES_UNSTORED);
	/* 8 bytes per sample, as in the snapshot. */
	assert_in_range(dropped, 20000 - options.max_bytes / 8, 18500);
	snapshot = take(store);
	assert_int_equal(snapshot.count, 1);
	assert_int_equal(snapshot.samples[0].count, 20000 - dropped);
	for (uint64_t i = 0; i < snapshot.samples[0].count; i++)
		assert_int_equal(snapshot.samples[0].times_ns[i], (i + 1) * 1000000);
	sample_snapshot_deinit(&snapshot);
	sample_store_destroy(store);
	trace_unref(trace);
}

static void a_store_too_small_for_one_sample_stays_empty(void **state)
{
	const struct sample_store_options options = { .max_bytes = 40, .keeps_times = true };
	struct sample_store *store = sample_store_create(&options);
	struct trace *trace = trace_create(NULL, 0, true, false);
	struct sample_snapshot snapshot;

	(void)state;
	metrics_reset();
	log_set_level(LOG_ERROR);
	report_one(store, trace, &plain_event);
	log_set_level(LOG_INFO);
	assert_int_equal(metrics_read(METRIC_SAMPLES_UNSTORED), 1);
	snapshot = take(store);
	assert_int_equal(snapshot.count, 0);
	sample_snapshot_deinit(&snapshot);
	sample_store_destroy(store);
	assert_int_equal(trace->references, 1);
	trace_unref(trace);
}

static void what_is_over_the_limit_goes_to_the_stores_own_metric(void **state)
{
	const struct sample_store_options options = {
		.max_bytes = 40,
		.unstored_metric = METRIC_OTLP_SAMPLES_DROPPED,
	};
	struct sample_store *store = sample_store_create(&options);
	struct trace *trace = trace_create(NULL, 0, true, false);

	(void)state;
	metrics_reset();
	log_set_level(LOG_ERROR);
	report_one(store, trace, &plain_event);
	log_set_level(LOG_INFO);
	assert_int_equal(metrics_read(METRIC_SAMPLES_UNSTORED), 0);
	assert_int_equal(metrics_read(METRIC_OTLP_SAMPLES_DROPPED), 1);
	assert_int_equal(sample_store_count(store), 0);
	sample_store_destroy(store);
	trace_unref(trace);
}

static void a_full_store_warns_once_until_it_is_emptied(void **state)
{
	const struct sample_store_options options = { .max_bytes = 40 };
	struct sample_store *store = sample_store_create(&options);
	struct trace *trace = trace_create(NULL, 0, true, false);
	static const char line[] = "warn: the sample store is full (its limit is reached): samples "
				   "are dropped and counted\n";
	struct sample_snapshot snapshot;
	struct capture capture;
	char *log;

	(void)state;
	for (int round = 0; round < 2; round++) {
		capture_log(&capture);
		report_one(store, trace, &plain_event);
		report_one(store, trace, &plain_event);
		log = captured_log(&capture);
		assert_string_equal(log, line);
		free(log);
		snapshot = take(store);
		sample_snapshot_deinit(&snapshot);
	}
	sample_store_destroy(store);
	trace_unref(trace);
}

enum { REPORTS_PER_THREAD = 5000 };

static void *report_many(void *context)
{
	struct sample_store *store = context;
	struct trace *trace = trace_create(NULL, 0, true, false);

	for (int i = 0; i < REPORTS_PER_THREAD; i++)
		report_one(store, trace, &plain_event);
	trace_unref(trace);
	return NULL;
}

static void threads_report_while_another_takes(void **state)
{
	struct sample_store *store = sample_store_create(&with_times);
	struct sample_snapshot snapshot;
	pthread_t threads[2];
	uint64_t sum = 0;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, report_many, store), 0);
	for (int i = 0; i < 100; i++) {
		snapshot = take(store);
		assert_true(snapshot.count <= 1);
		sum += sum_of(&snapshot);
		sample_snapshot_deinit(&snapshot);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	snapshot = take(store);
	sum += sum_of(&snapshot);
	sample_snapshot_deinit(&snapshot);
	assert_int_equal(sum, 2 * REPORTS_PER_THREAD);
	sample_store_destroy(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(equal_samples_are_counted_and_kept_once),
		TEST(every_part_of_the_identity_makes_another_sample),
		TEST(a_process_that_was_learnt_of_again_is_the_same),
		TEST(equal_stacks_of_many_threads_are_one_trace),
		TEST(many_files_of_one_file_id_stay_apart),
		TEST(the_most_frequent_come_first),
		TEST(cpus_tell_samples_apart_only_if_that_is_wanted),
		TEST(every_time_comes_back_in_order_and_at_its_sample),
		TEST(any_time_is_kept_as_it_is),
		TEST(what_was_taken_is_out_of_the_store_which_goes_on),
		TEST(over_the_limit_new_samples_are_dropped_and_known_ones_counted),
		TEST(times_have_the_limit_too),
		TEST(a_store_too_small_for_one_sample_stays_empty),
		TEST(what_is_over_the_limit_goes_to_the_stores_own_metric),
		TEST(a_full_store_warns_once_until_it_is_emptied),
		TEST(threads_report_while_another_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
