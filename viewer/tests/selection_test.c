/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/selection.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

#include <cmocka.h>

enum { PARAMETERS_MAX = SELECTION_VALUES_MAX + 8 };

static struct api_parameter parameters[PARAMETERS_MAX];

/* Pairs of names and values; NULL ends them. */
static struct api_request request_of(const char *const *pairs)
{
	struct api_request request = { .path = "flame", .parameters = parameters };

	for (; *pairs; pairs += 2)
		parameters[request.parameter_count++] =
			(struct api_parameter){ pairs[0], pairs[1] };
	return request;
}

#define REQUEST(...) request_of((const char *const[]){ __VA_ARGS__, NULL })

static void assert_refused(struct api_request request, const char *why)
{
	struct selection selection;

	assert_int_equal(selection_init(&selection, &request), -EINVAL);
	if (!strstr(error_text(), why))
		fail_msg("'%s' does not tell '%s'", error_text(), why);
}

static void without_parameters_everything_is_chosen(void **state)
{
	const struct sample key = { .process_comm = "a", .thread_comm = "b", .pid = 1, .tid = 2 };
	struct api_request request = { .path = "flame" };
	struct selection selection;

	(void)state;
	assert_int_equal(selection_init(&selection, &request), 0);
	assert_int_equal(selection.from_ms, 0);
	assert_true(selection.to_ms == UINT64_MAX);
	assert_false(selection.has_base);
	assert_int_equal(selection_misses(&selection, &key), 0);
	assert_true(selection_has_number(&selection, SELECT_CPU, 5));
	assert_true(selection_has_text(&selection, SELECT_FUNCTION, "any"));
	selection_deinit(&selection);
}

static void the_same_parameter_widens_and_others_narrow_down(void **state)
{
	struct api_request request = REQUEST("pid", "7", "pid", "9", "comm", "web", "cpu", "0");
	struct sample key = { .process_comm = "web", .thread_comm = "w", .pid = 9, .tid = 9 };
	struct selection selection;

	(void)state;
	assert_int_equal(selection_init(&selection, &request), 0);
	assert_int_equal(selection_misses(&selection, &key), 0);
	key.pid = 8;
	assert_int_equal(selection_misses(&selection, &key), 1 << SELECT_PID);
	key.process_comm = "db";
	assert_int_equal(selection_misses(&selection, &key), 1 << SELECT_PID | 1 << SELECT_COMM);
	assert_true(selection_has_number(&selection, SELECT_CPU, 0));
	assert_false(selection_has_number(&selection, SELECT_CPU, 1));
	selection_deinit(&selection);
}

static void containers_are_chosen_by_name_and_by_having_none(void **state)
{
	struct process_info *info =
		process_info_create(&(struct process_info){ .pid = 9, .container_id = "c0ffee" });
	struct sample key = { .process_comm = "web", .thread_comm = "w", .process = info };
	struct api_request request = REQUEST("container", "c0ffee");
	struct selection selection;

	(void)state;
	assert_int_equal(selection_init(&selection, &request), 0);
	assert_int_equal(selection_misses(&selection, &key), 0);
	key.process = NULL;
	assert_int_equal(selection_misses(&selection, &key), 1 << SELECT_CONTAINER);
	selection_deinit(&selection);
	request = REQUEST("container", "");
	assert_int_equal(selection_init(&selection, &request), 0);
	assert_int_equal(selection_misses(&selection, &key), 0);
	key.process = info;
	assert_int_equal(selection_misses(&selection, &key), 1 << SELECT_CONTAINER);
	selection_deinit(&selection);
	process_info_unref(info);
}

static void machines_are_chosen_by_name_and_this_one_by_none(void **state)
{
	struct process_info *info =
		process_info_create(&(struct process_info){ .pid = 9, .host_name = "there" });
	struct sample key = { .process_comm = "web", .thread_comm = "w", .process = info };
	struct api_request request = REQUEST("host", "there");
	struct selection selection;

	(void)state;
	assert_int_equal(selection_init(&selection, &request), 0);
	assert_int_equal(selection_misses(&selection, &key), 0);
	key.process = NULL;
	assert_int_equal(selection_misses(&selection, &key), 1 << SELECT_HOST);
	selection_deinit(&selection);
	request = REQUEST("host", "");
	assert_int_equal(selection_init(&selection, &request), 0);
	assert_int_equal(selection_misses(&selection, &key), 0);
	selection_deinit(&selection);
	process_info_unref(info);
}

