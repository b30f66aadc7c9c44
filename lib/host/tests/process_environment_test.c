/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/host/process_environment.h"
#include "lib/host/tests/proc_fixture.h"

static void assert_bytes(const char *text, size_t size, const char *expected)
{
	char name[SERVICE_NAME_MAX_BYTES];

	memset(name, 'x', sizeof(name));
	service_name_parse(text, size, name);
	if (strcmp(name, expected) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", text, name, expected);
}

/* For literals: the NUL behind them ends the last variable. */
#define assert_name(text, expected) assert_bytes(text, sizeof(text), expected)

static void assert_attributes(const char *attributes, const char *expected)
{
	char text[1024];
	int length = snprintf(text, sizeof(text), "OTEL_RESOURCE_ATTRIBUTES=%s", attributes);

	assert_bytes(text, length + 1, expected);
}

static void the_variable_for_it_comes_first(void **state)
{
	(void)state;
	assert_name("PATH=/bin\0OTEL_SERVICE_NAME=shop\0HOME=/", "shop");
	assert_name("OTEL_RESOURCE_ATTRIBUTES=service.name=a\0OTEL_SERVICE_NAME=b", "b");
	assert_name("OTEL_SERVICE_NAME=first\0OTEL_SERVICE_NAME=second", "first");
	/* The value is no list, and not encoded. */
	assert_name("OTEL_SERVICE_NAME=a%20b,c=d", "a%20b,c=d");
	assert_name("OTEL_SERVICE_NAME=\0OTEL_RESOURCE_ATTRIBUTES=service.name=a", "a");
}

static void other_variables_are_not_taken_for_it(void **state)
{
	(void)state;
	assert_bytes("", 0, "");
	assert_name("", "");
	assert_name("X=OTEL_SERVICE_NAME=shop", "");
	assert_name("XOTEL_SERVICE_NAME=shop", "");
	assert_name("OTEL_SERVICE_NAMES=shop", "");
	assert_name("OTEL_SERVICE_NAME", "");
	/* A variable without a NUL was cut, and there may have been more. */
	assert_bytes("OTEL_SERVICE_NAME=shop", 22, "");
	assert_bytes("A=1\0OTEL_SERVICE_NAME=shop", 26, "");
}

static void an_attribute_is_decoded(void **state)
{
	(void)state;
	assert_attributes("service.name=shop", "shop");
	assert_attributes("a=b,service.name=shop,service.namespace=x", "shop");
	assert_attributes(" a = b , service.name =\tshop ", "shop");
	assert_attributes("service.name=a%2Cb%3dc%20%C3%a4", "a,b=c \xc3\xa4");
	assert_attributes("service.name=a=b", "a=b");
	assert_attributes("service.name=a;b", "a;b");
	assert_attributes("service.name=a,service.name=b", "b");
	assert_attributes("service.name=", "");
}

static void what_is_wrongly_encoded_is_no_name(void **state)
{
	(void)state;
	assert_attributes("service.name=%", "");
	assert_attributes("service.name=a%2", "");
	assert_attributes("service.name=a%2,b=c", "");
	assert_attributes("service.name=a%2gb", "");
	assert_attributes("service.name=a%g0b", "");
	/* A NUL would end the text. */
	assert_attributes("service.name=a%00b", "");
	assert_attributes("service.name", "");
	assert_attributes("service_name=a", "");
	assert_attributes(",,=,", "");
}

static void a_long_name_is_cut_between_characters(void **state)
{
	char text[2048] = "OTEL_SERVICE_NAME=", expected[SERVICE_NAME_MAX_BYTES];
	char encoded[1500];

	(void)state;
	memset(expected, 'n', sizeof(expected));
	expected[sizeof(expected) - 1] = '\0';
	memset(text + 18, 'n', 1000);
	assert_bytes(text, 18 + 1001, expected);
	/* Bytes 253 to 255 of three would go beyond. */
	memcpy(text + 18 + 253, "\xe2\x82\xac", 3);
	expected[253] = '\0';
	assert_bytes(text, 18 + 1001, expected);
	text[18 + 256] = '\0';
	assert_bytes(text, 18 + 257, expected);
	sprintf(encoded, "service.name=%s%%e2%%82%%acnnn", expected);
	assert_attributes(encoded, expected);
}

static void it_is_read_from_the_process(void **state)
{
	char folder[] = "/tmp/environment_test_XXXXXX", name[SERVICE_NAME_MAX_BYTES];
	static char large[ENVIRONMENT_MAX_BYTES + 4096];

	(void)state;
	assert_non_null(mkdtemp(folder));
	write_fake_bytes(folder, "7/environ", "A=1\0OTEL_SERVICE_NAME=shop", 27);
	service_name_read(folder, 7, name);
	assert_string_equal(name, "shop");
	service_name_read(folder, 8, name);
	assert_string_equal(name, "");
	/* A leader that has exited has no environment. */
	write_fake_file(folder, "9/environ", "");
	write_fake_file(folder, "9/task/9/environ", "");
	write_fake_bytes(folder, "9/task/10/environ", "OTEL_SERVICE_NAME=shop", 23);
	service_name_read(folder, 9, name);
	assert_string_equal(name, "shop");
	memset(large, 'x', sizeof(large));
	memcpy(large + 100000, "\0OTEL_SERVICE_NAME=far", 23);
	write_fake_bytes(folder, "7/environ", large, sizeof(large));
	service_name_read(folder, 7, name);
	assert_string_equal(name, "far");
	memset(large + 100000, 'x', 23);
	memcpy(large + ENVIRONMENT_MAX_BYTES, "\0OTEL_SERVICE_NAME=far", 23);
	write_fake_bytes(folder, "7/environ", large, sizeof(large));
	service_name_read(folder, 7, name);
	assert_string_equal(name, "");
	remove_folder(folder);
}

static void a_process_without_its_leader_still_has_its_environment(void **state)
{
	char name[SERVICE_NAME_MAX_BYTES];
	pid_t pid;

	(void)state;
	pid = start_without_leader();
	service_name_read("/proc", pid, name);
	end_process(pid);
	assert_string_equal(name, "orphan");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_variable_for_it_comes_first),
		cmocka_unit_test(other_variables_are_not_taken_for_it),
		cmocka_unit_test(an_attribute_is_decoded),
		cmocka_unit_test(what_is_wrongly_encoded_is_no_name),
		cmocka_unit_test(a_long_name_is_cut_between_characters),
		cmocka_unit_test(it_is_read_from_the_process),
		cmocka_unit_test(a_process_without_its_leader_still_has_its_environment),
	};

	/* The kernel shows the environment of the last exec. */
	if (!getenv("OTEL_SERVICE_NAME")) {
		setenv("OTEL_SERVICE_NAME", "orphan", 1);
		execl("/proc/self/exe", "process_environment_test", NULL);
		return 1;
	}

	return cmocka_run_group_tests(tests, NULL, NULL);
}
