/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A fixture for tests of interpreted languages: processes and executables over fakes, one of which is a runtime
 * of the fake language. Its functions set up and tear down a part of a test's fixture.
 */
#ifndef AGENT_PROCESSES_TESTS_LANGUAGE_FIXTURE_H
#define AGENT_PROCESSES_TESTS_LANGUAGE_FIXTURE_H

#include "agent/processes/tests/fakes.h"

#include <fcntl.h>

#include "agent/processes/executable_rows.h"
#include "agent/processes/process.h"
#include "agent/runtimes/tests/fake_language.h"
#include "agent/runtimes/tests/local_home.h"
#include "lib/base/clock.h"
#include "lib/model/metrics.h"

struct language_fixture {
	struct fake_writer writer;
	struct fake_proc proc;
	struct local_home home;
	struct process_table table;
	struct executable_cache *executables;
	/** The file of the runtime, and another one. */
	struct executable *runtime;
	struct executable *other;
};

/** The executable of the file at @file, known by @path, with its rows. */
static inline struct executable *language_fixture_open_as(struct language_fixture *fixture,
							  const char *file, const char *path)
{
	struct executable *executable;
	struct file_key key;
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	assert_int_equal(file_key_of_fd(fd, &key), 0);
	assert_int_equal(executable_cache_open(fixture->executables, fd, &key, 0, path, NULL,
					       &executable),
			 0);
	executable_load(fixture->executables, executable->id);
	executable_rows_publish(fixture->executables, clock_monotonic_ns());
	return executable;
}

static inline struct executable *language_fixture_open(struct language_fixture *fixture,
						       const char *path)
{
	return language_fixture_open_as(fixture, path, path);
}

static inline void language_fixture_init(struct language_fixture *fixture)
{
	struct executable_cache_config config = {
		.writer = &fixture->writer.writer,
		.probe = fake_probe,
	};

	metrics_reset();
	fake_language_init("/ls");
	fake_writer_init(&fixture->writer);
	fake_proc_init(&fixture->proc);
	local_home_init(&fixture->home);
	process_table_init(&fixture->table);
	assert_int_equal(executable_cache_create(&config, &fixture->executables), 0);
	fixture->runtime = language_fixture_open(fixture, "/bin/ls");
	fixture->other = language_fixture_open(fixture, "/bin/cat");
}

static inline void language_fixture_deinit(struct language_fixture *fixture)
{
	executable_unref(fixture->executables, fixture->runtime);
	executable_unref(fixture->executables, fixture->other);
	executable_cache_destroy(fixture->executables);
	process_table_deinit(&fixture->table);
	fake_proc_deinit(&fixture->proc);
	local_home_deinit(&fixture->home);
	assert_int_equal(fake_language.probe_count, fake_language.release_count);
}

/** A process with something in its memory. */
static inline struct process *language_fixture_add(struct language_fixture *fixture, uint32_t pid)
{
	const struct process_identity identity = { 100, 1 };

	fake_proc_write_memory(&fixture->proc, pid, 'e');
	fake_proc_link(&fixture->proc, pid, "exe", "/bin/ls");
	return process_table_add(&fixture->table, pid, &identity, 1000);
}

#endif
