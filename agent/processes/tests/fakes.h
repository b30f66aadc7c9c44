/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Fakes of the kernel side and the reporter, and a made-up /proc. Lists are small and never full in a test; a
 * test that fills one fails.
 */
#ifndef AGENT_PROCESSES_TESTS_FAKES_H
#define AGENT_PROCESSES_TESTS_FAKES_H

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "ebpf/abi/runtime.h"
#include "lib/model/map_writer.h"
#include "reporter/reporter.h"

enum {
	FAKE_MAX = 4096,
};

/** Remembers what is published. Locked, so that a test may look while threads run. */
struct fake_writer {
	struct map_writer writer;
	pthread_mutex_t lock;
	struct fake_entry {
		uint32_t pid;
		struct process_identity identity;
		uint32_t count;
		struct mapping_row rows[64];
		uint32_t runtime_count;
		/** Without data, which is a copy of its first word. */
		struct published_runtime runtimes[RUNTIMES_MAX];
		uint64_t first_words[RUNTIMES_MAX];
	} processes[64];
	uint32_t process_count;
	struct {
		uint64_t id;
		uint64_t bytes;
		bool was_used;
	} executables[FAKE_MAX];
	uint32_t executable_count;
	/** -ENOSPC over this; 0: no limit. */
	uint64_t budget_bytes;
	uint64_t used_bytes;
	/** Not usable before wait_retired. */
	uint64_t retired_bytes;
	/** -E2BIG over this; 0: no limit. */
	uint32_t max_processes;
	uint32_t publish_count;
	uint32_t retire_count;
	uint32_t rearm_count;
	uint32_t last_rearmed;
	uint32_t wait_count;
};

static inline struct fake_writer *fake_of(struct map_writer *writer)
{
	return (struct fake_writer *)((char *)writer - offsetof(struct fake_writer, writer));
}

static inline int fake_publish_executable(struct map_writer *writer, uint64_t executable_id,
					  const struct stack_deltas *deltas)
{
	struct fake_writer *fake = fake_of(writer);
	uint64_t bytes = (uint64_t)stack_deltas_cell_count(deltas) * CELL_BYTES;
	int err = 0;

	pthread_mutex_lock(&fake->lock);
	assert_int_equal(stack_deltas_check(deltas), 0);
	assert_true(fake->executable_count < FAKE_MAX);
	for (uint32_t i = 0; i < fake->executable_count; i++)
		assert_true(fake->executables[i].id != executable_id);
	if (fake->budget_bytes &&
	    fake->used_bytes + fake->retired_bytes + bytes > fake->budget_bytes) {
		err = -ENOSPC;
	} else {
		fake->executables[fake->executable_count].id = executable_id;
		fake->executables[fake->executable_count].bytes = bytes;
		fake->executables[fake->executable_count++].was_used = false;
		fake->used_bytes += bytes;
	}
	pthread_mutex_unlock(&fake->lock);
	return err;
}

static inline void fake_retire_executable(struct map_writer *writer, uint64_t executable_id)
{
	struct fake_writer *fake = fake_of(writer);

	pthread_mutex_lock(&fake->lock);
	for (uint32_t i = 0; i < fake->executable_count; i++) {
		if (fake->executables[i].id != executable_id)
			continue;
		fake->used_bytes -= fake->executables[i].bytes;
		fake->retired_bytes += fake->executables[i].bytes;
		fake->executables[i] = fake->executables[--fake->executable_count];
		break;
	}
	pthread_mutex_unlock(&fake->lock);
}

static inline bool fake_was_used(struct map_writer *writer, uint64_t executable_id)
{
	struct fake_writer *fake = fake_of(writer);
	bool was_used = false;

	pthread_mutex_lock(&fake->lock);
	for (uint32_t i = 0; i < fake->executable_count; i++) {
		if (fake->executables[i].id != executable_id)
			continue;
		was_used = fake->executables[i].was_used;
		fake->executables[i].was_used = false;
	}
	pthread_mutex_unlock(&fake->lock);
	return was_used;
}

