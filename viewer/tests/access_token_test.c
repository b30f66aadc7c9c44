/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/access_token.h"

#include "lib/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/access-token-XXXXXX";
static char path[sizeof(directory) + 8];

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	strcpy(path, directory);
	strcat(path, "/token");
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

static int read_token(const char *text, size_t bytes, mode_t mode, struct access_token *token)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, bytes), bytes);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	return access_token_read(path, token);
}

static void a_line_is_the_token(void **state)
{
	struct access_token token;

	(void)state;
	assert_int_equal(read_token("0123456789abcdef\n", 17, 0600, &token), 0);
	assert_string_equal(token.text, "0123456789abcdef");
	assert_int_equal(read_token("0123456789abcdef", 16, 0400, &token), 0);
	assert_true(access_token_is(&token, "0123456789abcdef"));
	assert_false(access_token_is(&token, "0123456789abcdeF"));
	assert_false(access_token_is(&token, "0123456789abcde"));
	assert_false(access_token_is(&token, "0123456789abcdef0123456789abcdef"));
	assert_false(access_token_is(&token, ""));
	assert_false(access_token_is(&token, NULL));
}

static void files_that_do_not_do_are_refused(void **state)
{
	struct access_token token;
	char longest[300];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	assert_int_equal(read_token("short", 5, 0600, &token), -EINVAL);
	assert_int_equal(read_token("", 0, 0600, &token), -EINVAL);
	assert_int_equal(read_token(longest, sizeof(longest), 0600, &token), -EINVAL);
	assert_int_equal(read_token("0123456789abcdef\n\n", 18, 0600, &token), -EINVAL);
	assert_int_equal(read_token("0123456789;abcdef", 17, 0600, &token), -EINVAL);
	assert_int_equal(read_token("0123456789\0abcdef", 17, 0600, &token), -EINVAL);
	assert_int_equal(read_token("0123456789abcdef", 16, 0644, &token), -EINVAL);
	assert_non_null(strstr(error_text(), "chmod 600"));
	assert_int_equal(access_token_read(directory, &token), -EINVAL);
	assert_int_equal(access_token_read("/nonexistent/token", &token), -EINVAL);
}

static void it_stands_in_the_header_behind_its_scheme(void **state)
{
	struct access_token token = { "0123456789abcdef" };

	(void)state;
	assert_true(access_token_in_authorization(&token, "Bearer 0123456789abcdef"));
	assert_true(access_token_in_authorization(&token, "bearer 0123456789abcdef"));
	assert_false(access_token_in_authorization(&token, "Basic 0123456789abcdef"));
	assert_false(access_token_in_authorization(&token, "0123456789abcdef"));
	assert_false(access_token_in_authorization(&token, NULL));
}

static void a_cookie_is_for_its_port_and_is_not_the_token(void **state)
{
	struct access_token token = { "0123456789abcdef" }, other = { "0123456789abcdeg" };
	struct access_cookie cookie, next;

	(void)state;
	assert_int_equal(access_cookie_make(&token, 7171, &cookie), 0);
	assert_string_equal(cookie.name, "allframes_token_7171");
	assert_int_equal(strlen(cookie.value), 64);
	assert_null(strstr(cookie.value, token.text));
	assert_true(access_cookie_is(&cookie, cookie.value));
	assert_false(access_cookie_is(&cookie, token.text));
	assert_false(access_cookie_is(&cookie, NULL));
	assert_int_equal(access_cookie_make(&token, 7172, &next), 0);
	assert_false(access_cookie_is(&cookie, next.value));
	assert_int_equal(access_cookie_make(&other, 7171, &next), 0);
	assert_false(access_cookie_is(&cookie, next.value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_the_token),
		cmocka_unit_test(files_that_do_not_do_are_refused),
		cmocka_unit_test(it_stands_in_the_header_behind_its_scheme),
		cmocka_unit_test(a_cookie_is_for_its_port_and_is_not_the_token),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
