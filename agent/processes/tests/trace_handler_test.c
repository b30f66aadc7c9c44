/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/tests/fakes.h"

#include <fcntl.h>

#include "agent/base/clock.h"
#include "agent/base/metrics.h"
#include "agent/processes/executable_rows.h"
#include "agent/processes/trace_handler.h"

struct fixture {
	struct fake_writer writer;
	struct fake_reporter reporter;
	struct process_table table;
	struct executable_cache *executables;
	struct executable *ls;
	struct trace_handler *handler;
	uint64_t requested;
	/* The first unwinder below. */
	struct first_unwinder unwinder;
	uint32_t walk_count;
	uint32_t rows_seen;
	bool had_deltas;
};

static void request_load(void *context, uint64_t executable_id, bool is_remote)
{
	struct fixture *fixture = context;

	(void)is_remote;
	fixture->requested = executable_id;
}

static void loaded(void *context)
{
	(void)context;
}

/* Finds one frame in the first row, and the end. */
static uint32_t walk(struct first_unwinder *unwinder, const struct first_sample *sample,
		     const struct first_tables *tables, uint64_t *words, uint32_t capacity,
		     bool *reached_end)
{
	struct fixture *fixture =
		(struct fixture *)((char *)unwinder - offsetof(struct fixture, unwinder));

	assert_true(capacity > 2);
	fixture->walk_count++;
	fixture->rows_seen = tables->row_count;
	fixture->had_deltas = tables->row_count &&
			      tables->find_deltas(tables->context, tables->rows[0].executable_id);
	words[0] = frame_word(FRAME_NATIVE, 0, sample->registers[16]);
	words[1] = tables->rows[0].executable_id;
	*reached_end = true;
	return 2;
}

static const struct first_unwinder_ops walk_ops = { .unwind = walk };

