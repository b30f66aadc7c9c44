/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/tests/mapping_news.h"
#include "agent/processes/tests/trace_handler_fixture.h"

static void a_sample_is_reported_with_its_binary_and_its_names(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add_process(fixture, 1);
	struct record record = make_record(1, 2000);

	process_table_set_info(
		&fixture->table, process,
		process_info_create(&(struct process_info){ .executable_path = "/bin/ls" }));
	push_native(&record, 0x4000, fixture->ls->id);
	push_native(&record, 0x5000, fixture->ls->id);
	handle(fixture, &record);
	assert_int_equal(fixture->reporter.count, 1);
	assert_true(fixture->reporter.last->is_complete);
	assert_int_equal(fixture->reporter.last->frame_count, 2);
	assert_ptr_equal(trace_frame(fixture->reporter.last, 0).binary, fixture->ls->binary);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).address, 0x5000);
	assert_string_equal(fixture->reporter.process_comm, "leader");
	assert_string_equal(fixture->reporter.thread_comm, "thread");
	assert_string_equal(fixture->reporter.path, "/bin/ls");
	assert_true(fixture->reporter.event.was_known);
	assert_int_equal(fixture->reporter.event.sample.pid, 7);
	assert_int_equal(fixture->reporter.event.sample.tid, 8);
	assert_int_equal(fixture->reporter.event.sample.cpu, 3);
	assert_int_equal(fixture->reporter.event.time_ns, 2000);
	assert_ptr_equal(fixture->reporter.event.sample.process, process->info);
	process_table_remove(&fixture->table, process);
}

static void a_program_that_a_loader_runs_has_its_own_name(void **state)
{
	static const char loader[COMM_BYTES] = "ld-linux-x86-64";
	struct fixture *fixture = *state;
	struct process *process = add_process(fixture, 1);
	struct record record = make_record(1, 2000);

	push_native(&record, 0x4000, fixture->ls->id);
	memcpy(record.head.process_comm, loader, COMM_BYTES);
	handle(fixture, &record);
	assert_string_equal(fixture->reporter.process_comm, loader);
	process_table_set_info(&fixture->table, process,
			       process_info_create(&(struct process_info){
				       .executable_path = "/opt/a-longer-name-than-others" }));
	handle(fixture, &record);
	assert_string_equal(fixture->reporter.process_comm, "a-longer-name-t");
	assert_string_equal(fixture->reporter.thread_comm, "thread");
	memcpy(record.head.comm, loader, COMM_BYTES);
	handle(fixture, &record);
	assert_string_equal(fixture->reporter.thread_comm, "a-longer-name-t");
	process_table_remove(&fixture->table, process);
}

static void the_same_stack_is_converted_once(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add_process(fixture, 1);
	struct record record = make_record(1, 2000);
	struct trace *first;

	push_native(&record, 0x4000, fixture->ls->id);
	handle(fixture, &record);
	first = fixture->reporter.last;
	assert_true(fixture->reporter.event.has_new_trace);
	handle(fixture, &record);
	assert_ptr_equal(fixture->reporter.last, first);
	assert_false(fixture->reporter.event.has_new_trace);
	assert_int_equal(metrics_read(METRIC_TRACES_CONVERTED), 1);
	assert_int_equal(metrics_read(METRIC_TRACE_CACHE_HITS), 1);
	record.words[0]++;
	handle(fixture, &record);
	assert_int_equal(metrics_read(METRIC_TRACES_CONVERTED), 2);
	assert_true(fixture->reporter.event.has_new_trace);
	process_table_remove(&fixture->table, process);
}

static void labels_are_the_samples_and_not_the_traces(void **state)
{
	const uint64_t goroutine_id = 1234567890123;
	struct fixture *fixture = *state;
	struct process *process = add_process(fixture, 1);
	struct record plain = make_record(1, 2000), record;
	struct trace *first;
	const char *at;

	push_native(&plain, 0x4000, fixture->ls->id);
	handle(fixture, &plain);
	assert_null(fixture->reporter.event.sample.labels);
	first = fixture->reporter.last;
	record = plain;
	push_label(&record, "user", "ann");
	push_label(&record, NULL, (const char *)&goroutine_id);
	push_label(&record, "job", "7\n");
	handle(fixture, &record);
	assert_ptr_equal(fixture->reporter.last, first);
	assert_int_equal(metrics_read(METRIC_TRACES_CONVERTED), 1);
	assert_int_equal(metrics_read(METRIC_TRACE_CACHE_HITS), 1);
	assert_non_null(fixture->reporter.event.sample.labels);
	assert_int_equal(fixture->reporter.labels.label_count, 2);
	assert_int_equal(fixture->reporter.labels.task_language, FRAME_GO);
	assert_true(fixture->reporter.labels.task_id == goroutine_id);
	at = fixture->reporter.labels.texts;
	assert_string_equal(label_set_next(&at).value, "7 ");
	assert_string_equal(label_set_next(&at).key, "user");
	/* The next sample has none again. */
	handle(fixture, &plain);
	assert_null(fixture->reporter.event.sample.labels);
	process_table_remove(&fixture->table, process);
}

