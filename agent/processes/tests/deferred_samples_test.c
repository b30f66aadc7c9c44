/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of processes that are not known yet, in the trace handler. */
#include "agent/processes/tests/mapping_news.h"
#include "agent/processes/tests/trace_handler_fixture.h"

static struct deferred_sample make_first(uint64_t exec_id, uint64_t time_ns)
{
	struct deferred_sample sample = { .record = make_record(exec_id, time_ns).head };

	sample.record.type = RECORD_DEFERRED;
	sample.record.flags = RECORD_IN_KERNEL;
	sample.record.kernel_word_count = 1;
	sample.record.word_count = 1;
	sample.words[0] = 0xffffffff81000000ULL;
	sample.registers[16] = 0x4242;
	sample.stack_bytes = 16;
	return sample;
}

static void take_first(struct fixture *fixture, const struct deferred_sample *sample)
{
	trace_handler_handle(fixture->handler, &sample->record,
			     offsetof(struct deferred_sample, stack) + sample->stack_bytes,
			     sample->record.time_ns);
}

/* Handles a sample of another process, so that all earlier events are known. */
static void time_passes(struct fixture *fixture, uint64_t time_ns)
{
	struct record record = make_record(1, time_ns);

	record.head.pid = 99;
	push_native(&record, 0x4000, EXECUTABLE_ID_ANONYMOUS);
	handle(fixture, &record);
	fixture->reporter.count--;
}

/* Handles a sample of a fork that was unwound with its parent's table; it waits. */
static void take_fork(struct fixture *fixture)
{
	struct record record = make_record(1, 2000);

	record.words[record.head.word_count++] = 0xffffffff81000000ULL;
	record.head.kernel_word_count = 1;
	push_native(&record, 0x4000, fixture->ls->id);
	push_label(&record, "key", "value");
	record.head.flags = RECORD_IN_KERNEL | RECORD_REACHED_END | RECORD_PARENT_ENTRY;
	handle(fixture, &record);
	trace_handler_tick(fixture->handler, 3000);
	assert_int_equal(fixture->reporter.count, 0);
}

static void a_fork_is_unwound_with_the_table_of_its_parent_if_it_has_the_same(void **state)
{
	struct fixture *fixture = *state;
	struct process *process;
	struct mapping_table *rows;
	const struct mapping_row row = { 0x1000, 0x2000, 0, fixture->ls->id };

	take_fork(fixture);
	process = add_process(fixture, 1);
	trace_handler_tick(fixture->handler, 4000);
	assert_int_equal(fixture->reporter.count, 0);
	rows = mapping_table_create(&row, 1);
	process_table_begin_sync(&fixture->table, process, 4500);
	process_table_note_parent_rows(&fixture->table, process, rows, UINT64_MAX);
	process_table_prepare_rows(&fixture->table, process, rows);
	process_table_finish_sync(&fixture->table, process, PROCESS_SYNCED, false, 5000);
	trace_handler_tick(fixture->handler, 6000);
	assert_int_equal(fixture->reporter.count, 1);
	assert_int_equal(trace_handler_waiting_count(fixture->handler), 0);
	assert_true(fixture->reporter.last->is_complete);
	assert_int_equal(fixture->reporter.last->frame_count, 2);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).address, 0x4000);
	assert_true(fixture->reporter.event.was_known);
	assert_non_null(fixture->reporter.event.sample.labels);
	assert_string_equal(fixture->reporter.labels.texts, "key");
	process_table_remove(&fixture->table, process);
}

