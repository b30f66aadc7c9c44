/* SPDX-License-Identifier: Apache-2.0 */
/* Interpreted frames on their way through trace handler and frame converter. */
#include "agent/processes/runtimes/tests/interpreted_fixture.h"

static const struct trace *handle_one(struct fixture *fixture, uint64_t object, uint32_t line,
				      uint32_t fingerprint)
{
	begin(fixture);
	put(fixture, object, line, fingerprint);
	return handle(fixture);
}

static void an_interpreted_frame_gets_function_file_and_line(void **state)
{
	struct fixture *fixture = *state;
	const struct trace *trace;
	struct frame frame;

	give_runtimes(fixture, fixture->process, 1);
	begin(fixture);
	put(fixture, 0x5550, 12, 77);
	put_native(fixture, RUNTIME, FRAME_RETURN_ADDRESS, 0x100);
	trace = handle(fixture);
	assert_int_equal(trace->frame_count, 2);
	assert_true(trace->is_complete);
	frame = trace_frame(trace, 0);
	assert_int_equal(frame.kind, FAKE_KIND);
	assert_string_equal(frame.function, "f5550");
	assert_string_equal(frame.file, "fake.src");
	assert_int_equal(frame.line, 12);
	assert_int_equal(fake_language.byte, 'e');
	assert_int_equal(metrics_read(METRIC_FRAMES_NAMED), 1);
	/* From the cache, without being named again. */
	handle(fixture);
	assert_int_equal(fake_language.symbolize_count, 1);
}

static void the_owner_of_a_frame_is_told_with_it(void **state)
{
	struct fixture *fixture = *state;
	const struct trace *trace;

	give_runtimes(fixture, fixture->process, 1);
	begin(fixture);
	put(fixture, 0x5550, 12, 77);
	fixture->record.words[0] |= (uint64_t)FRAME_HAS_OWNER << FRAME_FLAGS_SHIFT;
	fixture->record.words[fixture->record.head.word_count++] = 0x777;
	put_native(fixture, RUNTIME, FRAME_RETURN_ADDRESS, 0x100);
	trace = handle(fixture);
	assert_int_equal(trace->frame_count, 2);
	assert_string_equal(trace_frame(trace, 0).function, "f5550");
	assert_int_equal(fake_language.owner, 0x777);
	/* Another owner makes another frame. */
	begin(fixture);
	put(fixture, 0x5550, 12, 77);
	fixture->record.words[0] |= (uint64_t)FRAME_HAS_OWNER << FRAME_FLAGS_SHIFT;
	fixture->record.words[fixture->record.head.word_count++] = 0x778;
	put_native(fixture, RUNTIME, FRAME_RETURN_ADDRESS, 0x100);
	handle(fixture);
	assert_int_equal(fake_language.owner, 0x778);
	/* One that has none, and one whose owner was cut off. */
	handle_one(fixture, 0x6660, 12, 77);
	assert_int_equal(fake_language.owner, 0);
	begin(fixture);
	put(fixture, 0x7770, 12, 77);
	fixture->record.words[0] |= (uint64_t)FRAME_HAS_OWNER << FRAME_FLAGS_SHIFT;
	fake_language.symbolize_count = 0;
	trace_handler_handle(fixture->handler, &fixture->record.head, sizeof(fixture->record),
			     5000);
	assert_int_equal(fake_language.symbolize_count, 0);
}

static void a_function_whose_address_is_used_again_never_shows_the_old_name(void **state)
{
	struct fixture *fixture = *state;

	give_runtimes(fixture, fixture->process, 1);
	assert_string_equal(trace_frame(handle_one(fixture, 0x5550, 1, 77), 0).function, "f5550");
	/* Another object is there now: its frames are named by it, and those of the old one not. */
	fake_language.fingerprint = 78;
	fake_language.name_bytes = 8;
	assert_string_equal(trace_frame(handle_one(fixture, 0x5550, 1, 78), 0).function,
			    "f5550xxx");
	assert_string_equal(trace_frame(handle_one(fixture, 0x5550, 2, 77), 0).function,
			    "[fake: no name]");
	assert_int_equal(metrics_read(METRIC_FRAMES_UNNAMED), 1);
	assert_int_equal(metrics_read(METRIC_FRAMES_GONE), 1);
}

