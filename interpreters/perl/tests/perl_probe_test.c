/* SPDX-License-Identifier: Apache-2.0 */
/* Probes real programs and libraries, which scripts/fetch_perls.py fetches, and some with changed bytes. */
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

#include "interpreters/perl/perl.h"
#include "interpreters/perl/perl_probe.h"
#include "lib/base/cleanup.h"
#include "lib/elf/elf_dynamic.h"
#include "lib/elf/elf_image.h"

/* Opens a file of Debian's @suite; skips the test if it is missing. */
static int open_file(const char *suite, const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/.cache/allframes/perls/%s/%s",
		 getenv("HOME") ? getenv("HOME") : "", suite, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		print_message("no %s: scripts/fetch_perls.py\n", path);
		skip();
	}
	return fd;
}

static void check_range(struct perl_code_range range, uint32_t least, uint32_t most)
{
	assert_in_range(range.end - range.start, least, most);
}

static void probe_file(const char *suite, const char *name, const char *version)
{
	_cleanup_(close_fd) int fd = open_file(suite, name);
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	struct perl_file *file = NULL;

	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(perl_probe(&perl_language, &image, &file), 0);
	assert_string_equal(file->file.version, version);
	assert_int_equal(file->file.range_count, 1);
	assert_int_equal(file->loop, file->file.ranges[0].start);
	assert_true(file->loop_return - file->loop < 64);
	check_range(file->calling[0], 256, 4096);
	check_range(file->calling[1], 1024, 16384);
	check_range(file->evaluating, 256, 4096);
	check_range(file->running, 256, 4096);
	check_range(file->catching, 64, 1024);
	check_range(file->entering, 1024, 8192);
	check_range(file->leaving[0], 128, 2048);
	check_range(file->leaving[1], 128, 4096);
	check_range(file->replacing, 1024, 16384);
	check_range(file->dying, 256, 4096);
	perl_file_release(file);
}

static void programs_of_all_versions_are_found(void **state)
{
	(void)state;
	probe_file("bullseye", "usr/bin/perl", "Perl 5.32");
	probe_file("bookworm", "usr/bin/perl", "Perl 5.36");
	probe_file("trixie", "usr/bin/perl", "Perl 5.40");
	probe_file("sid", "usr/bin/perl", "Perl 5.42");
}

static void libraries_of_all_versions_are_found(void **state)
{
	(void)state;
	probe_file("bullseye", "usr/lib/x86_64-linux-gnu/libperl.so.5.32", "Perl 5.32");
	probe_file("bookworm", "usr/lib/x86_64-linux-gnu/libperl.so.5.36", "Perl 5.36");
	probe_file("trixie", "usr/lib/x86_64-linux-gnu/libperl.so.5.40", "Perl 5.40");
	probe_file("sid", "usr/lib/x86_64-linux-gnu/libperl.so.5.42", "Perl 5.42");
}

static void other_files_are_no_perl(void **state)
{
	_cleanup_(close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	struct perl_file *file = NULL;

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(perl_probe(&perl_language, &image, &file), -ENOENT);
}

/* A program and a library that were built without threads. */
static void those_without_threads_are_found(void **state)
{
	(void)state;
	probe_file("trixie-unthreaded", "perl", "Perl 5.40 without threads");
	probe_file("trixie-unthreaded", "libperl.so", "Perl 5.40 without threads");
}

/* Replaces the number of the version in the program of 5.36 by @minor, and probes that. */
static int probe_with_version(uint8_t minor)
{
	_cleanup_(close_fd) int fd = open_file("bookworm", "usr/bin/perl");
	_cleanup_(elf_image_deinit) struct elf_image original = { 0 }, image = { 0 };
	_cleanup_(free_pointer) uint8_t *bytes = NULL;
	size_t size = (size_t)lseek(fd, 0, SEEK_END);
	struct elf_dynamic dynamic;
	struct elf_dynamic_symbol symbol;
	struct perl_file *file = NULL;
	uint64_t offset, available;
	int err;

	assert_int_equal(elf_image_init_fd(&original, fd), 0);
	assert_int_equal(elf_dynamic_init(&dynamic, &original), 0);
	assert_int_equal(elf_dynamic_find(&dynamic, &original, "PL_version", &symbol), 0);
	assert_int_equal(elf_image_address_offset(&original, symbol.address, &offset, &available),
			 0);
	bytes = malloc(size);
	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, size, 0), size);
	assert_int_equal(bytes[offset], 36);
	bytes[offset] = minor;
	assert_int_equal(elf_image_init_memory(&image, bytes, size), 0);
	err = perl_probe(&perl_language, &image, &file);
	if (!err)
		perl_file_release(file);
	return err;
}

static void a_version_that_is_not_known_is_refused(void **state)
{
	(void)state;
	assert_int_equal(probe_with_version(34), -EOPNOTSUPP);
	assert_string_equal(error_text(), "Perl 5.34");
	/* It is another one than its code. */
	assert_int_equal(probe_with_version(40), -EOPNOTSUPP);
	assert_string_equal(error_text(), "Perl_call_sv() is not as in Perl 5.40");
}

/* Overwrites the code that the probe reads with bytes that are no instructions. */
static void code_of_another_shape_is_refused(void **state)
{
	_cleanup_(close_fd) int fd = open_file("trixie", "usr/bin/perl");
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	_cleanup_(free_pointer) uint8_t *bytes = NULL;
	size_t size = (size_t)lseek(fd, 0, SEEK_END);
	struct perl_file *file = NULL;
	struct perl_code_range ranges[3];

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(perl_probe(&perl_language, &image, &file), 0);
	ranges[0] = (struct perl_code_range){ (uint32_t)file->file.ranges[0].start,
					      (uint32_t)file->file.ranges[0].end };
	ranges[1] = file->catching;
	ranges[2] = file->running;
	perl_file_release(file);
	bytes = malloc(size);
	assert_non_null(bytes);
	for (size_t i = 0; i < 3; i++) {
		_cleanup_(elf_image_deinit) struct elf_image changed = { 0 };
		uint64_t offset, available;

		assert_int_equal(pread(fd, bytes, size, 0), size);
		assert_int_equal(
			elf_image_address_offset(&image, ranges[i].start, &offset, &available), 0);
		memset(bytes + offset, 0xcc, ranges[i].end - ranges[i].start);
		assert_int_equal(elf_image_init_memory(&changed, bytes, size), 0);
		assert_int_equal(perl_probe(&perl_language, &changed, &file), -EOPNOTSUPP);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_of_all_versions_are_found),
		cmocka_unit_test(libraries_of_all_versions_are_found),
		cmocka_unit_test(those_without_threads_are_found),
		cmocka_unit_test(other_files_are_no_perl),
		cmocka_unit_test(a_version_that_is_not_known_is_refused),
		cmocka_unit_test(code_of_another_shape_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
