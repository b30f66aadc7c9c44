// SPDX-License-Identifier: Apache-2.0
#include "viewer/flame_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/tests/fixture.h"

#define OPENING "<script type=\"application/json\" id=\"profile\">"

static void write_page(FILE *out, const struct stack_counts *counts)
{
	static const struct sample_snapshot snapshot = { 0 };
	static const struct profile_info info = {
		.host = "a <host>",
		.kernel = "6.12",
		.samples_per_second = 19,
	};

	assert_int_equal(flame_page_write(out, counts, &snapshot, &info), 0);
}

/* The profile between the tags of the page; @page is cut. */
static char *profile_of(char *page)
{
	char *begin = strstr(page, OPENING), *end;

	assert_non_null(begin);
	begin += strlen(OPENING);
	end = strstr(begin, "</script>");
	assert_non_null(end);
	assert_non_null(strstr(end, "</html>"));
	*end = '\0';
	return begin;
}

static void a_profile_is_put_into_the_page_as_columns(void **state)
{
	struct fixture *f = *state;
	char *page;

	for (int i = 0; i < 3; i++)
		REPORT(f, "prog", 1, 1, native_frame(f->prog, 0x3000, 0),
		       native_frame(f->prog, 0x1000, 0));
	REPORT(f, "prog", 1, 1, native_frame(f->stripped, 0x6000, FRAME_GUESS),
	       native_frame(f->prog, 0x1000, 0));
	page = fixture_output(f, write_page);
	assert_string_equal(
		profile_of(page),
		"{\"total\":4,\"tree\":{\"names\":[\"prog\",\"main\",\"outer\",\"middle\",\"tiny\","
		"\"lib:x.so+0x6000\",\"all\"],"
		"\"kinds\":[\"process\",\"thread\",\"native\",\"kernel\",\"go\",\"jit\",\"python\",\"java\","
		"\"javascript\",\"ruby\",\"php\",\"perl\",\"error\",\"root\"],"
		"\"parent\":[-1,0,1,2,2,4,5],\"name\":[6,0,1,5,2,3,4],\"kind\":[13,0,2,2,2,2,2],"
		"\"flags\":[0,0,0,2,0,1,1],\"pruned\":[0,0,0,0,0,0,0],\"self\":[0,0,0,1,0,0,3],\"total\":[4,4,4,1,3,3,3]},"
		"\"about\":[[\"tool\",\"allframes\"],[\"host\",\"a \\u003chost>\"],[\"kernel\",\"Linux 6.12\"],"
		"[\"start\",\"1970-01-01T00:00:00Z\"],[\"duration\",\"0.000 s\"],"
		"[\"rate\",\"19 samples per second and CPU\"],[\"quality\",\"0 of 0 stacks are complete\"]],"
		"\"top\":{\"total\":4,\"functions\":5,\"named\":5,\"rows\":["
		"{\"name\":\"tiny\",\"kind\":\"native\",\"file\":\"\",\"flags\":1,\"self\":3,\"total\":3},"
		"{\"name\":\"lib:x.so+0x6000\",\"kind\":\"native\",\"file\":\"\",\"flags\":2,\"self\":1,\"total\":1},"
		"{\"name\":\"main\",\"kind\":\"native\",\"file\":\"\",\"flags\":0,\"self\":0,\"total\":4},"
		"{\"name\":\"outer\",\"kind\":\"native\",\"file\":\"\",\"flags\":0,\"self\":0,\"total\":3},"
		"{\"name\":\"middle\",\"kind\":\"native\",\"file\":\"\",\"flags\":1,\"self\":0,\"total\":3}]}}");
	free(page);
}

static void names_cannot_end_the_element_that_they_are_in(void **state)
{
	struct fixture *f = *state;
	struct frame frame = { .kind = FRAME_PYTHON, .function = "</script><b>\"\\\x01\xff" };
	char *page, *profile;

	REPORT(f, "<!--", 1, 1, frame);
	page = fixture_output(f, write_page);
	profile = profile_of(page);
	assert_non_null(
		strstr(profile, "\"names\":[\"\\u003c!--\",\"\\u003c/script>\\u003cb>\\\"\\\\"));
	assert_non_null(strstr(profile, "\"kind\":[13,0,6]"));
	assert_null(strchr(profile, '<'));
	free(page);
}

static void only_what_is_inlined_is_approximate(void **state)
{
	struct fixture *f = *state;
	struct frame inlined = { .kind = FRAME_JAVA,
				 .flags = FRAME_INLINED | FRAME_APPROXIMATE,
				 .function = "A.b" };
	struct frame method = { .kind = FRAME_JAVA, .flags = FRAME_APPROXIMATE, .function = "A.c" };
	char *page;

	REPORT(f, "java", 1, 1, inlined, method);
	page = fixture_output(f, write_page);
	assert_non_null(strstr(profile_of(page), "\"names\":[\"java\",\"A.c\",\"A.b\",\"all\"]"));
	assert_non_null(strstr(page, "\"flags\":[0,0,0,5]"));
	free(page);
}

static void every_kind_has_its_name(void **state)
{
	struct fixture *f = *state;
	char *page, *profile;

	fixture_report_all_kinds(f);
	page = fixture_output(f, write_page);
	profile = profile_of(page);
	/* The names have no marks of folded stacks, but a function's own name may look like one. */
	assert_null(strstr(profile, "_[k]"));
	assert_null(strstr(profile, "_[?]"));
	assert_non_null(strstr(profile, "\"worker\""));
	assert_non_null(strstr(profile, "\"[error: no unwind information]\""));
	assert_non_null(strstr(profile, "\"[truncated]\""));
	free(page);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_profile_is_put_into_the_page_as_columns),
		TEST(names_cannot_end_the_element_that_they_are_in),
		TEST(only_what_is_inlined_is_approximate),
		TEST(every_kind_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
