/* SPDX-License-Identifier: Apache-2.0 */
/* Probes real programs, which scripts/fetch_phps.py fetches, and one with changed bytes. */
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

#include "interpreters/php/php.h"
#include "interpreters/php/php_probe.h"
#include "lib/base/cleanup.h"
#include "lib/elf/elf_image.h"

/* Opens a file of Debian's @suite; skips the test if it is missing. */
static int open_file(const char *suite, const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/.cache/allframes/phps/%s/%s",
		 getenv("HOME") ? getenv("HOME") : "", suite, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		print_message("no %s: scripts/fetch_phps.py\n", path);
		skip();
	}
	return fd;
}

/* The byte of the image at @address; 0 if it has none. */
static uint8_t byte_at(const struct elf_image *image, uint64_t address)
{
	uint8_t byte = 0;

	return elf_image_read_address(image, address, &byte, 1) ? 0 : byte;
}

/* Checks that the addresses follow calls: direct ones of 5 bytes, or calls through a pointer. */
static void check_left(const struct elf_image *image, const struct php_code *code)
{
	uint32_t in_loop = 0, count = 0;

	for (; count < PHP_LEFT_MAX && code->left[count]; count++) {
		uint32_t address = code->left[count];

		assert_true(byte_at(image, address - 5) == 0xe8 ||
			    byte_at(image, address - 2) == 0xff ||
			    byte_at(image, address - 3) == 0xff);
		for (uint32_t i = 0; i < code->range_count; i++)
			in_loop += address > code->ranges[i].start &&
				   address <= code->ranges[i].end;
	}
	/* Some are in execute_ex(), some in functions that it calls. */
	assert_true(in_loop >= 4 && count >= in_loop + 4);
}

static uint32_t count_ranges(const struct php_code_range *ranges, uint32_t limit)
{
	uint32_t count = 0;

	for (; count < limit && ranges[count].end; count++)
		assert_true(ranges[count].start < ranges[count].end &&
			    ranges[count].end - ranges[count].start < 1024);
	return count;
}

static void check_file(const struct elf_image *image, const struct php_file *file)
{
	const struct php_code *code = &file->code;
	uint64_t loop_bytes = 0;

	for (uint32_t i = 0; i < file->file.range_count; i++)
		loop_bytes += file->file.ranges[i].end - file->file.ranges[i].start;
	assert_int_equal(file->file.range_count, 2);
	assert_true(loop_bytes > 30000 && loop_bytes < 60000);
	/* The end is a return. */
	assert_true(code->end.end - code->end.start < 64);
	assert_int_equal(byte_at(image, code->end.end - 1), 0xc3);
	assert_true(count_ranges(code->entering, PHP_ENTERING_MAX) >= 5);
	assert_true(count_ranges(code->resumed, PHP_RESUMED_MAX) >= 1);
	check_left(image, code);
}

static void probe_file(const char *suite, const char *name, const char *version)
{
	_cleanup_(close_fd) int fd = open_file(suite, name);
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	struct php_file *file = NULL;

	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(php_probe(&php_language, &image, &file), 0);
	assert_string_equal(file->file.version, version);
	assert_int_equal(strstr(version, "threads") != NULL, file->thread_memory != 0);
	check_file(&image, file);
	/* A library finds its globals by a slot. */
	assert_int_equal(strstr(name, ".so") != NULL, file->globals_slot != 0);
	php_file_release(file);
}

static void php_8_2_is_known(void **state)
{
	(void)state;
	probe_file("bookworm", "usr/bin/php8.2", "PHP 8.2");
}

static void php_8_4_is_known(void **state)
{
	(void)state;
	probe_file("trixie", "usr/bin/php8.4", "PHP 8.4");
}

static void php_7_4_is_known(void **state)
{
	(void)state;
	probe_file("bullseye", "usr/bin/php7.4", "PHP 7.4");
}

static void php_8_5_is_known(void **state)
{
	(void)state;
	probe_file("experimental", "usr/bin/php8.5", "PHP 8.5");
}

static void libraries_are_known(void **state)
{
	(void)state;
	probe_file("bookworm-library", "usr/lib/libphp8.2.so", "PHP 8.2");
	probe_file("bookworm-library", "usr/lib/apache2/modules/libphp8.2.so", "PHP 8.2");
	probe_file("trixie-library", "usr/lib/libphp8.4.so", "PHP 8.4");
	probe_file("trixie-library", "usr/lib/apache2/modules/libphp8.4.so", "PHP 8.4");
}

static void libraries_of_the_long_tier_are_known(void **state)
{
	(void)state;
	probe_file("bullseye-library", "usr/lib/libphp7.4.so", "PHP 7.4");
	probe_file("experimental-library", "usr/lib/libphp8.5.so", "PHP 8.5");
}