static void a_new_program_or_a_lost_mapping_makes_the_cache_forget(void **state)
{
	struct fixture *fixture = *state;
	struct process *first = add_process(fixture, 1);
	struct process *second;
	struct record record = make_record(1, 2000);

	push_native(&record, 0x4000, fixture->ls->id);
	sync_rows(fixture, first, 0x1000, false, 1500);
	handle(fixture, &record);
	sync_rows(fixture, first, 0x2000, true, 2500);
	handle(fixture, &record);
	assert_int_equal(metrics_read(METRIC_TRACES_CONVERTED), 2);
	second = add_process(fixture, 2);
	record.head.identity.exec_id = 2;
	handle(fixture, &record);
	assert_int_equal(metrics_read(METRIC_TRACES_CONVERTED), 3);
	assert_int_equal(metrics_read(METRIC_TRACE_CACHE_HITS), 0);
	process_table_remove(&fixture->table, first);
	process_table_remove(&fixture->table, second);
}

static void the_cache_is_bounded(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add_process(fixture, 1);
	struct record record = make_record(1, 2000);
	uint32_t again = 0;

	for (uint32_t i = 0; i < TRACE_CACHE_MAX_ENTRIES + 1000; i++) {
		record.head.word_count = 0;
		push_native(&record, 0x4000 + i, fixture->ls->id);
		handle(fixture, &record);
	}
	/* The newest are there, the oldest are not. */
	handle(fixture, &record);
	again = metrics_read(METRIC_TRACE_CACHE_HITS);
	assert_int_equal(again, 1);
	record.head.word_count = 0;
	push_native(&record, 0x4000, fixture->ls->id);
	handle(fixture, &record);
	assert_int_equal(metrics_read(METRIC_TRACE_CACHE_HITS), again);
	process_table_remove(&fixture->table, process);
}

static void frames_of_a_replaced_library_are_cut_off(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add_process(fixture, 1);
	struct record record = make_record(1, 2000);
	const struct trace *trace;

	sync_rows(fixture, process, 0x1000, false, 1000);
	note_mapping(&fixture->table, 7, 0x1000, 0x1000, 1900);
	push_native(&record, 0x9000, EXECUTABLE_ID_UPROBES);
	push_native(&record, 0x4000, fixture->ls->id);
	push_native(&record, 0x9000, EXECUTABLE_ID_UPROBES);
	handle(fixture, &record);
	trace = fixture->reporter.last;
	assert_int_equal(trace->frame_count, 2);
	assert_int_equal(trace_frame(trace, 1).kind, FRAME_ERROR);
	assert_int_equal(trace_frame(trace, 1).error, UNWIND_REPLACED);
	assert_false(trace->is_complete);
	/* Before the change all was well, and after the next table it is again. */
	record.head.time_ns = 1800;
	handle(fixture, &record);
	assert_int_equal(fixture->reporter.last->frame_count, 3);
	sync_rows(fixture, process, 0x1000, true, 2100);
	record.head.time_ns = 2200;
	handle(fixture, &record);
	assert_int_equal(fixture->reporter.last->frame_count, 3);
	process_table_remove(&fixture->table, process);
}

static void an_error_makes_a_stack_incomplete(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(1, 2000);

	push_native(&record, 0x4000, fixture->ls->id);
	push_error(&record, UNWIND_STACK_UNREADABLE);
	record.head.flags |= RECORD_REACHED_END;
	handle(fixture, &record);
	assert_false(fixture->reporter.last->is_complete);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).error, UNWIND_STACK_UNREADABLE);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).flags, 0);
}

