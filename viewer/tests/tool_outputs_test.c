/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs for other tools: they are well-formed, whatever the names are, and their tables fit together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "reporter/firefox.h"
#include "reporter/speedscope.h"
#include "reporter/tests/fixture.h"
#include "viewer/flame_svg.h"

#define HOSTILE "</script>\"\\\x01\xff;]]>&<\xef\xbf\xbf"

enum { ALL_SAMPLES = 17 };

typedef int write_output(FILE *out, const struct sample_snapshot *snapshot,
			 const struct profile_info *info, struct symbol_lookup *lookup);

static const struct profile_info info_of_test = {
	.start_time_ns = 1700000000000000000,
	.duration_ns = 5000000000,
	.samples_per_second = 20,
	.host = HOSTILE,
	.kernel = "6.12",
	.version = "1",
	.selection = "-pid 7",
};

static char *text_of(struct fixture *f, write_output *write)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(write(out, fixture_snapshot(f), &info_of_test, &f->lookup), 0);
	fclose(out);
	return text;
}

static json_t *json_of(struct fixture *f, write_output *write)
{
	char *text = text_of(f, write);
	json_error_t error;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!json)
		fail_msg("line %d: %s", error.line, error.text);
	assert_null(strchr(text, '<'));
	free(text);
	return json;
}

static void report_hostile(struct fixture *f)
{
	fixture_report_all_kinds(f);
	REPORT(f, HOSTILE, 50, 1,
	       (struct frame){ .kind = FRAME_PYTHON,
			       .function = HOSTILE,
			       .file = HOSTILE,
			       .line = 7,
			       .column = 3 });
}

static json_int_t sum_of(const json_t *array)
{
	json_int_t sum = 0;

	for (size_t i = 0; i < json_array_size(array); i++)
		sum += (json_int_t)json_number_value(json_array_get(array, i));
	return sum;
}

static void speedscope_has_a_profile_for_each_thread(void **state)
{
	struct fixture *f = *state;
	json_t *json, *frames, *profiles;
	json_int_t sum = 0;

	report_hostile(f);
	json = json_of(f, speedscope_write);
	frames = json_object_get(json_object_get(json, "shared"), "frames");
	profiles = json_object_get(json, "profiles");
	assert_int_equal(json_array_size(profiles), 6);
	for (size_t i = 0; i < json_array_size(profiles); i++) {
		const json_t *profile = json_array_get(profiles, i);
		const json_t *samples = json_object_get(profile, "samples");
		json_int_t weight = sum_of(json_object_get(profile, "weights"));

		assert_int_equal(weight, json_integer_value(json_object_get(profile, "endValue")));
		assert_int_equal(json_array_size(samples),
				 json_array_size(json_object_get(profile, "weights")));
		sum += weight;
		for (size_t j = 0; j < json_array_size(samples); j++)
			for (size_t k = 0; k < json_array_size(json_array_get(samples, j)); k++)
				assert_true((size_t)json_integer_value(
						    json_array_get(json_array_get(samples, j), k)) <
					    json_array_size(frames));
	}
	assert_int_equal(sum, ALL_SAMPLES + 1);
	json_decref(json);
}

/* Every column of the table has as many rows as the table. */
static size_t length_of(const json_t *table)
{
	size_t length = (size_t)json_integer_value(json_object_get(table, "length"));
	const char *key;
	json_t *column;

	json_object_foreach((json_t *)table, key, column) if (json_is_array(column))
		assert_int_equal(json_array_size(column), length);
	return length;
}

/* The numbers of the column are below @limit; null and -1 are none. */
static void assert_below(const json_t *table, const char *name, size_t limit)
{
	const json_t *column = json_object_get(table, name);

	assert_non_null(column);
	for (size_t i = 0; i < json_array_size(column); i++) {
		const json_t *value = json_array_get(column, i);

		if (!json_is_null(value) && json_integer_value(value) != -1)
			assert_true((size_t)json_integer_value(value) < limit);
	}
}

static void assert_thread(const json_t *thread, size_t categories, size_t libraries)
{
	const json_t *stacks = json_object_get(thread, "stackTable");
	const json_t *frames = json_object_get(thread, "frameTable");
	const json_t *functions = json_object_get(thread, "funcTable");
	const json_t *resources = json_object_get(thread, "resourceTable");
	const json_t *samples = json_object_get(thread, "samples");
	const json_t *prefixes = json_object_get(stacks, "prefix");
	size_t texts = json_array_size(json_object_get(thread, "stringArray"));

	length_of(samples);
	assert_below(samples, "stack", length_of(stacks));
	assert_below(stacks, "frame", length_of(frames));
	assert_below(stacks, "category", categories);
	assert_below(frames, "func", length_of(functions));
	assert_below(functions, "name", texts);
	assert_below(functions, "fileName", texts);
	assert_below(functions, "resource", length_of(resources));
	assert_below(resources, "name", texts);
	assert_below(resources, "lib", libraries);
	for (size_t i = 0; i < json_array_size(prefixes); i++)
		if (!json_is_null(json_array_get(prefixes, i)))
			assert_true((size_t)json_integer_value(json_array_get(prefixes, i)) < i);
}

static void tables_of_the_firefox_profiler_fit_together(void **state)
{
	struct fixture *f = *state;
	json_t *json, *threads, *categories;
	json_int_t sum = 0;

	report_hostile(f);
	json = json_of(f, firefox_write);
	threads = json_object_get(json, "threads");
	categories = json_object_get(json_object_get(json, "meta"), "categories");
	assert_int_equal(json_array_size(threads), 6);
	for (size_t i = 0; i < json_array_size(threads); i++) {
		const json_t *thread = json_array_get(threads, i);

		assert_thread(thread, json_array_size(categories),
			      json_array_size(json_object_get(json, "libs")));
		sum += sum_of(json_object_get(json_object_get(thread, "samples"), "weight"));
	}
	assert_int_equal(sum, ALL_SAMPLES + 1);
	json_decref(json);
}

static int write_svg(FILE *out, const struct sample_snapshot *snapshot,
		     const struct profile_info *info, struct symbol_lookup *lookup)
{
	struct stack_counts counts;
	int err = stack_counts_init(&counts, snapshot, lookup, false, SIZE_MAX);

	if (err)
		return err;
	err = flame_svg_write(out, &counts, snapshot, info);
	stack_counts_deinit(&counts);
	return err;
}

static void names_are_text_in_the_picture(void **state)
{
	struct fixture *f = *state;
	char *text, *script;

	report_hostile(f);
	text = text_of(f, write_svg);
	assert_non_null(strstr(text, "&lt;/script&gt;\"\\??:]]&gt;&amp;&lt;? (1 samples, 5.56 %)"));
	assert_non_null(strstr(text, "<title>do_sys:call (3 samples, 16.67 %)"));
	assert_non_null(strstr(text, "kernel: Linux 6.12\n"));
	/* The only script is ours. */
	script = strstr(text, "<script>");
	assert_non_null(script);
	assert_null(strstr(script + 1, "<script"));
	free(text);
}

static void nothing_is_written_well(void **state)
{
	struct fixture *f = *state;
	char *text = text_of(f, write_svg);

	assert_non_null(strstr(text, "</svg>"));
	free(text);
	json_decref(json_of(f, firefox_write));
	json_decref(json_of(f, speedscope_write));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(speedscope_has_a_profile_for_each_thread),
		TEST(tables_of_the_firefox_profiler_fit_together),
		TEST(names_are_text_in_the_picture),
		TEST(nothing_is_written_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