static inline struct fake_entry *fake_find_locked(struct fake_writer *fake, uint32_t pid)
{
	for (uint32_t i = 0; i < fake->process_count; i++)
		if (fake->processes[i].pid == pid)
			return &fake->processes[i];
	return NULL;
}

static inline int fake_publish_process(struct map_writer *writer, uint32_t pid,
				       const struct process_identity *identity,
				       const struct mapping_row *rows, uint32_t count,
				       const struct published_runtime *runtimes,
				       uint32_t runtime_count)
{
	struct fake_writer *fake = fake_of(writer);
	struct fake_entry *entry;
	int err = 0;

	pthread_mutex_lock(&fake->lock);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(rows[i].start < rows[i].end);
		assert_true(!i || rows[i - 1].end <= rows[i].start);
		assert_true(rows[i].executable_id);
	}
	for (uint32_t i = 0; i < runtime_count; i++)
		assert_true(runtimes[i].executable_id && runtimes[i].data);
	entry = fake_find_locked(fake, pid);
	if (!entry && fake->max_processes && fake->process_count >= fake->max_processes) {
		err = -E2BIG;
	} else {
		if (!entry) {
			assert_true(fake->process_count < 64);
			entry = &fake->processes[fake->process_count++];
		}
		entry->pid = pid;
		entry->identity = *identity;
		entry->count = count < 64 ? count : 64;
		memcpy(entry->rows, rows, entry->count * sizeof(*rows));
		assert_true(runtime_count <= RUNTIMES_MAX);
		entry->runtime_count = runtime_count;
		for (uint32_t i = 0; i < runtime_count; i++) {
			assert_true(runtimes[i].data_bytes % CELL_BYTES == 0);
			entry->runtimes[i] = runtimes[i];
			entry->runtimes[i].data = NULL;
			memcpy(&entry->first_words[i], runtimes[i].data, sizeof(uint64_t));
		}
		fake->publish_count++;
	}
	pthread_mutex_unlock(&fake->lock);
	return err;
}

static inline void fake_retire_process(struct map_writer *writer, uint32_t pid)
{
	struct fake_writer *fake = fake_of(writer);
	struct fake_entry *entry;

	pthread_mutex_lock(&fake->lock);
	entry = fake_find_locked(fake, pid);
	if (entry)
		*entry = fake->processes[--fake->process_count];
	fake->retire_count++;
	pthread_mutex_unlock(&fake->lock);
}

static inline void fake_rearm(struct map_writer *writer, uint32_t pid)
{
	struct fake_writer *fake = fake_of(writer);

	pthread_mutex_lock(&fake->lock);
	fake->rearm_count++;
	fake->last_rearmed = pid;
	pthread_mutex_unlock(&fake->lock);
}

static inline int fake_wait_retired(struct map_writer *writer)
{
	struct fake_writer *fake = fake_of(writer);

	pthread_mutex_lock(&fake->lock);
	fake->retired_bytes = 0;
	fake->wait_count++;
	pthread_mutex_unlock(&fake->lock);
	return 0;
}

static inline void fake_memory(struct map_writer *writer, uint64_t *used_bytes,
			       uint64_t *budget_bytes)
{
	struct fake_writer *fake = fake_of(writer);

	*used_bytes = fake->used_bytes;
	*budget_bytes = fake->budget_bytes ? fake->budget_bytes : UINT64_MAX;
}

static inline void fake_writer_init(struct fake_writer *fake)
{
	static const struct map_writer_ops ops = {
		.publish_executable = fake_publish_executable,
		.retire_executable = fake_retire_executable,
		.executable_was_used = fake_was_used,
		.publish_process = fake_publish_process,
		.retire_process = fake_retire_process,
		.rearm_process_event = fake_rearm,
		.wait_retired = fake_wait_retired,
		.memory = fake_memory,
	};

	memset(fake, 0, sizeof(*fake));
	fake->writer.ops = &ops;
	pthread_mutex_init(&fake->lock, NULL);
}

