/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
	struct trace *trace, *same_trace, *other_trace;
	struct process_info *process, *same_process, *other_process;
	struct label_set labels, same_labels, other_labels;
	struct sample sample;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	const struct frame frame = { .kind = FRAME_NATIVE, .address = 1 };
	const struct frame other_frame = { .kind = FRAME_NATIVE, .address = 2 };
	const struct process_info values = { .pid = 1, .executable_path = "/a" };
	const struct process_info other_values = { .pid = 1, .executable_path = "/b" };

	fixture = (struct fixture){
		.trace = trace_create(&frame, 1, true, false),
		.same_trace = trace_create(&frame, 1, true, false),
		.other_trace = trace_create(&other_frame, 1, true, false),
		.process = process_info_create(&values),
		.same_process = process_info_create(&values),
		.other_process = process_info_create(&other_values),
		.labels = { .task_id = 1 },
		.same_labels = { .task_id = 1 },
		.other_labels = { .task_id = 2 },
	};
	fixture.sample = (struct sample){
		.trace = fixture.trace,
		.process = fixture.process,
		.labels = &fixture.labels,
		.process_comm = "p",
		.thread_comm = "t",
		.pid = 1,
		.tid = 2,
		.cpu = SAMPLE_NO_NUMBER,
	};
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	trace_unref(f->trace);
	trace_unref(f->same_trace);
	trace_unref(f->other_trace);
	process_info_unref(f->process);
	process_info_unref(f->same_process);
	process_info_unref(f->other_process);
	return 0;
}

static void assert_differs(struct fixture *f, const struct sample *other)
{
	assert_false(sample_equal(&f->sample, other));
	assert_false(sample_equal(other, &f->sample));
	assert_true(sample_hash(&f->sample) != sample_hash(other));
}

static void every_part_tells_samples_apart(void **state)
{
	struct fixture *f = *state;
	struct sample other;

#define DIFFERS(field, value)                                                                      \
	other = f->sample;                                                                         \
	other.field = value;                                                                       \
	assert_differs(f, &other);
#define TEXT_DIFFERS(field) DIFFERS(field, "other")
#define NUMBER_DIFFERS(field) DIFFERS(field, f->sample.field + 7)
#define X(NAME, field, kind, ...) kind##_DIFFERS(field)
	SAMPLE_ATTRIBUTES(X)
#undef X
	DIFFERS(origin, 1)
	DIFFERS(trace, f->other_trace)
	DIFFERS(process, f->other_process)
	DIFFERS(process, NULL)
	DIFFERS(labels, &f->other_labels)
	DIFFERS(labels, NULL)
}

static void equal_parts_at_other_addresses_make_equal_samples(void **state)
{
	struct fixture *f = *state;
	struct sample same = f->sample;
	char process_comm[] = "p", thread_comm[] = "t";

	same.trace = f->same_trace;
	same.process = f->same_process;
	same.labels = &f->same_labels;
	same.process_comm = process_comm;
	same.thread_comm = thread_comm;
	assert_true(sample_equal(&f->sample, &same));
	assert_true(sample_hash(&f->sample) == sample_hash(&same));
}

static void rows_lead_to_their_fields(void **state)
{
	struct fixture *f = *state;
	struct sample *sample = &f->sample;

#define TEXT_IS_READ(NAME, field)                                                                  \
	sample_set_text(sample, SAMPLE_##NAME, "set");                                             \
	assert_string_equal(sample->field, "set");                                                 \
	assert_ptr_equal(sample_text(sample, SAMPLE_##NAME), sample->field);
#define NUMBER_IS_READ(NAME, field)                                                                \
	sample_set_number(sample, SAMPLE_##NAME, 77);                                              \
	assert_int_equal(sample->field, 77);                                                       \
	assert_int_equal(sample_number(sample, SAMPLE_##NAME), 77);
#define X(NAME, field, kind, ...) kind##_IS_READ(NAME, field)
	SAMPLE_ATTRIBUTES(X)
#undef X
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_part_tells_samples_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rows_lead_to_their_fields, set_up, tear_down),
		cmocka_unit_test_setup_teardown(equal_parts_at_other_addresses_make_equal_samples,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
