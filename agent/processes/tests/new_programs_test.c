/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/process_news.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct fixture {
	struct new_programs programs;
	uint32_t passed_on[8];
	uint32_t count;
};

static void take(void *context, const struct process_event *process_event)
{
	struct fixture *fixture = context;

	assert_true(fixture->count < 8);
	fixture->passed_on[fixture->count++] = process_event->pid;
}

static struct fixture make_fixture(void)
{
	return (struct fixture){ .programs.pass_on = take };
}

static struct process_event process_event_of(uint32_t pid, uint64_t exec_id)
{
	return (struct process_event){
		.type = PROCESS_EVENT_EXEC,
		.pid = pid,
		.identity = { .start_time_ns = 100, .exec_id = exec_id },
	};
}

static void add(struct fixture *fixture, uint32_t pid, uint64_t exec_id)
{
	const struct process_event exec = process_event_of(pid, exec_id);

	fixture->programs.context = fixture;
	new_programs_add(&fixture->programs, &exec);
}

static bool end(struct fixture *fixture, uint32_t pid, uint64_t exec_id)
{
	const struct process_event exit = process_event_of(pid, exec_id);

	return new_programs_end(&fixture->programs, &exit);
}

static void what_began_and_ended_is_not_heard_of(void **state)
{
	struct fixture fixture = make_fixture();

	(void)state;
	add(&fixture, 7, 1);
	add(&fixture, 8, 1);
	assert_true(end(&fixture, 7, 1));
	new_programs_pass_on(&fixture.programs, UINT64_MAX);
	assert_int_equal(fixture.count, 1);
	assert_int_equal(fixture.passed_on[0], 8);
	new_programs_pass_on(&fixture.programs, UINT64_MAX);
	assert_int_equal(fixture.count, 1);
	assert_false(end(&fixture, 8, 1));
}

static void what_was_sampled_is_passed_on_before_its_end(void **state)
{
	struct fixture fixture = make_fixture();

	(void)state;
	add(&fixture, 7, 1);
	new_programs_pass_on_of(&fixture.programs, 6);
	assert_int_equal(fixture.count, 0);
	new_programs_pass_on_of(&fixture.programs, 7);
	assert_int_equal(fixture.passed_on[0], 7);
	assert_false(end(&fixture, 7, 1));
}

static void of_two_execs_in_a_pid_the_second_counts(void **state)
{
	struct fixture fixture = make_fixture();

	(void)state;
	add(&fixture, 7, 1);
	add(&fixture, 7, 2);
	assert_false(end(&fixture, 7, 1));
	assert_true(end(&fixture, 7, 2));
	new_programs_pass_on(&fixture.programs, UINT64_MAX);
	assert_int_equal(fixture.count, 0);
}

static void what_has_no_slot_is_passed_on(void **state)
{
	struct fixture fixture = make_fixture();

	(void)state;
	add(&fixture, 7, 1);
	add(&fixture, 7 + NEW_PROGRAMS_MAX, 1);
	assert_int_equal(fixture.count, 1);
	assert_int_equal(fixture.passed_on[0], 7);
	assert_true(end(&fixture, 7 + NEW_PROGRAMS_MAX, 1));
	assert_int_equal(fixture.programs.count, 0);
}

static void what_began_a_moment_ago_is_kept(void **state)
{
	struct fixture fixture = make_fixture();
	struct process_event exec = process_event_of(7, 1);

	(void)state;
	fixture.programs.context = &fixture;
	exec.time_ns = 200;
	new_programs_add(&fixture.programs, &exec);
	new_programs_pass_on(&fixture.programs, 200);
	assert_int_equal(fixture.count, 0);
	new_programs_pass_on(&fixture.programs, 201);
	assert_int_equal(fixture.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_began_and_ended_is_not_heard_of),
		cmocka_unit_test(what_was_sampled_is_passed_on_before_its_end),
		cmocka_unit_test(of_two_execs_in_a_pid_the_second_counts),
		cmocka_unit_test(what_has_no_slot_is_passed_on),
		cmocka_unit_test(what_began_a_moment_ago_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