static void a_fork_with_other_rows_than_its_parent_is_not_believed(void **state)
{
	struct fixture *fixture = *state;
	const struct mapping_row row = { 0x1000, 0x2000, 0, fixture->ls->id };
	struct process *process = add_process(fixture, 1);
	struct mapping_table *parents = mapping_table_create(&row, 1);

	take_fork(fixture);
	process_table_note_parent_rows(&fixture->table, process, parents, UINT64_MAX);
	mapping_table_unref(parents);
	sync_rows(fixture, process, 0x9000, false, 5000);
	trace_handler_tick(fixture->handler, 6000);
	assert_int_equal(fixture->reporter.count, 1);
	assert_false(fixture->reporter.last->is_complete);
	assert_int_equal(fixture->reporter.last->frame_count, 2);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).error, UNWIND_UNKNOWN_PROCESS);
	assert_false(fixture->reporter.event.was_known);
	/* The labels were read at the parent's address. */
	assert_null(fixture->reporter.event.sample.labels);
	process_table_remove(&fixture->table, process);
}

static void a_fork_that_nothing_is_heard_of_is_not_believed(void **state)
{
	struct fixture *fixture = *state;

	take_fork(fixture);
	trace_handler_tick(fixture->handler, 2001 + DEFERRED_SAMPLE_WAIT_NS);
	assert_int_equal(fixture->reporter.count, 1);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).error, UNWIND_UNKNOWN_PROCESS);
}

static void a_deferred_sample_waits_for_its_process_and_is_unwound(void **state)
{
	struct fixture *fixture = *state;
	struct deferred_sample sample = make_first(1, 2000);
	struct process *process;

	make_handler(fixture, &fixture->unwinder);
	load_rows(fixture);
	take_first(fixture, &sample);
	trace_handler_tick(fixture->handler, 3000);
	process = add_process(fixture, 1);
	trace_handler_tick(fixture->handler, 4000);
	assert_int_equal(trace_handler_waiting_count(fixture->handler), 1);
	sync_rows(fixture, process, 0x1000, false, 5000);
	trace_handler_tick(fixture->handler, 6000);
	/* Fresh rows may still be withdrawn. */
	assert_int_equal(fixture->unwind_count, 0);
	time_passes(fixture, 5001);
	trace_handler_tick(fixture->handler, 6001);
	assert_int_equal(fixture->unwind_count, 1);
	assert_int_equal(fixture->rows_seen, 1);
	assert_true(fixture->had_deltas);
	assert_int_equal(trace_handler_waiting_count(fixture->handler), 0);
	assert_int_equal(fixture->reporter.count, 1);
	assert_true(fixture->reporter.last->is_complete);
	assert_int_equal(fixture->reporter.last->frame_count, 2);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).address, 0x4242);
	assert_false(fixture->reporter.event.was_known);
	/* The time is that of the sample, not of its unwinding. */
	assert_int_equal(fixture->reporter.event.time_ns, 2000);
	assert_string_equal(fixture->reporter.process_comm, "leader");
	process_table_remove(&fixture->table, process);
}

static void a_deferred_sample_waits_for_rows_and_for_mappings_on_their_way(void **state)
{
	struct fixture *fixture = *state;
	struct deferred_sample sample = make_first(1, 2000);
	struct process *process = add_process(fixture, 1);
	uint64_t now_ns = 6000;

	make_handler(fixture, &fixture->unwinder);
	time_passes(fixture, 5000);
	sync_rows(fixture, process, 0x1000, false, 2500);
	take_first(fixture, &sample);
	/* It is not tried again until the rows at which it stopped are there. */
	trace_handler_tick(fixture->handler, now_ns);
	trace_handler_tick(fixture->handler, now_ns + DEFERRED_SAMPLE_WAIT_NS);
	assert_int_equal(fixture->unwind_count, 1);
	assert_int_equal(fixture->reporter.count, 0);
	load_rows(fixture);
	note_mapping(&fixture->table, 7, 0x8000, 0x1000, 3000);
	trace_handler_tick(fixture->handler, now_ns);
	assert_int_equal(fixture->unwind_count, 1);
	sync_rows(fixture, process, 0x1000, false, 3500);
	trace_handler_tick(fixture->handler, now_ns);
	assert_int_equal(fixture->unwind_count, 2);
	assert_int_equal(fixture->reporter.count, 1);
	assert_true(fixture->reporter.last->is_complete);
	process_table_remove(&fixture->table, process);
}

