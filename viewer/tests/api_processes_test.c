/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/api_processes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/cost_table.h"
#include "viewer/tests/asking.h"

/* Three programs: two workers of a server, a shell that started one of them, and a compiler elsewhere. */
static const struct told one = { .comm = "server",
				 .pid = 1,
				 .tid = 11,
				 .cpu = 0,
				 .user = "www",
				 .unit = "web.service",
				 .command_line = "server -token secret",
				 .parent_comm = "systemd",
				 .parent = 100 };
static const struct told two = { .comm = "server",
				 .pid = 3,
				 .tid = 31,
				 .cpu = 1,
				 .user = "www",
				 .unit = "web.service",
				 .command_line = "server: worker",
				 .parent_comm = "server",
				 .parent = 1 };
static const struct told shell = { .comm = "sh",
				   .pid = 2,
				   .tid = 2,
				   .cpu = 1,
				   .user = "root",
				   .unit = "session-3.scope",
				   .parent_comm = "systemd",
				   .parent = 100 };

static struct told at(const struct told *told, uint64_t ms)
{
	struct told moved = *told;

	moved.time_ns = EPOCH_NS + ms * MS_NS;
	return moved;
}

/* Ten seconds: the first worker all the time, the second in the last second, the shell in the first. */
static void record(const struct asked *asked)
{
	struct told told;

	for (uint32_t n = 0; n < 100; n++) {
		told = at(&one, 100 * n);
		report_many(asked, n % 4 ? "main;serve" : "!3;serve", &told, 1);
		if (n < 10) {
			told = at(&shell, 100 * n);
			report_many(asked, "main;read", &told, 1);
		}
		if (n >= 90) {
			told = at(&two, 100 * n);
			report_many(asked, "main;serve", &told, 2);
		}
	}
}

static json_t *row_of(const json_t *answer, size_t index)
{
	json_t *row = json_array_get(json_object_get(answer, "rows"), index);

	assert_non_null(row);
	return row;
}

static size_t row_count(const json_t *answer)
{
	return json_array_size(json_object_get(answer, "rows"));
}

static const char *text_of(const json_t *row, const char *key)
{
	const json_t *text = json_object_get(row, key);

	return json_is_null(text) ? NULL : json_string_value(text);
}

static json_int_t sum_of(const json_t *array)
{
	const json_t *count;
	json_int_t sum = 0;
	size_t i;

	json_array_foreach(array, i, count) sum += json_integer_value(count);
	return sum;
}

/* The names of the rows, with spaces between them. */
static void assert_names(const struct asked *asked, const char *question, const char *key,
			 const char *expected)
{
	json_t *answer = ask_json(asked, question);
	char names[256] = "";

	for (size_t i = 0; i < row_count(answer); i++) {
		const char *name = text_of(row_of(answer, i), key);

		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? " " : "",
			 name ? name : "?");
	}
	if (strcmp(names, expected) != 0)
		fail_msg("%s: '%s', not '%s'", question, names, expected);
	json_decref(answer);
}

static void each_process_has_a_row_with_what_is_known_of_it(void **state)
{
	const struct asked *asked = *state;
	json_t *answer, *row;

	record(asked);
	answer = ask_json(asked, "processes?buckets=10");
	assert_int_equal(number(answer, "total"), 130);
	assert_int_equal(number(answer, "rows_total"), 3);
	assert_int_equal(row_count(answer), 3);
	row = row_of(answer, 0);
	assert_string_equal(text_of(row, "name"), "server");
	assert_int_equal(number(row, "pid"), 1);
	assert_string_equal(text_of(row, "command_line"), "server -token secret");
	assert_string_equal(text_of(row, "user"), "www");
	assert_string_equal(text_of(row, "unit"), "web.service");
	assert_string_equal(text_of(row, "container"), "");
	assert_string_equal(text_of(row, "parent"), "systemd 100");
	assert_int_equal(number(row, "parent_pid"), 100);
	assert_int_equal(number(row, "samples"), 100);
	assert_int_equal(number(row, "complete"), 75);
	/* The last five seconds. */
	assert_int_equal(number(answer, "now_ms"), 5000);
	assert_int_equal(number(row, "now"), 50);
	assert_int_equal(sum_of(json_object_get(row, "counts")), 100);
	row = row_of(answer, 1);
	assert_int_equal(number(row, "pid"), 3);
	assert_int_equal(number(row, "now"), 20);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(row, "counts"), 0)), 0);
	assert_int_equal(sum_of(json_object_get(row, "counts")), 20);
	row = row_of(answer, 2);
	assert_string_equal(text_of(row, "name"), "sh");
	assert_string_equal(text_of(row, "container"), "c0ffee");
	assert_int_equal(number(row, "now"), 0);
	json_decref(answer);
}