static void a_frame_without_a_name_says_so_and_is_not_kept(void **state)
{
	struct fixture *fixture = *state;
	struct frame frame;

	give_runtimes(fixture, fixture->process, 1);
	fake_language.symbolize_err = -EFAULT;
	frame = trace_frame(handle_one(fixture, 0x5550, 3, 77), 0);
	assert_string_equal(frame.function, "[fake: no name]");
	assert_null(frame.file);
	assert_int_equal(frame.line, 0);
	assert_int_equal(frame.kind, FAKE_KIND);
	assert_true(fixture->reporter.last->is_complete);
	fake_language.symbolize_err = 0;
	assert_string_equal(trace_frame(handle_one(fixture, 0x5550, 3, 77), 0).function, "f5550");
}

static void a_frame_of_no_function_is_left_out(void **state)
{
	struct fixture *fixture = *state;
	const struct trace *trace;

	give_runtimes(fixture, fixture->process, 2);
	fake_language.symbolize_err = -ENOENT;
	begin(fixture);
	put_native(fixture, OTHER, 0, 0x10);
	put(fixture, 0x5550, 3, 77);
	put_native(fixture, OTHER, FRAME_RETURN_ADDRESS, 0x20);
	trace = handle(fixture);
	assert_int_equal(trace->frame_count, 2);
	assert_int_equal(trace_frame(trace, 0).address, 0x10);
	assert_int_equal(trace_frame(trace, 1).address, 0x20);
	assert_true(trace->is_complete);
	assert_int_equal(metrics_read(METRIC_FRAMES_UNNAMED), 0);
	/* No other runtime is asked, and the trace is kept. */
	handle(fixture);
	assert_int_equal(fake_language.symbolize_count, 1);
}

static void without_a_runtime_there_is_no_name(void **state)
{
	struct fixture *fixture = *state;

	assert_string_equal(trace_frame(handle_one(fixture, 0x5550, 3, 77), 0).function,
			    "[interpreted: no name]");
	give_runtimes(fixture, fixture->process, 1);
	assert_string_equal(trace_frame(handle_one(fixture, 0x5550, 3, 77), 0).function, "f5550");
}

static void of_several_runtimes_the_one_that_knows_the_frame_names_it(void **state)
{
	struct fixture *fixture = *state;

	give_runtimes(fixture, fixture->process, 3);
	fake_language.fingerprint = 1;
	handle_one(fixture, 0x5550, 3, 77);
	assert_int_equal(fake_language.symbolize_count, 3);
	handle_one(fixture, 0x5550, 3, 1);
	assert_int_equal(fake_language.symbolize_count, 4);
}

static void one_function_is_the_same_frame_in_every_process(void **state)
{
	struct fixture *fixture = *state;
	struct process *other = language_fixture_add(&fixture->base, 8);
	struct hash128 first, second, another_line;

	give_runtimes(fixture, fixture->process, 1);
	give_runtimes(fixture, other, 1);
	first = handle_one(fixture, 0x5550, 3, 77)->hash;
	begin(fixture);
	fixture->record.head.pid = 8;
	put(fixture, 0x5550, 3, 77);
	/* As a caller. */
	fixture->record.words[0] |= (uint64_t)FRAME_RETURN_ADDRESS << FRAME_FLAGS_SHIFT;
	second = handle(fixture)->hash;
	another_line = handle_one(fixture, 0x5550, 4, 77)->hash;
	assert_memory_equal(&first, &second, sizeof(first));
	assert_memory_not_equal(&first, &another_line, sizeof(first));
	process_table_remove(&fixture->base.table, other);
}

static void forks_with_different_functions_at_one_address_never_share_a_name(void **state)
{
	struct fixture *fixture = *state;
	struct process *fork = language_fixture_add(&fixture->base, 8);

	fake_proc_write_memory(&fixture->base.proc, 8, 'E');
	give_runtimes(fixture, fixture->process, 1);
	give_runtimes(fixture, fork, 1);
	handle_one(fixture, 0x5550, 3, 77);
	assert_int_equal(fake_language.byte, 'e');
	begin(fixture);
	fixture->record.head.pid = 8;
	put(fixture, 0x5550, 3, 77);
	handle(fixture);
	/* Neither the trace nor the object that is known of the other one. */
	assert_int_equal(fake_language.byte, 'E');
	assert_int_equal(fake_language.object, 0);
	process_table_remove(&fixture->base.table, fork);
}

