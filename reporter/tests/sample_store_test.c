/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sample_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "agent/base/log.h"
#include "agent/base/metrics.h"
#include "reporter/tests/fixture.h"

static const struct sample_context plain_context = {
	.pid = 1,
	.tid = 2,
	.process_comm = "p",
	.thread_comm = "t",
	.executable_path = "/p",
	.was_known = true,
};

static void report_one(struct sample_store *store, struct trace *trace,
		       const struct sample_context *context)
{
	struct reporter *reporter = sample_store_reporter(store);

	reporter->ops->report(reporter, trace, context);
}

static size_t distinct_count(struct sample_store *store)
{
	struct sample_snapshot snapshot;
	size_t count;

	assert_int_equal(sample_store_take_snapshot(store, &snapshot), 0);
	count = snapshot.count;
	sample_snapshot_deinit(&snapshot);
	return count;
}

static void read_totals(struct sample_store *store, struct sample_totals *totals)
{
	struct sample_snapshot snapshot;

	assert_int_equal(sample_store_take_snapshot(store, &snapshot), 0);
	*totals = snapshot.totals;
	sample_snapshot_deinit(&snapshot);
}

static void equal_samples_are_counted_and_kept_once(void **state)
{
	struct fixture *f = *state;
	struct frame frame = native_frame(f->prog, 0x1000, 0);
	struct trace *trace = trace_create(&frame, 1, true, false);
	/* The same stack, converted again after the cache forgot it. */
	struct trace *again = trace_create(&frame, 1, true, false);
	struct sample_snapshot snapshot;

	report_one(f->store, trace, &plain_context);
	report_one(f->store, trace, &plain_context);
	report_one(f->store, again, &plain_context);
	assert_int_equal(sample_store_take_snapshot(f->store, &snapshot), 0);
	assert_int_equal(snapshot.count, 1);
	assert_int_equal(snapshot.samples[0].count, 3);
	assert_ptr_equal(snapshot.samples[0].trace, trace);
	assert_string_equal(snapshot.samples[0].process_comm, "p");
	assert_string_equal(snapshot.samples[0].thread_comm, "t");
	assert_string_equal(snapshot.samples[0].executable_path, "/p");
	assert_int_equal(snapshot.totals.samples, 3);
	sample_snapshot_deinit(&snapshot);
	assert_int_equal(again->references, 1);
	trace_unref(trace);
	trace_unref(again);
}

static void every_part_of_the_identity_makes_another_sample(void **state)
{
	struct fixture *f = *state;
	struct frame frame = native_frame(f->prog, 0x1000, 0);
	struct frame other_frame = native_frame(f->prog, 0x1001, 0);
	struct trace *trace = trace_create(&frame, 1, true, false);
	struct trace *other = trace_create(&other_frame, 1, true, false);
	struct sample_context contexts[6];

	for (int i = 0; i < 6; i++)
		contexts[i] = plain_context;
	contexts[1].pid = 9;
	contexts[2].tid = 9;
	contexts[3].process_comm = "x";
	contexts[4].thread_comm = "x";
	contexts[5].executable_path = "/x";
	for (int i = 0; i < 6; i++) {
		report_one(f->store, trace, &contexts[i]);
		assert_int_equal(distinct_count(f->store), i + 1);
	}
	report_one(f->store, other, &plain_context);
	assert_int_equal(distinct_count(f->store), 7);
	trace_unref(trace);
	trace_unref(other);
}

static void many_files_of_one_file_id_stay_apart(void **state)
{
	enum { COPIES = 40 };

	struct fixture *f = *state;
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
		report_one(f->store, trace, &plain_context);
		trace_unref(trace);
		binary_unref(copy);
	}
	assert_int_equal(distinct_count(f->store), COPIES);
}

static void totals_tell_what_the_samples_were(void **state)
{
	struct fixture *f = *state;
	struct frame cut[] = { native_frame(f->prog, 1, FRAME_GUESS), error_frame(UNWIND_NO_INFO) };
	struct trace *incomplete = trace_create(cut, 2, false, false);
	struct trace *complete = trace_create(cut, 1, true, false);
	struct trace *kernel = trace_create(NULL, 0, true, true);
	struct frame exiting_frame = error_frame(UNWIND_NO_MEMORY);
	struct trace *exiting = trace_create(&exiting_frame, 1, false, false);
	struct sample_context unknown = plain_context;
	struct sample_totals totals;

	unknown.was_known = false;
	report_one(f->store, incomplete, &plain_context);
	report_one(f->store, incomplete, &unknown);
	report_one(f->store, complete, &plain_context);
	report_one(f->store, kernel, &plain_context);
	report_one(f->store, exiting, &plain_context);
	read_totals(f->store, &totals);
	assert_int_equal(totals.samples, 5);
	assert_int_equal(totals.complete, 2);
	assert_int_equal(totals.guesses, 3);
	assert_int_equal(totals.errors[UNWIND_NO_INFO], 2);
	assert_int_equal(totals.errors[UNWIND_TRUNCATED], 0);
	assert_int_equal(totals.before_known, 1);
	assert_int_equal(totals.known_user, 2);
	assert_int_equal(totals.known_user_complete, 1);
	trace_unref(incomplete);
	trace_unref(complete);
	trace_unref(kernel);
	trace_unref(exiting);
}

static void over_the_limit_new_samples_are_dropped_and_known_ones_counted(void **state)
{
	struct sample_store *store = sample_store_create(20000);
	struct trace *trace = trace_create(NULL, 0, true, false);
	struct sample_context context = plain_context;
	struct sample_totals totals;
	uint64_t stored;

	(void)state;
	metrics_reset();
	/* The warning itself would only disturb the test's output. */
	log_set_level(LOG_ERROR);
	for (uint32_t tid = 0; tid < 1000; tid++) {
		context.tid = tid;
		report_one(store, trace, &context);
	}
	read_totals(store, &totals);
	stored = totals.samples;
	assert_in_range(stored, 10, 100);
	assert_int_equal(totals.dropped, 1000 - stored);
	assert_int_equal(metrics_read(METRIC_SAMPLES_UNSTORED), 1000 - stored);
	assert_int_equal(distinct_count(store), stored);
	context.tid = 0;
	report_one(store, trace, &context);
	read_totals(store, &totals);
	assert_int_equal(totals.samples, stored + 1);
	/* A name too long for what is left is no way around the limit. */
	context.process_comm = "another";
	report_one(store, trace, &context);
	read_totals(store, &totals);
	assert_int_equal(totals.dropped, 1000 - stored + 1);
	log_set_level(LOG_INFO);
	sample_store_destroy(store);
	trace_unref(trace);
}

static void *report_many(void *context)
{
	struct sample_store *store = context;
	struct trace *trace = trace_create(NULL, 0, true, false);

	for (int i = 0; i < 5000; i++)
		report_one(store, trace, &plain_context);
	trace_unref(trace);
	return NULL;
}

static void threads_report_while_others_look(void **state)
{
	struct fixture *f = *state;
	struct sample_totals totals;
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, report_many, f->store), 0);
	for (int i = 0; i < 100; i++)
		assert_true(distinct_count(f->store) <= 1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	read_totals(f->store, &totals);
	assert_int_equal(totals.samples, 10000);
	assert_int_equal(distinct_count(f->store), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(equal_samples_are_counted_and_kept_once),
		TEST(every_part_of_the_identity_makes_another_sample),
		TEST(many_files_of_one_file_id_stay_apart),
		TEST(totals_tell_what_the_samples_were),
		TEST(over_the_limit_new_samples_are_dropped_and_known_ones_counted),
		TEST(threads_report_while_others_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
