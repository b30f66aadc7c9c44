// SPDX-License-Identifier: Apache-2.0
/* The files are gone: a count shows that names were requested, and no process is started to read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/native_names.h"
#include "lib/base/clock.h"
#include "lib/model/metrics.h"
#include "lib/model/trace.h"

#include <cmocka.h>

static void report(struct reporter *reporter, uint64_t executable_id, bool is_new)
{
	struct binary *binary = binary_create(&(struct binary){
		.executable_id = executable_id,
		.fd = -1,
		.is_let_go = true,
		.key = { .inode = 1, .size = 1 },
		.path = "/nowhere/prog",
	});
	const struct frame frame = { .kind = FRAME_NATIVE, .address = 0x1000, .binary = binary };
	struct sample_event event = { .sample.pid = 1, .has_new_trace = is_new };

	event.sample.trace = trace_create(&frame, 1, true, false);
	binary_unref(binary);
	assert_non_null(event.sample.trace);
	reporter->ops->report(reporter, &event);
	trace_unref(event.sample.trace);
}

static void nothing_is_asked_if_nobody_wants_names(void **state)
{
	const struct options options = {
		.collector = { .address = "host:1", .symbolize = SYMBOLIZE_NONE },
	};
	struct native_names *names;
	uint64_t pending, changes;

	(void)state;
	assert_int_equal(native_names_create(&options, NULL, &names), 0);
	assert_null(native_names_reporter(names));
	native_names_tick(names);
	native_names_wait_symbols(names);
	native_names_wait(names, clock_monotonic_ns() + NS_PER_SECOND);
	native_names_progress(names, &pending, &changes);
	assert_int_equal(pending, 0);
	native_names_destroy(names);
}

static void names_are_asked_for_of_the_binaries_of_new_traces(void **state)
{
	const struct options options = { .output_count = 1 };
	struct native_names *names;
	struct reporter *reporter;

	(void)state;
	metrics_reset();
	assert_int_equal(native_names_create(&options, NULL, &names), 0);
	reporter = native_names_reporter(names);
	assert_non_null(reporter);
	report(reporter, 1001, true);
	report(reporter, 1002, false);
	report(reporter, 1003, true);
	native_names_wait(names, clock_monotonic_ns() + 60 * NS_PER_SECOND);
	assert_int_equal(metrics_read(METRIC_FILES_GONE), 2);
	assert_int_equal(metrics_read(METRIC_NAMES_UNASKED), 0);
	native_names_destroy(names);
}

static void who_waits_for_symbols_has_all_that_was_reported_before(void **state)
{
	const struct options options = { .output_count = 1 };
	struct native_names *names;

	(void)state;
	metrics_reset();
	assert_int_equal(native_names_create(&options, NULL, &names), 0);
	report(native_names_reporter(names), 1001, true);
	/* A second and a half at most each time. */
	for (int i = 0; i < 40 && !metrics_read(METRIC_FILES_GONE); i++)
		native_names_wait_symbols(names);
	assert_int_equal(metrics_read(METRIC_FILES_GONE), 1);
	/* A binary that is still in the queue is freed with it. */
	report(native_names_reporter(names), 1002, true);
	native_names_destroy(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_asked_if_nobody_wants_names),
		cmocka_unit_test(names_are_asked_for_of_the_binaries_of_new_traces),
		cmocka_unit_test(who_waits_for_symbols_has_all_that_was_reported_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
