/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/host/line_reader.h"

struct taken {
	char text[256];
	size_t lines;
	size_t bytes;
	int answer;
};

static int take(void *context, const char *line, size_t length)
{
	struct taken *taken = context;

	if (taken->bytes + length < 250)
		sprintf(taken->text + strlen(taken->text), "%.*s|", (int)length, line);
	taken->lines++;
	taken->bytes += length;
	return taken->answer;
}

static int file_of(const char *text, size_t size)
{
	int fd = memfd_create("lines", 0);

	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void text_and_files_give_the_same_lines(void **state)
{
	static const char text[] = "one\n\ntwo three\nlast";
	struct taken of_text = { 0 }, of_file = { 0 };
	int fd = file_of(text, sizeof(text) - 1);

	(void)state;
	assert_int_equal(lines_of_text(text, sizeof(text) - 1, take, &of_text), 0);
	assert_string_equal(of_text.text, "one||two three|last|");
	assert_int_equal(lines_of_fd(fd, 1000, take, &of_file), 0);
	assert_string_equal(of_file.text, of_text.text);
	close(fd);
}

static void lines_may_cross_the_chunks_that_are_read(void **state)
{
	const size_t count = 3 * LINE_MAX_BYTES;
	char *text = malloc(count);
	struct taken taken = { 0 };
	int fd;

	(void)state;
	/* 64 KiB, the size of a chunk, is no multiple of 1000, so lines cross the ends of chunks. */
	for (size_t i = 0; i < count; i++)
		text[i] = i % 1000 == 999 ? '\n' : 'x';
	fd = file_of(text, count);
	assert_int_equal(lines_of_fd(fd, UINT64_MAX, take, &taken), 0);
	assert_int_equal(taken.lines, count / 1000 + 1);
	assert_int_equal(taken.bytes, count - count / 1000);
	close(fd);
	free(text);
}

static void reading_stops_where_it_is_told(void **state)
{
	struct taken taken = { .answer = -EDOM };
	int fd = file_of("a\nb\n", 4);

	(void)state;
	assert_int_equal(lines_of_fd(fd, 1000, take, &taken), -EDOM);
	assert_int_equal(taken.lines, 1);
	close(fd);
}

static void what_is_too_long_is_refused(void **state)
{
	const size_t count = LINE_MAX_BYTES + 1;
	char *text = malloc(count);
	struct taken taken = { 0 };
	int fd;

	(void)state;
	memset(text, 'x', count);
	fd = file_of(text, count);
	assert_int_equal(lines_of_fd(fd, UINT64_MAX, take, &taken), -EBADMSG);
	close(fd);
	memset(text, '\n', count);
	fd = file_of(text, count);
	assert_int_equal(lines_of_fd(fd, 100, take, &taken), -E2BIG);
	close(fd);
	assert_int_equal(lines_of_fd(-1, 100, take, &taken), -EBADF);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_and_files_give_the_same_lines),
		cmocka_unit_test(lines_may_cross_the_chunks_that_are_read),
		cmocka_unit_test(reading_stops_where_it_is_told),
		cmocka_unit_test(what_is_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