static void recursion_is_named_once(void **state)
{
	struct fixture *fixture = *state;
	const struct trace *trace;

	give_runtimes(fixture, fixture->process, 1);
	begin(fixture);
	for (uint32_t i = 0; i < 300; i++)
		put(fixture, 0x100 + i % 3, 1, 77);
	trace = handle(fixture);
	assert_int_equal(fake_language.symbolize_count, 3);
	for (uint32_t i = 0; i < 300; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%x", 0x100 + i % 3);
		assert_string_equal(trace_frame(trace, i).function, name);
	}
}

static void names_of_a_stack_take_so_much_and_no_more(void **state)
{
	struct fixture *fixture = *state;
	const struct trace *trace;

	give_runtimes(fixture, fixture->process, 1);
	fake_language.name_bytes = FRAME_NAME_MAX_BYTES - 1;
	begin(fixture);
	for (uint32_t i = 0; i < 500; i++)
		put(fixture, 0x100 + i, 1, 77);
	trace = handle(fixture);
	assert_true(trace->bytes < 2 * INTERPRETED_NAMES_MAX_BYTES);
	assert_int_equal(strlen(trace_frame(trace, 200).function), FRAME_NAME_MAX_BYTES - 1);
	assert_string_equal(trace_frame(trace, 499).function, "[fake: no name]");
	/* The next stack has the room again. */
	trace = handle_one(fixture, 0x999, 1, 77);
	assert_int_equal(strlen(trace_frame(trace, 0).function), FRAME_NAME_MAX_BYTES - 1);
}

static void inlined_functions_are_frames_before_that_of_the_one_they_are_in(void **state)
{
	struct fixture *fixture = *state;
	const struct trace *trace;

	give_runtimes(fixture, fixture->process, 1);
	fake_language.inlined_count = 2;
	begin(fixture);
	put(fixture, 0x100, 10, 77);
	put_native(fixture, OTHER, FRAME_RETURN_ADDRESS, 0x10);
	/* As the first one, which is still known. */
	put(fixture, 0x100, 10, 77);
	trace = handle(fixture);
	assert_int_equal(fake_language.symbolize_count, 1);
	assert_int_equal(metrics_read(METRIC_FRAMES_NAMED), 6);
	assert_int_equal(trace->frame_count, 7);
	for (uint32_t i = 0; i < 7; i++) {
		struct frame frame = trace_frame(trace, i);

		if (i == 3)
			continue;
		assert_string_equal(frame.function, "f100");
		assert_int_equal(frame.line, 10 + i % 4);
		assert_int_equal(frame.flags, i % 4 < 2 ? FRAME_INLINED : 0);
	}
	assert_true(trace->is_complete);
}

static void approximate_names_leave_the_stack_complete_and_no_guess(void **state)
{
	struct fixture *fixture = *state;
	const struct trace *trace;

	give_runtimes(fixture, fixture->process, 1);
	fake_language.is_approximate = true;
	fake_language.inlined_count = 1;
	trace = handle_one(fixture, 0x100, 10, 77);
	assert_int_equal(trace_frame(trace, 0).flags, FRAME_INLINED | FRAME_APPROXIMATE);
	assert_int_equal(trace_frame(trace, 1).flags, FRAME_APPROXIMATE);
	assert_true(trace->is_complete);
	assert_false(trace->has_guess);
}

static void a_stack_that_its_language_marks_says_so(void **state)
{
	struct fixture *fixture = *state;

	give_runtimes(fixture, fixture->process, 1);
	assert_int_equal(handle_one(fixture, 0x100, 10, 77)->mark, 0);
	fake_language.marks_trace = true;
	assert_int_equal(handle_one(fixture, 0x200, 10, 77)->mark, FAKE_KIND);
}

