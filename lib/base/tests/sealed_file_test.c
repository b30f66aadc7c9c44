/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/sealed_file.h"

static void nobody_changes_it_once_it_is_sealed(void **state)
{
	char bytes[12];
	int fd;

	(void)state;
	assert_int_equal(sealed_file_create("test", &fd), 0);
	assert_false(sealed_file_is_one(fd));
	assert_int_equal(sealed_file_write(fd, "text", 4, 4), 0);
	assert_int_equal(sealed_file_seal(fd, 12), 0);
	assert_true(sealed_file_is_one(fd));
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_memory_equal(bytes, "\0\0\0\0text\0\0\0\0", sizeof(bytes));
	assert_int_equal(sealed_file_write(fd, "more", 4, 0), -EPERM);
	close(fd);
}

static void another_file_is_none(void **state)
{
	char path[] = "/tmp/allframes-sealed-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_false(sealed_file_is_one(fd));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_changes_it_once_it_is_sealed),
		cmocka_unit_test(another_file_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
