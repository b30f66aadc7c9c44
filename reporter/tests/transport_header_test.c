// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "reporter/transport_header.h"

#include <cmocka.h>

static void assert_value(const struct transport_header *header, const char *expected)
{
	char value[TRANSPORT_HEADER_MAX_BYTES + 1];

	assert_int_equal(transport_header_read(header, value), 0);
	assert_string_equal(value, expected);
}

static void keys_are_put_into_lower_case(void **state)
{
	struct transport_headers headers = { 0 };

	(void)state;
	assert_int_equal(transport_headers_add(&headers, "Authorization", "Bearer a=b"), 0);
	assert_string_equal(headers.items[0].key, "authorization");
	assert_value(&headers.items[0], "Bearer a=b");
	transport_headers_deinit(&headers);
}

static void the_last_value_of_a_key_counts(void **state)
{
	struct transport_headers headers = { 0 };

	(void)state;
	assert_int_equal(transport_headers_add(&headers, "a", "1"), 0);
	assert_int_equal(transport_headers_add(&headers, "b", ""), 0);
	assert_int_equal(transport_headers_add(&headers, "A", "3"), 0);
	assert_int_equal(headers.count, 2);
	assert_value(&headers.items[0], "3");
	assert_value(&headers.items[1], "");
	transport_headers_deinit(&headers);
}

static void assert_refused(const char *key, const char *value, const char *text)
{
	struct transport_headers headers = { 0 };

	assert_int_equal(transport_headers_add(&headers, key, value), -EINVAL);
	if (!strstr(error_text(), text))
		fail_msg("'%s' does not tell '%s'", error_text(), text);
	assert_int_equal(headers.count, 0);
}

static void what_is_no_header_is_refused(void **state)
{
	static char long_value[TRANSPORT_HEADER_MAX_BYTES + 2];

	(void)state;
	memset(long_value, 'x', sizeof(long_value) - 1);
	assert_refused("", "x", "key=value");
	assert_refused("a b", "x", "letters, digits");
	assert_refused(":path", "x", "letters, digits");
	assert_refused("token-bin", "x", "-bin");
	assert_refused("grpc-timeout", "1S", "gRPC's own");
	assert_refused("TE", "x", "gRPC's own");
	assert_refused("Content-Type", "x", "gRPC's own");
	assert_refused("a", "line\nend", "printable");
	assert_refused("a", "\xc3\xa4", "printable");
	assert_refused("a", long_value, "longer");
	assert_refused("a", "@/no/such/file", "cannot read /no/such/file");
	assert_refused("a", "@/proc/self", "cannot read /proc/self");
}

static void write_file(const char *path, const char *text, size_t count)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, count, file), count);
	fclose(file);
}

static void a_value_in_a_file_is_read_for_each_call(void **state)
{
	char path[] = "@/tmp/transport_header_XXXXXX";
	struct transport_headers headers = { 0 };
	char value[TRANSPORT_HEADER_MAX_BYTES + 1];
	int fd = mkstemp(path + 1);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_file(path + 1, "secret\r\n", 8);
	assert_int_equal(transport_headers_add(&headers, "a", path), 0);
	assert_value(&headers.items[0], "secret");
	write_file(path + 1, "renewed", 7);
	assert_value(&headers.items[0], "renewed");
	write_file(path + 1, "nul\0nul", 7);
	assert_int_equal(transport_header_read(&headers.items[0], value), -EINVAL);
	/* A token file that is being rewritten. */
	write_file(path + 1, "", 0);
	assert_int_equal(transport_header_read(&headers.items[0], value), -EINVAL);
	assert_non_null(strstr(error_text(), "is empty"));
	write_file(path + 1, "\r\n", 2);
	assert_int_equal(transport_header_read(&headers.items[0], value), -EINVAL);
	assert_refused("b", path, "is empty");
	unlink(path + 1);
	assert_int_equal(transport_header_read(&headers.items[0], value), -ENOENT);
	transport_headers_deinit(&headers);
}

static void there_are_not_too_many(void **state)
{
	struct transport_headers headers = { 0 };
	char key[16];

	(void)state;
	for (int i = 0; i < TRANSPORT_HEADER_MAX_COUNT; i++) {
		snprintf(key, sizeof(key), "key-%d", i);
		assert_int_equal(transport_headers_add(&headers, key, "x"), 0);
	}
	assert_int_equal(transport_headers_add(&headers, "one-more", "x"), -EINVAL);
	assert_int_equal(transport_headers_add(&headers, "key-3", "y"), 0);
	transport_headers_deinit(&headers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_put_into_lower_case),
		cmocka_unit_test(the_last_value_of_a_key_counts),
		cmocka_unit_test(what_is_no_header_is_refused),
		cmocka_unit_test(a_value_in_a_file_is_read_for_each_call),
		cmocka_unit_test(there_are_not_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
