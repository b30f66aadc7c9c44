/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
/* cmocka's macro of the same name. */
#undef fail
#include <errno.h>
#include <pthread.h>
#include <string.h>

static void the_code_comes_back_and_the_text_is_kept(void **state)
{
	(void)state;
	assert_int_equal(fail(-EBADMSG, "CIE at %#x", 16), -EBADMSG);
	assert_string_equal(error_text(), "CIE at 0x10");
}

static void the_system_s_reason_is_appended(void **state)
{
	(void)state;
	assert_int_equal(fail_errno(-ENOENT, "/x"), -ENOENT);
	assert_string_equal(error_text(), "/x: No such file or directory");
}

static void the_old_text_may_be_part_of_the_new_one(void **state)
{
	(void)state;
	fail(-EIO, "inner");
	fail(-EIO, "outer: %s", error_text());
	assert_string_equal(error_text(), "outer: inner");
}

static void long_texts_are_cut(void **state)
{
	char text[1000];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	fail_errno(-EIO, "%s", text);
	assert_int_equal(strlen(error_text()), 255);
}

static void errno_stays_as_it_was(void **state)
{
	(void)state;
	errno = EXDEV;
	fail_errno(-EIO, "x");
	assert_int_equal(errno, EXDEV);
}

static void *fail_elsewhere(void *unused)
{
	assert_string_equal(error_text(), "");
	fail(-EIO, "elsewhere");
	return unused;
}

static void each_thread_has_a_text_of_its_own(void **state)
{
	pthread_t thread;

	(void)state;
	fail(-EIO, "here");
	assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
	pthread_join(thread, NULL);
	assert_string_equal(error_text(), "here");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_code_comes_back_and_the_text_is_kept),
		cmocka_unit_test(the_system_s_reason_is_appended),
		cmocka_unit_test(the_old_text_may_be_part_of_the_new_one),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(errno_stays_as_it_was),
		cmocka_unit_test(each_thread_has_a_text_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
