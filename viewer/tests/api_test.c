/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/model/languages.h"
#include "lib/model/origins.h"
#include "viewer/tests/asking.h"

static void the_time_line_and_the_heat_map_have_all_samples(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *count;
	json_int_t sum = 0;
	size_t i;

	for (uint32_t n = 0; n < 1000; n++)
		report_many(asked, "a",
			    &(struct told){ .pid = n % 2,
					    .time_ns = EPOCH_NS + (1250 + n * 3) * MS_NS },
			    1);
	json = ask_json(asked, "timeline?buckets=7&pid=1");
	json_array_foreach(json_object_get(json, "counts"), i, count)
		sum += json_integer_value(count);
	assert_int_equal(sum, 500);
	assert_int_equal(number(json, "from"), 1250);
	assert_true(i <= 7);
	json_decref(json);
	json = ask_json(asked, "timeline?from=2000&to=3000&buckets=10");
	/* Ten periods of 99 Hz. */
	assert_int_equal(number(json, "step_ms"), 102);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "counts"), 0)),
			 34);
	json_decref(json);
	json = ask_json(asked, "heatmap?rows=4");
	assert_int_equal(number(json, "from"), 1000);
	assert_int_equal(number(json, "columns"), 4);
	sum = 0;
	json_array_foreach(json_object_get(json, "counts"), i, count)
		sum += json_integer_value(count);
	assert_int_equal(sum, 1000);
	assert_int_equal(i, 16);
	/* The first quarter of the first second has no samples. */
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "counts"), 0)), 0);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "counts"), 1)),
			 84);
	assert_int_equal(number(json, "max"), 84);
	json_decref(json);
}

static void an_empty_history_has_empty_answers(void **state)
{
	static const char *const questions[] = {
		"status", "flame",   "top",	      "timeline",  "heatmap",
		"facets", "quality", "sandwich?of=x", "processes", "lanes",
	};
	struct api_answer answer;

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		json_decref(ask_json(*state, questions[i]));
	ask(*state, "export?format=folded", false, &answer);
	assert_int_equal(answer.status, 200);
	assert_int_equal(answer.bytes, 0);
	free(answer.body);
}

/* --- the rest --- */

static bool has_text(const json_t *array, const char *text)
{
	const json_t *one;
	size_t i;

	json_array_foreach(array, i, one) if (!strcmp(json_string_value(one), text)) return true;
	return false;
}

static void the_status_says_which_kinds_of_frames_there_are(void **state)
{
	static const char *const others[] = { "process", "thread", "native",
					      "kernel",	 "jit",	   "error" };
	json_t *json = ask_json(*state, "status");
	const json_t *kinds = json_object_get(json, "kinds");

	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++)
		assert_true(has_text(kinds, language_ids[i].name));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_true(has_text(kinds, others[i]));
	assert_int_equal(json_array_size(kinds),
			 LANGUAGE_COUNT + sizeof(others) / sizeof(others[0]));
	json_decref(json);
}

static void quality_says_why_stacks_are_not_whole(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *row;

	report_many(asked, "!3;a", &(struct told){ .comm = "bad", .pid = 1 }, 3);
	report_many(asked, "a", &(struct told){ .comm = "bad", .pid = 1 }, 1);
	report_many(asked, "a;b", &(struct told){ .comm = "good", .pid = 2 }, 9);
	json = ask_json(asked, "quality");
	assert_int_equal(number(json, "samples"), 13);
	assert_int_equal(number(json, "complete"), 10);
	row = json_array_get(json_object_get(json, "processes"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "comm")), "bad");
	assert_string_equal(json_string_value(json_object_get(row, "reason")),
			    unwind_error_text(3));
	assert_int_equal(number(row, "reason_count"), 3);
	assert_int_equal(number(row, "complete"), 1);
	assert_int_equal(number(row, "frames"), 4);
	assert_int_equal(number(row, "named"), 4);
	assert_true(*json_string_value(json_object_get(row, "mend")));
	row = json_array_get(json_object_get(json, "processes"), 1);
	assert_string_equal(json_string_value(json_object_get(row, "reason")), "");
	json_decref(json);
}

static const json_t *binary_named(const json_t *answer, const char *path)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(answer, "binaries"), i, row)
	{
		if (!strcmp(json_string_value(json_object_get(row, "file")), path))
			return row;
	}
	fail_msg("no binary %s", path);
	return NULL;
}

