/* SPDX-License-Identifier: Apache-2.0 */
/** Attachments whose requests the tests answer as a load thread does. */
#ifndef AGENT_PROCESSES_RUNTIMES_TESTS_ATTACHMENTS_FIXTURE_H
#define AGENT_PROCESSES_RUNTIMES_TESTS_ATTACHMENTS_FIXTURE_H

#include "agent/processes/tests/language_fixture.h"

#include "agent/processes/runtimes/attachments.h"

struct fixture {
	struct language_fixture base;
	struct attachments attachments;
	struct attach_request *requests[8];
	uint32_t request_count;
	/* Processes changed by the latest answer. */
	struct process *changed[ATTACH_MAX_CHANGED];
	uint32_t changed_count;
};

static inline void take_request(void *context, struct attach_request *request)
{
	struct fixture *fixture = context;

	assert_true(fixture->request_count < 8);
	fixture->requests[fixture->request_count++] = request;
}

static inline int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	language_fixture_init(&fixture->base);
	fixture->attachments = (struct attachments){
		.table = &fixture->base.table,
		.executables = fixture->base.executables,
		.proc_root = fixture->base.proc.root,
		.home = &fixture->base.home.home,
		.request = take_request,
		.context = fixture,
	};
	*state = fixture;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < fixture->request_count; i++)
		attach_request_destroy(fixture->requests[i], fixture->base.executables);
	assert_int_equal(fixture->attachments.attached_count, 0);
	assert_false(attachments_are_pending(&fixture->attachments));
	attachments_deinit(&fixture->attachments);
	language_fixture_deinit(&fixture->base);
	free(fixture);
	return 0;
}

static inline void unmap(struct fixture *fixture, struct process *process)
{
	for (uint32_t i = 0; i < process->mapping_count; i++)
		executable_unref(fixture->base.executables, process->mappings[i].executable);
	free(process->mappings);
	process->mappings = NULL;
	process->mapping_count = 0;
}

static inline void map(struct fixture *fixture, struct process *process,
		       struct executable *executable, uint64_t bias)
{
	process->mappings = realloc(process->mappings,
				    (process->mapping_count + 1) * sizeof(*process->mappings));
	process->mappings[process->mapping_count++] = (struct process_mapping){
		.start = bias,
		.end = bias + 0x1000,
		.bias = bias,
		.executable_id = executable->id,
		.executable = executable_ref(fixture->base.executables, executable),
	};
}

static inline void drop(struct fixture *fixture, struct process *process)
{
	attachments_release(&fixture->attachments, process);
	unmap(fixture, process);
	process_table_remove(&fixture->base.table, process);
}

/* Runs the oldest request as a load thread does, and passes the answer on. */
static inline int answer(struct fixture *fixture, uint64_t now_ns)
{
	struct attach_request *request = fixture->requests[0];
	struct attach_answer answer = {
		.pid = request->pid,
		.identity = request->identity,
		.executable_id = request->executable->id,
	};

	assert_true(fixture->request_count);
	fixture->request_count--;
	memmove(fixture->requests, fixture->requests + 1,
		fixture->request_count * sizeof(fixture->requests[0]));
	answer.err = attach_request_run(request, fixture->base.proc.root, fixture->attachments.home,
					&answer.runtime);
	attach_request_destroy(request, fixture->base.executables);
	fixture->changed_count =
		attachments_answer(&fixture->attachments, &answer, now_ns, fixture->changed);
	return answer.err;
}

/* Names one frame, as the work thread does. */
static inline int name_one(struct process_runtime *runtime, uint64_t address)
{
	struct name_query query = { .words = { frame_word(FAKE_KIND, 0, address), 77 } };
	struct name_answers answers = { 0 };
	int err = process_runtime_name(runtime, &query, 1, &answers);

	if (!err)
		err = answers.answers.items[0].err;
	name_answers_deinit(&answers);
	return err;
}

static inline struct process *add_attached(struct fixture *fixture, uint32_t pid, uint64_t now_ns)
{
	struct process *process = language_fixture_add(&fixture->base, pid);

	map(fixture, process, fixture->base.runtime, 0x10000);
	attachments_update(&fixture->attachments, process, now_ns);
	assert_int_equal(answer(fixture, now_ns), 0);
	return process;
}

#endif
