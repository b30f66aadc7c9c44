/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/process_news.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/clock.h"

struct fixture {
	struct process_table table;
	struct mapping_log log;
	struct process_news news;
	struct sync_event events[8];
	uint32_t count;
	uint64_t start_ns;
};

static void push(void *context, struct sync_event *event)
{
	struct fixture *fixture = context;

	assert_true(fixture->count < 8);
	fixture->events[fixture->count++] = *event;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	process_table_init(&fixture->table);
	assert_int_equal(mapping_log_init(&fixture->log), 0);
	process_news_init(&fixture->news, &fixture->table, &fixture->log, push, fixture);
	fixture->start_ns = clock_monotonic_ns();
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	process_table_deinit(&fixture->table);
	mapping_log_deinit(&fixture->log);
	free(fixture);
	return 0;
}

static void tell(struct fixture *fixture, enum process_event_type type, uint32_t pid)
{
	const struct process_event process_event = {
		.type = type,
		.pid = pid,
		.identity = { .start_time_ns = 100, .exec_id = 1 },
		.time_ns = fixture->start_ns,
	};

	process_news_take_process_event(&fixture->news, &process_event);
}

static void expect_process_event(const struct sync_event *event, enum process_event_type type,
				 uint32_t pid)
{
	assert_int_equal(event->type, EVENT_PROCESS);
	assert_int_equal(event->process_event.type, type);
	assert_int_equal(event->process_event.pid, pid);
}

static void a_program_that_goes_on_running_is_looked_at(void **state)
{
	struct fixture *fixture = *state;

	tell(fixture, PROCESS_EVENT_EXEC, 7);
	process_news_end(&fixture->news, fixture->start_ns + 20 * NS_PER_MS);
	assert_int_equal(fixture->count, 0);
	assert_int_equal(mapping_log_heard_until(&fixture->log),
			 fixture->start_ns + 20 * NS_PER_MS);
	process_news_end(&fixture->news, fixture->start_ns + 100 * NS_PER_MS);
	assert_int_equal(fixture->count, 1);
	expect_process_event(&fixture->events[0], PROCESS_EVENT_EXEC, 7);
	process_news_end(&fixture->news, fixture->start_ns + NS_PER_SECOND);
	assert_int_equal(fixture->count, 1);
}

static void a_program_that_ended_before_is_not(void **state)
{
	struct fixture *fixture = *state;

	tell(fixture, PROCESS_EVENT_EXEC, 7);
	tell(fixture, PROCESS_EVENT_EXIT, 7);
	process_news_end(&fixture->news, fixture->start_ns + NS_PER_SECOND);
	assert_int_equal(fixture->count, 0);
}

static void a_sample_has_it_looked_at_at_once_its_exec_first(void **state)
{
	struct fixture *fixture = *state;

	tell(fixture, PROCESS_EVENT_EXEC, 7);
	tell(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7);
	assert_int_equal(fixture->count, 2);
	expect_process_event(&fixture->events[0], PROCESS_EVENT_EXEC, 7);
	expect_process_event(&fixture->events[1], PROCESS_EVENT_UNKNOWN_PROCESS, 7);
	process_news_end(&fixture->news, fixture->start_ns + NS_PER_SECOND);
	assert_int_equal(fixture->count, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_program_that_goes_on_running_is_looked_at),
		TEST(a_program_that_ended_before_is_not),
		TEST(a_sample_has_it_looked_at_at_once_its_exec_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