static void rows_are_grouped_by_what_processes_share(void **state)
{
	const struct asked *asked = *state;
	json_t *answer, *row;

	record(asked);
	answer = ask_json(asked, "processes?group=unit");
	assert_int_equal(row_count(answer), 2);
	row = row_of(answer, 0);
	assert_string_equal(text_of(row, "unit"), "web.service");
	assert_string_equal(text_of(row, "name"), "server");
	assert_int_equal(number(row, "processes"), 2);
	assert_int_equal(number(row, "samples"), 120);
	assert_int_equal(number(row, "complete"), 95);
	/* Processes differ in these. */
	assert_null(text_of(row, "command_line"));
	assert_null(text_of(row, "parent"));
	assert_null(json_object_get(row, "pid"));
	assert_null(json_object_get(row, "parent_pid"));
	json_decref(answer);
	assert_names(asked, "processes?group=name", "name", "server sh");
	assert_names(asked, "processes?group=user", "user", "www root");
	assert_names(asked, "processes?group=parent", "parent", "systemd 100 server 1");
	assert_names(asked, "processes?group=container", "container", " c0ffee");
	assert_names(asked, "processes?group=thread&pid=3", "thread", "thread 31");
	answer = ask_json(asked, "processes?group=cpu");
	assert_int_equal(row_count(answer), 2);
	assert_int_equal(number(row_of(answer, 0), "cpu"), 0);
	assert_int_equal(number(row_of(answer, 0), "samples"), 100);
	assert_int_equal(number(row_of(answer, 1), "samples"), 30);
	assert_int_equal(number(row_of(answer, 1), "processes"), 2);
	json_decref(answer);
}

static void rows_are_sorted_by_each_column(void **state)
{
	const struct asked *asked = *state;

	record(asked);
	assert_names(asked, "processes?sort=samples", "command_line",
		     "server -token secret server: worker ");
	assert_names(asked, "processes?sort=samples&reverse=1", "name", "sh server server");
	assert_names(asked, "processes?sort=name&reverse=1", "name", "sh server server");
	assert_names(asked, "processes?sort=pid", "name", "server sh server");
	assert_names(asked, "processes?sort=pid&reverse=1", "command_line",
		     "server: worker  server -token secret");
	assert_names(asked, "processes?sort=user", "user", "root www www");
	assert_names(asked, "processes?sort=unit", "unit",
		     "session-3.scope web.service web.service");
	/* Unknown texts come last, either way. */
	assert_names(asked, "processes?sort=container", "container", "c0ffee  ");
	assert_names(asked, "processes?sort=container&reverse=1", "container", "c0ffee  ");
	assert_names(asked, "processes?sort=parent", "parent", "server 1 systemd 100 systemd 100");
	assert_names(asked, "processes?sort=cpus", "name", "server server sh");
	assert_names(asked, "processes?sort=quality&reverse=1", "command_line",
		     "server -token secret server: worker ");
	assert_names(asked, "processes?sort=samples&limit=1", "name", "server");
	assert_int_equal(ask_number(asked, "processes?limit=1", "rows_total"), 3);
}