/*
 * Reports frames of binaries, given by their numbers, leaf first; -1 is an error frame, other
 * negative numbers are guesses.
 */
static void report_binaries(const struct asked *asked, struct binary *const *binaries,
			    const int *numbers, uint32_t count, bool is_complete)
{
	struct frame frames[8] = { 0 };
	struct trace *trace;

	for (uint32_t i = 0; i < count; i++) {
		int number = numbers[i];

		frames[i] = (struct frame){ .kind = FRAME_NATIVE, .address = 0x1000 + i };
		if (number == -1)
			frames[i] = (struct frame){ .kind = FRAME_ERROR, .error = UNWIND_NO_INFO };
		else
			frames[i].binary = binaries[number < 0 ? -number - 2 : number];
		if (number < -1)
			frames[i].flags = FRAME_GUESS;
	}
	trace = trace_create(frames, count, is_complete, false);
	assert_non_null(trace);
	report_trace(asked->history, trace, &(struct told){ .pid = 1, .time_ns = EPOCH_NS });
	trace_unref(trace);
}

static void assert_binary(const json_t *answer, const char *path, json_int_t samples,
			  json_int_t complete, json_int_t frames, const char *reason,
			  json_int_t reason_count)
{
	const json_t *row = binary_named(answer, path);

	assert_int_equal(number(row, "samples"), samples);
	assert_int_equal(number(row, "complete"), complete);
	assert_int_equal(number(row, "frames"), frames);
	assert_string_equal(json_string_value(json_object_get(row, "reason")), reason);
	assert_int_equal(number(row, "reason_count"), reason_count);
	assert_true(!*reason || *json_string_value(json_object_get(row, "mend")));
	assert_string_equal(json_string_value(json_object_get(row, "names_reason")),
			    "no symbol at the address");
}

static void quality_blames_the_binary_whose_caller_was_not_found(void **state)
{
	const struct asked *asked = *state;
	struct binary *binaries[2];
	json_t *json;

	for (int i = 0; i < 2; i++)
		binaries[i] = binary_create(&(struct binary){
			.fd = -1,
			.executable_id = (uint64_t)i + 1,
			.file_id.bytes[0] = (uint8_t)(i + 1),
			.path = i ? "/lib/b.so" : "/bin/a",
		});
	/* b calls a, which calls b; the caller of the outer b is not found. */
	report_binaries(asked, binaries, (int[]){ 1, 0, 1, -1 }, 4, false);
	report_binaries(asked, binaries, (int[]){ 1, 0, 1, -1 }, 4, false);
	report_binaries(asked, binaries, (int[]){ 1, 0 }, 2, true);
	/* The caller of a's frame is a guess. */
	report_binaries(asked, binaries, (int[]){ 0, -2 }, 2, false);
	json = ask_json(asked, "quality");
	assert_binary(json, "/bin/a", 4, 1, 5, "a frame that is a guess", 1);
	assert_binary(json, "/lib/b.so", 3, 1, 5, unwind_error_text(UNWIND_NO_INFO), 2);
	json_decref(json);
	binary_unref(binaries[0]);
	binary_unref(binaries[1]);
}

static void quality_says_which_language_a_process_has(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *row;

	report_many(asked, "a", &(struct told){ .pid = 1 }, 1);
	json = ask_json(asked, "quality");
	row = json_array_get(json_object_get(json, "processes"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "runtime")), "python");
	json_decref(json);
}

static void exports_are_what_outputs_write(void **state)
{
	const struct asked *asked = *state;
	struct api_answer answer;

	report_many(asked, "main;b", &(struct told){ .comm = "one", .pid = 1, .cpu = 1 }, 2);
	report_many(asked, "main;b", &(struct told){ .comm = "one", .pid = 1, .cpu = 2 }, 1);
	report_many(asked, "main", &(struct told){ .comm = "two", .pid = 2 }, 5);
	ask(asked, "export?format=folded", false, &answer);
	assert_string_equal(answer.body, "two;main 5\none;main;b 3\n");
	assert_true(!strncmp(answer.file_name, "allframes-box--1--20231114T2213", 30));
	free(answer.body);
	ask(asked, "export?format=folded&pid=1", false, &answer);
	assert_string_equal(answer.body, "one;main;b 3\n");
	free(answer.body);
	ask(asked, "export?format=pprof", false, &answer);
	assert_memory_equal(answer.body, "\x1f\x8b", 2);
	free(answer.body);
	ask(asked, "export?format=otlp", false, &answer);
	assert_non_null(memmem(answer.body, answer.bytes, "cpu.logical_number", 18));
	free(answer.body);
	ask(asked, "export?format=html", false, &answer);
	assert_non_null(strstr(answer.body, "\"names\":["));
	assert_non_null(strstr(answer.body, "\"one\""));
	free(answer.body);
}

