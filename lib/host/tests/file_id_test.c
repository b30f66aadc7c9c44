/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/host/file_id.h"

/* The expected values were computed with Go's crypto/sha256 and hash/fnv and Python's hashlib. */
static const struct {
	size_t size;
	const char *id;
} vectors[] = {
	{ 0, "af5570f5a1810b7af78caf4bc70a660f" },
	{ 4096, "7a2050c7d90d2cf08bfbfeb3886ffa1e" },
	{ 5000, "35cfe5afede7a362b4d9237093292e7f" },
	{ 20000, "be3555c2be506bb0141f950d788e37c5" },
};

static const char *hex(const struct file_id *file_id)
{
	static char text[33];

	for (size_t i = 0; i < 16; i++)
		sprintf(text + 2 * i, "%02x", file_id->bytes[i]);
	return text;
}

static void files_have_the_ids_of_other_implementations(void **state)
{
	char path[] = "/tmp/file_id_test_XXXXXX";
	uint8_t content[20000];
	struct file_id file_id;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = i * 7 % 251;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, content, vectors[i].size, 0), vectors[i].size);
		assert_int_equal(file_id_of_file(fd, &file_id), 0);
		assert_string_equal(hex(&file_id), vectors[i].id);
		assert_int_equal(file_id_of_memory(content, vectors[i].size, &file_id), 0);
		assert_string_equal(hex(&file_id), vectors[i].id);
	}
	close(fd);
}

static void only_regular_files_have_ids(void **state)
{
	struct file_id file_id;
	int fd = open("/dev/zero", O_RDONLY);

	(void)state;
	assert_int_equal(file_id_of_file(fd, &file_id), -EOPNOTSUPP);
	close(fd);
	assert_int_equal(file_id_of_file(-1, &file_id), -EBADF);
}

static void kernels_have_the_hash_of_their_build_id_in_hex(void **state)
{
	static const uint8_t build_id[] = {
		0x13, 0x5a, 0xfc, 0x8c, 0x6d, 0x1b, 0x9e, 0x02, 0x35, 0x6c,
		0xce, 0x21, 0x8b, 0xf0, 0x10, 0x9c, 0x36, 0x87, 0xad, 0x9f,
	};
	static const uint8_t abcd[] = { 0xab, 0xcd };
	struct file_id file_id;

	(void)state;
	file_id_of_build_id(build_id, 0, &file_id);
	assert_string_equal(hex(&file_id), "6c62272e07bb014262b821756295c58d");
	file_id_of_build_id(abcd, sizeof(abcd), &file_id);
	assert_string_equal(hex(&file_id), "696f7cc66e757277b806e97644f1b9e5");
	file_id_of_build_id(build_id, sizeof(build_id), &file_id);
	assert_string_equal(hex(&file_id), "db1dd4c72acdb39e12523fbf9e65c8cd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_have_the_ids_of_other_implementations),
		cmocka_unit_test(only_regular_files_have_ids),
		cmocka_unit_test(kernels_have_the_hash_of_their_build_id_in_hex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
