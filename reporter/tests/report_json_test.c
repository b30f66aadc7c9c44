// SPDX-License-Identifier: Apache-2.0
#include "reporter/report_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "reporter/report.h"
#include "reporter/tests/fixture.h"

/* Counts stacks of one process-less program: negative values, and functions that need escapes. */
static void count_values(struct fixture *f, struct function_counts *counts)
{
	struct sample sample = { .process_comm = "", .thread_comm = "", .pid = SAMPLE_NO_NUMBER };
	struct frame frames[] = { { .kind = FRAME_PYTHON, .function = "\"a\\\"" },
				  { .kind = FRAME_PYTHON, .function = "b" } };
	const int64_t values[] = { 1500, -2750 };

	function_counts_init(counts, &f->lookup);
	for (size_t i = 0; i < 2; i++) {
		struct trace *trace = trace_create(&frames[i], 1, true, false);

		assert_non_null(trace);
		sample.trace = trace;
		assert_int_equal(function_counts_add(counts, &sample, (uint64_t)values[i]), 0);
		trace_unref(trace);
	}
}

static char thousandths[] = "seconds", lock[] = "lock_time";
static const struct value_type type = { .type = lock, .unit = thousandths, .decimals = 3 };

static void values_of_either_sign_are_exact_in_json(void **state)
{
	static char host[] = "host: a <box>", other[] = "by hand";
	char *comments[] = { host, other };
	const struct profile_facts facts = {
		.comments = comments,
		.comment_count = 2,
		.has_time = true,
		.duration_ns = 2 * NS_PER_SECOND,
	};
	const struct profile_info info = { .facts = &facts, .start_time_ns = NS_PER_SECOND };
	struct function_counts counts;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	count_values(*state, &counts);
	assert_int_equal(report_json_write(out, &counts, NULL, &info, &type, NULL), 0);
	fclose(out);
	assert_string_equal(
		text,
		"{\"type\":\"lock_time\",\"unit\":\"seconds\",\"value\":-1.25,\n\"about\":[\n"
		"[\"start\",\"1970-01-01T00:00:01Z\"],\n[\"duration\",\"2.000 s\"],\n"
		"[\"host\",\"a \\u003cbox>\"],\n[\"comment\",\"by hand\"]],\n\"processes\":[],\n\"functions\":[\n"
		"{\"name\":\"b\",\"kind\":\"python\",\"self\":-2.75,\"total\":-2.75},\n"
		"{\"name\":\"\\\"a\\\\\\\"\",\"kind\":\"python\",\"self\":1.5,\"total\":1.5}]}\n");
	free(text);
	function_counts_deinit(&counts);
}

static void a_report_of_values_has_their_unit(void **state)
{
	const struct report_info info = {
		.subject = "locks.pb.gz",
		.quality = "",
		.type = &type,
		.duration_ns = 2 * NS_PER_SECOND,
		.columns = REPORT_COLUMNS,
	};
	struct function_counts counts;
	struct text_builder text = { 0 };

	count_values(*state, &counts);
	assert_int_equal(report_append(&counts, &info, &text), 0);
	assert_string_equal(text_builder_text(&text),
			    "locks.pb.gz: -1.25 seconds of lock_time in 2.00 s\n\n"
			    "  self   total  seconds  function, by self\n"
			    " 220.0%  220.0%    -2.75   b\n"
			    " -120.0%  -120.0%      1.5   \"a\\\"\n");
	text_builder_deinit(&text);
	function_counts_deinit(&counts);
}

static void a_run_has_processes_functions_and_its_quality(void **state)
{
	struct fixture *f = *state;
	const struct sample_snapshot *snapshot;
	const struct profile_info info = { .host = "box", .samples_per_second = 19 };
	struct function_counts counts;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	REPORT(f, "prog", 7, 7, native_frame(f->prog, 0x3000, 0), native_frame(f->prog, 0x1000, 0));
	snapshot = fixture_snapshot(f);
	function_counts_init(&counts, &f->lookup);
	assert_int_equal(function_counts_add(&counts, &snapshot->samples[0].sample, 1), 0);
	assert_int_equal(report_json_write(out, &counts, snapshot, &info, NULL, NULL), 0);
	fclose(out);
	assert_non_null(strstr(text, "{\"type\":\"samples\",\"unit\":\"count\",\"value\":1,"));
	assert_non_null(strstr(text, "[\"quality\",\""));
	assert_non_null(
		strstr(text, "\"processes\":[\n{\"name\":\"prog\",\"pid\":7,\"value\":1}],"));
	assert_non_null(strstr(
		text,
		"{\"name\":\"main\",\"kind\":\"native\",\"file\":\"prog\",\"self\":0,\"total\":1}"));
	free(text);
	function_counts_deinit(&counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(values_of_either_sign_are_exact_in_json,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(a_report_of_values_has_their_unit, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_run_has_processes_functions_and_its_quality,
						fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
