/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agent/runtimes/name_answers.h"

static int set_up(void **state)
{
	static struct name_answers answers;
	static const struct interpreted_frames frames = {
		.count = 2,
		.items = {
			{ .function = "inner", .file = "a.src", .line = 3, .column = 70000, .start_line = 2, .is_inlined = true },
			{ .function = "outer", .line = 9, .is_approximate = true,
			  .marks_trace = true },
		},
	};

	assert_int_equal(name_answers_add(&answers, -ESTALE, 4, NULL), 0);
	assert_int_equal(name_answers_add(&answers, 0, 5, &frames), 0);
	*state = &answers;
	return 0;
}

static int tear_down(void **state)
{
	name_answers_deinit(*state);
	return 0;
}

static void answers_come_back_as_they_were_given(void **state)
{
	const struct name_answers *answers = *state;
	struct interpreted_frame frame;

	assert_true(name_answers_are_valid(answers, 2));
	assert_int_equal(answers->answers.items[0].err, -ESTALE);
	assert_int_equal(answers->answers.items[0].object, 4);
	assert_int_equal(answers->answers.items[1].frame_count, 2);
	frame = name_answers_frame(answers, &answers->answers.items[1], 0);
	assert_string_equal(frame.function, "inner");
	assert_string_equal(frame.file, "a.src");
	assert_int_equal(frame.line, 3);
	assert_int_equal(frame.column, 70000);
	assert_int_equal(frame.start_line, 2);
	assert_true(frame.is_inlined && !frame.is_approximate && !frame.marks_trace);
	frame = name_answers_frame(answers, &answers->answers.items[1], 1);
	assert_string_equal(frame.function, "outer");
	assert_null(frame.file);
	assert_true(!frame.is_inlined && frame.is_approximate && frame.marks_trace);
}

static void what_there_is_no_room_for_is_an_error_and_leaves_nothing(void **state)
{
	struct name_answers *answers = *state;
	static char name[FRAME_NAME_MAX_BYTES];
	struct interpreted_frames frames = { .count = 1, .items = { { .function = name } } };
	size_t count;

	memset(name, 'x', sizeof(name) - 1);
	do {
		assert_int_equal(name_answers_add(answers, 0, 0, &frames), 0);
		count = answers->answers.count;
	} while (!answers->answers.items[count - 1].err && count < 1000);
	assert_int_equal(answers->answers.items[count - 1].err, -ENOMEM);
	assert_int_equal(answers->answers.items[count - 1].frame_count, 0);
	assert_true(answers->texts.count <= NAME_ANSWERS_MAX_TEXT_BYTES);
	assert_true(name_answers_are_valid(answers, count));
}

static void answers_that_do_not_stay_within_themselves_are_not_valid(void **state)
{
	struct name_answers *answers = *state;
	struct name_answer *answer = &answers->answers.items[1];
	struct name_frame *frame = &answers->frames.items[1];
	const struct name_answer good_answer = *answer;
	const struct name_frame good_frame = *frame;

	assert_false(name_answers_are_valid(answers, 1));
	assert_false(name_answers_are_valid(answers, 3));
#define CHECK_INVALID(change)                                                                      \
	do {                                                                                       \
		change;                                                                            \
		assert_false(name_answers_are_valid(answers, 2));                                  \
		*answer = good_answer;                                                             \
		*frame = good_frame;                                                               \
		assert_true(name_answers_are_valid(answers, 2));                                   \
	} while (0)
	CHECK_INVALID(answer->first_frame = 1);
	CHECK_INVALID(answer->first_frame = UINT32_MAX);
	CHECK_INVALID(answer->frame_count = UINT32_MAX);
	CHECK_INVALID(answer->frame_count = 0);
	CHECK_INVALID(answer->err = 1);
	CHECK_INVALID(frame->function = (uint32_t)answers->texts.count);
	CHECK_INVALID(frame->function = NAME_NO_TEXT);
	CHECK_INVALID(frame->file = (uint32_t)answers->texts.count);
	answers->texts.items[answers->texts.count - 1] = 'x';
	assert_false(name_answers_are_valid(answers, 2));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(answers_come_back_as_they_were_given),
		TEST(what_there_is_no_room_for_is_an_error_and_leaves_nothing),
		TEST(answers_that_do_not_stay_within_themselves_are_not_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
