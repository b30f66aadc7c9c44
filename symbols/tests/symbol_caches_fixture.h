/* SPDX-License-Identifier: Apache-2.0 */
/** Stores for tests, and binaries that are this program itself, with a known function. */
#ifndef SYMBOLS_TESTS_SYMBOL_CACHES_FIXTURE_H
#define SYMBOLS_TESTS_SYMBOL_CACHES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <link.h>
#include <string.h>

#include "lib/base/clock.h"
#include "symbols/build/tests/symbol_cache_maker_program.h"
#include "symbols/symbol_caches.h"

enum { PATH_BYTES = 256 };

#define WAIT_NS (60 * NS_PER_SECOND)

static const struct symbol_caches_options plain = {
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

static inline struct symbol_caches *create(const struct symbol_caches_options *options)
{
	struct symbol_caches *store;

	assert_int_equal(symbol_caches_create(options, &store), 0);
	return store;
}

static inline void want(struct symbol_caches *store, struct binary *binary, enum symbol_depth depth)
{
	symbol_caches_want(store, binary, 0, depth);
	assert_true(symbol_caches_wait(store, clock_monotonic_ns() + WAIT_NS));
}

static inline struct mapped_symbol_cache *get(struct symbol_caches *store, struct binary *binary,
					      enum symbol_depth depth)
{
	struct symbol_cache_source *source = symbol_caches_source(store);

	return source->ops->get(source, binary, depth);
}

/* Asserts that local_function() is known, with or without file and line. */
static inline void expect_local(struct mapped_symbol_cache *cache, bool has_lines)
{
	struct symbol_frame frames[4];

	assert_non_null(cache);
	assert_int_equal(symbol_cache_lookup(&cache->file, local_address(), frames, 4), 1);
	assert_string_equal(frames[0].function, "local_function");
	assert_int_equal(!!frames[0].file, has_lines);
	if (has_lines)
		assert_non_null(strstr(frames[0].file, "symbol_caches_fixture.h"));
	mapped_symbol_cache_unref(cache);
}

#endif