static void a_guess_makes_a_stack_incomplete(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(1, 2000);

	push_native(&record, 0x4000, fixture->ls->id);
	record.words[0] = frame_word(FRAME_NATIVE, FRAME_GUESS | FRAME_RETURN_ADDRESS, 0x4000);
	handle(fixture, &record);
	assert_false(fixture->reporter.last->is_complete);
	assert_int_equal(trace_frame(fixture->reporter.last, 0).flags,
			 FRAME_GUESS | FRAME_RETURN_ADDRESS);
}

static void a_kernel_thread_is_complete(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(0, 2000);

	record.head.flags = RECORD_KERNEL_THREAD | RECORD_IN_KERNEL;
	record.words[record.head.word_count++] = 0xffffffff81000000ULL;
	handle(fixture, &record);
	assert_true(fixture->reporter.last->is_complete);
	assert_true(fixture->reporter.last->is_kernel_thread);
	assert_int_equal(trace_frame(fixture->reporter.last, 0).kind, FRAME_KERNEL);
	assert_null(fixture->reporter.event.sample.process);
}

static void rows_that_a_sample_missed_are_asked_for(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(1, 2000);

	load_rows(fixture);
	fixture->requested = 0;
	executable_rows_make_room(fixture->executables, 1, 2000);
	push_native(&record, 0x4000, fixture->ls->id);
	push_error(&record, UNWIND_NOT_LOADED);
	handle(fixture, &record);
	assert_int_equal(fixture->requested, fixture->ls->id);
	/* Such a stack is not cached. */
	handle(fixture, &record);
	assert_int_equal(metrics_read(METRIC_TRACE_CACHE_HITS), 0);
}

static void records_of_no_proper_shape_are_counted_and_dropped(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(1, 2000);
	struct deferred_sample first = { .record = record.head };

	push_native(&record, 0x4000, fixture->ls->id);
	trace_handler_handle(fixture->handler, &record.head, sizeof(record.head) + 8, 1);
	trace_handler_handle(fixture->handler, &record.head, 10, 1);
	record.head.word_count = 1;
	handle(fixture, &record);
	record.words[0] = 0;
	handle(fixture, &record);
	record.head.kernel_word_count = 2;
	handle(fixture, &record);
	record.head.kernel_word_count = 0;
	record.head.type = 99;
	handle(fixture, &record);
	record = make_record(1, 2000);
	push_native(&record, 0x4000, fixture->ls->id);
	push_label(&record, "key", "value");
	trace_handler_handle(fixture->handler, &record.head, sizeof(record.head) + 16, 1);
	((struct sample_label *)&record.words[2])->key_bytes = LABEL_KEY_MAX_BYTES + 1;
	handle(fixture, &record);
	first.record.type = RECORD_DEFERRED;
	first.stack_bytes = DEFERRED_STACK_MAX_BYTES + 1;
	trace_handler_handle(fixture->handler, &first.record, sizeof(first), 1);
	first.stack_bytes = 100;
	trace_handler_handle(fixture->handler, &first.record,
			     offsetof(struct deferred_sample, stack), 1);
	first.stack_bytes = 0;
	first.record.kernel_word_count = KERNEL_FRAMES_MAX + 1;
	trace_handler_handle(fixture->handler, &first.record, sizeof(first), 1);
	assert_int_equal(metrics_read(METRIC_SAMPLES_MALFORMED), 11);
	assert_int_equal(fixture->reporter.count, 0);
}

