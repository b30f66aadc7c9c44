/* SPDX-License-Identifier: Apache-2.0 */
/** Stores for tests, and binaries that are this program itself, with a known function. */
#ifndef SYMBOLS_TESTS_RANGE_STORE_FIXTURE_H
#define SYMBOLS_TESTS_RANGE_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <link.h>
#include <string.h>

#include "lib/base/clock.h"
#include "symbols/build/tests/range_maker_program.h"
#include "symbols/range_store.h"

enum { PATH_BYTES = 256 };

#define WAIT_NS (60 * NS_PER_SECOND)

static const struct range_store_options plain = {
	.work = { .unnamed_bytes = 64 << 20,
		  .limits = { .cpu_ns = WAIT_NS,
			      .memory_bytes = 1ULL << 30,
			      .output_bytes = 64 << 20 } },
	.file_bytes = 64 << 20,
};

static int take_bias(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	*(uint64_t *)context = info->dlpi_addr;
	/* The program's own mapping comes first. */
	return 1;
}

__attribute__((noinline, used)) static int local_function(int x)
{
	return x * 3;
}

/* The ELF virtual address of local_function(). */
static uint64_t local_address(void)
{
	uint64_t bias = 0;

	dl_iterate_phdr(take_bias, &bias);
	return (uintptr_t)local_function - bias;
}

static inline struct binary *open_binary(const char *path, uint64_t executable_id)
{
	const struct binary values = {
		.executable_id = executable_id,
		.fd = open(path, O_RDONLY | O_CLOEXEC),
		.path = (char *)path,
	};

	assert_true(values.fd >= 0);
	return binary_create(&values);
}

static inline struct binary *own_binary(uint64_t executable_id)
{
	return open_binary("/proc/self/exe", executable_id);
}

static inline struct range_store *create(const struct range_store_options *options)
{
	struct range_store *store;

	assert_int_equal(range_store_create(options, &store), 0);
	return store;
}

static inline void want(struct range_store *store, struct binary *binary, enum range_depth depth)
{
	range_store_want(store, binary, 0, depth);
	assert_true(range_store_wait(store, clock_monotonic_ns() + WAIT_NS));
}

static inline struct mapped_ranges *get(struct range_store *store, struct binary *binary,
					enum range_depth depth)
{
	struct range_source *source = range_store_source(store);

	return source->ops->get(source, binary, depth);
}

/* Asserts that local_function() is known, with or without file and line. */
static inline void expect_local(struct mapped_ranges *ranges, bool has_lines)
{
	struct range_frame frames[4];

	assert_non_null(ranges);
	assert_int_equal(range_file_lookup(&ranges->file, local_address(), frames, 4), 1);
	assert_string_equal(frames[0].function, "local_function");
	assert_int_equal(!!frames[0].file, has_lines);
	if (has_lines)
		assert_non_null(strstr(frames[0].file, "range_store_fixture.h"));
	mapped_ranges_unref(ranges);
}

#endif
