/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/elf/elf_pages.h"
#include "lib/elf/tests/elf_builder.h"

enum { FILE_BYTES = 100 * ELF_PAGE_BYTES + 77 };

static struct elf_builder builder;
static uint8_t *bytes;
static struct elf_image image;
static struct elf_pages pages;
static int fd;

/* Makes a file of many pages, whose bytes depend on their offsets. */
static int set_up(void **state)
{
	(void)state;
	elf_builder_init(&builder, 1);
	built_segment(&builder, 0)->p_filesz = FILE_BYTES - 50;
	built_segment(&builder, 0)->p_memsz = FILE_BYTES;
	bytes = malloc(FILE_BYTES);
	for (uint32_t i = 0; i < FILE_BYTES; i++)
		bytes[i] = 1 + (i * 2654435761U >> 24) % 255;
	memcpy(bytes, builder.bytes, builder.used);
	fd = memfd_create("elf_pages_test", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, FILE_BYTES) != FILE_BYTES ||
	    elf_image_init_fd(&image, fd) != 0)
		return -1;
	elf_pages_init(&pages, &image);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	elf_pages_deinit(&pages);
	elf_pages_deinit(NULL);
	elf_image_deinit(&image);
	close(fd);
	free(bytes);
	return 0;
}

static void reads_give_the_bytes_of_the_file(void **state)
{
	static uint8_t buffer[3 * ELF_PAGE_BYTES];
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint32_t offset, count;

		random = random * 1664525 + 1013904223;
		offset = (random >> 4) % FILE_BYTES;
		count = i % 100 ? (uint32_t)i % 64 : sizeof(buffer);
		count = count < FILE_BYTES - offset ? count : FILE_BYTES - offset;
		assert_int_equal(elf_pages_read(&pages, offset, buffer, count), 0);
		assert_memory_equal(buffer, bytes + offset, count);
		if (i == 10000)
			elf_pages_release(&pages);
	}
}

static void reads_end_with_the_file_and_with_segments(void **state)
{
	uint8_t buffer[64];

	(void)state;
	assert_int_equal(elf_pages_read(&pages, FILE_BYTES - 10, buffer, 10), 0);
	assert_memory_equal(buffer, bytes + FILE_BYTES - 10, 10);
	assert_int_equal(elf_pages_read(&pages, FILE_BYTES - 10, buffer, 11), -EBADMSG);
	assert_int_equal(elf_pages_read(&pages, UINT64_MAX, buffer, 2), -EBADMSG);
	assert_int_equal(
		elf_pages_read_address(&pages, BUILT_ADDRESS + FILE_BYTES - 60, buffer, 10), 0);
	assert_memory_equal(buffer, bytes + FILE_BYTES - 60, 10);
	assert_int_equal(elf_pages_read_address(&pages, BUILT_ADDRESS + FILE_BYTES - 60, buffer,
						11),
			 -EBADMSG);
	assert_int_equal(elf_pages_read_address(&pages, 1, buffer, 1), -EBADMSG);
}

static void a_file_that_became_shorter_is_damaged(void **state)
{
	uint8_t buffer[64];

	(void)state;
	elf_pages_release(&pages);
	assert_int_equal(ftruncate(fd, 50 * ELF_PAGE_BYTES), 0);
	assert_int_equal(elf_pages_read(&pages, 60 * ELF_PAGE_BYTES, buffer, 1), -EBADMSG);
	assert_int_equal(elf_pages_read(&pages, 40 * ELF_PAGE_BYTES, buffer, 1), 0);
	assert_int_equal(ftruncate(fd, FILE_BYTES), 0);
	assert_int_equal(pwrite(fd, bytes, FILE_BYTES, 0), FILE_BYTES);
}

static void strings_end_with_their_nul(void **state)
{
	static const uint32_t starts[] = { 1000, ELF_PAGE_BYTES - 1, ELF_PAGE_BYTES - 300 };
	struct text_builder text = { 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uint32_t start = starts[i], end = start + 700;

		bytes[end] = '\0';
		assert_int_equal(pwrite(fd, bytes + end, 1, end), 1);
		elf_pages_release(&pages);
		text_builder_clear(&text);
		assert_int_equal(elf_pages_read_string(&pages, start, FILE_BYTES, 700, &text), 0);
		assert_int_equal(text.length, 700);
		assert_memory_equal(text.text, bytes + start, 700);
		assert_int_equal(elf_pages_read_string(&pages, start, FILE_BYTES, 699, &text),
				 -E2BIG);
		assert_int_equal(elf_pages_read_string(&pages, start, end, 700, &text), -EBADMSG);
	}
	/* The limit of the caller lies behind the file. */
	assert_int_equal(elf_pages_read_string(&pages, FILE_BYTES - 5, UINT64_MAX, 700, &text),
			 -EBADMSG);
	text_builder_deinit(&text);
}

static void memory_is_bounded(void **state)
{
	uint32_t count = 0;
	uint8_t byte;

	(void)state;
	for (uint32_t i = 0; i < FILE_BYTES; i += ELF_PAGE_BYTES / 2)
		assert_int_equal(elf_pages_read(&pages, i, &byte, 1), 0);
	for (int set = 0; set < ELF_PAGE_SETS; set++)
		for (int way = 0; way < ELF_PAGE_WAYS; way++)
			count += pages.pages[set][way].data != NULL;
	assert_in_range(count, 50, ELF_PAGE_SETS * ELF_PAGE_WAYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_give_the_bytes_of_the_file),
		cmocka_unit_test(reads_end_with_the_file_and_with_segments),
		cmocka_unit_test(a_file_that_became_shorter_is_damaged),
		cmocka_unit_test(strings_end_with_their_nul),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
