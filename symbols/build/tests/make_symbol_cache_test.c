/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/build/make_symbol_cache.h"

/* Data about this program itself, which is built with debug data. */
struct fixture {
	int fd;
	struct elf_image image;
	uint64_t bias;
};

static int take_bias(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	*(uint64_t *)context = info->dlpi_addr;
	/* The program's own mapping comes first. */
	return 1;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(fixture->fd >= 0);
	assert_int_equal(elf_image_init_fd(&fixture->image, fixture->fd), 0);
	dl_iterate_phdr(take_bias, &fixture->bias);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	elf_image_deinit(&fixture->image);
	close(fixture->fd);
	free(fixture);
	return 0;
}

/* Maps the symbol caches of this program until it ends. */
static void make(const struct fixture *fixture, enum symbol_depth depth, struct symbol_cache *file)
{
	struct symbol_cache_writer writer = { 0 };
	int fd = memfd_create("symbol-cache", MFD_CLOEXEC);
	size_t size;
	void *bytes;

	assert_int_equal(make_symbol_cache(&fixture->image, NULL, depth, &writer), 0);
	assert_int_equal(symbol_cache_writer_finish(&writer, (struct hash128){ 0 }, fd), 0);
	size = lseek(fd, 0, SEEK_END);
	bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	assert_int_equal(symbol_cache_init(file, bytes, size), 0);
	close(fd);
}

static __attribute__((noinline)) uintptr_t called_from(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

enum {
	INNER_LINE = __LINE__ + 4,
};
static inline __attribute__((always_inline)) uintptr_t inner(void)
{
	return called_from() - 1;
}

enum {
	OUTER_LINE = __LINE__ + 4,
};
static __attribute__((noinline)) uintptr_t outer(void)
{
	return inner() + 0 * OUTER_LINE;
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

static void debug_data_says_what_is_inlined_where(void **state)
{
	const struct fixture *fixture = *state;
	struct symbol_frame frames[4];
	struct symbol_cache file;

	make(fixture, SYMBOL_DEPTH_FULL, &file);
	assert_int_equal(symbol_cache_lookup(&file, outer() - fixture->bias, frames, 4), 2);
	assert_string_equal(frames[0].function, "inner");
	assert_true(frames[0].is_inlined);
	assert_true(ends_with(frames[0].file, "/symbols/build/tests/make_symbol_cache_test.c"));
	assert_int_equal(frames[0].line, INNER_LINE);
	assert_string_equal(frames[1].function, "outer");
	assert_false(frames[1].is_inlined);
	assert_true(ends_with(frames[1].file, "/symbols/build/tests/make_symbol_cache_test.c"));
	assert_int_equal(frames[1].line, OUTER_LINE);
}

static void symbols_alone_name_functions(void **state)
{
	const struct fixture *fixture = *state;
	struct symbol_frame frames[4];
	struct symbol_cache file;

	make(fixture, SYMBOL_DEPTH_SYMBOLS, &file);
	assert_int_equal(symbol_cache_lookup(&file, outer() - fixture->bias, frames, 4), 1);
	assert_string_equal(frames[0].function, "outer");
	assert_null(frames[0].file);
}

static void other_files_have_no_ranges(void **state)
{
	static const char text[] = "#!/bin/sh\necho no program\n";
	struct symbol_cache_writer writer = { 0 };
	int fd = memfd_create("text", MFD_CLOEXEC);
	struct elf_image image = { .fd = fd, .size = sizeof(text) };

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
	assert_int_equal(make_symbol_cache(&image, NULL, SYMBOL_DEPTH_FULL, &writer), 0);
	for (int i = 0; i < SYMBOL_DATA_COUNT; i++)
		assert_int_equal(address_runs_count(&writer.runs[i]), 0);
	symbol_cache_writer_deinit(&writer);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(debug_data_says_what_is_inlined_where, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(symbols_alone_name_functions, set_up, tear_down),
		cmocka_unit_test(other_files_have_no_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
