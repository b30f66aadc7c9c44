/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/http_guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum guard_verdict judge_host(const char *host)
{
	const struct guarded_request request = { .host = host };

	return http_guard_judge(&request, 7171, "box");
}

static void addresses_and_names_of_this_machine_are_hosts(void **state)
{
	static const char *const hosts[] = {
		"127.0.0.1:7171", "localhost:7171", "LocalHost:7171", "[::1]:7171",
		"10.1.2.3:7171",  "box:7171",	    "BOX:7171",	      "[fe80::1]:7171",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_int_equal(judge_host(hosts[i]), GUARD_ALLOWED);
}

static void names_that_may_lead_here_are_not(void **state)
{
	static const char *const hosts[] = {
		"evil.example:7171",
		"localhost.evil.example:7171",
		"127.0.0.1.evil.example:7171",
		"127.0.0.1:7172",
		"127.0.0.1",
		"",
		":7171",
		"[::1:7171",
		"::1:7171",
		"[evil]:7171",
		"127.0.0.1:07171",
		"127.0.0.1:7171 ",
		"user@localhost:7171",
		"[]:7171",
	};
	char longest[512];

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_int_equal(judge_host(hosts[i]), GUARD_FOREIGN_HOST);
	assert_int_equal(judge_host(NULL), GUARD_FOREIGN_HOST);
	for (size_t i = 0; i < sizeof(longest); i++)
		longest[i] = '1';
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(judge_host(longest), GUARD_FOREIGN_HOST);
}

static void the_usual_port_need_not_be_said(void **state)
{
	const struct guarded_request request = { .host = "localhost" };

	(void)state;
	assert_int_equal(http_guard_judge(&request, 80, NULL), GUARD_ALLOWED);
	assert_int_equal(http_guard_judge(&request, 81, NULL), GUARD_FOREIGN_HOST);
}

static enum guard_verdict judge_origin(const char *origin, const char *site, bool is_page)
{
	const struct guarded_request request = {
		.host = "localhost:7171",
		.origin = origin,
		.fetch_site = site,
		.is_page = is_page,
	};

	return http_guard_judge(&request, 7171, NULL);
}

static void other_sites_may_link_to_the_page_and_no_more(void **state)
{
	(void)state;
	assert_int_equal(judge_origin("http://localhost:7171", "same-origin", false),
			 GUARD_ALLOWED);
	assert_int_equal(judge_origin(NULL, "none", false), GUARD_ALLOWED);
	assert_int_equal(judge_origin(NULL, "cross-site", true), GUARD_ALLOWED);
	assert_int_equal(judge_origin(NULL, "cross-site", false), GUARD_FOREIGN_ORIGIN);
	assert_int_equal(judge_origin(NULL, "same-site", false), GUARD_FOREIGN_ORIGIN);
	assert_int_equal(judge_origin("http://evil.example", NULL, false), GUARD_FOREIGN_ORIGIN);
	assert_int_equal(judge_origin("http://127.0.0.1:7171", NULL, false), GUARD_FOREIGN_ORIGIN);
	assert_int_equal(judge_origin("https://localhost:7171", NULL, false), GUARD_FOREIGN_ORIGIN);
	assert_int_equal(judge_origin("null", NULL, true), GUARD_FOREIGN_ORIGIN);
}

static void changes_need_what_forms_cannot_send(void **state)
{
	struct guarded_request request = { .host = "localhost:7171", .is_post = true };

	(void)state;
	assert_int_equal(http_guard_judge(&request, 7171, NULL), GUARD_FOREIGN_ORIGIN);
	request.mark = "1";
	assert_int_equal(http_guard_judge(&request, 7171, NULL), GUARD_ALLOWED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_and_names_of_this_machine_are_hosts),
		cmocka_unit_test(names_that_may_lead_here_are_not),
		cmocka_unit_test(the_usual_port_need_not_be_said),
		cmocka_unit_test(other_sites_may_link_to_the_page_and_no_more),
		cmocka_unit_test(changes_need_what_forms_cannot_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
