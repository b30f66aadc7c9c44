/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/read_exactly.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static void all_bytes_are_read_or_none_count(void **state)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	char buffer[4] = "";

	(void)state;
	assert_int_equal(write(fd, "abcdef", 6), 6);
	assert_int_equal(read_exactly(fd, 2, buffer, 4), 0);
	assert_memory_equal(buffer, "cdef", 4);
	assert_int_equal(read_exactly(fd, 3, buffer, 4), -EBADMSG);
	assert_int_equal(read_exactly(fd, 100, buffer, 1), -EBADMSG);
	assert_int_equal(read_exactly(fd, 100, buffer, 0), 0);
	assert_int_equal(read_exactly(fd, UINT64_MAX, buffer, 1), -EINVAL);
	close(fd);
	assert_int_equal(read_exactly(-1, 0, buffer, 1), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_bytes_are_read_or_none_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