static void a_deferred_sample_does_not_wait_for_ever(void **state)
{
	struct fixture *fixture = *state;
	struct deferred_sample sample = make_first(1, 2000);

	make_handler(fixture, &fixture->unwinder);
	take_first(fixture, &sample);
	trace_handler_tick(fixture->handler, 2000 + DEFERRED_SAMPLE_WAIT_NS - 1);
	assert_int_equal(fixture->reporter.count, 0);
	trace_handler_tick(fixture->handler, 2000 + DEFERRED_SAMPLE_WAIT_NS);
	assert_int_equal(fixture->reporter.count, 1);
	assert_int_equal(fixture->unwind_count, 0);
	assert_int_equal(fixture->reporter.last->frame_count, 2);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).error, UNWIND_UNKNOWN_PROCESS);
	assert_false(fixture->reporter.event.was_known);
}

static void a_deferred_sample_does_not_wait_for_rows_for_ever(void **state)
{
	struct fixture *fixture = *state;
	struct deferred_sample sample = make_first(1, 2000);
	struct process *process = add_process(fixture, 1);

	make_handler(fixture, &fixture->unwinder);
	sync_rows(fixture, process, 0x1000, false, 2500);
	take_first(fixture, &sample);
	time_passes(fixture, 5000);
	trace_handler_tick(fixture->handler, 2000 + ROWS_WAIT_NS - 1);
	assert_int_equal(fixture->reporter.count, 0);
	trace_handler_tick(fixture->handler, 2000 + ROWS_WAIT_NS);
	assert_int_equal(fixture->reporter.count, 1);
	assert_int_equal(trace_frame(fixture->reporter.last, 2).error, UNWIND_NOT_LOADED);
	process_table_remove(&fixture->table, process);
}

static void rows_of_a_superseded_program_that_never_settled_are_not_used(void **state)
{
	const struct process_identity next = { 100, 2 };
	struct fixture *fixture = *state;
	struct deferred_sample sample = make_first(1, 2000);
	struct process *process = add_process(fixture, 1);

	make_handler(fixture, &fixture->unwinder);
	load_rows(fixture);
	take_first(fixture, &sample);
	sync_rows(fixture, process, 0x1000, false, 2500);
	process_table_note_program(&fixture->table, 7, &next);
	time_passes(fixture, 5000);
	trace_handler_tick(fixture->handler, 6000);
	assert_int_equal(fixture->reporter.count, 0);
	trace_handler_tick(fixture->handler, 2000 + DEFERRED_SAMPLE_WAIT_NS);
	assert_int_equal(fixture->reporter.count, 1);
	assert_int_equal(fixture->unwind_count, 0);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).error, UNWIND_UNKNOWN_PROCESS);
	process_table_remove(&fixture->table, process);
}

static void when_too_many_wait_the_rest_goes_on_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct deferred_sample sample = make_first(1, 2000);

	for (uint32_t i = 0; i < 300; i++)
		take_first(fixture, &sample);
	assert_int_equal(trace_handler_waiting_count(fixture->handler), 256);
	assert_int_equal(fixture->reporter.count, 300 - 256);
}

/* A sample whose unwind stopped at the frame at 0x4242 of /bin/ls, which had no rows yet. */
static struct deferred_sample make_resumed(const struct fixture *fixture, uint64_t time_ns)
{
	struct deferred_sample sample = make_first(1, time_ns);

	sample.record.flags |= RECORD_RESUMED;
	sample.words[1] = frame_word(FRAME_NATIVE, 0, 0x1111);
	sample.words[2] = fixture->ls->id;
	sample.record.word_count = 3;
	sample.words[3] = frame_word(FRAME_NATIVE, 0, 0x4242);
	sample.words[4] = fixture->ls->id;
	return sample;
}