static struct asked ask_weighed(bool shows_weight)
{
	const struct history_options options = {
		.retention_ns = 3600 * SECOND_NS,
		.keeps_values = true,
		.weight = WEIGHT_RUN_TIME,
	};
	struct asked asked = { .history = history_create(&options) };
	const struct api_config config = {
		.history = asked.history,
		.version = "v1",
		.host = "box",
		.kernel = "6.1",
		.source = "this machine",
		.samples_per_second = 99,
		.weight = WEIGHT_RUN_TIME,
		.shows_weight = shows_weight,
	};

	assert_int_equal(api_create(&config, &asked.api), 0);
	report_many(&asked, "main;b", &(struct told){ .comm = "one", .pid = 1 }, 3);
	report_many(
		&asked, "main;b",
		&(struct told){ .comm = "one", .pid = 1, .origin = WEIGHT_RUN_TIME, .value = 500 },
		3);
	return asked;
}

static void check_export(const struct asked *asked, const char *question, const char *wanted)
{
	struct api_answer answer;

	ask(asked, question, false, &answer);
	if (!memmem(answer.body, answer.bytes, wanted, strlen(wanted)))
		print_error("%s: no %s in %.2000s\n", question, wanted, answer.body);
	assert_non_null(memmem(answer.body, answer.bytes, wanted, strlen(wanted)));
	free(answer.body);
}

static void samples_and_their_weight_are_two_types(void **state)
{
	struct asked asked = ask_weighed(true);
	json_t *status;

	(void)state;
	status = ask_json(&asked, "status");
	assert_int_equal(json_array_size(json_object_get(status, "types")), 2);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(status, "type"), "type")),
		"run-time");
	assert_int_equal(number(status, "samples"), 1500);
	assert_int_equal(number(status, "samples_per_second"), 0);
	json_decref(status);
	assert_int_equal(ask_number(&asked, "status?type=samples", "samples"), 3);
	assert_int_equal(ask_number(&asked, "status?type=samples", "samples_per_second"), 99);
	assert_int_equal(ask_number(&asked, "flame", "total"), 1500);
	assert_int_equal(ask_number(&asked, "flame?type=run-time/nanoseconds", "total"), 1500);
	assert_int_equal(ask_number(&asked, "flame?type=samples", "total"), 3);
	check_export(&asked, "export?format=folded", "one;main;b 1500\n");
	check_export(&asked, "export?format=folded&type=samples", "one;main;b 3\n");
	check_export(&asked, "export?format=report", "\"value\":1500");
	check_export(&asked, "export?format=svg", "1500 nanoseconds");
	check_export(&asked, "export?format=html", "\"type\":{\"type\":\"run-time\"");
	/* It has no room for a value of each. */
	check_export(&asked, "export?format=speedscope", "\"unit\":\"none\"");
	check_export(&asked, "export?format=otlp", "run-time");
	tear_down((void **)&(struct asked *){ &asked });
	asked = ask_weighed(false);
	assert_int_equal(ask_number(&asked, "flame", "total"), 3);
	tear_down((void **)&(struct asked *){ &asked });
}