/* With the options of PHP's images on Docker Hub. */
static void a_program_that_names_the_globals_is_known(void **state)
{
	(void)state;
	probe_file("bookworm-nts", "sapi/cli/php", "PHP 8.2");
}

static void php_with_threads_is_known(void **state)
{
	(void)state;
	probe_file("bookworm-zts", "sapi/cli/php", "PHP 8.2 with threads");
	probe_file("bookworm-zts", "libs/libphp.so", "PHP 8.2 with threads");
}

static void other_files_are_no_php(void **state)
{
	_cleanup_(close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	struct php_file *file = NULL;

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(php_probe(&php_language, &image, &file), -ENOENT);
}

/* Probes @bytes, and expects an error whose text has @part. */
static void expect_refusal(uint8_t *bytes, size_t size, const char *part)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	struct php_file *file = NULL;

	assert_int_equal(elf_image_init_memory(&image, bytes, size), 0);
	assert_int_equal(php_probe(&php_language, &image, &file), -EOPNOTSUPP);
	assert_non_null(strstr(error_text(), part));
}

/* Another VM, another layout, another version: each differs in a few bytes. */
static void what_is_not_as_in_the_version_is_refused(void **state)
{
	static const uint8_t kind[] = { 0xb8, 4, 0, 0, 0, 0xc3 };
	static const uint8_t current[] = { 0x48, 0x83, 0xb8, 0xe8, 0x01, 0, 0, 0, 0x0f };
	static const uint8_t version[] = "Zend Engine v4.4";
	_cleanup_(close_fd) int fd = open_file("trixie", "usr/bin/php8.4");
	_cleanup_(free_pointer) uint8_t *bytes = NULL;
	off_t size = lseek(fd, 0, SEEK_END);
	uint8_t *found;

	(void)state;
	bytes = malloc((size_t)size);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, (size_t)size, 0), size);
	for (found = bytes;
	     (found = memmem(found, (size_t)(bytes + size - found), kind, sizeof(kind)));)
		found[1] = 5;
	expect_refusal(bytes, (size_t)size, "VM of another kind");
	assert_int_equal(pread(fd, bytes, (size_t)size, 0), size);
	for (found = bytes;
	     (found = memmem(found, (size_t)(bytes + size - found), current, sizeof(current)));)
		found[3] = 0xf0;
	expect_refusal(bytes, (size_t)size, "structs");
	assert_int_equal(pread(fd, bytes, (size_t)size, 0), size);
	found = memmem(bytes, (size_t)size, version, sizeof(version) - 1);
	assert_non_null(found);
	found[15] = '9';
	expect_refusal(bytes, (size_t)size, "Zend Engine 4.9");
}

/* Overwrites one part of the loop after the other. */
static void code_of_another_shape_is_refused(void **state)
{
	_cleanup_(close_fd) int fd = open_file("trixie", "usr/bin/php8.4");
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 }, changed = { 0 };
	_cleanup_(free_pointer) uint8_t *bytes = NULL;
	struct php_file *file = NULL, *other = NULL;
	uint64_t offset, available;
	off_t size = lseek(fd, 0, SEEK_END);

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(php_probe(&php_language, &image, &file), 0);
	assert_int_equal(
		elf_image_address_offset(&image, file->code.end.start, &offset, &available), 0);
	bytes = malloc((size_t)size);
	assert_non_null(bytes);
	for (uint32_t part = 0; part < 8; part++) {
		int err;

		assert_int_equal(pread(fd, bytes, (size_t)size, 0), size);
		memset(bytes + offset - 128 + part * 32, 0xcc, 32);
		assert_int_equal(elf_image_init_memory(&changed, bytes, (size_t)size), 0);
		err = php_probe(&php_language, &changed, &other);
		assert_true(!err || err == -EOPNOTSUPP || err == -EBADMSG);
		/* The part with the end itself is required. */
		assert_true(err || part != 4);
		if (!err)
			php_file_release(other);
		elf_image_deinit(&changed);
		changed = (struct elf_image){ 0 };
	}
	php_file_release(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(php_8_2_is_known),
		cmocka_unit_test(php_8_4_is_known),
		cmocka_unit_test(php_7_4_is_known),
		cmocka_unit_test(php_8_5_is_known),
		cmocka_unit_test(libraries_are_known),
		cmocka_unit_test(libraries_of_the_long_tier_are_known),
		cmocka_unit_test(a_program_that_names_the_globals_is_known),
		cmocka_unit_test(php_with_threads_is_known),
		cmocka_unit_test(other_files_are_no_php),
		cmocka_unit_test(what_is_not_as_in_the_version_is_refused),
		cmocka_unit_test(code_of_another_shape_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