static void frames_without_a_file_say_what_they_are(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(1, 2000);
	const struct trace *trace;

	push_native(&record, 0x10, EXECUTABLE_ID_UNMAPPED);
	push_native(&record, 0x20, EXECUTABLE_ID_UPROBES);
	push_native(&record, 0x30, EXECUTABLE_ID_ANONYMOUS);
	push_native(&record, 0x40, 77ULL << EXECUTABLE_SLOT_BITS);
	handle(fixture, &record);
	trace = fixture->reporter.last;
	assert_string_equal(binary_name(trace_frame(trace, 0).binary), "[unmapped]");
	assert_string_equal(binary_name(trace_frame(trace, 1).binary), "[uprobes]");
	assert_null(trace_frame(trace, 2).binary);
	assert_string_equal(binary_name(trace_frame(trace, 3).binary), "[unknown]");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void code_without_rows_is_noted(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(1, 2000);
	struct record other = make_record(1, 2001);

	fixture->ls->lacks_code = true;
	push_native(&record, 0x4000, fixture->ls->id);
	push_native(&record, 0x9000, EXECUTABLE_ID_ANONYMOUS);
	load_rows(fixture);
	fixture->ls->lacks_code = true;
	handle(fixture, &record);
	assert_int_equal(fixture->ls->lack_count, 0);
	/* The caller of the first frame was guessed; and was not found. */
	record.words[2] = frame_word(FRAME_NATIVE, FRAME_GUESS, 0x9000);
	handle(fixture, &record);
	assert_int_equal(fixture->ls->lack_count, 1);
	push_native(&other, 0x4000, fixture->ls->id);
	push_error(&other, UNWIND_NO_INFO);
	handle(fixture, &other);
	assert_int_equal(fixture->ls->lack_count, 2);
}

/* Handles a record with frames of anonymous code, the last of which has no caller. */
static void handle_code(struct fixture *fixture, uint64_t address, uint8_t flags, bool is_guess)
{
	struct record record = make_record(1, 2000);

	push_native(&record, 0x7f0000100000, EXECUTABLE_ID_ANONYMOUS);
	push_native(&record, address, EXECUTABLE_ID_ANONYMOUS);
	record.words[2] = frame_word(FRAME_NATIVE, FRAME_RETURN_ADDRESS, address);
	if (is_guess) {
		push_native(&record, 0x4000, fixture->ls->id);
		record.words[4] =
			frame_word(FRAME_NATIVE, FRAME_RETURN_ADDRESS | FRAME_GUESS, 0x4000);
	} else {
		push_error(&record, UNWIND_ANONYMOUS);
	}
	record.head.flags |= flags;
	handle(fixture, &record);
}

static void anonymous_code_without_a_certain_caller_is_passed_on(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(1, 2000);

	push_native(&record, 0x7f0000000000, EXECUTABLE_ID_ANONYMOUS);
	push_native(&record, 0x4000, fixture->ls->id);
	handle(fixture, &record);
	assert_int_equal(fixture->code_hit_count, 0);
	handle_code(fixture, 0x7f0000000000, 0, false);
	assert_int_equal(fixture->code_hit_count, 1);
	assert_int_equal(fixture->code_hit_address, 0x7f0000000000 - 1);
	assert_false(fixture->code_hit_flags & RECORD_CODE_CHANGED);
	/* Once in a while. */
	handle_code(fixture, 0x7f0000000000, 0, false);
	assert_int_equal(fixture->code_hit_count, 1);
	handle_code(fixture, 0x7f0000000000, RECORD_CODE_CHANGED, false);
	assert_int_equal(fixture->code_hit_count, 2);
	assert_true(fixture->code_hit_flags & RECORD_CODE_CHANGED);
	handle_code(fixture, 0x7f0000200000, 0, true);
	assert_int_equal(fixture->code_hit_count, 3);
	assert_int_equal(fixture->code_hit_address, 0x7f0000200000 - 1);
}

static void other_errors_are_no_fault_of_anonymous_code(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(1, 2000);

	push_native(&record, 0x7f0000000000, EXECUTABLE_ID_ANONYMOUS);
	push_native(&record, 0x4000, fixture->ls->id);
	push_error(&record, UNWIND_ANONYMOUS);
	handle(fixture, &record);
	assert_int_equal(fixture->code_hit_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(code_without_rows_is_noted),
		TEST(anonymous_code_without_a_certain_caller_is_passed_on),
		TEST(other_errors_are_no_fault_of_anonymous_code),
		TEST(a_sample_is_reported_with_its_binary_and_its_names),
		TEST(a_program_that_a_loader_runs_has_its_own_name),
		TEST(the_same_stack_is_converted_once),
		TEST(labels_are_the_samples_and_not_the_traces),
		TEST(a_new_program_or_a_lost_mapping_makes_the_cache_forget),
		TEST(the_cache_is_bounded),
		TEST(frames_of_a_replaced_library_are_cut_off),
		TEST(an_error_makes_a_stack_incomplete),
		TEST(a_guess_makes_a_stack_incomplete),
		TEST(a_kernel_thread_is_complete),
		TEST(rows_that_a_sample_missed_are_asked_for),
		TEST(records_of_no_proper_shape_are_counted_and_dropped),
		TEST(frames_without_a_file_say_what_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
