// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/new_binaries.h"
#include "lib/model/metrics.h"
#include "lib/model/trace.h"

#include <cmocka.h>

enum { MAX_COUNT = 4 };

static struct new_binaries binaries;

static int set_up(void **state)
{
	(void)state;
	metrics_reset();
	return new_binaries_init(&binaries, MAX_COUNT);
}

static int tear_down(void **state)
{
	(void)state;
	new_binaries_deinit(&binaries);
	return 0;
}

static struct binary *make_binary(uint64_t executable_id)
{
	return binary_create(&(struct binary){
		.executable_id = executable_id,
		.fd = -1,
		.path = "/opt/prog",
	});
}

/* A sample of @pid with a frame in each of @count files, whose references it takes. */
static void report(bool is_new, uint32_t pid, uint32_t count, struct binary **files)
{
	struct frame frames[8] = { 0 };
	struct sample_event event = { .sample.pid = pid, .has_new_trace = is_new };

	for (uint32_t i = 0; i < count; i++)
		frames[i] =
			(struct frame){ .kind = files[i]->is_kernel ? FRAME_KERNEL : FRAME_NATIVE,
					.address = 0x1000 + i,
					.binary = files[i] };
	event.sample.trace = trace_create(frames, count, true, false);
	assert_non_null(event.sample.trace);
	binaries.reporter.ops->report(&binaries.reporter, &event);
	trace_unref(event.sample.trace);
	for (uint32_t i = 0; i < count; i++)
		binary_unref(files[i]);
}

static void report_one(bool is_new, uint32_t pid, uint64_t executable_id)
{
	report(is_new, pid, 1, (struct binary *[]){ make_binary(executable_id) });
}

static void assert_taken(uint32_t pid, uint64_t executable_id)
{
	struct new_binary taken;

	assert_true(new_binaries_take(&binaries, &taken));
	assert_int_equal(taken.pid, pid);
	assert_int_equal(taken.binary->executable_id, executable_id);
	binary_unref(taken.binary);
}

static void assert_none_waits(void)
{
	struct new_binary taken;

	assert_false(new_binaries_take(&binaries, &taken));
}

static void the_binaries_of_a_new_trace_are_handed_over_in_their_order(void **state)
{
	(void)state;
	assert_none_waits();
	report(true, 7, 3,
	       (struct binary *[]){ make_binary(11), make_binary(12), make_binary(13) });
	assert_taken(7, 11);
	assert_taken(7, 12);
	assert_taken(7, 13);
	assert_none_waits();
}

static void a_binary_is_handed_over_once_for_each_process(void **state)
{
	(void)state;
	report_one(true, 7, 11);
	report_one(true, 7, 11);
	report(true, 7, 3,
	       (struct binary *[]){ make_binary(11), make_binary(12), make_binary(11) });
	report_one(true, 8, 11);
	assert_taken(7, 11);
	assert_taken(7, 12);
	assert_taken(8, 11);
	report_one(true, 8, 11);
	assert_none_waits();
}

static void a_trace_that_is_known_is_not_looked_at(void **state)
{
	(void)state;
	report_one(false, 7, 11);
	assert_none_waits();
	assert_int_equal(binaries.seen.count, 0);
	report_one(true, 7, 11);
	assert_taken(7, 11);
}

static void the_kernel_and_files_of_elsewhere_are_left_out(void **state)
{
	struct binary *kernel =
		binary_create(&(struct binary){ .is_kernel = true, .fd = -1, .path = "vmlinux" });
	struct binary *elsewhere =
		binary_create(&(struct binary){ .is_elsewhere = true, .fd = -1, .path = "/a" });

	(void)state;
	report(true, 7, 3, (struct binary *[]){ kernel, elsewhere, make_binary(11) });
	assert_taken(7, 11);
	assert_none_waits();
}

static void when_the_queue_is_full_the_oldest_goes_and_is_counted(void **state)
{
	(void)state;
	for (uint64_t id = 11; id < 11 + MAX_COUNT; id++)
		report_one(true, 7, id);
	assert_int_equal(metrics_read(METRIC_NAMES_UNASKED), 0);
	report_one(true, 7, 20);
	assert_int_equal(metrics_read(METRIC_NAMES_UNASKED), 1);
	for (uint64_t id = 12; id < 11 + MAX_COUNT; id++)
		assert_taken(7, id);
	assert_taken(7, 20);
	/* The binary that was dropped is queued when it comes again; the others are not. */
	report_one(true, 7, 11);
	report_one(true, 7, 12);
	assert_taken(7, 11);
	assert_none_waits();
	assert_int_equal(metrics_read(METRIC_NAMES_UNASKED), 1);
}

static void what_is_remembered_is_bounded(void **state)
{
	(void)state;
	for (uint64_t id = 11; id < 111; id++) {
		report_one(true, 7, id);
		assert_taken(7, id);
		assert_true(binaries.seen.count <= 2 * MAX_COUNT);
	}
	/* The binary was forgotten meanwhile. */
	report_one(true, 7, 11);
	assert_taken(7, 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(the_binaries_of_a_new_trace_are_handed_over_in_their_order),
		TEST(a_binary_is_handed_over_once_for_each_process),
		TEST(a_trace_that_is_known_is_not_looked_at),
		TEST(the_kernel_and_files_of_elsewhere_are_left_out),
		TEST(when_the_queue_is_full_the_oldest_goes_and_is_counted),
		TEST(what_is_remembered_is_bounded),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
