// SPDX-License-Identifier: Apache-2.0
#include "reporter/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "reporter/tests/fixture.h"

/* The report of all samples; the caller frees it. */
static char *report(struct fixture *f, uint32_t columns, bool has_colours)
{
	const struct sample_snapshot *snapshot = fixture_snapshot(f);
	const struct report_info info = {
		.subject = "all processes",
		.quality = "17 samples (62 % busy), none lost, all stacks complete",
		.duration_ns = 2 * NS_PER_SECOND,
		.samples_per_second = 10,
		.columns = columns,
		.has_colours = has_colours,
	};
	struct text_builder text = { 0 };
	struct function_counts counts;

	function_counts_init(&counts, &f->lookup);
	for (size_t i = 0; i < snapshot->count; i++)
		assert_int_equal(function_counts_add(&counts, &snapshot->samples[i].sample,
						     snapshot->samples[i].count),
				 0);
	assert_int_equal(report_append(&counts, &info, &text), 0);
	function_counts_deinit(&counts);
	return text.text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void a_report_has_summary_processes_functions_calls_and_quality(void **state)
{
	struct fixture *f = *state;
	char *text;

	fixture_report_all_kinds(f);
	text = report(f, 100, false);
	assert_true(text_starts_with(
		text, "all processes: 17 samples in 2.00 s, 1.70 s of CPU time (0.85 CPUs)\n"));
	assert_has(text, "  58.8%       10   prog (2 processes)\n");
	assert_has(text, "  23.5%        4   a:b (30)\n");
	assert_has(text, "  41.2%   41.2%        7   tiny_[i]  ");
	assert_has(text, "  58.8%           prog\n");
	assert_has(text, "  41.2%   41.2%   ");
	assert_null(strstr(text, " \n"));
	assert_true(text_ends_with(text,
				   "\n\n17 samples (62 % busy), none lost, all stacks complete\n"));
	assert_null(strchr(text, '\033'));
	free(text);
}

static void colours_change_no_text(void **state)
{
	struct fixture *f = *state;
	char *plain, *coloured, *to;

	fixture_report_all_kinds(f);
	plain = report(f, 100, false);
	coloured = to = report(f, 100, true);
	assert_has(coloured, "\033[36mdo_sys:call_[k]");
	for (const char *from = coloured; *from;) {
		if (*from == '\033')
			from += strcspn(from, "m") + 1;
		else
			*to++ = *from++;
	}
	*to = '\0';
	assert_string_equal(coloured, plain);
	free(plain);
	free(coloured);
}

static void no_line_is_wider_than_asked_for(void **state)
{
	struct fixture *f = *state;
	char wide[400], name[16];

	memset(wide, 'x', sizeof(wide));
	wide[sizeof(wide) - 1] = '\0';
	/* Deep, with a branch at each level. */
	for (uint32_t depth = 1; depth < 60; depth++) {
		struct frame frames[60];

		for (uint32_t i = 0; i < depth; i++)
			frames[i] = (struct frame){
				.kind = FRAME_PYTHON,
				.function = wide + depth - i,
				.file = "/a/very/long/path/with/many/folders/in/it/and_a_long_name.py"
			};
		snprintf(name, sizeof(name), "\xe4\xb8\xad\xe6\x96\x87%u", depth);
		fixture_report(f, name, depth, 70 - depth, frames, depth);
	}
	for (uint32_t columns = REPORT_COLUMNS_MIN; columns <= REPORT_COLUMNS_MAX; columns += 20) {
		char *text = report(f, columns, false);

		for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			if (text_columns(line) > columns)
				fail_msg("%zu columns instead of %u: %s", text_columns(line),
					 columns, line);
		}
		free(text);
	}
}

static void calls_are_few_lines_and_long_chains_are_cut_in_the_midst(void **state)
{
	struct fixture *f = *state;
	struct frame frames[40];
	char functions[40][8], *text, *calls;
	uint32_t line_count = 0;

	for (uint32_t i = 0; i < 40; i++) {
		snprintf(functions[i], sizeof(functions[i]), "f%02u", 39 - i);
		frames[i] = (struct frame){ .kind = FRAME_PYTHON, .function = functions[i] };
	}
	fixture_report(f, "chain", 1, 90, frames, 40);
	for (uint32_t i = 1; i < 90; i++)
		fixture_report(f, "leaves", 2, 1, &frames[i % 40], 1);
	text = report(f, 100, false);
	calls = strstr(text, "heaviest calls\n");
	assert_non_null(calls);
	assert_has(calls, "f00\n");
	assert_has(calls, "(37 calls)\n");
	assert_has(calls, "f39\n");
	assert_null(strstr(calls, "f20\n"));
	for (; *calls; calls++)
		line_count += *calls == '\n';
	assert_in_range(line_count, 5, 40);
	free(text);
}

static void a_run_without_samples_has_its_quality(void **state)
{
	struct fixture *f = *state;
	char *text = report(f, 100, false);

	assert_string_equal(text,
			    "all processes: 0 samples in 2.00 s, 0.00 s of CPU time (0.00 CPUs)\n"
			    "17 samples (62 % busy), none lost, all stacks complete\n");
	free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_report_has_summary_processes_functions_calls_and_quality),
		TEST(colours_change_no_text),
		TEST(no_line_is_wider_than_asked_for),
		TEST(calls_are_few_lines_and_long_chains_are_cut_in_the_midst),
		TEST(a_run_without_samples_has_its_quality),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
