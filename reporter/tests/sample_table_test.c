/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sample_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct trace *make_trace(uint64_t address)
{
	const struct frame frame = { .kind = FRAME_NATIVE, .address = address };
	struct trace *trace = trace_create(&frame, 1, true, false);

	assert_non_null(trace);
	return trace;
}

static uint32_t add(struct sample_table *table, const struct sample *sample, bool must_be_new)
{
	uint32_t number;

	assert_int_equal(sample_table_add(table, sample, &number), 0);
	assert_int_equal(sample_table_at(table->blocks.items, number)->uses == 1, must_be_new);
	return number;
}

static const struct sample *at(const struct sample_table *table, uint32_t number)
{
	return &sample_table_at(table->blocks.items, number)->sample;
}

static void equal_parts_are_one_pointer(void **state)
{
	struct trace *traces[] = { make_trace(1), make_trace(1) };
	const struct process_info values = { .pid = 3 };
	struct process_info *infos[] = { process_info_create(&values),
					 process_info_create(&values) };
	struct label_set labels[2] = { { .task_id = 1 }, { .task_id = 1 } };
	char names[2][2] = { "n", "n" };
	struct sample_table table;
	uint32_t numbers[2];

	(void)state;
	sample_table_init(&table, SIZE_MAX);
	for (uint32_t i = 0; i < 2; i++)
		numbers[i] = add(&table,
				 &(struct sample){ traces[i], infos[i], &labels[i], names[i],
						   names[i], .tid = i },
				 true);
	assert_ptr_equal(at(&table, numbers[0])->trace, at(&table, numbers[1])->trace);
	assert_ptr_equal(at(&table, numbers[0])->process, at(&table, numbers[1])->process);
	assert_ptr_equal(at(&table, numbers[0])->labels, at(&table, numbers[1])->labels);
	assert_ptr_equal(at(&table, numbers[0])->thread_comm, at(&table, numbers[1])->process_comm);
	assert_int_equal(traces[0]->references, 2);
	assert_int_equal(traces[1]->references, 1);
	/* The last sample removes the parts, whichever sample that is. */
	sample_table_remove(&table, numbers[0]);
	assert_int_equal(traces[0]->references, 2);
	assert_string_equal(at(&table, numbers[1])->thread_comm, "n");
	sample_table_remove(&table, numbers[1]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(traces[i]->references, 1);
		trace_unref(traces[i]);
		process_info_unref(infos[i]);
	}
	assert_int_equal(table.bytes, 2 * (sizeof(struct sample_entry) + ID_INDEX_ENTRY_BYTES));
	sample_table_deinit(&table);
}

static void a_number_is_used_again_after_its_last_use(void **state)
{
	struct trace *trace = make_trace(1);
	struct sample sample = { .trace = trace, .process_comm = "p", .thread_comm = "t" };
	struct sample_table table;
	uint32_t number;
	size_t bytes;

	(void)state;
	sample_table_init(&table, SIZE_MAX);
	number = add(&table, &sample, true);
	bytes = table.bytes;
	assert_int_equal(add(&table, &sample, false), number);
	sample_table_remove(&table, number);
	assert_ptr_equal(at(&table, number)->trace, trace);
	sample_table_remove(&table, number);
	assert_null(at(&table, number)->trace);
	sample.pid = 1;
	assert_int_equal(add(&table, &sample, true), number);
	assert_int_equal(table.bytes, bytes);
	assert_int_equal(table.used, 1);
	sample_table_deinit(&table);
	trace_unref(trace);
}

static void over_the_limit_nothing_changes(void **state)
{
	struct trace *trace = make_trace(1);
	const struct sample sample = { .trace = trace, .process_comm = "p", .thread_comm = "t" };
	struct sample_table table;
	uint32_t number;
	size_t needed;

	(void)state;
	sample_table_init(&table, SIZE_MAX);
	add(&table, &sample, true);
	needed = table.bytes;
	sample_table_deinit(&table);
	sample_table_init(&table, 0);
	for (; table.max_bytes < needed; table.max_bytes++) {
		assert_int_equal(sample_table_add(&table, &sample, &number), -E2BIG);
		assert_int_equal(table.bytes, 0);
		assert_int_equal(table.used, 0);
		assert_int_equal(trace->references, 1);
	}
	add(&table, &sample, true);
	sample_table_deinit(&table);
	trace_unref(trace);
}

/* Replaces libc's strdup(), so that tests can let one of the calls fail. */
static uint32_t strdups_until_failure = UINT32_MAX;

char *strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = strdups_until_failure-- ? malloc(bytes) : NULL;

	return copy ? memcpy(copy, text, bytes) : NULL;
}

static void after_a_failed_allocation_nothing_has_changed(void **state)
{
	struct trace *trace = make_trace(1);
	struct process_info *info = process_info_create(&(struct process_info){ .pid = 3 });
	const struct label_set labels = { .task_id = 1 };
	const struct sample sample = { trace, info, &labels, "process", "thread", .tid = 4 };
	struct sample_table table;
	uint32_t number;
	size_t bytes;

	(void)state;
	sample_table_init(&table, SIZE_MAX);
	/* The number is free, and its memory has been counted. */
	sample_table_remove(&table, add(&table, &sample, true));
	bytes = table.bytes;
	for (uint32_t i = 0; i < 2; i++) {
		strdups_until_failure = i;
		assert_int_equal(sample_table_add(&table, &sample, &number), -ENOMEM);
		strdups_until_failure = UINT32_MAX;
		assert_int_equal(table.bytes, bytes);
		assert_int_equal(trace->references, 1);
		assert_int_equal(info->references, 1);
		assert_int_equal(interner_count(&table.strings), 0);
		assert_int_equal(interner_count(&table.labels), 0);
	}
	assert_int_equal(add(&table, &sample, true), 0);
	assert_int_equal(table.used, 1);
	sample_table_deinit(&table);
	trace_unref(trace);
	process_info_unref(info);
}

static void many_samples_come_and_go(void **state)
{
	enum { COUNT = 200000 };

	struct trace *trace = make_trace(1);
	struct sample sample = { .trace = trace, .process_comm = "p", .thread_comm = "t" };
	struct sample_table table;

	(void)state;
	sample_table_init(&table, SIZE_MAX);
	/* Enough samples that halves of some hashes are equal. */
	for (sample.tid = 0; sample.tid < COUNT; sample.tid++)
		assert_int_equal(add(&table, &sample, true), sample.tid);
	for (uint32_t i = 0; i < COUNT; i += 2)
		sample_table_remove(&table, i);
	for (sample.tid = 1; sample.tid < COUNT; sample.tid += 2)
		assert_int_equal(add(&table, &sample, false), sample.tid);
	for (sample.tid = 0; sample.tid < COUNT; sample.tid += 2)
		assert_int_equal(at(&table, add(&table, &sample, true))->tid, sample.tid);
	assert_int_equal(table.used, COUNT);
	sample_table_deinit(&table);
	assert_int_equal(trace->references, 1);
	trace_unref(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_parts_are_one_pointer),
		cmocka_unit_test(a_number_is_used_again_after_its_last_use),
		cmocka_unit_test(over_the_limit_nothing_changes),
		cmocka_unit_test(after_a_failed_allocation_nothing_has_changed),
		cmocka_unit_test(many_samples_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
