/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Shared by the tests of the trace handler: a handler over fakes, which knows /bin/ls, records for it, and a
 * user unwinder that finds one frame in the first row, and the end.
 */
#ifndef AGENT_PROCESSES_TESTS_TRACE_HANDLER_FIXTURE_H
#define AGENT_PROCESSES_TESTS_TRACE_HANDLER_FIXTURE_H

#include "agent/processes/tests/fakes.h"

#include <fcntl.h>

#include "agent/processes/executable_rows.h"
#include "agent/processes/trace_handler.h"
#include "lib/base/clock.h"
#include "lib/model/metrics.h"

struct fixture {
	struct fake_writer writer;
	struct fake_reporter reporter;
	struct process_table table;
	struct executable_cache *executables;
	struct executable *ls;
	struct trace_handler *handler;
	uint64_t requested;
	/** Reports of anonymous code. */
	uint32_t code_hit_count;
	uint64_t code_hit_address;
	uint8_t code_hit_flags;
	/* The user unwinder below. */
	struct user_unwinder unwinder;
	uint32_t unwind_count;
	uint32_t rows_seen;
	bool had_deltas;
	/* If not 0, the error that it finds behind the frame. */
	uint8_t unwind_error;
};

static inline void request_load(void *context, uint64_t executable_id, bool is_remote)
{
	struct fixture *fixture = context;

	(void)is_remote;
	fixture->requested = executable_id;
}

static inline void note_code_hit(void *context, const struct trace_record *record, uint64_t address)
{
	struct fixture *fixture = context;

	fixture->code_hit_count++;
	fixture->code_hit_address = address;
	fixture->code_hit_flags = record->flags;
}

/* Finds one frame in the first row, and the end, or that there are no rows. */
static inline uint32_t unwind(struct user_unwinder *unwinder, const struct deferred_sample *sample,
			      const struct user_tables *tables, uint64_t *words, uint32_t capacity,
			      bool *reached_end)
{
	struct fixture *fixture =
		(struct fixture *)((char *)unwinder - offsetof(struct fixture, unwinder));

	assert_true(capacity > 2);
	fixture->unwind_count++;
	fixture->rows_seen = tables->row_count;
	fixture->had_deltas = tables->row_count &&
			      tables->find_deltas(tables->context, tables->rows[0].executable_id);
	words[0] = frame_word(FRAME_NATIVE, 0, sample->registers[16]);
	words[1] = tables->rows[0].executable_id;
	words[2] = frame_word(FRAME_ERROR, UNWIND_NOT_LOADED, 0);
	if (fixture->unwind_error) {
		words[2] = frame_word(FRAME_ERROR, fixture->unwind_error, 0);
		return 3;
	}
	*reached_end = fixture->had_deltas;
	return fixture->had_deltas ? 2 : 3;
}

static const struct user_unwinder_ops unwind_ops = { .unwind = unwind };

static inline void make_handler(struct fixture *fixture, struct user_unwinder *unwinder)
{
	const struct trace_handler_config config = {
		.table = &fixture->table,
		.executables = fixture->executables,
		.reporter = &fixture->reporter.reporter,
		.user_unwinder = unwinder,
		.code_hit = note_code_hit,
		.context = fixture,
	};

	trace_handler_destroy(fixture->handler);
	assert_int_equal(trace_handler_create(&config, &fixture->handler), 0);
}

static inline int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct executable_cache_config config = {
		.cache_rows = true,
		.request_load = request_load,
		.context = fixture,
	};
	struct file_key key;
	int fd = open("/bin/ls", O_RDONLY | O_CLOEXEC);

	metrics_reset();
	fake_writer_init(&fixture->writer);
	fake_reporter_init(&fixture->reporter);
	process_table_init(&fixture->table);
	config.writer = &fixture->writer.writer;
	fixture->unwinder.ops = &unwind_ops;
	assert_int_equal(executable_cache_create(&config, &fixture->executables), 0);
	assert_int_equal(file_key_of_fd(fd, &key), 0);
	assert_int_equal(executable_cache_open(fixture->executables, fd, &key, 0, "/bin/ls", NULL,
					       &fixture->ls),
			 0);
	make_handler(fixture, NULL);
	*state = fixture;
	return 0;
}

static inline int tear_down(void **state)
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

static inline void load_rows(struct fixture *fixture)
{
	executable_load(fixture->executables, fixture->ls->id);
	executable_rows_publish(fixture->executables, clock_monotonic_ns());
}

static inline struct process *add_process(struct fixture *fixture, uint64_t exec_id)
{
	const struct process_identity identity = { 100, exec_id };

	return process_table_add(&fixture->table, 7, &identity, 1000);
}

static inline void sync_rows(struct fixture *fixture, struct process *process, uint64_t start,
			     bool lost, uint64_t now_ns)
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
	uint64_t words[64 + LABEL_WORDS_MAX];
};

static inline struct record make_record(uint64_t exec_id, uint64_t time_ns)
{
	return (struct record){
		.head = {
			.time_ns = time_ns,
			.pid = 7,
			.tid = 8,
			.identity = { 100, exec_id },
			.cpu = 3,
			.type = RECORD_TRACE,
			.origin = ORIGIN_CLOCK,
			.flags = RECORD_REACHED_END,
			.comm = "thread",
			.process_comm = "leader",
		},
	};
}

static inline void push_native(struct record *record, uint64_t address, uint64_t executable_id)
{
	record->words[record->head.word_count++] = frame_word(FRAME_NATIVE, 0, address);
	record->words[record->head.word_count++] = executable_id;
}

static inline void push_error(struct record *record, enum unwind_error error)
{
	record->words[record->head.word_count++] = frame_word(FRAME_ERROR, error, 0);
	record->head.flags &= ~RECORD_REACHED_END;
}

/* Behind the frames, which are all there. NULL as key: @value is the goroutine's id, 8 bytes. */
static inline void push_label(struct record *record, const char *key, const char *value)
{
	struct sample_label *label = (void *)((char *)&record->words[record->head.word_count] +
					      record->head.label_bytes);

	label->key_bytes = key ? strlen(key) : 0;
	label->value_bytes = key ? strlen(value) : sizeof(uint64_t);
	memcpy(label->key, key ? key : "", label->key_bytes);
	if (!key)
		label->key[0] = FRAME_GO;
	memcpy(label->value, value, label->value_bytes);
	record->head.label_bytes += sizeof(*label);
}

static inline void handle(struct fixture *fixture, const struct record *record)
{
	trace_handler_handle(fixture->handler, &record->head,
			     sizeof(record->head) + record->head.word_count * sizeof(uint64_t) +
				     record->head.label_bytes,
			     record->head.time_ns);
}

#endif
