/* SPDX-License-Identifier: Apache-2.0 */
/* Labels in the sample store; sample_store_test.c tests the rest. */
#include "reporter/sample_contents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/log.h"
#include "lib/model/metrics.h"
#include "reporter/tests/fixture.h"

static const struct sample_event plain_event = {
	.sample.pid = 1,
	.sample.tid = 2,
	.sample.process_comm = "p",
	.sample.thread_comm = "t",
};

static void report_labels(struct sample_store *store, const struct label_set *labels, uint32_t tid)
{
	struct reporter *reporter = sample_store_reporter(store);
	struct process_info *process = process_info_create(&(struct process_info){ .pid = 1 });
	struct trace *trace = trace_create(NULL, 0, true, false);
	struct sample_event event = plain_event;

	event.sample.process = process;
	event.sample.labels = labels;
	event.sample.trace = trace;
	event.sample.tid = tid;
	reporter->ops->report(reporter, &event);
	trace_unref(trace);
	process_info_unref(process);
}

static void labels_tell_samples_apart(void **state)
{
	enum { KINDS = 5 };

	struct fixture *f = *state;
	struct label_set sets[KINDS];
	struct sample_snapshot snapshot;

	fill_labels(&sets[0], 1, (const char *[]){ "k", "1" }, false);
	fill_labels(&sets[1], 1, (const char *[]){ "k", "2" }, false);
	fill_labels(&sets[2], 2, (const char *[]){ "k", "1", "l", "1" }, false);
	fill_labels(&sets[3], 1, (const char *[]){ "k", "1" }, true);
	fill_labels(&sets[4], 0, NULL, true);
	for (int round = 0; round < 2; round++) {
		report_labels(f->store, NULL, 2);
		for (int i = 0; i < KINDS; i++)
			report_labels(f->store, &sets[i], 2);
	}
	assert_int_equal(sample_store_take(f->store, &snapshot), 0);
	assert_int_equal(snapshot.count, KINDS + 1);
	assert_null(snapshot.samples[0].sample.labels);
	for (int i = 0; i < KINDS; i++) {
		const struct stored_sample *sample = &snapshot.samples[i + 1];

		assert_int_equal(sample->count, 2);
		assert_int_equal((uintptr_t)sample->sample.labels % 8, 0);
		assert_memory_equal(sample->sample.labels, &sets[i], label_set_bytes(&sets[i]));
	}
	sample_snapshot_deinit(&snapshot);
}

static void equal_labels_are_kept_once(void **state)
{
	struct fixture *f = *state;
	struct sample_snapshot snapshot;
	struct label_set set;

	for (uint32_t i = 0; i < 100; i++) {
		fill_labels(&set, 1, (const char *[]){ "k", i % 2 ? "odd" : "even" }, false);
		report_labels(f->store, &set, i);
	}
	assert_int_equal(sample_store_take(f->store, &snapshot), 0);
	assert_int_equal(snapshot.count, 100);
	for (uint32_t i = 0; i < 100; i++)
		assert_ptr_equal(snapshot.samples[i].sample.labels,
				 snapshot.samples[i % 2].sample.labels);
	assert_ptr_not_equal(snapshot.samples[0].sample.labels, snapshot.samples[1].sample.labels);
	sample_snapshot_deinit(&snapshot);
}

static void labels_without_end_have_the_limit(void **state)
{
	const struct sample_store_options options = { .max_bytes = 1 << 20 };
	struct sample_store *store = sample_store_create(&options);
	struct sample_snapshot snapshot;
	struct label_set set;
	char value[LABEL_VALUE_MAX_BYTES];
	uint64_t dropped;

	(void)state;
	metrics_reset();
	log_set_level(LOG_ERROR);
	for (int i = 0; i < 10000; i++) {
		snprintf(value, sizeof(value), "%0*d", (int)sizeof(value) - 1, i);
		fill_labels(&set, 1, (const char *[]){ "k", value }, false);
		report_labels(store, &set, 2);
	}
	log_set_level(LOG_INFO);
	dropped = metrics_read(METRIC_SAMPLES_UNSTORED);
	/* Each sample takes its texts, and as much as a sample without them. */
	assert_in_range(10000 - dropped, (1 << 20) / 320, (1 << 20) / 200);
	/* Known samples are still counted. */
	fill_labels(&set, 1, (const char *[]){ "k", value }, false);
	report_labels(store, &set, 2);
	assert_int_equal(metrics_read(METRIC_SAMPLES_UNSTORED), dropped + 1);
	assert_int_equal(sample_store_take(store, &snapshot), 0);
	assert_int_equal(snapshot.count, 10000 - dropped);
	sample_snapshot_deinit(&snapshot);
	report_labels(store, &set, 2);
	assert_int_equal(sample_store_count(store), 1);
	sample_store_destroy(store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(labels_tell_samples_apart),
		TEST(equal_labels_are_kept_once),
		TEST(labels_without_end_have_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