/* 500 raw frames are more than the longest trace of other frames. */
static void what_is_inlined_beyond_the_longest_trace_is_cut(void **state)
{
	struct fixture *fixture = *state;
	const struct trace *trace;

	give_runtimes(fixture, fixture->process, 1);
	fake_language.inlined_count = INTERPRETED_FRAMES_MAX - 1;
	begin(fixture);
	for (uint32_t i = 0; i < FRAMES_MAX; i++)
		put(fixture, 0x100, 1, 77);
	trace = handle(fixture);
	assert_in_range(trace->frame_count, TRACE_MAX_WORDS + 1,
			TRACE_MAX_WORDS + INTERPRETED_FRAMES_MAX);
	for (uint32_t i = 0; i + 1 < trace->frame_count; i++)
		assert_int_equal(trace_frame(trace, i).line, 1 + i % INTERPRETED_FRAMES_MAX);
	assert_int_equal(trace_frame(trace, trace->frame_count - 1).error, UNWIND_TRUNCATED);
	/* A trace that is cut still has the physical function of its last frame. */
	assert_int_equal(trace_frame(trace, trace->frame_count - 2).flags, 0);
	assert_false(trace->is_complete);
}

/* [other, runtime] f1 [runtime, guess, other, runtime] f2 [runtime] f3 [runtime, other] */
static void put_mixed(struct fixture *fixture)
{
	begin(fixture);
	put_native(fixture, OTHER, 0, 0x10);
	put_native(fixture, RUNTIME, FRAME_RETURN_ADDRESS, 0x20);
	put(fixture, 0x1, 1, 77);
	put_native(fixture, RUNTIME, FRAME_RETURN_ADDRESS, 0x30);
	put_native(fixture, RUNTIME, FRAME_RETURN_ADDRESS | FRAME_GUESS, 0x40);
	put_native(fixture, OTHER, FRAME_RETURN_ADDRESS, 0x50);
	put_native(fixture, RUNTIME, FRAME_RETURN_ADDRESS, 0x60);
	put(fixture, 0x2, 2, 77);
	put_native(fixture, RUNTIME, FRAME_RETURN_ADDRESS, 0x70);
	put(fixture, 0x3, 3, 77);
	put_native(fixture, RUNTIME, FRAME_RETURN_ADDRESS, 0x80);
	put_native(fixture, OTHER, FRAME_RETURN_ADDRESS, 0x90);
}

static void folding_leaves_out_the_runtime_between_interpreted_frames(void **state)
{
	static const uint64_t left[] = { 0x10, 0x20, 0, 0x40, 0x50, 0, 0, 0x80, 0x90 };
	struct fixture *fixture = *state;
	const struct trace *trace;

	give_runtimes(fixture, fixture->process, 1);
	put_mixed(fixture);
	assert_int_equal(handle(fixture)->frame_count, 12);
	make_handler(fixture, true);
	trace = handle(fixture);
	assert_int_equal(trace->frame_count, sizeof(left) / sizeof(left[0]));
	for (uint32_t i = 0; i < trace->frame_count; i++)
		assert_int_equal(trace_frame(trace, i).address, left[i]);
	assert_string_equal(trace_frame(trace, 2).function, "f1");
	assert_string_equal(trace_frame(trace, 6).function, "f3");
	/* A stack without interpreted frames stays as it is. */
	begin(fixture);
	put_native(fixture, RUNTIME, 0, 0x10);
	put_native(fixture, RUNTIME, FRAME_RETURN_ADDRESS, 0x20);
	assert_int_equal(handle(fixture)->frame_count, 2);
}

/* As libjvm.so between frames of Java. */
static void folding_keeps_what_does_not_run_the_frames(void **state)
{
	struct language_id other_id = fake_id;
	struct language other = language_of_fakes;
	struct fixture *fixture = *state;

	other_id.frames = LANGUAGE_OWN_CODE;
	other.id = &other_id;
	make_handler(fixture, true);
	give_runtimes_of(fixture, fixture->process, 1, &other);
	put_mixed(fixture);
	assert_int_equal(handle(fixture)->frame_count, 12);
	give_runtimes(fixture, fixture->process, 0);
}

static void frames_that_are_known_take_no_round(void **state)
{
	struct fixture *fixture = *state;
	const struct local_home *home = &fixture->base.home;

	give_runtimes(fixture, fixture->process, 1);
	begin(fixture);
	for (uint32_t i = 0; i < 20; i++)
		put(fixture, 0x100 + i % 5, 1, 77);
	handle(fixture);
	assert_int_equal(home->round_count, 1);
	assert_int_equal(home->query_count, 5);
	/* Another stack of the same frames, and a frame more. */
	begin(fixture);
	for (uint32_t i = 0; i < 5; i++)
		put(fixture, 0x104 - i, 1, 77);
	handle(fixture);
	assert_int_equal(home->round_count, 1);
	put(fixture, 0x200, 1, 77);
	assert_string_equal(trace_frame(handle(fixture), 5).function, "f200");
	assert_int_equal(home->round_count, 2);
	assert_int_equal(home->query_count, 6);
	/* A frame that was not named is requested again. */
	handle_one(fixture, 0x300, 1, 78);
	handle_one(fixture, 0x300, 1, 78);
	assert_int_equal(home->query_count, 8);
}

