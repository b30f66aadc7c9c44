/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sample_totals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct remembering_reporter {
	struct reporter reporter;
	uint64_t count;
	const struct sample_event *event;
};

static void remember(struct reporter *reporter, const struct sample_event *event)
{
	struct remembering_reporter *remembering = (struct remembering_reporter *)reporter;

	remembering->count++;
	remembering->event = event;
}

static const struct reporter_ops remembering_ops = { .report = remember };

static void totals_tell_what_the_samples_were(void **state)
{
	struct frame cut[] = {
		{ .kind = FRAME_NATIVE, .address = 1, .flags = FRAME_GUESS },
		{ .kind = FRAME_ERROR, .error = UNWIND_NO_INFO },
	};
	struct frame exiting_frame = { .kind = FRAME_KERNEL, .address = 1 };
	struct trace *incomplete = trace_create(cut, 2, false, false);
	struct trace *complete = trace_create(cut, 1, true, false);
	struct trace *kernel = trace_create(NULL, 0, true, true);
	struct trace *exiting = trace_create(&exiting_frame, 1, true, false);
	const struct sample_event events[] = {
		{ .sample.trace = incomplete, .was_known = true },
		{ .sample.trace = incomplete },
		{ .sample.trace = complete, .was_known = true },
		{ .sample.trace = kernel, .was_known = true },
		{ .sample.trace = exiting, .was_known = true },
	};
	struct sample_counter counter;

	(void)state;
	sample_counter_init(&counter);
	for (int i = 0; i < 5; i++)
		counter.reporter.ops->report(&counter.reporter, &events[i]);
	assert_int_equal(counter.totals.samples, 5);
	assert_int_equal(counter.totals.complete, 3);
	assert_int_equal(counter.totals.guesses, 3);
	assert_int_equal(counter.totals.errors[UNWIND_NO_INFO], 2);
	assert_int_equal(counter.totals.errors[UNWIND_TRUNCATED], 0);
	assert_int_equal(counter.totals.before_known, 1);
	assert_int_equal(counter.totals.known_user, 2);
	assert_int_equal(counter.totals.known_user_complete, 1);
	trace_unref(incomplete);
	trace_unref(complete);
	trace_unref(kernel);
	trace_unref(exiting);
}

static void every_sample_goes_on_to_all_others(void **state)
{
	struct remembering_reporter others[SAMPLE_COUNTER_MAX_NEXT] = { 0 };
	struct trace *trace = trace_create(NULL, 0, true, false);
	const struct sample_event event = { .sample.trace = trace, .sample.pid = 7 };
	struct sample_counter counter;

	(void)state;
	sample_counter_init(&counter);
	for (int i = 0; i < SAMPLE_COUNTER_MAX_NEXT; i++) {
		others[i].reporter.ops = &remembering_ops;
		sample_counter_add(&counter, &others[i].reporter);
	}
	for (int i = 0; i < 3; i++)
		counter.reporter.ops->report(&counter.reporter, &event);
	assert_int_equal(counter.totals.samples, 3);
	for (int i = 0; i < SAMPLE_COUNTER_MAX_NEXT; i++) {
		assert_int_equal(others[i].count, 3);
		assert_ptr_equal(others[i].event, &event);
	}
	trace_unref(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_tell_what_the_samples_were),
		cmocka_unit_test(every_sample_goes_on_to_all_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