static void an_unwind_goes_on_behind_the_frames_that_it_has(void **state)
{
	struct fixture *fixture = *state;
	struct deferred_sample sample = make_resumed(fixture, 4000);
	struct process *process = add_process(fixture, 1);

	make_handler(fixture, &fixture->unwinder);
	load_rows(fixture);
	sync_rows(fixture, process, 0x1000, false, 2500);
	time_passes(fixture, 4000);
	take_first(fixture, &sample);
	trace_handler_tick(fixture->handler, 6000);
	assert_int_equal(fixture->reporter.count, 1);
	assert_true(fixture->reporter.last->is_complete);
	assert_true(fixture->reporter.event.was_known);
	assert_int_equal(fixture->reporter.last->frame_count, 3);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).address, 0x1111);
	assert_int_equal(trace_frame(fixture->reporter.last, 2).address, 0x4242);
	process_table_remove(&fixture->table, process);
}

/* The trace has a kernel frame, a native one, and the error that the file of further frames was replaced. */
static void assert_replaced(const struct fixture *fixture)
{
	assert_int_equal(fixture->reporter.count, 1);
	assert_false(fixture->reporter.last->is_complete);
	assert_int_equal(fixture->reporter.last->frame_count, 3);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).address, 0x1111);
	assert_int_equal(trace_frame(fixture->reporter.last, 2).error, UNWIND_REPLACED);
}

static void an_unwind_does_not_go_on_with_rows_of_a_later_time(void **state)
{
	struct fixture *fixture = *state;
	struct deferred_sample sample = make_resumed(fixture, 4000);
	struct process *process = add_process(fixture, 1);

	make_handler(fixture, &fixture->unwinder);
	load_rows(fixture);
	sync_rows(fixture, process, 0x1000, false, 2500);
	take_first(fixture, &sample);
	/* The reading of its maps began before the sample and ended after it. */
	sync_rows(fixture, process, 0x9000, true, 4500);
	time_passes(fixture, 5000);
	trace_handler_tick(fixture->handler, 6000);
	assert_replaced(fixture);
	process_table_remove(&fixture->table, process);
}

/* Handles a sample from before the program of @fixture unmapped one of two libraries. */
static void take_before_loss(struct fixture *fixture)
{
	const struct mapping_row rows[] = {
		{ .start = 0x1000, .end = 0x2000, .executable_id = fixture->ls->id },
		{ .start = 0x5000, .end = 0x6000, .executable_id = fixture->ls->id + 1 },
	};
	struct deferred_sample sample = make_resumed(fixture, 4000);
	struct process *process = add_process(fixture, 1);

	make_handler(fixture, &fixture->unwinder);
	load_rows(fixture);
	process_table_begin_sync(&fixture->table, process, 2500);
	process_table_prepare_rows(&fixture->table, process, mapping_table_create(rows, 2));
	process_table_finish_sync(&fixture->table, process, PROCESS_SYNCED, false, 2500);
	take_first(fixture, &sample);
	sync_rows(fixture, process, 0x1000, true, 4500);
	time_passes(fixture, 5000);
	trace_handler_tick(fixture->handler, 6000);
	process_table_remove(&fixture->table, process);
}

static void an_unwind_needs_only_the_mappings_that_were_there_all_the_time(void **state)
{
	struct fixture *fixture = *state;

	take_before_loss(fixture);
	assert_int_equal(fixture->rows_seen, 1);
	assert_int_equal(fixture->reporter.count, 1);
	assert_true(fixture->reporter.last->is_complete);
	assert_int_equal(fixture->reporter.last->frame_count, 3);
}

static void an_unwind_ends_at_a_mapping_that_is_gone(void **state)
{
	struct fixture *fixture = *state;

	fixture->unwind_error = UNWIND_NO_MAPPING;
	take_before_loss(fixture);
	assert_int_equal(fixture->reporter.count, 1);
	assert_int_equal(fixture->reporter.last->frame_count, 4);
	assert_int_equal(trace_frame(fixture->reporter.last, 3).error, UNWIND_REPLACED);
}

