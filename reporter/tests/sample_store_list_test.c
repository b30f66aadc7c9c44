/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sample_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/tests/fixture.h"

static const struct sample_event plain_event = {
	.sample.pid = 1,
	.sample.tid = 2,
	.sample.process_comm = "p",
	.sample.thread_comm = "t",
	.was_known = true,
};

static void report_one(struct sample_store *store, struct trace *trace,
		       const struct sample_event *event)
{
	struct reporter *reporter = sample_store_reporter(store);
	struct sample_event with_trace = *event;

	with_trace.sample.trace = trace;
	reporter->ops->report(reporter, &with_trace);
}

static void what_came_since_is_listed_once(void **state)
{
	struct fixture *f = *state;
	struct frame frames[] = { native_frame(f->prog, 0x1000, 0),
				  native_frame(f->prog, 0x1001, 0),
				  native_frame(f->prog, 0x1002, 0) };
	struct sample_event event = plain_event;
	struct sample_cursor cursor = { 0 };
	struct listed_trace listed[2];
	struct sample_snapshot snapshot;
	struct trace *traces[3];

	assert_int_equal(sample_store_list(f->store, &cursor, listed, 2), 0);
	for (int i = 0; i < 3; i++) {
		traces[i] = trace_create(&frames[i], 1, true, false);
		event.sample.pid = 10 + i;
		report_one(f->store, traces[i], &event);
		report_one(f->store, traces[i], &event);
	}
	for (uint32_t done = 0; done < 3;) {
		uint32_t count = sample_store_list(f->store, &cursor, listed, 2);

		assert_int_equal(count, done ? 1 : 2);
		for (uint32_t i = 0; i < count; i++, done++) {
			assert_ptr_equal(listed[i].trace, traces[done]);
			assert_int_equal(listed[i].pid, 10 + done);
			trace_unref(listed[i].trace);
		}
	}
	assert_int_equal(sample_store_list(f->store, &cursor, listed, 2), 0);
	assert_int_equal(sample_store_take(f->store, &snapshot), 0);
	sample_snapshot_deinit(&snapshot);
	/* As many as before the taking, but new ones. */
	for (int i = 2; i >= 0; i--)
		report_one(f->store, traces[i], &plain_event);
	assert_int_equal(sample_store_list(f->store, &cursor, listed, 2), 2);
	assert_ptr_equal(listed[0].trace, traces[2]);
	trace_unref(listed[0].trace);
	trace_unref(listed[1].trace);
	for (int i = 0; i < 3; i++)
		trace_unref(traces[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_came_since_is_listed_once, fixture_setup,
						fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