static void an_exported_page_is_what_is_shown(void **state)
{
	const struct asked *asked = *state;
	struct api_answer answer;

	report_many(asked, "main;</script>", &(struct told){ .comm = "one", .pid = 1 }, 2);
	report_many(asked, "main", &(struct told){ .time_ns = EPOCH_NS + 1500 * MS_NS }, 5);
	ask(asked, "export?format=html&root=none&from=1000&to=2000&base_from=0&base_to=1000", false,
	    &answer);
	assert_null(strstr(answer.body, "\"one\""));
	assert_null(strstr(answer.body, "main;</script>"));
	assert_non_null(strstr(answer.body, "\"\\u003c/script>\""));
	assert_non_null(strstr(answer.body, "\"base_total\":[2,2,2]"));
	assert_non_null(strstr(answer.body, "{\"host\":\"box \\\"1\\\"\",\"total\":5"));
	assert_non_null(strstr(answer.body, "\"about\":[[\"host\",\"box \\\"1\\\"\"],"));
	assert_non_null(strstr(answer.body, "\"top\":{\"total\":5,"));
	free(answer.body);
}

static void a_busy_cpu_is_level_on_the_time_line(void **state)
{
	static const char *const questions[] = { "timeline?buckets=2000&pid=1",
						 "timeline?buckets=50" };
	const struct asked *asked = *state;
	json_t *json;

	for (uint64_t i = 0; i < 99 * 20; i++)
		report_many(asked, "main",
			    &(struct told){ .pid = 1, .time_ns = EPOCH_NS + i * SECOND_NS / 99 },
			    1);
	for (int question = 0; question < 2; question++) {
		const json_t *counts;
		json_int_t expected;

		json = ask_json(asked, questions[question]);
		counts = json_object_get(json, "counts");
		expected = number(json, "step_ms") * 99 / 1000;
		/* The last one is not over yet. */
		for (size_t i = 0; i + 1 < json_array_size(counts); i++)
			assert_in_range(json_integer_value(json_array_get(counts, i)), expected - 1,
					expected + 1);
		assert_in_range(json_array_size(counts), 45, 200);
		json_decref(json);
	}
}

static void the_scales_of_times_do_not_change_with_filters(void **state)
{
	const struct asked *asked = *state;
	json_t *json;

	report_many(asked, "main", &(struct told){ .pid = 1 }, 7);
	report_many(asked, "main", &(struct told){ .pid = 2 }, 2);
	json = ask_json(asked, "timeline?pid=2");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "counts"), 0)), 2);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "all"), 0)), 9);
	json_decref(json);
	json = ask_json(asked, "heatmap?pid=2");
	assert_int_equal(number(json, "max"), 2);
	assert_int_equal(number(json, "max_of_all"), 9);
	json_decref(json);
}

static void a_file_whose_samples_are_of_one_moment_has_no_times(void **state)
{
	const struct asked *asked = *state;
	json_t *json;

	report_many(asked, "main", &(struct told){ .pid = 1 }, 3);
	json = ask_json(asked, "status");
	assert_false(json_is_true(json_object_get(json, "has_times")));
	json_decref(json);
	report_many(asked, "main", &(struct told){ .pid = 1, .time_ns = EPOCH_NS + SECOND_NS }, 1);
	json = ask_json(asked, "status");
	assert_true(json_is_true(json_object_get(json, "has_times")));
	json_decref(json);
}

static void columns_of_the_heat_map_are_as_many_as_asked_for_at_most(void **state)
{
	const struct asked *asked = *state;
	json_t *json;

	for (uint32_t i = 0; i < 100; i++)
		report_many(asked, "main",
			    &(struct told){ .time_ns = EPOCH_NS + i * SECOND_NS + 510 * MS_NS }, 1);
	json = ask_json(asked, "heatmap?rows=2&columns=30");
	assert_int_equal(number(json, "seconds_per_column"), 4);
	assert_int_equal(number(json, "columns"), 25);
	/* All samples are in the second half of their seconds. */
	for (size_t i = 0; i < 25; i++) {
		const json_t *counts = json_object_get(json, "counts");

		assert_int_equal(json_integer_value(json_array_get(counts, 2 * i)), 0);
		assert_int_equal(json_integer_value(json_array_get(counts, 2 * i + 1)), 4);
	}
	json_decref(json);
	assert_int_equal(ask_number(asked, "heatmap", "seconds_per_column"), 1);
}

static void the_table_is_searched_beyond_its_limit(void **state)
{
	const struct asked *asked = *state;
	json_t *json, *rows;

	report_many(asked, "main;often", &(struct told){ .pid = 1 }, 9);
	report_many(asked, "main;Rare_one", &(struct told){ .pid = 1 }, 1);
	json = ask_json(asked, "top?limit=1&name=rare");
	rows = json_object_get(json, "rows");
	assert_int_equal(json_array_size(rows), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "name")),
			    "Rare_one");
	assert_int_equal(number(json, "functions"), 3);
	assert_int_equal(number(json, "named"), 1);
	json_decref(json);
	assert_int_equal(ask_number(asked, "top?name=none", "named"), 0);
}