/** A copy of the entry of @pid; false if there is none. */
static inline bool fake_published(struct fake_writer *fake, uint32_t pid, struct fake_entry *copy)
{
	struct fake_entry *entry;

	pthread_mutex_lock(&fake->lock);
	entry = fake_find_locked(fake, pid);
	if (entry && copy)
		*copy = *entry;
	pthread_mutex_unlock(&fake->lock);
	return entry;
}

static inline bool fake_has_executable(struct fake_writer *fake, uint64_t executable_id)
{
	bool found = false;

	pthread_mutex_lock(&fake->lock);
	for (uint32_t i = 0; i < fake->executable_count; i++)
		if (fake->executables[i].id == executable_id)
			found = true;
	pthread_mutex_unlock(&fake->lock);
	return found;
}

/** Keeps what was reported last, and counts. */
struct fake_reporter {
	struct reporter reporter;
	pthread_mutex_t lock;
	uint32_t count;
	uint32_t complete_count;
	struct trace *last;
	/** Its labels are the copy below. */
	struct sample_event event;
	struct label_set labels;
	char process_comm[COMM_BYTES];
	char thread_comm[COMM_BYTES];
	char path[256];
};

static inline void fake_report(struct reporter *reporter, const struct sample_event *event)
{
	struct fake_reporter *fake = (struct fake_reporter *)reporter;

	pthread_mutex_lock(&fake->lock);
	fake->count++;
	fake->complete_count += event->sample.trace->is_complete;
	trace_unref(fake->last);
	fake->last = trace_ref(event->sample.trace);
	fake->event = *event;
	if (event->sample.labels) {
		memcpy(&fake->labels, event->sample.labels, label_set_bytes(event->sample.labels));
		fake->event.sample.labels = &fake->labels;
	}
	snprintf(fake->process_comm, sizeof(fake->process_comm), "%s", event->sample.process_comm);
	snprintf(fake->thread_comm, sizeof(fake->thread_comm), "%s", event->sample.thread_comm);
	snprintf(fake->path, sizeof(fake->path), "%s",
		 event->sample.process ? event->sample.process->executable_path : "");
	pthread_mutex_unlock(&fake->lock);
}

static inline void fake_reporter_init(struct fake_reporter *fake)
{
	static const struct reporter_ops ops = { .report = fake_report };

	memset(fake, 0, sizeof(*fake));
	fake->reporter.ops = &ops;
	pthread_mutex_init(&fake->lock, NULL);
}

static inline void fake_reporter_deinit(struct fake_reporter *fake)
{
	trace_unref(fake->last);
	fake->last = NULL;
}

/** A folder of its own that is removed with all that is in it. */
struct fake_proc {
	char root[64];
};

static inline void fake_proc_init(struct fake_proc *proc)
{
	strcpy(proc->root, "/tmp/fake-proc-XXXXXX");
	assert_non_null(mkdtemp(proc->root));
}

static inline void fake_proc_deinit(struct fake_proc *proc)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", proc->root);
	assert_int_equal(system(command), 0);
}

static inline void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/** Writes @text to @path of the process; makes the folder if necessary. */
static inline void fake_proc_write(const struct fake_proc *proc, uint32_t pid, const char *path,
				   const char *text)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%u", proc->root, pid);
	mkdir(full, 0755);
	snprintf(full, sizeof(full), "%s/%u/map_files", proc->root, pid);
	mkdir(full, 0755);
	snprintf(full, sizeof(full), "%s/%u/%s", proc->root, pid, path);
	write_text(full, text);
}

/** Process @pid has @byte at address 1 of a struct file_memory; 0: it has exited. */
static inline void fake_proc_write_memory(struct fake_proc *proc, int pid, char byte)
{
	char text[] = "1? (fake) R 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 1 0 0\n";

	text[1] = byte;
	fake_proc_write(proc, pid, "stat", byte ? text : "");
}

/** The link at @path (map_files/..., exe) of the process leads to @target. */
static inline void fake_proc_link(const struct fake_proc *proc, uint32_t pid, const char *path,
				  const char *target)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%u/%s", proc->root, pid, path);
	unlink(full);
	assert_int_equal(symlink(target, full), 0);
}

#endif