static void make_handler(struct fixture *fixture, struct first_unwinder *unwinder)
{
	const struct trace_handler_config config = {
		.table = &fixture->table,
		.executables = fixture->executables,
		.reporter = &fixture->reporter.reporter,
		.first_unwinder = unwinder,
	};

	trace_handler_destroy(fixture->handler);
	assert_int_equal(trace_handler_create(&config, &fixture->handler), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct executable_cache_config config = {
		.keep_rows = true,
		.request_load = request_load,
		.loaded = loaded,
		.hurry = loaded,
		.context = fixture,
	};
	struct file_key key;
	int fd = open("/bin/ls", O_RDONLY | O_CLOEXEC);

	metrics_reset();
	fake_writer_init(&fixture->writer);
	fake_reporter_init(&fixture->reporter);
	process_table_init(&fixture->table);
	config.writer = &fixture->writer.writer;
	fixture->unwinder.ops = &walk_ops;
	assert_int_equal(executable_cache_create(&config, &fixture->executables), 0);
	assert_int_equal(file_key_of_fd(fd, &key), 0);
	assert_int_equal(executable_cache_open(fixture->executables, fd, &key, 0, "/bin/ls", false,
					       &fixture->ls),
			 0);
	make_handler(fixture, NULL);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	trace_handler_destroy(fixture->handler);
	executable_unref(fixture->executables, fixture->ls);
	executable_cache_destroy(fixture->executables);
	process_table_deinit(&fixture->table);
	fake_reporter_deinit(&fixture->reporter);
	free(fixture);
	return 0;
}

static void load_rows(struct fixture *fixture)
{
	executable_rows_load(fixture->executables, fixture->ls->id);
	executable_rows_publish(fixture->executables, clock_monotonic_ns());
}

static struct process *add_process(struct fixture *fixture, uint64_t exec_id)
{
	const struct process_stamp stamp = { 100, exec_id };

	return process_table_add(&fixture->table, 7, &stamp, "leader", 1000);
}

static void sync_rows(struct fixture *fixture, struct process *process, uint64_t start, bool lost,
		      uint64_t now_ns)
{
	const struct mapping_row row = {
		.start = start,
		.end = start + 0x1000,
		.executable_id = fixture->ls->id,
	};

	process_table_begin_sync(&fixture->table, process, now_ns);
	process_table_prepare_rows(&fixture->table, process, mapping_table_create(&row, 1));
	process_table_finish_sync(&fixture->table, process, PROCESS_SYNCED, lost, now_ns);
}

struct record {
	struct trace_record head;
	uint64_t words[64];
};

static struct record make_record(uint64_t exec_id, uint64_t time_ns)
{
	return (struct record){
		.head = {
			.time_ns = time_ns,
			.pid = 7,
			.tid = 8,
			.stamp = { 100, exec_id },
			.cpu = 3,
			.type = RECORD_TRACE,
			.family = FAMILY_CLOCK,
			.flags = RECORD_REACHED_END,
			.comm = "thread",
		},
	};
}

static void push_native(struct record *record, uint64_t address, uint64_t executable_id)
{
	record->words[record->head.word_count++] = frame_word(FRAME_NATIVE, 0, address);
	record->words[record->head.word_count++] = executable_id;
}

static void push_error(struct record *record, enum unwind_error error)
{
	record->words[record->head.word_count++] = frame_word(FRAME_ERROR, error, 0);
	record->head.flags &= ~RECORD_REACHED_END;
}

static void handle(struct fixture *fixture, const struct record *record)
{
	trace_handler_handle(fixture->handler, &record->head,
			     sizeof(record->head) + record->head.word_count * sizeof(uint64_t),
			     record->head.time_ns);
}

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
	assert_true(fixture->reporter.context.was_known);
	assert_int_equal(fixture->reporter.context.pid, 7);
	assert_int_equal(fixture->reporter.context.tid, 8);
	assert_int_equal(fixture->reporter.context.cpu, 3);
	assert_int_equal(fixture->reporter.context.time_ns, 2000);
	assert_ptr_equal(fixture->reporter.context.process, process->info);
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
	handle(fixture, &record);
	assert_ptr_equal(fixture->reporter.last, first);
	assert_int_equal(metrics_read(METRIC_TRACES_CONVERTED), 1);
	assert_int_equal(metrics_read(METRIC_TRACE_CACHE_HITS), 1);
	record.words[0]++;
	handle(fixture, &record);
	assert_int_equal(metrics_read(METRIC_TRACES_CONVERTED), 2);
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
	record.head.stamp.exec_id = 2;
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
	process_table_note_mapping(&fixture->table, 7, 0x1000, 0x1000, 1900);
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

static void a_kernel_thread_is_complete_and_named_by_its_own_comm(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(0, 2000);

	record.head.flags = RECORD_KERNEL_THREAD | RECORD_IN_KERNEL;
	record.words[record.head.word_count++] = 0xffffffff81000000ULL;
	handle(fixture, &record);
	assert_true(fixture->reporter.last->is_complete);
	assert_true(fixture->reporter.last->is_kernel_thread);
	assert_true(trace_frame(fixture->reporter.last, 0).address == 0xffffffff81000000ULL);
	assert_string_equal(fixture->reporter.process_comm, "thread");
	assert_null(fixture->reporter.context.process);
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
	/* Such a stack is not worth a place in the cache. */
	handle(fixture, &record);
	assert_int_equal(metrics_read(METRIC_TRACE_CACHE_HITS), 0);
}

static void records_of_no_proper_shape_are_counted_and_dropped(void **state)
{
	struct fixture *fixture = *state;
	struct record record = make_record(1, 2000);
	struct first_sample first = { .record = record.head };

	push_native(&record, 0x4000, fixture->ls->id);
	trace_handler_handle(fixture->handler, &record.head, sizeof(record.head) + 8, 1);
	trace_handler_handle(fixture->handler, &record.head, 10, 1);
	record.head.word_count = 1;
	handle(fixture, &record);
	record.words[0] = 0;
	handle(fixture, &record);
	record.head.type = 99;
	handle(fixture, &record);
	first.record.type = RECORD_FIRST;
	first.stack_bytes = FIRST_STACK_MAX_BYTES + 1;
	trace_handler_handle(fixture->handler, &first.record, sizeof(first), 1);
	first.stack_bytes = 100;
	trace_handler_handle(fixture->handler, &first.record, offsetof(struct first_sample, stack),
			     1);
	first.stack_bytes = 0;
	first.record.kernel_word_count = KERNEL_FRAMES_MAX + 1;
	trace_handler_handle(fixture->handler, &first.record, sizeof(first), 1);
	assert_int_equal(metrics_read(METRIC_SAMPLES_MALFORMED), 8);
	assert_int_equal(fixture->reporter.count, 0);
}

/* --- first samples --- */

static struct first_sample make_first(uint64_t exec_id, uint64_t time_ns)
{
	struct first_sample sample = { .record = make_record(exec_id, time_ns).head };

	sample.record.type = RECORD_FIRST;
	sample.record.flags = RECORD_IN_KERNEL;
	sample.record.kernel_word_count = 1;
	sample.kernel_words[0] = 0xffffffff81000000ULL;
	sample.registers[16] = 0x4242;
	sample.stack_bytes = 16;
	return sample;
}

static void take_first(struct fixture *fixture, const struct first_sample *sample)
{
	trace_handler_handle(fixture->handler, &sample->record,
			     offsetof(struct first_sample, stack) + sample->stack_bytes,
			     sample->record.time_ns);
}

/* A sample of somebody else: what happened before it has been heard of. */
static void time_passes(struct fixture *fixture, uint64_t time_ns)
{
	struct record record = make_record(1, time_ns);

	record.head.pid = 99;
	push_native(&record, 0x4000, EXECUTABLE_ID_ANONYMOUS);
	handle(fixture, &record);
	fixture->reporter.count--;
}

static void a_first_sample_waits_for_its_process_and_is_walked(void **state)
{
	struct fixture *fixture = *state;
	struct first_sample sample = make_first(1, 2000);
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
	assert_int_equal(fixture->walk_count, 0);
	time_passes(fixture, 5001);
	trace_handler_tick(fixture->handler, 6001);
	assert_int_equal(fixture->walk_count, 1);
	assert_int_equal(fixture->rows_seen, 1);
	assert_true(fixture->had_deltas);
	assert_int_equal(trace_handler_waiting_count(fixture->handler), 0);
	assert_int_equal(fixture->reporter.count, 1);
	assert_true(fixture->reporter.last->is_complete);
	assert_int_equal(fixture->reporter.last->frame_count, 2);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).address, 0x4242);
	assert_false(fixture->reporter.context.was_known);
	/* When it was taken, not when it could be walked. */
	assert_int_equal(fixture->reporter.context.time_ns, 2000);
	assert_string_equal(fixture->reporter.process_comm, "leader");
	process_table_remove(&fixture->table, process);
}