static void columns_are_filtered(void **state)
{
	const struct asked *asked = *state;
	json_t *answer;

	record(asked);
	assert_names(asked, "processes?with=name:SERV", "name", "server server");
	assert_names(asked, "processes?with=name:/^s.$/", "name", "sh");
	assert_names(asked, "processes?with=command_line:token", "command_line",
		     "server -token secret");
	assert_names(asked, "processes?with=pid:3", "command_line", "server: worker");
	assert_names(asked, "processes?with=user:www&with=parent:100", "command_line",
		     "server -token secret");
	/* Processes that do not count are in no group. */
	assert_names(asked, "processes?group=parent&with=unit:session", "parent", "systemd 100");
	answer = ask_json(asked, "processes?group=parent&with=unit:session");
	assert_int_equal(number(row_of(answer, 0), "samples"), 10);
	json_decref(answer);
	assert_names(asked, "processes?with=samples:20", "command_line",
		     "server -token secret server: worker");
	assert_names(asked, "processes?with=samples:<19", "name", "sh");
	assert_names(asked, "processes?with=share:>50", "command_line", "server -token secret");
	assert_names(asked, "processes?with=quality:<80", "command_line", "server -token secret");
	assert_names(asked, "processes?with=cpus:0.1", "command_line", "server -token secret");
	assert_names(asked, "processes?group=unit&with=processes:2", "unit", "web.service");
	/* Nothing typed yet. */
	assert_names(asked, "processes?with=name:&with=samples:", "name", "server server sh");
	assert_int_equal(ask_number(asked, "processes?with=name:sh", "total"), 130);
}

static void rows_filter_by_their_texts_and_numbers(void **state)
{
	const struct asked *asked = *state;

	record(asked);
	assert_int_equal(ask_number(asked, "flame?user=www", "total"), 120);
	assert_int_equal(ask_number(asked, "flame?unit=session-3.scope", "total"), 10);
	assert_int_equal(ask_number(asked, "flame?unit=session-3.scope&unit=web.service", "total"),
			 130);
	assert_int_equal(ask_number(asked, "flame?parent=1", "total"), 20);
	assert_int_equal(ask_number(asked, "flame?user=www&parent=100", "total"), 100);
	assert_int_equal(ask_number(asked, "flame?user=", "total"), 0);
}

static void bad_requests_are_refused(void **state)
{
	static const char *const questions[] = {
		"processes?group=colour",
		"processes?sort=colour",
		"processes?with=colour:red",
		"processes?with=name",
		"processes?with=samples:many",
		"processes?with=samples:5x",
		"processes?with=name:/(/",
		"processes?limit=0",
		"timeline?rows=12",
		"lanes?rows=0123456789abcdefg",
		"lanes?columns=0",
	};

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		struct api_answer answer;

		ask(*state, questions[i], false, &answer);
		if (answer.status != 400)
			fail_msg("%s: %u", questions[i], answer.status);
		free(answer.body);
	}
}

static void the_time_line_has_the_samples_of_rows(void **state)
{
	const struct asked *asked = *state;
	char question[256];
	json_t *answer, *line, *stack;
	const char *first, *second;

	record(asked);
	answer = ask_json(asked, "processes?group=name");
	first = text_of(row_of(answer, 0), "id");
	second = text_of(row_of(answer, 1), "id");
	snprintf(question, sizeof(question), "timeline?buckets=5&group=name&rows=%s.%s", second,
		 first);
	line = ask_json(asked, question);
	stack = json_object_get(line, "stack");
	assert_int_equal(json_array_size(stack), 2);
	assert_int_equal(sum_of(json_array_get(stack, 0)), 10);
	assert_int_equal(sum_of(json_array_get(stack, 1)), 120);
	assert_int_equal(json_array_size(json_array_get(stack, 0)),
			 json_array_size(json_object_get(line, "counts")));
	/* All of the shell's are in the first bucket, of two seconds. */
	assert_int_equal(json_integer_value(json_array_get(json_array_get(stack, 0), 0)), 10);
	json_decref(line);
	/* Without that, a row is of something else. */
	snprintf(question, sizeof(question), "timeline?rows=%s", first);
	line = ask_json(asked, question);
	assert_int_equal(sum_of(json_array_get(json_object_get(line, "stack"), 0)), 0);
	json_decref(line);
	json_decref(answer);
}