static void questions_that_make_no_sense_are_told_so(void **state)
{
	static const struct {
		const char *question;
		unsigned int status;
	} bad[] = {
		{ "flame?pid=x", 400 },
		{ "flame?pid=", 400 },
		{ "flame?pid=-1", 400 },
		{ "flame?pid=4294967296", 400 },
		{ "flame?from=5&to=5", 400 },
		{ "flame?from=99999999999999999999", 400 },
		{ "flame?root=x", 400 },
		{ "flame?max_nodes=0", 400 },
		{ "flame?max_nodes=50001", 400 },
		{ "top?sort=x", 400 },
		{ "top?limit=0", 400 },
		{ "timeline?buckets=2001", 400 },
		{ "heatmap?rows=0", 400 },
		{ "sandwich", 400 },
		{ "export", 400 },
		{ "export?format=exe", 400 },
		{ "", 404 },
		{ "flame/", 404 },
		{ "../status", 404 },
		{ "pause?on=1", 405 },
		{ "flame?base_from=3&base_to=2", 400 },
	};
	struct api_answer answer;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ask(*state, bad[i].question, false, &answer);
		if (answer.status != bad[i].status)
			print_error("%s\n", bad[i].question);
		assert_int_equal(answer.status, bad[i].status);
		assert_non_null(strstr(answer.body, "{\"error\":\""));
		free(answer.body);
	}
	ask(*state, "flame", true, &answer);
	assert_int_equal(answer.status, 405);
	free(answer.body);
}

static void too_many_values_are_refused(void **state)
{
	struct api_parameter parameters[300];
	struct api_request request = {
		.path = "flame",
		.parameters = parameters,
		.parameter_count = 300,
	};
	const struct asked *asked = *state;
	struct api_answer answer;
	char longest[5000];

	for (size_t i = 0; i < 300; i++)
		parameters[i] = (struct api_parameter){ "comm", "x" };
	api_answer(asked->api, &request, &answer);
	assert_int_equal(answer.status, 400);
	free(answer.body);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	parameters[0].value = longest;
	request.parameter_count = 1;
	api_answer(asked->api, &request, &answer);
	assert_int_equal(answer.status, 400);
	free(answer.body);
}

static void names_may_be_any_bytes(void **state)
{
	const struct asked *asked = *state;
	static const char *const questions[] = {
		"flame", "top", "facets", "quality", "flame?root=thread", "sandwich?of=\xff\xfe",
	};

	report_many(asked, "ma\xffin</script>;\"\\\x01",
		    &(struct told){ .comm = "\xf0\x28;\n", .thread = "\xc3", .pid = 1 }, 2);
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		json_decref(ask_json(asked, questions[i]));
	assert_int_equal(ask_number(asked, "flame?comm=\xf0\x28;\n", "total"), 2);
}

static void a_pause_is_asked_for_by_post(void **state)
{
	const struct asked *asked = *state;
	struct api_answer answer;
	json_t *json;

	ask(asked, "pause?on=1", true, &answer);
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.body, "{\"is_paused\":true}");
	free(answer.body);
	json = ask_json(asked, "status");
	assert_true(json_is_true(json_object_get(json, "is_paused")));
	json_decref(json);
	report_many(asked, "a", &(struct told){ .pid = 1 }, 2);
	assert_int_equal(ask_number(asked, "flame", "total"), 0);
	ask(asked, "pause?on=2", true, &answer);
	assert_int_equal(answer.status, 400);
	free(answer.body);
}

static void read_delays(void *context, uint32_t type, struct api_totals *totals)
{
	(void)type;
	(void)context;
	totals->oldest_sample_ms = 1234;
	totals->oldest_event_ms = 77;
	totals->hanging_count = 2;
	totals->hanging_pids[0] = 12;
	totals->hanging_pids[1] = 7;
}

