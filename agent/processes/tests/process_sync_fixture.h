/* SPDX-License-Identifier: Apache-2.0 */
/** Shared by the tests of process_sync.c: a sync over fakes, and made-up processes for it. */
#ifndef AGENT_PROCESSES_TESTS_PROCESS_SYNC_FIXTURE_H
#define AGENT_PROCESSES_TESTS_PROCESS_SYNC_FIXTURE_H

#include "agent/processes/tests/fakes.h"

#include <sys/sysmacros.h>

#include "agent/processes/process_sync.h"
#include "agent/runtimes/tests/local_home.h"
#include "agent/runtimes/tests/local_proc.h"
#include "lib/base/clock.h"

struct fixture {
	struct fake_writer writer;
	struct fake_proc proc;
	struct local_home home;
	struct local_proc reads;
	struct process_table table;
	struct mapping_log log;
	struct process_sync sync;
	uint32_t asked_count;
	uint64_t asked_start;
};

static const struct address_range nothing_touched = { .start = UINT64_MAX };

static inline void request_file(void *context, const struct process *process,
				const struct proc_mapping *mapping)
{
	struct fixture *fixture = context;

	(void)process;
	fixture->asked_count++;
	fixture->asked_start = mapping->start;
}

static inline int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct executable_cache_config config = {};

	fake_writer_init(&fixture->writer);
	fake_proc_init(&fixture->proc);
	local_home_init(&fixture->home);
	local_proc_init(&fixture->reads, fixture->proc.root);
	process_table_init(&fixture->table);
	assert_int_equal(mapping_log_init(&fixture->log), 0);
	mapping_log_note_heard(&fixture->log, UINT64_MAX);
	config.writer = &fixture->writer.writer;
	fixture->sync = (struct process_sync){
		.writer = &fixture->writer.writer,
		.table = &fixture->table,
		.mapping_log = &fixture->log,
		.proc_root = fixture->proc.root,
		.home = &fixture->home.home,
		.reads = &fixture->reads.home,
		.request_file = request_file,
		.context = fixture,
	};
	assert_int_equal(executable_cache_create(&config, &fixture->sync.executables), 0);
	process_sync_init(&fixture->sync);
	*state = fixture;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	process_sync_deinit(&fixture->sync);
	executable_cache_destroy(fixture->sync.executables);
	process_table_deinit(&fixture->table);
	mapping_log_deinit(&fixture->log);
	fake_proc_deinit(&fixture->proc);
	local_home_deinit(&fixture->home);
	free(fixture);
	return 0;
}

/* From now on the machine's processes are synced. */
static inline void use_own_proc(struct fixture *fixture)
{
	fixture->sync.proc_root = "/proc";
	fixture->reads.proc_root = "/proc";
}

static inline struct process *add(struct fixture *fixture, uint32_t pid, uint64_t start_ns,
				  uint64_t exec_id)
{
	const struct process_identity identity = { .start_time_ns = start_ns, .exec_id = exec_id };

	return process_table_add(&fixture->table, pid, &identity, clock_monotonic_ns());
}

static inline void drop(struct fixture *fixture, struct process *process)
{
	process_sync_release(&fixture->sync, process);
	process_table_remove(&fixture->table, process);
}

static inline bool sync_process(struct fixture *fixture, struct process *process)
{
	bool has_changed = false;

	assert_int_equal(process_sync_run(&fixture->sync, process, &nothing_touched, &has_changed),
			 0);
	return has_changed;
}

/* A line of maps for an executable mapping of @path, whose file map_files leads to. */
static inline void map_line(struct fixture *fixture, uint32_t pid, char *text, uint64_t start,
			    uint64_t end, uint64_t offset, const char *path)
{
	struct stat status;
	char link[64];

	assert_int_equal(stat(path, &status), 0);
	sprintf(text + strlen(text), "%lx-%lx r-xp %08lx %02x:%02x %lu     %s\n", start, end,
		offset, major(status.st_dev), minor(status.st_dev), (unsigned long)status.st_ino,
		path);
	snprintf(link, sizeof(link), "map_files/%lx-%lx", start, end);
	fake_proc_link(&fixture->proc, pid, link, path);
}

/* The process of make_process() with anonymous code at [@start, @end), too. */
static inline void add_anonymous(struct fixture *fixture, uint32_t pid, const char *path,
				 uint64_t start, uint64_t end)
{
	char text[4096] = "";

	map_line(fixture, pid, text, 0x400000, 0x401000, 0, path);
	sprintf(text + strlen(text), "%lx-%lx rwxp 00000000 00:00 0 \n", start, end);
	fake_proc_write(&fixture->proc, pid, "maps", text);
}

/* A made-up process of one file mapped at 0x400000, on a local file system. */
static inline void make_process(struct fixture *fixture, uint32_t pid, const char *path)
{
	struct stat status;
	char text[4096] = "";
	char mounts[256];

	assert_int_equal(stat(path, &status), 0);
	snprintf(mounts, sizeof(mounts), "1 1 %u:%u / / rw - ext4 /dev/root rw\n",
		 major(status.st_dev), minor(status.st_dev));
	fake_proc_write(&fixture->proc, pid, "mountinfo", mounts);
	map_line(fixture, pid, text, 0x400000, 0x401000, 0, path);
	fake_proc_write(&fixture->proc, pid, "maps", text);
}

#endif