static void lanes_say_what_each_cpu_ran(void **state)
{
	const struct asked *asked = *state;
	json_t *answer, *lanes, *lane, *stack;
	char question[256];

	record(asked);
	answer = ask_json(asked, "processes?group=name");
	snprintf(question, sizeof(question), "lanes?columns=10&group=name&rows=%s",
		 text_of(row_of(answer, 0), "id"));
	json_decref(answer);
	answer = ask_json(asked, question);
	lanes = json_object_get(answer, "lanes");
	assert_int_equal(json_array_size(lanes), 2);
	lane = json_array_get(lanes, 0);
	assert_int_equal(number(lane, "cpu"), 0);
	assert_int_equal(sum_of(json_object_get(lane, "counts")), 100);
	stack = json_object_get(lane, "stack");
	assert_int_equal(json_array_size(stack), 1);
	assert_int_equal(sum_of(json_array_get(stack, 0)), 100);
	lane = json_array_get(lanes, 1);
	assert_int_equal(sum_of(json_object_get(lane, "counts")), 30);
	stack = json_array_get(json_object_get(lane, "stack"), 0);
	/* The shell had the first second, the server the last one. */
	assert_int_equal(json_integer_value(json_array_get(json_object_get(lane, "counts"), 0)),
			 10);
	assert_int_equal(json_integer_value(json_array_get(stack, 0)), 0);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(lane, "counts"), 4)), 0);
	assert_int_equal(json_integer_value(json_array_get(stack, json_array_size(stack) - 1)), 20);
	assert_int_equal(sum_of(stack), 20);
	json_decref(answer);
}

/* The first worker, which was started again under the same pid, and the shell, which is known by no cost. */
static bool read_costs(void *context,
		       void (*take)(void *taker, const struct process_costs *process), void *taker,
		       struct cost_facts *facts)
{
	const struct process_costs costs[] = {
		{ .key = { 5, 1, 1 },
		  .sum = { .run_time_ns = 2 * SECOND_NS, .page_reads = 7, .softirqs = { 1, 2 } } },
		{ .key = { 5, 3, 3 },
		  .sum = { .run_time_ns = 4 * SECOND_NS,
			   .page_reads = 1,
			   .counters = { [COST_CYCLES] = { 9000, 4 * SECOND_NS },
					 [COST_REFERENCE_CYCLES] = { 6000, 4 * SECOND_NS },
					 [COST_INSTRUCTIONS] = { 50, 1 * SECOND_NS } },
			   .joules = { [ENERGY_PACKAGE] = 5, [ENERGY_DRAM] = 0.5 } } },
		{ .key = { 6, 1, 1 }, .sum = { .run_time_ns = SECOND_NS / 2, .page_reads = 8 } },
		{ .key = { 7, 9, 0 }, .sum = { .run_time_ns = 9 * SECOND_NS } },
	};

	(void)context;
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
		take(taker, &costs[i]);
	*facts = (struct cost_facts){
		.sources = COST_PAGE_READS | COST_FIRST_ENERGY << ENERGY_PACKAGE |
			   COST_FIRST_COUNTER << COST_CYCLES |
			   COST_FIRST_COUNTER << COST_REFERENCE_CYCLES |
			   COST_FIRST_COUNTER << COST_INSTRUCTIONS,
		.reference_hz = 2e9,
		.missing = "pages written: why",
	};
	return true;
}

static int set_up_with_costs(void **state)
{
	struct api_config config;
	struct asked *asked;
	int err = set_up(state);

	if (err)
		return err;
	asked = *state;
	config = (struct api_config){ .history = asked->history,
				      .version = "v1",
				      .host = "box",
				      .kernel = "",
				      .source = "",
				      .samples_per_second = 99,
				      .read_costs = read_costs,
				      .epoch_monotonic_ns = EPOCH_NS };
	api_destroy(asked->api);
	return api_create(&config, &asked->api);
}