static void a_first_sample_waits_for_rows_and_for_mappings_on_their_way(void **state)
{
	struct fixture *fixture = *state;
	struct first_sample sample = make_first(1, 2000);
	struct process *process = add_process(fixture, 1);
	uint64_t now_ns = 6000;

	make_handler(fixture, &fixture->unwinder);
	time_passes(fixture, 5000);
	sync_rows(fixture, process, 0x1000, false, 2500);
	take_first(fixture, &sample);
	trace_handler_tick(fixture->handler, now_ns);
	assert_int_equal(fixture->walk_count, 0);
	load_rows(fixture);
	process_table_note_mapping(&fixture->table, 7, 0x8000, 0x1000, 3000);
	trace_handler_tick(fixture->handler, now_ns);
	assert_int_equal(fixture->walk_count, 0);
	sync_rows(fixture, process, 0x1000, false, 3500);
	trace_handler_tick(fixture->handler, now_ns);
	assert_int_equal(fixture->walk_count, 1);
	process_table_remove(&fixture->table, process);
}

static void a_first_sample_does_not_wait_for_ever(void **state)
{
	struct fixture *fixture = *state;
	struct first_sample sample = make_first(1, 2000);

	make_handler(fixture, &fixture->unwinder);
	take_first(fixture, &sample);
	trace_handler_tick(fixture->handler, 2000 + FIRST_SAMPLE_WAIT_NS - 1);
	assert_int_equal(fixture->reporter.count, 0);
	trace_handler_tick(fixture->handler, 2000 + FIRST_SAMPLE_WAIT_NS);
	assert_int_equal(fixture->reporter.count, 1);
	assert_int_equal(fixture->walk_count, 0);
	assert_int_equal(fixture->reporter.last->frame_count, 2);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).error, UNWIND_UNKNOWN_PROCESS);
	assert_false(fixture->reporter.context.was_known);
}

static void rows_of_a_superseded_program_that_never_settled_are_not_used(void **state)
{
	const struct process_stamp next = { 100, 2 };
	struct fixture *fixture = *state;
	struct first_sample sample = make_first(1, 2000);
	struct process *process = add_process(fixture, 1);

	make_handler(fixture, &fixture->unwinder);
	load_rows(fixture);
	take_first(fixture, &sample);
	sync_rows(fixture, process, 0x1000, false, 2500);
	process_table_note_program(&fixture->table, 7, &next);
	time_passes(fixture, 5000);
	trace_handler_tick(fixture->handler, 6000);
	assert_int_equal(fixture->reporter.count, 0);
	trace_handler_tick(fixture->handler, 2000 + FIRST_SAMPLE_WAIT_NS);
	assert_int_equal(fixture->reporter.count, 1);
	assert_int_equal(fixture->walk_count, 0);
	assert_int_equal(trace_frame(fixture->reporter.last, 1).error, UNWIND_UNKNOWN_PROCESS);
	process_table_remove(&fixture->table, process);
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

static void when_too_many_wait_the_rest_goes_on_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct first_sample sample = make_first(1, 2000);

	for (uint32_t i = 0; i < 300; i++)
		take_first(fixture, &sample);
	assert_int_equal(trace_handler_waiting_count(fixture->handler), 256);
	assert_int_equal(fixture->reporter.count, 300 - 256);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sample_is_reported_with_its_binary_and_its_names),
		TEST(the_same_stack_is_converted_once),
		TEST(a_new_program_or_a_lost_mapping_makes_the_cache_forget),
		TEST(the_cache_is_bounded),
		TEST(frames_of_a_replaced_library_are_cut_off),
		TEST(an_error_makes_a_stack_incomplete),
		TEST(a_guess_makes_a_stack_incomplete),
		TEST(a_kernel_thread_is_complete_and_named_by_its_own_comm),
		TEST(rows_that_a_sample_missed_are_asked_for),
		TEST(records_of_no_proper_shape_are_counted_and_dropped),
		TEST(a_first_sample_waits_for_its_process_and_is_walked),
		TEST(a_first_sample_waits_for_rows_and_for_mappings_on_their_way),
		TEST(a_first_sample_does_not_wait_for_ever),
		TEST(rows_of_a_superseded_program_that_never_settled_are_not_used),
		TEST(frames_without_a_file_say_what_they_are),
		TEST(when_too_many_wait_the_rest_goes_on_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
