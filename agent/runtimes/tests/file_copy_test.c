/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/runtimes/file_copies.h"
#include "agent/runtimes/file_copy.h"
#include "lib/base/sealed_file.h"
#include "lib/elf/elf_image.h"

enum { CHUNK = 64 << 10 };

static int make_file(const char *bytes, size_t size)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

static int create(int fd, int *copy)
{
	struct splice_reader reader;
	int err;

	assert_int_equal(splice_reader_init(&reader), 0);
	err = file_copy_create(&reader, fd, copy);
	splice_reader_deinit(&reader);
	return err;
}

static void a_copy_has_the_bytes_and_is_sealed(void **state)
{
	char bytes[64];
	int copy, fd = make_file("some bytes", 10);

	(void)state;
	assert_int_equal(create(fd, &copy), 0);
	assert_int_equal(pread(copy, bytes, sizeof(bytes), 0), 10);
	assert_memory_equal(bytes, "some bytes", 10);
	assert_int_equal(pwrite(copy, "x", 1, 0), -1);
	assert_true(sealed_file_is_one(copy));
	assert_false(sealed_file_is_one(fd));
	assert_false(sealed_file_is_one(STDIN_FILENO));
	close(copy);
	close(fd);
}

static void an_empty_file_has_an_empty_copy(void **state)
{
	struct stat status;
	int copy, fd = make_file("", 0);

	(void)state;
	assert_int_equal(create(fd, &copy), 0);
	assert_int_equal(fstat(copy, &status), 0);
	assert_int_equal(status.st_size, 0);
	close(copy);
	close(fd);
}

static void what_is_too_large_is_not_copied(void **state)
{
	int copy = -1, fd = make_file("", 0);

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)FILE_COPY_MAX_BYTES + 1), 0);
	assert_int_equal(create(fd, &copy), -EFBIG);
	assert_int_equal(ftruncate(fd, INT64_MAX), 0);
	assert_int_equal(create(fd, &copy), -EFBIG);
	assert_int_equal(copy, -1);
	close(fd);
}

/* This program was built with DWARF. */
static void dwarf_is_left_out_and_everything_else_is_there(void **state)
{
	static char original[CHUNK], copied[CHUNK];
	struct elf_image image, other;
	int copy, fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat status, copy_status;
	uint32_t dwarf_count = 0;

	(void)state;
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	assert_int_equal(create(fd, &copy), 0);
	assert_int_equal(elf_image_init_fd(&other, copy), 0);
	assert_int_equal(other.section_count, image.section_count);
	for (uint32_t i = 0; i < image.section_count; i++) {
		const struct elf_section *section = &image.sections[i];

		if (elf_section_is_debug_data(section)) {
			dwarf_count++;
			continue;
		}
		for (uint64_t at = 0; section->type != 8 && at < section->size; at += CHUNK) {
			uint64_t left = section->size - at;
			size_t size = left < CHUNK ? left : CHUNK;

			assert_int_equal(
				elf_image_read(&image, section->offset + at, original, size), 0);
			assert_int_equal(elf_image_read(&other, section->offset + at, copied, size),
					 0);
			assert_memory_equal(original, copied, size);
		}
	}
	assert_true(dwarf_count);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(fstat(copy, &copy_status), 0);
	assert_int_equal(copy_status.st_size, status.st_size);
	assert_true(copy_status.st_blocks * 512 < status.st_size - CHUNK);
	/* The file's id is made of these. */
	assert_int_equal(pread(fd, original, 4096, status.st_size - 4096), 4096);
	assert_int_equal(pread(copy, copied, 4096, status.st_size - 4096), 4096);
	assert_memory_equal(original, copied, 4096);
	elf_image_deinit(&image);
	elf_image_deinit(&other);
	close(copy);
	close(fd);
}

static void copies_are_found_until_they_are_old_or_too_many(void **state)
{
	struct file_copies copies;
	int fd = make_file("one", 3), found;

	(void)state;
	file_copies_init(&copies);
	assert_int_equal(file_copies_find(&copies, 1, 5), -1);
	file_copies_add(&copies, 1, fd, 5);
	file_copies_add(&copies, 2, fd, 6);
	found = file_copies_find(&copies, 1, 9);
	assert_true(found >= 0 && found != fd);
	close(found);
	file_copies_expire(&copies, 9);
	assert_int_equal(file_copies_find(&copies, 2, 9), -1);
	for (uint64_t id = 10; id < 10 + FILE_COPIES_MAX; id++)
		file_copies_add(&copies, id, fd, id);
	assert_int_equal(copies.count, FILE_COPIES_MAX);
	assert_int_equal(file_copies_find(&copies, 1, 9), -1);
	found = file_copies_find(&copies, 10, 9);
	assert_true(found >= 0);
	close(found);
	file_copies_deinit(&copies);
	close(fd);
}

static void one_large_copy_replaces_all_others(void **state)
{
	struct file_copies copies;
	int small = make_file("one", 3), large = make_file("", 0), found;

	(void)state;
	assert_int_equal(posix_fallocate(large, 0, FILE_COPIES_MAX_BYTES + 4096), 0);
	file_copies_init(&copies);
	file_copies_add(&copies, 1, small, 5);
	file_copies_add(&copies, 2, large, 6);
	assert_int_equal(file_copies_find(&copies, 1, 7), -1);
	found = file_copies_find(&copies, 2, 7);
	assert_true(found >= 0);
	close(found);
	file_copies_add(&copies, 3, small, 8);
	assert_int_equal(file_copies_find(&copies, 2, 9), -1);
	assert_int_equal(copies.count, 1);
	file_copies_deinit(&copies);
	close(small);
	close(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_has_the_bytes_and_is_sealed),
		cmocka_unit_test(an_empty_file_has_an_empty_copy),
		cmocka_unit_test(what_is_too_large_is_not_copied),
		cmocka_unit_test(dwarf_is_left_out_and_everything_else_is_there),
		cmocka_unit_test(copies_are_found_until_they_are_old_or_too_many),
		cmocka_unit_test(one_large_copy_replaces_all_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
