/* SPDX-License-Identifier: Apache-2.0 */
/** An executable_cache whose load threads and kernel side are the test. */
#ifndef AGENT_PROCESSES_TESTS_EXECUTABLE_CACHE_FIXTURE_H
#define AGENT_PROCESSES_TESTS_EXECUTABLE_CACHE_FIXTURE_H

#include "agent/processes/tests/fakes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/processes/executable_cache.h"
#include "agent/processes/executable_rows.h"
#include "agent/processes/load_queue.h"
#include "ebpf/abi/frame.h"
#include "lib/base/clock.h"

struct fixture {
	struct fake_writer writer;
	struct executable_cache *cache;
	uint64_t requested[64];
	uint32_t requested_count;
};

static inline void request_load(void *context, uint64_t executable_id, bool is_remote)
{
	struct fixture *fixture = context;

	(void)is_remote;
	assert_true(fixture->requested_count < 64);
	fixture->requested[fixture->requested_count++] = executable_id;
}

static inline int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct executable_cache_config config = {
		.cache_rows = true,
		.request_load = request_load,
		.context = fixture,
	};

	fake_writer_init(&fixture->writer);
	config.writer = &fixture->writer.writer;
	assert_int_equal(executable_cache_create(&config, &fixture->cache), 0);
	*state = fixture;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	executable_cache_destroy(fixture->cache);
	free(fixture);
	return 0;
}

/* Does the work of the load threads. */
static inline void load_all(struct fixture *fixture)
{
	for (uint32_t i = 0; i < fixture->requested_count; i++)
		executable_load(fixture->cache, fixture->requested[i]);
	fixture->requested_count = 0;
	executable_rows_publish(fixture->cache, clock_monotonic_ns());
}

static inline struct executable *open_path(struct fixture *fixture, const char *path)
{
	struct executable *executable;
	struct file_key key;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(file_key_of_fd(fd, &key), 0);
	assert_int_equal(
		executable_cache_open(fixture->cache, fd, &key, 0, path, NULL, &executable), 0);
	return executable;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
