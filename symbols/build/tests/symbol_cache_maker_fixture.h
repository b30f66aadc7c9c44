/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For tests that make symbol caches in separate processes. The processes are the test program itself,
 * which begins with symbol_cache_maker_enter() and has a known function. Include it once, after cmocka.
 */
#ifndef SYMBOLS_BUILD_TESTS_SYMBOL_CACHE_MAKER_FIXTURE_H
#define SYMBOLS_BUILD_TESTS_SYMBOL_CACHE_MAKER_FIXTURE_H

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "symbols/build/symbol_cache_maker.h"
#include "symbols/build/tests/symbol_cache_maker_program.h"

/** Limits that no test reaches. */
static const struct symbol_cache_maker_limits wide = {
	.cpu_ns = 300 * NS_PER_SECOND,
	.memory_bytes = 1 << 30,
	.output_bytes = 1 << 30,
};

static const struct hash128 key = { .high = 1, .low = 2 };

static inline int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/** Makes symbol caches of @fd, which is closed; on success they stay mapped until the program ends. */
static inline int make(int fd, enum symbol_depth depth,
		       const struct symbol_cache_maker_limits *limits, struct symbol_cache *file)
{
	int output = memfd_create("symbol-cache", MFD_CLOEXEC);
	const struct symbol_cache_maker_files files = { .elf = fd, .debug = -1, .output = output };
	int err = symbol_cache_maker_run(&files, NULL, depth, key, limits, NULL);

	if (!err) {
		size_t size = lseek(output, 0, SEEK_END);
		void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, output, 0);
		struct symbol_cache_header header;

		assert_ptr_not_equal(bytes, MAP_FAILED);
		memcpy(&header, bytes, sizeof(header));
		assert_true(hash128_equal(header.key, key));
		assert_int_equal(symbol_cache_init(file, bytes, size), 0);
	}
	close(output);
	close(fd);
	return err;
}

static inline int take_bias(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	*(uint64_t *)context = info->dlpi_addr;
	/* The program's own mapping comes first. */
	return 1;
}

static __attribute__((noinline, unused)) uintptr_t here(void)
{
	return (uintptr_t)__builtin_return_address(0) - 1;
}

enum {
	KNOWN_LINE = __LINE__ + 4,
};
static __attribute__((noinline, unused)) uintptr_t known_function(void)
{
	return here() + 0 * KNOWN_LINE;
}

/** Asserts that @file has the function above, and its line if @has_lines. */
static inline void expect_known_function(const struct symbol_cache *file, bool has_lines)
{
	struct symbol_frame frames[2];
	uint64_t bias = 0;

	dl_iterate_phdr(take_bias, &bias);
	assert_int_equal(symbol_cache_lookup(file, known_function() - bias, frames, 2), 1);
	assert_string_equal(frames[0].function, "known_function");
	if (!has_lines) {
		assert_null(frames[0].file);
		return;
	}
	assert_non_null(frames[0].file);
	assert_non_null(strstr(frames[0].file, "symbols/build/tests/symbol_cache_maker_fixture.h"));
	assert_int_equal(frames[0].line, KNOWN_LINE);
}

#endif