static void the_status_says_what_is_held_up(void **state)
{
	const struct asked *asked = *state;
	const struct api_config config = {
		.history = asked->history,
		.read_totals = read_delays,
		.version = "",
		.host = "",
		.kernel = "",
		.source = "",
	};
	struct asked delayed = { .history = asked->history };
	json_t *json = ask_json(asked, "status");
	const json_t *delays = json_object_get(json, "delays"), *pids;

	assert_int_equal(number(delays, "sample_ms"), 0);
	assert_int_equal(number(delays, "event_ms"), 0);
	assert_int_equal(json_array_size(json_object_get(delays, "hanging_pids")), 0);
	json_decref(json);
	assert_int_equal(api_create(&config, &delayed.api), 0);
	json = ask_json(&delayed, "status");
	delays = json_object_get(json, "delays");
	assert_int_equal(number(delays, "sample_ms"), 1234);
	assert_int_equal(number(delays, "event_ms"), 77);
	pids = json_object_get(delays, "hanging_pids");
	assert_int_equal(json_array_size(pids), 2);
	assert_int_equal(json_integer_value(json_array_get(pids, 0)), 12);
	assert_int_equal(json_integer_value(json_array_get(pids, 1)), 7);
	json_decref(json);
	api_destroy(delayed.api);
}

static void lists_of_stacks_are_in_the_memory_of_the_history_and_go_when_nobody_asks(void **state)
{
	enum { MAX_BYTES = 1 << 20, STACKS = 10000, TIDIES = 10 };
	const struct history_options options = { .retention_ns = 3600 * SECOND_NS,
						 .max_bytes = MAX_BYTES };
	struct asked asked = { .history = history_create(&options) };
	const struct api_config config = { .history = asked.history,
					   .version = "v1",
					   .host = "box",
					   .kernel = "6.1",
					   .source = "this machine",
					   .is_live = true,
					   .epoch_monotonic_ns = EPOCH_NS };
	struct history_facts full, shared;

	(void)state;
	assert_int_equal(api_create(&config, &asked.api), 0);
	for (uint32_t i = 0; i < STACKS; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "main;f%u", i);
		report_many(&asked, stack, &(struct told){ .pid = 1 }, 1);
	}
	history_facts(asked.history, &full);
	ask_number(&asked, "flame", "total");
	history_facts(asked.history, &shared);
	assert_true(shared.bytes < full.bytes && shared.samples < full.samples);
	/* They fit now, and nothing more is dropped for them. */
	assert_int_equal(ask_number(&asked, "flame", "total"), shared.samples);
	assert_int_equal(ask_number(&asked, "flame", "total"), shared.samples);
	for (int i = 0; i < TIDIES; i++)
		api_tidy(asked.api);
	/* The history may use all of the memory again. */
	for (uint32_t i = 0; i < STACKS; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "main;g%u", i);
		report_many(&asked, stack, &(struct told){ .pid = 1 }, 1);
	}
	history_facts(asked.history, &shared);
	assert_in_range(shared.bytes, MAX_BYTES * 15 / 16, MAX_BYTES);
	api_destroy(asked.api);
	history_destroy(asked.history);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_time_line_and_the_heat_map_have_all_samples),
		TEST(an_empty_history_has_empty_answers),
		TEST(the_status_says_which_kinds_of_frames_there_are),
		TEST(quality_says_why_stacks_are_not_whole),
		TEST(quality_blames_the_binary_whose_caller_was_not_found),
		TEST(quality_says_which_language_a_process_has),
		TEST(exports_are_what_outputs_write),
		cmocka_unit_test(samples_and_their_weight_are_two_types),
		TEST(an_exported_page_is_what_is_shown),
		TEST(a_busy_cpu_is_level_on_the_time_line),
		TEST(the_scales_of_times_do_not_change_with_filters),
		TEST(a_file_whose_samples_are_of_one_moment_has_no_times),
		TEST(columns_of_the_heat_map_are_as_many_as_asked_for_at_most),
		TEST(the_table_is_searched_beyond_its_limit),
		TEST(questions_that_make_no_sense_are_told_so),
		TEST(too_many_values_are_refused),
		TEST(names_may_be_any_bytes),
		TEST(the_status_says_what_is_held_up),
		TEST(a_pause_is_asked_for_by_post),
		cmocka_unit_test(
			lists_of_stacks_are_in_the_memory_of_the_history_and_go_when_nobody_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
