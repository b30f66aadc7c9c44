// SPDX-License-Identifier: Apache-2.0
#include "agent/top/top_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "reporter/tests/fixture.h"

#define NOW_NS (100 * NS_PER_SECOND)

struct top_fixture {
	struct fixture names;
	struct top_model model;
};

static int setup(void **state)
{
	const struct history_options options = { .retention_ns = 30 * NS_PER_SECOND };
	struct top_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fixture_init(&f->names);
	f->model.history = history_create(&options);
	assert_non_null(f->model.history);
	f->model.lookup = &f->names.lookup;
	f->model.samples_per_second = 10;
	f->model.from_ns = NOW_NS - 5 * NS_PER_SECOND;
	f->model.to_ns = NOW_NS;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct top_fixture *f = *state;

	top_model_deinit(&f->model);
	history_destroy(f->model.history);
	fixture_deinit(&f->names);
	free(f);
	return 0;
}

/* Takes @count samples at @time_ns. */
static void take(struct top_fixture *f, const char *comm, uint32_t pid, uint64_t time_ns,
		 uint32_t count, const struct frame *frames, uint32_t frame_count)
{
	struct reporter *reporter = history_reporter(f->model.history);
	struct trace *trace = trace_create(frames, frame_count, true, false);
	struct sample_event event = {
		.sample.trace = trace,
		.sample.pid = pid,
		.sample.tid = pid,
		.sample.process_comm = comm,
		.sample.thread_comm = comm,
		.time_ns = time_ns,
		.was_known = true,
	};

	assert_non_null(trace);
	while (count-- > 0)
		reporter->ops->report(reporter, &event);
	trace_unref(trace);
}

/* 10 samples of process 1, whose main calls two functions, 20 of process 2, and some that are too old or too new. */
static void take_all(struct top_fixture *f)
{
	const struct frame first[] = { native_frame(f->names.prog, 0x2000, 0),
				       native_frame(f->names.prog, 0x1000, 0) };
	const struct frame second[] = { native_frame(f->names.prog, 0x8a00, 0),
					native_frame(f->names.prog, 0x1000, 0) };
	const struct frame other[] = { native_frame(f->names.stripped, 0x5000, 0) };

	take(f, "one", 1, NOW_NS - 6 * NS_PER_SECOND, 50, first, 2);
	take(f, "one", 1, NOW_NS - 2 * NS_PER_SECOND, 3, first, 2);
	take(f, "one", 1, NOW_NS - 1 * NS_PER_SECOND, 7, second, 2);
	take(f, "two", 2, NOW_NS - 1 * NS_PER_SECOND, 20, other, 1);
	take(f, "two", 2, NOW_NS + 1, 9, other, 1);
}

static void list(struct top_fixture *f, enum top_list list)
{
	f->model.list = list;
	assert_int_equal(top_model_count(&f->model), 0);
	assert_int_equal(top_model_list(&f->model), 0);
}

static void assert_row(const struct top_fixture *f, size_t index, const char *name, uint64_t self,
		       uint64_t total)
{
	const struct top_row *row = &f->model.rows.items[index];

	assert_true(index < f->model.rows.count);
	assert_string_equal(row->name, name);
	assert_int_equal(row->self, self);
	assert_int_equal(row->total, total);
}

static void processes_have_the_samples_of_the_shown_time(void **state)
{
	struct top_fixture *f = *state;

	take_all(f);
	list(f, TOP_PROCESSES);
	assert_int_equal(f->model.rows.count, 2);
	assert_row(f, 0, "two", 20, 20);
	assert_int_equal(f->model.rows.items[0].pid, 2);
	assert_row(f, 1, "one", 10, 10);
	assert_int_equal(f->model.counts.total, 30);
	/* 20 samples at 10 Hz in 5 s. */
	assert_true(top_model_cpus(&f->model, 20) > 0.399 && top_model_cpus(&f->model, 20) < 0.401);
}

static void functions_are_in_the_chosen_order(void **state)
{
	struct top_fixture *f = *state;

	take_all(f);
	list(f, TOP_FUNCTIONS);
	assert_int_equal(f->model.rows.count, 4);
	assert_row(f, 0, "lib:x.so+0x5000", 20, 20);
	assert_row(f, 1, "runtime.gopanic", 7, 7);
	assert_row(f, 2, "foo:bar baz", 3, 3);
	assert_row(f, 3, "main", 0, 10);
	f->model.sort = TOP_BY_TOTAL;
	assert_int_equal(top_model_list(&f->model), 0);
	assert_row(f, 1, "main", 0, 10);
	f->model.sort = TOP_BY_NAME;
	assert_int_equal(top_model_list(&f->model), 0);
	assert_row(f, 0, "foo:bar baz", 3, 3);
	assert_row(f, 3, "runtime.gopanic", 7, 7);
}

static void a_filter_matches_names_and_files_in_either_case(void **state)
{
	struct top_fixture *f = *state;

	take_all(f);
	strcpy(f->model.filter, "MAIN");
	list(f, TOP_FUNCTIONS);
	assert_int_equal(f->model.rows.count, 1);
	assert_row(f, 0, "main", 0, 10);
	strcpy(f->model.filter, "lib;x.so");
	list(f, TOP_FUNCTIONS);
	assert_int_equal(f->model.rows.count, 1);
	strcpy(f->model.filter, "nothing");
	list(f, TOP_FUNCTIONS);
	assert_int_equal(f->model.rows.count, 0);
}

static void a_chosen_process_has_its_own_functions_and_calls(void **state)
{
	struct top_fixture *f = *state;

	take_all(f);
	f->model.has_process = true;
	f->model.pid = 1;
	list(f, TOP_FUNCTIONS);
	assert_int_equal(f->model.counts.total, 10);
	assert_int_equal(f->model.rows.count, 3);
	list(f, TOP_CALLS);
	assert_int_equal(f->model.rows.count, 4);
	assert_row(f, 0, "one", 0, 10);
	assert_row(f, 1, "main", 0, 10);
	assert_row(f, 2, "runtime.gopanic", 7, 7);
	assert_row(f, 3, "foo:bar baz", 3, 3);
	assert_int_equal(f->model.rows.items[1].level, 0);
	assert_int_equal(f->model.rows.items[2].level, 1);
	assert_int_equal(f->model.rows.items[3].level, 1);
	/* All processes are listed, whichever is chosen. */
	list(f, TOP_PROCESSES);
	assert_int_equal(f->model.rows.count, 2);
}

static void without_samples_there_are_no_rows(void **state)
{
	struct top_fixture *f = *state;

	for (enum top_list one = 0; one < TOP_LIST_COUNT; one++) {
		list(f, one);
		assert_int_equal(f->model.rows.count, 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(processes_have_the_samples_of_the_shown_time),
		TEST(functions_are_in_the_chosen_order),
		TEST(a_filter_matches_names_and_files_in_either_case),
		TEST(a_chosen_process_has_its_own_functions_and_calls),
		TEST(without_samples_there_are_no_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
