/* SPDX-License-Identifier: Apache-2.0 */
#include "integration/collector/answers.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/clock.h"

/* Asserts the next answers to @schedule, as texts separated by `;`. */
static void assert_answers(const char *schedule, unsigned int count, const char *expected)
{
	struct answers answers;
	char text[1024] = "";

	assert_int_equal(answers_init(&answers, schedule), 0);
	for (unsigned int i = 0; i < count; i++) {
		struct answer answer = answers_next(&answers);
		size_t length = strlen(text);

		if (i)
			text[length++] = ';';
		answer_describe(&answer, text + length, sizeof(text) - length);
	}
	assert_string_equal(text, expected);
	answers_deinit(&answers);
}

static void a_schedule_is_gone_through_once(void **state)
{
	(void)state;
	assert_answers("", 2, "ok;ok");
	assert_answers("late=2s,status=14:try again*2,ok,retry-info=250ms,retry-info=1s:14,hang", 8,
		       "late 2000 ms;status 14;status 14;ok;status 8, retry in 250 ms;"
		       "status 14, retry in 1000 ms;hang;ok");
	assert_answers("reset,garbage,partial=3:bad,partial=0", 5,
		       "reset;garbage;partial 3;partial 0;ok");
}

static void an_answer_may_come_for_ever(void **state)
{
	(void)state;
	assert_answers("ok,status=3*", 4, "ok;status 3;status 3;status 3");
}

static void texts_come_along(void **state)
{
	struct answers answers;

	(void)state;
	assert_int_equal(answers_init(&answers, "status=14:try: again,partial=2:no"), 0);
	assert_string_equal(answers_next(&answers).text, "try: again");
	assert_string_equal(answers_next(&answers).text, "no");
	answers_deinit(&answers);
}

static void random_answers_are_the_same_for_the_same_seed(void **state)
{
	struct answers one, same, other;
	unsigned int faults = 0, differences = 0;

	(void)state;
	answers_init(&one, "random:1:30");
	answers_init(&same, "random:1:30");
	answers_init(&other, "random:2:30");
	for (int i = 0; i < 1000; i++) {
		struct answer answer = answers_next(&one);

		assert_int_equal(answer.kind, answers_next(&same).kind);
		assert_int_not_equal(answer.kind, ANSWER_RANDOM);
		faults += answer.kind != ANSWER_OK;
		differences += answer.kind != answers_next(&other).kind;
	}
	assert_in_range(faults, 200, 400);
	assert_in_range(differences, 100, 900);
	answers_deinit(&one);
	answers_deinit(&same);
	answers_deinit(&other);
}

static void what_is_no_answer_is_refused(void **state)
{
	static const char *const schedules[] = {
		"okay",	      "late", "late=2",	  "status=17", "status=x",
		"partial=-1", "ok*x", "random:1", "ok,,ok",    "retry-info=1s:99"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(schedules) / sizeof(schedules[0]); i++) {
		struct answers answers;

		if (answers_init(&answers, schedules[i]) != -EINVAL)
			fail_msg("%s", schedules[i]);
		answers_deinit(&answers);
	}
}

static void only_good_answers_take(void **state)
{
	(void)state;
	assert_true(answer_is_taken(&(struct answer){ .kind = ANSWER_PARTIAL }));
	assert_true(answer_is_taken(&(struct answer){ .kind = ANSWER_LATE }));
	assert_false(answer_is_taken(&(struct answer){ .kind = ANSWER_HANG }));
	assert_true(answer_is_taken(&(struct answer){ .kind = ANSWER_GARBAGE }));
	assert_false(answer_is_taken(&(struct answer){ .kind = ANSWER_RESET }));
}

static void responses_are_as_the_protocol_has_them(void **state)
{
	struct answer partial = { .kind = ANSWER_PARTIAL, .number = 300, .text = "no" };
	struct answer retry = {
		.kind = ANSWER_RETRY_INFO,
		.number = 8,
		.delay_ns = 2 * NS_PER_SECOND + 5,
	};
	uint8_t bytes[ANSWER_MESSAGE_MAX_BYTES];
	size_t count;

	(void)state;
	assert_int_equal(answer_response(&(struct answer){ .kind = ANSWER_OK }, bytes), 0);
	count = answer_response(&partial, bytes);
	assert_int_equal(count, 9);
	assert_memory_equal(bytes, "\x0a\x07\x08\xac\x02\x12\x02no", count);
	/*
	 * google.rpc.Status with code 8; its details are an Any of RetryInfo with a delay of 2 s 5
	 * ns.
	 */
	count = answer_status_details(&retry, bytes);
	assert_memory_equal(bytes,
			    "\x08\x08\x1a\x32\x0a\x28type.googleapis.com/google.rpc.RetryInfo"
			    "\x12\x06\x0a\x04\x08\x02\x10\x05",
			    count);
	assert_int_equal(count, 54);
	assert_int_equal(answer_status_details(&partial, bytes), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_schedule_is_gone_through_once),
		cmocka_unit_test(an_answer_may_come_for_ever),
		cmocka_unit_test(texts_come_along),
		cmocka_unit_test(random_answers_are_the_same_for_the_same_seed),
		cmocka_unit_test(what_is_no_answer_is_refused),
		cmocka_unit_test(only_good_answers_take),
		cmocka_unit_test(responses_are_as_the_protocol_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