static void an_unwind_does_not_go_on_with_another_frame(void **state)
{
	struct fixture *fixture = *state;
	struct deferred_sample sample = make_resumed(fixture, 4000);
	struct process *process = add_process(fixture, 1);

	make_handler(fixture, &fixture->unwinder);
	load_rows(fixture);
	sync_rows(fixture, process, 0x1000, false, 2500);
	time_passes(fixture, 4000);
	sample.words[3] = frame_word(FRAME_NATIVE, 0, 0x4243);
	take_first(fixture, &sample);
	trace_handler_tick(fixture->handler, 6000);
	assert_replaced(fixture);
	process_table_remove(&fixture->table, process);
}

static void an_unwind_at_an_unknown_address_waits_until_the_maps_are_read_again(void **state)
{
	struct fixture *fixture = *state;
	struct deferred_sample sample = make_resumed(fixture, 4000);
	struct process *process = add_process(fixture, 1);

	make_handler(fixture, &fixture->unwinder);
	load_rows(fixture);
	sync_rows(fixture, process, 0x1000, false, 3999);
	time_passes(fixture, 4000);
	sample.unknown = DEFERRED_UNKNOWN_MAPPING;
	take_first(fixture, &sample);
	trace_handler_tick(fixture->handler, 6000);
	assert_int_equal(fixture->reporter.count, 0);
	sync_rows(fixture, process, 0x1000, false, 6000);
	time_passes(fixture, 6001);
	trace_handler_tick(fixture->handler, 7000);
	assert_int_equal(fixture->reporter.count, 1);
	assert_true(fixture->reporter.last->is_complete);
	process_table_remove(&fixture->table, process);
}

static void one_process_leaves_room_for_the_unwinds_of_others(void **state)
{
	struct fixture *fixture = *state;
	struct deferred_sample sample = make_resumed(fixture, 4000);

	for (uint32_t i = 0; i < 100; i++)
		take_first(fixture, &sample);
	assert_int_equal(trace_handler_waiting_count(fixture->handler), 16);
	assert_int_equal(fixture->reporter.count, 100 - 16);
	for (uint32_t pid = 100; pid < 400; pid++) {
		sample.record.pid = pid;
		take_first(fixture, &sample);
	}
	assert_int_equal(trace_handler_waiting_count(fixture->handler), 128);
}

static void what_waits_at_the_end_is_reported(void **state)
{
	struct fixture *fixture = *state;
	struct deferred_sample sample = make_first(1, 2000);

	take_first(fixture, &sample);
	take_first(fixture, &sample);
	trace_handler_finish(fixture->handler);
	assert_int_equal(trace_handler_waiting_count(fixture->handler), 0);
	assert_int_equal(fixture->reporter.count, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_fork_is_unwound_with_the_table_of_its_parent_if_it_has_the_same),
		TEST(a_fork_with_other_rows_than_its_parent_is_not_believed),
		TEST(a_fork_that_nothing_is_heard_of_is_not_believed),
		TEST(a_deferred_sample_waits_for_its_process_and_is_unwound),
		TEST(a_deferred_sample_waits_for_rows_and_for_mappings_on_their_way),
		TEST(a_deferred_sample_does_not_wait_for_ever),
		TEST(a_deferred_sample_does_not_wait_for_rows_for_ever),
		TEST(rows_of_a_superseded_program_that_never_settled_are_not_used),
		TEST(when_too_many_wait_the_rest_goes_on_at_once),
		TEST(an_unwind_goes_on_behind_the_frames_that_it_has),
		TEST(an_unwind_does_not_go_on_with_rows_of_a_later_time),
		TEST(an_unwind_needs_only_the_mappings_that_were_there_all_the_time),
		TEST(an_unwind_ends_at_a_mapping_that_is_gone),
		TEST(an_unwind_does_not_go_on_with_another_frame),
		TEST(an_unwind_at_an_unknown_address_waits_until_the_maps_are_read_again),
		TEST(one_process_leaves_room_for_the_unwinds_of_others),
		TEST(what_waits_at_the_end_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
