/* SPDX-License-Identifier: Apache-2.0 */
/* Probes real libraries, which scripts/fetch_rubies.py fetches, and one with changed bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpreters/ruby/ruby.h"
#include "interpreters/ruby/ruby_loop.h"
#include "interpreters/ruby/ruby_probe.h"
#include "lib/base/cleanup.h"
#include "lib/elf/elf_image.h"

/* Opens the library of Debian's @suite; skips the test if it is missing. */
static int open_library(const char *suite, const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/.cache/allframes/rubies/%s/usr/lib/x86_64-linux-gnu/%s",
		 getenv("HOME") ? getenv("HOME") : "", suite, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		print_message("no %s: scripts/fetch_rubies.py\n", path);
		skip();
	}
	return fd;
}

static void check_file(const struct ruby_file *file, bool is_new)
{
	const struct code_range *loop = file->file.ranges;

	assert_int_equal(file->file.range_count, 1);
	assert_true(loop->end > loop->start && loop->end - loop->start < 8192);
	assert_true(file->core.end - file->core.start > 10000);
	assert_int_not_equal(file->symbols, 0);
	assert_int_not_equal(file->collector.vm.address, 0);
	assert_true(file->saves_registers);
	assert_true(file->collector.vm_collector > 256 && file->collector.flags < 64);
	/* Debian 13's compiler has shadow stacks on, with which __builtin_setjmp() is not used. */
	assert_int_equal(file->jump_buffer, is_new ? RUBY_JUMP_BUFFER : RUBY_JUMP_BUFFER_BUILTIN);
	/* Earlier ones generate no code. */
	assert_int_equal(file->code_returns[0].end != 0, is_new);
	/* Exits of the loop, and functions that enter it. */
	assert_int_not_equal(file->returning[1].end, 0);
	assert_int_not_equal(file->entering[10].end, 0);
	for (size_t i = 0; i < RUBY_RETURNING_MAX; i++)
		assert_true(file->returning[i].start <= file->returning[i].end);
}

static void probe_library(const char *suite, const char *name, const char *version)
{
	_cleanup_(close_fd) int fd = open_library(suite, name);
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	struct ruby_file *file = NULL;

	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(ruby_probe(&ruby_language, &image, &file), 0);
	assert_string_equal(file->file.version, version);
	/* Other versions have a context for each thread. */
	assert_int_equal(file->context.address != 0, !strcmp(version, "Ruby 2.7"));
	check_file(file, strcmp(version, "Ruby 3.3") >= 0);
	ruby_file_release(file);
}

static void the_loop_and_the_context_of_2_7_are_found(void **state)
{
	(void)state;
	probe_library("bullseye", "libruby-2.7.so.2.7", "Ruby 2.7");
}

static void the_loop_of_3_1_is_found_by_its_symbol(void **state)
{
	(void)state;
	probe_library("bookworm", "libruby-3.1.so.3.1", "Ruby 3.1");
}

static void the_loop_of_3_3_is_found_in_code(void **state)
{
	(void)state;
	probe_library("trixie", "libruby-3.3.so.3.3", "Ruby 3.3");
}

static void the_loop_and_the_symbols_of_3_4_are_found_in_code(void **state)
{
	(void)state;
	probe_library("experimental", "libruby-3.4.so.3.4", "Ruby 3.4");
}

static void a_version_that_is_not_known_is_refused(void **state)
{
	_cleanup_(close_fd) int fd = open_library("trixie", "libruby-3.3.so.3.3");
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 }, changed = { 0 };
	_cleanup_(free_pointer) uint8_t *bytes = NULL;
	off_t size = lseek(fd, 0, SEEK_END);
	struct ruby_file *file = NULL;
	uint64_t offset, available;

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(ruby_probe(&ruby_language, &image, &file), 0);
	assert_int_equal(
		elf_image_address_offset(&image, file->version_address, &offset, &available), 0);
	ruby_file_release(file);
	bytes = malloc((size_t)size);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t)size, 0), size);
	memcpy(bytes + offset, "3.2", 3);
	assert_int_equal(elf_image_init_memory(&changed, bytes, (size_t)size), 0);
	assert_int_equal(ruby_probe(&ruby_language, &changed, &file), -EOPNOTSUPP);
	assert_string_equal(error_text(), "Ruby 3.2");
}

static void other_files_are_no_ruby(void **state)
{
	_cleanup_(close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	struct ruby_file *file = NULL;

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(ruby_probe(&ruby_language, &image, &file), -ENOENT);
}

/*
 * Overwrites one part of 64 bytes of the code after another. The probe may accept the file, if it does not read the
 * part, or refuse it, but must not crash.
 */
static void code_of_another_shape_does_no_harm(void **state)
{
	_cleanup_(close_fd) int fd = open_library("trixie", "libruby-3.3.so.3.3");
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 }, changed = { 0 };
	_cleanup_(free_pointer) uint8_t *bytes = NULL;
	struct ruby_file *file = NULL, *other = NULL;
	uint64_t offset, available;
	off_t size = lseek(fd, 0, SEEK_END);

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(ruby_probe(&ruby_language, &image, &file), 0);
	assert_int_equal(elf_image_address_offset(&image, file->file.ranges[0].start, &offset,
						  &available),
			 0);
	bytes = malloc((size_t)size);
	assert_non_null(bytes);
	for (uint32_t part = 0; part < 8; part++) {
		int err;

		assert_int_equal(pread(fd, bytes, (size_t)size, 0), size);
		memset(bytes + offset + part * 64, 0xcc, 64);
		assert_int_equal(elf_image_init_memory(&changed, bytes, (size_t)size), 0);
		err = ruby_probe(&ruby_language, &changed, &other);
		assert_true(!err || err == -EOPNOTSUPP || err == -EBADMSG);
		if (!err)
			ruby_file_release(other);
		elf_image_deinit(&changed);
		changed = (struct elf_image){ 0 };
	}
	ruby_file_release(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_loop_and_the_context_of_2_7_are_found),
		cmocka_unit_test(the_loop_of_3_1_is_found_by_its_symbol),
		cmocka_unit_test(the_loop_of_3_3_is_found_in_code),
		cmocka_unit_test(the_loop_and_the_symbols_of_3_4_are_found_in_code),
		cmocka_unit_test(a_version_that_is_not_known_is_refused),
		cmocka_unit_test(other_files_are_no_ruby),
		cmocka_unit_test(code_of_another_shape_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