static void processes_have_the_costs_of_the_whole_run(void **state)
{
	const struct asked *asked = *state;
	json_t *answer, *row;

	record(asked);
	answer = ask_json(asked, "processes?sort=cpu_time");
	/* This machine counts no pages written and no cache misses. */
	assert_int_equal(json_array_size(json_object_get(answer, "costs")), 7);
	assert_string_equal(text_of(answer, "not_counted"), "pages written: why");
	assert_string_equal(text_of(json_object_get(answer, "energy"), "source"), "rapl");
	assert_string_equal(text_of(json_object_get(answer, "energy"), "shared_by"), "cycles");
	row = row_of(answer, 0);
	assert_int_equal(json_integer_value(json_object_get(row, "pid")), 3);
	assert_true(json_real_value(json_object_get(row, "cpu_time")) == 4.0);
	assert_true(json_real_value(json_object_get(row, "joules")) == 5.5);
	assert_true(json_real_value(json_object_get(row, "cycles")) == 9000);
	/* The kernel counted them for a quarter of the time. */
	assert_true(json_real_value(json_object_get(row, "instructions")) == 200);
	assert_true(json_real_value(json_object_get(row, "frequency")) == 3e9);
	assert_null(json_object_get(row, "cache_misses"));
	row = row_of(answer, 1);
	assert_int_equal(json_integer_value(json_object_get(row, "pid")), 1);
	assert_true(json_real_value(json_object_get(row, "cpu_time")) == 2.5);
	assert_true(json_real_value(json_object_get(row, "page_reads")) == 15);
	assert_true(json_real_value(json_object_get(row, "softirqs")) == 3);
	assert_null(json_object_get(row, "page_writes"));
	row = row_of(answer, 2);
	assert_string_equal(text_of(row, "name"), "sh");
	assert_null(json_object_get(row, "cpu_time"));
	json_decref(answer);
	assert_names(asked, "processes?with=cpu_time:>3&sort=cpu_time", "name", "server");
	assert_names(asked, "processes?sort=page_reads", "name", "server server sh");
	/* Processes in groups have no costs. */
	answer = ask_json(asked, "processes?group=name");
	assert_int_equal(json_array_size(json_object_get(answer, "costs")), 0);
	assert_null(json_object_get(row_of(answer, 0), "cpu_time"));
	assert_null(json_object_get(answer, "energy"));
	json_decref(answer);
}

static int set_up_without_command_lines(void **state)
{
	struct api_config config;
	struct asked *asked;
	int err = set_up(state);

	if (err)
		return err;
	asked = *state;
	config = (struct api_config){ .history = asked->history,
				      .version = "v1",
				      .host = "box",
				      .kernel = "",
				      .source = "",
				      .samples_per_second = 99,
				      .epoch_monotonic_ns = EPOCH_NS };
	api_destroy(asked->api);
	return api_create(&config, &asked->api);
}

static void command_lines_are_shown_only_where_they_may_be(void **state)
{
	const struct asked *asked = *state;
	struct api_answer answer;

	record(asked);
	ask(asked, "processes?sort=command_line", false, &answer);
	assert_int_equal(answer.status, 200);
	assert_null(strstr(answer.body, "secret"));
	assert_non_null(strstr(answer.body, "\"has_command_lines\":false"));
	free(answer.body);
	/* Nobody finds them out by a filter either. */
	assert_names(asked, "processes?with=command_line:secret", "name", "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_process_has_a_row_with_what_is_known_of_it),
		TEST(rows_are_grouped_by_what_processes_share),
		TEST(rows_are_sorted_by_each_column),
		TEST(columns_are_filtered),
		TEST(rows_filter_by_their_texts_and_numbers),
		TEST(bad_requests_are_refused),
		TEST(the_time_line_has_the_samples_of_rows),
		TEST(lanes_say_what_each_cpu_ran),
		cmocka_unit_test_setup_teardown(command_lines_are_shown_only_where_they_may_be,
						set_up_without_command_lines, tear_down),
		cmocka_unit_test_setup_teardown(processes_have_the_costs_of_the_whole_run,
						set_up_with_costs, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