static void times_are_read(void **state)
{
	struct api_request request = REQUEST("from", "1000", "to", "2000", "base_from", "0",
					     "base_to", "1000", "max_nodes", "5");
	struct selection selection;
	uint64_t number;

	(void)state;
	assert_int_equal(selection_init(&selection, &request), 0);
	assert_int_equal(selection.from_ms, 1000);
	assert_int_equal(selection.to_ms, 2000);
	assert_true(selection.has_base);
	assert_int_equal(selection.base_to_ms, 1000);
	selection_deinit(&selection);
	assert_int_equal(request_number(&request, "max_nodes", 1, 10, 3, &number), 0);
	assert_int_equal(number, 5);
	assert_int_equal(request_number(&request, "limit", 1, 10, 3, &number), 0);
	assert_int_equal(number, 3);
	assert_int_equal(request_number(&request, "max_nodes", 6, 10, 7, &number), -EINVAL);
	assert_non_null(strstr(error_text(), "max_nodes"));
}

static void the_base_may_have_values_of_its_own(void **state)
{
	struct api_request request =
		REQUEST("pid", "7", "comm", "web", "base_pid", "9", "from", "5", "to", "6");
	const struct sample key = { .process_comm = "web", .thread_comm = "w", .pid = 9 };
	struct selection selection, base;

	(void)state;
	assert_int_equal(selection_init(&selection, &request), 0);
	assert_true(selection.has_base);
	assert_int_equal(selection_misses(&selection, &key), 1 << SELECT_PID);
	base = selection_base(&selection);
	assert_int_equal(base.from_ms, 5);
	assert_int_equal(base.to_ms, 6);
	assert_int_equal(selection_misses(&base, &key), 0);
	selection_deinit(&selection);
	assert_refused(REQUEST("base_pid", "x"), "pid");
}

static void users_units_and_parents_are_chosen(void **state)
{
	struct process_info *info = process_info_create(&(struct process_info){
		.pid = 9, .user_name = "www", .unit = "web.service", .parent_pid = 7 });
	struct sample key = { .process_comm = "web", .thread_comm = "w", .process = info };
	struct api_request request = REQUEST("user", "www", "unit", "web.service", "parent", "7");
	struct selection selection;

	(void)state;
	assert_int_equal(selection_init(&selection, &request), 0);
	assert_int_equal(selection_misses(&selection, &key), 0);
	key.process = NULL;
	assert_int_equal(selection_misses(&selection, &key),
			 1 << SELECT_USER | 1 << SELECT_UNIT | 1 << SELECT_PARENT);
	selection_deinit(&selection);
	process_info_unref(info);
}

static void what_makes_no_sense_is_refused(void **state)
{
	char longest[SELECTION_VALUE_MAX_BYTES + 2];
	struct api_request many = { .path = "flame", .parameters = parameters };

	(void)state;
	assert_refused(REQUEST("pid", "x"), "pid");
	assert_refused(REQUEST("pid", ""), "pid");
	assert_refused(REQUEST("pid", "-1"), "pid");
	assert_refused(REQUEST("pid", "4294967296"), "pid");
	assert_refused(REQUEST("tid", "1 "), "tid");
	assert_refused(REQUEST("cpu", "0x1"), "cpu");
	assert_refused(REQUEST("from", "yesterday"), "from");
	assert_refused(REQUEST("to", "99999999999999999999"), "to");
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_refused(REQUEST("comm", longest), "long");
	for (many.parameter_count = 0; many.parameter_count < PARAMETERS_MAX;
	     many.parameter_count++)
		parameters[many.parameter_count] = (struct api_parameter){ "comm", "a" };
	assert_refused(many, "values are chosen");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_parameters_everything_is_chosen),
		cmocka_unit_test(the_same_parameter_widens_and_others_narrow_down),
		cmocka_unit_test(containers_are_chosen_by_name_and_by_having_none),
		cmocka_unit_test(machines_are_chosen_by_name_and_this_one_by_none),
		cmocka_unit_test(times_are_read),
		cmocka_unit_test(the_base_may_have_values_of_its_own),
		cmocka_unit_test(users_units_and_parents_are_chosen),
		cmocka_unit_test(what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