static void a_stack_of_many_different_frames_is_named_whole(void **state)
{
	struct fixture *fixture = *state;
	const struct trace *trace;

	give_runtimes(fixture, fixture->process, 1);
	begin(fixture);
	for (uint32_t i = 0; i < FRAMES_MAX; i++)
		put(fixture, 0x1000 + i, 1, 77);
	trace = handle(fixture);
	for (uint32_t i = 0; i < FRAMES_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%x", 0x1000 + i);
		assert_string_equal(trace_frame(trace, i).function, name);
	}
	assert_int_equal(fixture->base.home.round_count, 1);
}

static void memory_that_does_not_answer_is_one_error_and_asked_once(void **state)
{
	struct fixture *fixture = *state;
	const struct trace *trace;

	give_runtimes(fixture, fixture->process, 1);
	fixture->base.home.hanging_pid = 7;
	begin(fixture);
	put_native(fixture, OTHER, 0, 0x10);
	put(fixture, 0x1, 1, 77);
	put(fixture, 0x2, 1, 77);
	put_native(fixture, OTHER, FRAME_RETURN_ADDRESS, 0x20);
	put(fixture, 0x3, 1, 77);
	for (uint32_t i = 0; i < 2; i++) {
		trace = handle(fixture);
		assert_int_equal(trace->frame_count, 4);
		assert_int_equal(trace_frame(trace, 1).error, UNWIND_NO_ANSWER);
		assert_int_equal(trace_frame(trace, 2).address, 0x20);
		assert_int_equal(trace_frame(trace, 3).error, UNWIND_NO_ANSWER);
		assert_false(trace->is_complete);
	}
	assert_int_equal(fixture->base.home.round_count, 1);
}

static void a_runtime_that_was_lost_leaves_frames_without_names_until_it_is_back(void **state)
{
	struct fixture *fixture = *state;

	give_runtimes(fixture, fixture->process, 1);
	local_home_lose(&fixture->base.home);
	assert_string_equal(trace_frame(handle_one(fixture, 0x5550, 3, 77), 0).function,
			    "[fake: no name]");
	assert_true(fixture->reporter.last->is_complete);
	give_runtimes(fixture, fixture->process, 1);
	assert_string_equal(trace_frame(handle_one(fixture, 0x5550, 3, 77), 0).function, "f5550");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_interpreted_frame_gets_function_file_and_line),
		TEST(the_owner_of_a_frame_is_told_with_it),
		TEST(a_function_whose_address_is_used_again_never_shows_the_old_name),
		TEST(a_frame_without_a_name_says_so_and_is_not_kept),
		TEST(a_frame_of_no_function_is_left_out),
		TEST(without_a_runtime_there_is_no_name),
		TEST(of_several_runtimes_the_one_that_knows_the_frame_names_it),
		TEST(one_function_is_the_same_frame_in_every_process),
		TEST(forks_with_different_functions_at_one_address_never_share_a_name),
		TEST(recursion_is_named_once),
		TEST(names_of_a_stack_take_so_much_and_no_more),
		TEST(inlined_functions_are_frames_before_that_of_the_one_they_are_in),
		TEST(approximate_names_leave_the_stack_complete_and_no_guess),
		TEST(a_stack_that_its_language_marks_says_so),
		TEST(what_is_inlined_beyond_the_longest_trace_is_cut),
		TEST(folding_leaves_out_the_runtime_between_interpreted_frames),
		TEST(folding_keeps_what_does_not_run_the_frames),
		TEST(frames_that_are_known_take_no_round),
		TEST(a_stack_of_many_different_frames_is_named_whole),
		TEST(memory_that_does_not_answer_is_one_error_and_asked_once),
		TEST(a_runtime_that_was_lost_leaves_frames_without_names_until_it_is_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
