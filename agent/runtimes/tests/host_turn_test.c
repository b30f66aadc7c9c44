/* SPDX-License-Identifier: Apache-2.0 */
/* The two sides of a turn are the two threads of the test. */
#include "agent/runtimes/host_turn.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/base/clock.h"

enum { TURNS = 1000 };

struct fixture {
	struct host_turn turn;
	/* The data that the turn guards. */
	uint32_t value;
};

static void *serve(void *context)
{
	struct fixture *fixture = context;
	uint32_t number = 0;

	while (number < TURNS) {
		number = host_turn_take(&fixture->turn);
		fixture->value *= 2;
		host_turn_answer(&fixture->turn, number);
	}
	return NULL;
}

static void what_is_asked_is_answered_in_turn(void **state)
{
	struct fixture fixture = { .turn = { 0 } };
	pthread_t server;

	(void)state;
	assert_int_equal(pthread_create(&server, NULL, serve, &fixture), 0);
	for (uint32_t i = 1; i <= TURNS; i++) {
		fixture.value = i;
		host_turn_ask(&fixture.turn, i);
		while (!host_turn_wait(&fixture.turn, i, NS_PER_SECOND))
			;
		assert_int_equal(fixture.value, 2 * i);
	}
	pthread_join(server, NULL);
}

static void nobody_waits_for_longer_than_wanted(void **state)
{
	struct host_turn turn = { 0 };
	uint64_t begin_ns = clock_monotonic_ns();

	(void)state;
	host_turn_ask(&turn, 1);
	assert_false(host_turn_wait(&turn, 1, 5 * NS_PER_MS));
	assert_true(clock_monotonic_ns() >= begin_ns + 5 * NS_PER_MS);
	assert_false(host_turn_wait(&turn, 1, 0));
	/* The other side writes what it likes. */
	turn.answered = 7;
	assert_false(host_turn_wait(&turn, 1, 5 * NS_PER_MS));
}

static void an_answer_comes_or_its_question_is_given_up(void **state)
{
	struct host_turn early = { 0 }, late = { 0 };

	(void)state;
	host_turn_ask(&early, 1);
	assert_int_equal(host_turn_take(&early), 1);
	assert_true(host_turn_leave(&early, 1));
	assert_false(host_turn_answer(&early, 1));
	host_turn_ask(&late, 1);
	assert_true(host_turn_answer(&late, host_turn_take(&late)));
	assert_false(host_turn_leave(&late, 1));
	/* The answer that has come counts, and the next question is answered. */
	assert_true(host_turn_wait(&late, 1, 0));
	host_turn_ask(&late, 2);
	assert_true(host_turn_answer(&late, host_turn_take(&late)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_is_answered_in_turn),
		cmocka_unit_test(nobody_waits_for_longer_than_wanted),
		cmocka_unit_test(an_answer_comes_or_its_question_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
