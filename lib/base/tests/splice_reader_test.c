/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/splice_reader.h"

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
#include <unistd.h>

enum { FILE_BYTES = 300 << 10 };

static void parts_of_a_file_are_read(void **state)
{
	struct splice_reader reader;
	char *bytes = malloc(FILE_BYTES), *copy = malloc(FILE_BYTES);
	int fd = memfd_create("splice_reader_test", 0);

	(void)state;
	for (int i = 0; i < FILE_BYTES; i++)
		bytes[i] = (char)(i * 7 + i / 1000);
	assert_int_equal(write(fd, bytes, FILE_BYTES), FILE_BYTES);
	assert_int_equal(splice_reader_init(&reader), 0);
	assert_int_equal(splice_reader_read(&reader, fd, copy, FILE_BYTES, 0), FILE_BYTES);
	assert_memory_equal(copy, bytes, FILE_BYTES);
	assert_int_equal(splice_reader_read(&reader, fd, copy, 1000, 5001), 1000);
	assert_memory_equal(copy, bytes + 5001, 1000);
	assert_int_equal(splice_reader_read(&reader, fd, copy, 1000, FILE_BYTES - 10), 10);
	assert_memory_equal(copy, bytes + FILE_BYTES - 10, 10);
	assert_int_equal(splice_reader_read(&reader, fd, copy, 1000, FILE_BYTES + 10), 0);
	assert_int_equal(splice_reader_read(&reader, -1, copy, 1000, 0), -EBADF);
	splice_reader_deinit(&reader);
	close(fd);
	free(bytes);
	free(copy);
}

/* Processes that read files are confined by this property of the kernel. */
static void the_memory_of_a_process_cannot_be_spliced(void **state)
{
	static const char secret[] = "a secret";
	struct splice_reader reader;
	char copy[sizeof(secret)];
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(splice_reader_init(&reader), 0);
	assert_int_equal(pread(fd, copy, sizeof(copy), (off_t)(uintptr_t)secret), sizeof(copy));
	assert_memory_equal(copy, secret, sizeof(secret));
	assert_int_equal(splice_reader_read(&reader, fd, copy, sizeof(copy), (uintptr_t)secret),
			 -EINVAL);
	assert_int_equal(read(fd, copy, sizeof(copy)), -1);
	assert_int_equal(errno, EIO);
	splice_reader_deinit(&reader);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_a_file_are_read),
		cmocka_unit_test(the_memory_of_a_process_cannot_be_spliced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
