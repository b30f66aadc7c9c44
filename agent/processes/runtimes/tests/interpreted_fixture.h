/* SPDX-License-Identifier: Apache-2.0 */
/** A trace handler over fakes, and records of stacks with frames of the fake language. */
#ifndef AGENT_PROCESSES_RUNTIMES_TESTS_INTERPRETED_FIXTURE_H
#define AGENT_PROCESSES_RUNTIMES_TESTS_INTERPRETED_FIXTURE_H

#include "agent/processes/tests/language_fixture.h"

#include "agent/processes/frame_converter.h"
#include "agent/processes/runtimes/interpreted_names.h"
#include "agent/processes/trace_handler.h"

enum { RUNTIME = 0, OTHER = 1, FRAMES_MAX = 512 };

struct fixture {
	struct language_fixture base;
	struct fake_reporter reporter;
	struct trace_handler *handler;
	struct process *process;
	struct {
		struct trace_record head;
		uint64_t words[2 * FRAMES_MAX];
	} record;
};

static inline void make_handler(struct fixture *fixture, bool fold_runtime_frames)
{
	const struct trace_handler_config config = {
		.table = &fixture->base.table,
		.executables = fixture->base.executables,
		.reporter = &fixture->reporter.reporter,
		.fold_runtime_frames = fold_runtime_frames,
	};

	trace_handler_destroy(fixture->handler);
	assert_int_equal(trace_handler_create(&config, &fixture->handler), 0);
}

static inline int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	language_fixture_init(&fixture->base);
	fake_reporter_init(&fixture->reporter);
	make_handler(fixture, false);
	fixture->process = language_fixture_add(&fixture->base, 7);
	*state = fixture;
	return 0;
}

static inline void give_runtimes_of(struct fixture *fixture, struct process *process,
				    uint32_t count, const struct language *language)
{
	struct process_runtime *runtimes[RUNTIMES_MAX];

	for (uint32_t i = 0; i < count; i++) {
		struct runtime_home *home = &fixture->base.home.home;
		struct host_target target = { .pid = process->pid };
		struct process_memory memory;
		struct host_runtime made;

		assert_int_equal(process_memory_init(&memory, fixture->base.proc.root,
						     (pid_t)process->pid),
				 0);
		target.memory = memory.fd;
		assert_int_equal(home->ops->attach(home, &target, &made), 0);
		process_memory_deinit(&memory);
		runtimes[i] = process_runtime_create(fixture->base.runtime->id, process->pid,
						     language, home, &made);
	}
	process_table_set_runtimes(&fixture->base.table, process,
				   count ? runtime_set_create(runtimes, count) : NULL);
	for (uint32_t i = 0; i < count; i++)
		process_runtime_unref(runtimes[i]);
}

static inline void give_runtimes(struct fixture *fixture, struct process *process, uint32_t count)
{
	give_runtimes_of(fixture, process, count, &language_of_fakes);
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	trace_handler_destroy(fixture->handler);
	process_table_remove(&fixture->base.table, fixture->process);
	fake_reporter_deinit(&fixture->reporter);
	language_fixture_deinit(&fixture->base);
	free(fixture);
	return 0;
}

static inline void begin(struct fixture *fixture)
{
	memset(&fixture->record, 0, sizeof(fixture->record));
	fixture->record.head = (struct trace_record){
		.time_ns = 2000,
		.pid = 7,
		.tid = 7,
		.identity = { 100, 1 },
		.type = RECORD_TRACE,
		.flags = RECORD_REACHED_END,
	};
}

static inline void put(struct fixture *fixture, uint64_t object, uint32_t line,
		       uint32_t fingerprint)
{
	fake_frame(fixture->record.words + fixture->record.head.word_count, object, line,
		   fingerprint);
	fixture->record.head.word_count += 2;
}

static inline void put_native(struct fixture *fixture, int file, uint8_t flags, uint64_t address)
{
	uint64_t *words = fixture->record.words + fixture->record.head.word_count;

	words[0] = frame_word(FRAME_NATIVE, flags, address);
	words[1] = file == RUNTIME ? fixture->base.runtime->id : fixture->base.other->id;
	fixture->record.head.word_count += 2;
}

static inline const struct trace *handle(struct fixture *fixture)
{
	trace_handler_handle(fixture->handler, &fixture->record.head, sizeof(fixture->record),
			     5000);
	assert_non_null(fixture->reporter.last);
	return fixture->reporter.last;
}

#endif
