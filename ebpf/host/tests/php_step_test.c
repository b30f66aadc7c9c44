// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* PHP's functions between native frames (php_fixture.h): loops and generators. */
#include "ebpf/host/tests/php_fixture.h"

static void each_loop_has_frames_up_to_the_first_that_c_called(void **state)
{
	struct php *php = *state;

	add_two_loops(php);
	set_vm(php, frame_at(0), opcodes_of(0) + 5 * PHP_OPCODE_BYTES);
	assert_string_equal(unwind_text(php), "01LCa2LCE");
	assert_int_equal(php->world->trace.error, UNWIND_OK);
	assert_int_equal(php->world->trace.interpreter_error, UNWIND_OK);
	/* The innermost line is that of the register, others are those of the execute_data. */
	assert_int_equal(position_of(php, 0), FIRST_LINE + 6);
	assert_int_equal(position_of(php, 1), FIRST_LINE + 3);
	assert_int_equal(position_of(php, 4), PHP_IS_INTERNAL);
	assert_int_equal(position_of(php, 5), FIRST_LINE + 3);
}

static void fingerprints_are_those_of_functions(void **state)
{
	struct php *php = *state;
	const uint64_t *words = php->world->trace.words;
	uint32_t print;

	add_two_loops(php);
	unwind_text(php);
	print = (uint32_t)words[1];
	assert_int_not_equal(print, 0);
	assert_int_not_equal(print, (uint32_t)words[3]);
	put_string(php, function_at(0) + 0x100, "another");
	unwind_text(php);
	assert_int_not_equal((uint32_t)words[1], print);
	/* A name that cannot be read. */
	put(php, function_at(0) + 8, HEAP_START - 4096);
	unwind_text(php);
	assert_int_equal((uint32_t)words[1], 0);
}

static void without_its_register_the_innermost_line_is_approximate(void **state)
{
	struct php *php = *state;

	add(php, RULE_C);
	add(php, RULE_OF_LOOP);
	add(php, RULE_END);
	put(php, CURRENT, put_frame(php, 0, 0, 0, CALL_TOP));
	/* Native code has overwritten the register. */
	set_vm(php, 0x1234, opcodes_of(0) + 5 * PHP_OPCODE_BYTES);
	assert_string_equal(unwind_text(php), "C0LE");
	assert_int_equal(position_of(php, 1), PHP_IS_APPROXIMATE | (FIRST_LINE + 3));
	/* It is compiling a file, for which the native code was called. */
	put(php, opcodes_of(0) + 2 * PHP_OPCODE_BYTES, code_at(RULE_OF_LOOP) - 5);
	put(php, opcodes_of(0) + 2 * PHP_OPCODE_BYTES + PHP_OPCODE_LINE, 73ULL << 32 | 77);
	unwind_text(php);
	assert_int_equal(position_of(php, 1), 77);
	put(php, opcodes_of(0) + 2 * PHP_OPCODE_BYTES, code_at(RULE_OF_LOOP) - 10);
	unwind_text(php);
	assert_int_equal(position_of(php, 1), PHP_IS_APPROXIMATE | 77);
	/* Neither register nor execute_data have an instruction of the function. */
	set_vm(php, frame_at(0), opcodes_of(0) + OP_COUNT * PHP_OPCODE_BYTES);
	put(php, frame_at(0), opcodes_of(0) + 1);
	unwind_text(php);
	assert_int_equal(position_of(php, 1), PHP_IS_APPROXIMATE | FIRST_LINE);
	/* An exception is being thrown. */
	put(php, BEFORE_EXCEPTION, opcodes_of(0) + 7 * PHP_OPCODE_BYTES);
	unwind_text(php);
	assert_int_equal(position_of(php, 1), FIRST_LINE + 8);
}

static void a_loop_that_is_not_called_yet_has_no_frame(void **state)
{
	struct php *php = *state;
	uint64_t frame;

	add(php, RULE_ENTERING);
	add(php, RULE_C);
	add(php, RULE_OF_LOOP);
	add(php, RULE_END);
	frame = put_frame(php, 2, 2, 0, CALL_TOP);
	frame = put_frame(php, 1, IN_C, frame, 0);
	put(php, CURRENT, put_frame(php, 0, 0, frame, CALL_TOP));
	assert_string_equal(unwind_text(php), "CCa2LE");
	/* An execute_data that a PHP function has called does not count. */
	put_frame(php, 0, 0, frame, 0);
	assert_string_equal(unwind_text(php), "CC0a2LE");
}

static void a_generator_that_has_returned_has_no_frame(void **state)
{
	struct php *php = *state;
	uint64_t frame;

	add(php, RULE_RESUMED);
	add(php, RULE_OF_LOOP);
	add(php, RULE_END);
	frame = put_frame(php, 1, 2, 0, CALL_TOP);
	put(php, CURRENT, put_frame(php, 0, 0, frame, CALL_TOP | CALL_GENERATOR));
	assert_string_equal(unwind_text(php), "C2LE");
	put_frame(php, 0, 0, frame, CALL_TOP);
	assert_string_equal(unwind_text(php), "C0LE");
}

static void a_loop_that_is_left_has_no_frame(void **state)
{
	struct php *php = *state;
	uint64_t frame;

	/* Its variables are freed: a destructor runs. */
	add(php, RULE_OF_LOOP);
	add(php, RULE_C);
	add_at(php, RULE_OF_LOOP, LEFT_ADDRESS - TEXT_ADDRESS + TEXT_START);
	add(php, RULE_C);
	add(php, RULE_OF_LOOP);
	add(php, RULE_END);
	frame = put_frame(php, 2, 2, 0, CALL_TOP);
	put(php, CURRENT, put_frame(php, 0, 0, frame, CALL_TOP));
	assert_string_equal(unwind_text(php), "0LCLC2LE");
	/* The destructor's loop is not called yet. */
	php->has_leaf = false;
	php->next_word = 0;
	add(php, RULE_ENTERING);
	add_at(php, RULE_OF_LOOP, LEFT_ADDRESS - TEXT_ADDRESS + TEXT_START);
	add(php, RULE_C);
	add(php, RULE_OF_LOOP);
	add(php, RULE_END);
	assert_string_equal(unwind_text(php), "CLC2LE");
}

static void the_register_tells_that_the_loop_is_left(void **state)
{
	struct php *php = *state;
	uint64_t frame;

	add(php, RULE_OF_LOOP);
	add(php, RULE_C);
	add(php, RULE_OF_LOOP);
	add(php, RULE_END);
	frame = put_frame(php, 1, 2, 0, CALL_TOP);
	put(php, CURRENT, frame);
	set_vm(php, put_frame(php, 0, 0, frame, CALL_TOP), opcodes_of(0));
	assert_string_equal(unwind_text(php), "LC2LE");
	/* One that a function in PHP has called is left, but not the loop. */
	set_vm(php, put_frame(php, 0, 0, frame, 0), opcodes_of(0));
	assert_string_equal(unwind_text(php), "2LC!LE");
}

static void what_is_prepared_is_not_left(void **state)
{
	struct php *php = *state;
	uint64_t frame;

	add(php, RULE_PREPARING);
	add(php, RULE_C);
	add(php, RULE_OF_LOOP);
	add(php, RULE_END);
	frame = put_frame(php, 1, 2, 0, CALL_TOP);
	put(php, CURRENT, frame);
	set_vm(php, put_frame(php, 0, 0, frame, CALL_TOP), opcodes_of(0));
	assert_string_equal(unwind_text(php), "CC2LE");
}

static void at_its_end_the_loop_has_no_frame_but_a_generator_s(void **state)
{
	static const struct {
		uint32_t caller;
		uint32_t flags;
		const char *text;
	} cases[] = {
		{ RULE_C, CALL_TOP, "LC02LE" },
		{ RULE_C, CALL_TOP | CALL_GENERATOR, "LC02LE" },
		{ RULE_RESUMED, CALL_TOP, "LC02LE" },
		{ RULE_RESUMED, CALL_TOP | CALL_GENERATOR, "0LC2LE" },
	};
	struct php *php = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool is_own = cases[i].text[0] == '0';
		uint64_t frame;

		php->has_leaf = false;
		php->next_word = 0;
		add(php, RULE_LOOP_END);
		add(php, cases[i].caller);
		add(php, RULE_OF_LOOP);
		add(php, RULE_END);
		frame = put_frame(php, 1, 2, 0, CALL_TOP);
		/* A frame that C has not called belongs to the other loop. */
		put(php, CURRENT,
		    put_frame(php, 0, 0, frame,
			      is_own ? cases[i].flags : cases[i].flags & ~(uint32_t)CALL_TOP));
		assert_string_equal(unwind_text(php), cases[i].text);
	}
}

/* Makes generator @index of function @number, whose caller is @previous. */
static uint64_t put_generator(struct php *php, uint32_t index, uint32_t number, uint64_t previous,
			      uint64_t parent)
{
	uint64_t generator = generator_at(index);
	uint64_t frame = put_frame(php, index, number, previous, CALL_TOP | CALL_GENERATOR);

	put(php, frame + 16, generator);
	put(php, generator + 56, frame);
	put(php, generator + 152, parent);
	return frame;
}

/* The placeholder in generator @index. */
static uint64_t put_placeholder(struct php *php, uint32_t index, uint64_t previous)
{
	uint64_t placeholder = generator_at(index) + 184;

	put(php, placeholder + 32, generator_at(index));
	put(php, placeholder + 40, 8);
	put(php, placeholder + 48, previous);
	return placeholder;
}

static void generators_that_delegate_stand_between(void **state)
{
	struct php *php = *state;
	uint64_t frame;

	add(php, RULE_OF_LOOP);
	add(php, RULE_C);
	add(php, RULE_OF_LOOP);
	add(php, RULE_END);
	/* 4 goes through 3, which delegates to 2, 1 and 0. */
	frame = put_frame(php, 4, 4, 0, CALL_TOP);
	frame = put_placeholder(php, 3, frame);
	put_generator(php, 3, 3, 0, generator_at(2));
	put_generator(php, 2, 2, 0, generator_at(1));
	put_generator(php, 1, 1, 0, generator_at(0));
	put(php, CURRENT, put_generator(php, 0, 0, frame, 0));
	assert_string_equal(unwind_text(php), "0LC1234LE");
	/* A cycle of generators. */
	put(php, generator_at(0) + 152, generator_at(3));
	assert_string_equal(unwind_text(php), "0LC!LE");
}

/* Adds a loop in @leaf, whose caller is in @caller, and function 2's loop. Makes generator 1, which delegates to an iterator. */
static uint64_t put_iterating(struct php *php, uint32_t leaf, uint32_t caller)
{
	uint64_t frame = put_frame(php, 2, 2, 0, CALL_TOP);

	add(php, leaf);
	add(php, caller);
	add(php, RULE_OF_LOOP);
	add(php, RULE_END);
	frame = put_generator(php, 1, 1, frame, 0);
	put(php, generator_at(1) + 144, 8);
	return frame;
}

static void a_generator_that_delegates_to_an_iterator_ends_nothing(void **state)
{
	struct php *php = *state;
	uint64_t frame = put_iterating(php, RULE_OF_LOOP, RULE_C);

	put(php, CURRENT, put_frame(php, 0, 0, frame, CALL_TOP));
	assert_string_equal(unwind_text(php), "0LC12LE");
	/* The register may have it by accident. */
	set_vm(php, frame, opcodes_of(1));
	assert_string_equal(unwind_text(php), "0LC12LE");
	/* VM code runs it: it is about to delegate. */
	put(php, CURRENT, frame);
	set_vm(php, frame, opcodes_of(1));
	assert_string_equal(unwind_text(php), "1LC2LE");
}

static void a_loop_that_the_iterator_has_left_is_not_the_generators(void **state)
{
	struct php *php = *state;
	uint64_t frame = put_iterating(php, RULE_LOOP_END, RULE_C);

	put(php, CURRENT, frame);
	/* Generated code restores the register of what has called it. */
	set_vm(php, frame, opcodes_of(1));
	assert_string_equal(unwind_text(php), "LC12LE");
}

static void a_generator_that_has_just_begun_to_delegate_ends_its_loop(void **state)
{
	struct php *php = *state;
	uint64_t frame = put_iterating(php, RULE_LOOP_END, RULE_RESUMED);

	put(php, CURRENT, frame);
	set_vm(php, 0, 0);
	assert_string_equal(unwind_text(php), "1LC2LE");
}

static void included_code_says_what_included_it(void **state)
{
	struct php *php = *state;
	uint64_t frame, instruction = opcodes_of(1) + 2 * PHP_OPCODE_BYTES;

	add(php, RULE_OF_LOOP);
	add(php, RULE_END);
	put(php, function_at(0) + 8, 0);
	put(php, function_at(1) + 8, 0);
	frame = put_frame(php, 1, 1, 0, CALL_TOP);
	put(php, CURRENT, put_frame(php, 0, 0, frame, 0));
	for (uint32_t i = PHP_INCLUDE_EVAL; i < PHP_INCLUDE_COUNT; i++) {
		put(php, instruction + 16, 1ULL << (31 + i));
		put(php, instruction + PHP_OPCODE_LINE, 73ULL << 32 | 77);
		assert_string_equal(unwind_text(php), "01LE");
		assert_int_equal(position_of(php, 0) >> PHP_INCLUDE_SHIFT & PHP_INCLUDE_MASK, i);
		assert_int_equal(position_of(php, 1), PHP_IS_FILE | 77);
	}
	/* It is another instruction. */
	put(php, instruction + PHP_OPCODE_LINE, 72ULL << 32 | 77);
	unwind_text(php);
	assert_int_equal(position_of(php, 0) >> PHP_INCLUDE_SHIFT & PHP_INCLUDE_MASK,
			 PHP_INCLUDE_NONE);
	assert_int_equal(frame_address(php->world->trace.words[0]), function_at(0) + 0x180);
}

static void what_cannot_be_read_is_missing(void **state)
{
	struct php *php = *state;

	add_two_loops(php);
	put(php, CURRENT, HEAP_START - 4096);
	assert_string_equal(unwind_text(php), "!LCLCE");
	assert_int_equal(php->world->trace.interpreter_error, UNWIND_INTERPRETER_FRAMES);
	php->world->user[1].size = 0;
	assert_string_equal(unwind_text(php), "!LCLCE");
	assert_int_equal(php->world->trace.interpreter_error, UNWIND_INTERPRETER_THREAD);
}

static void a_list_without_an_end_ends(void **state)
{
	struct php *php = *state;

	add_two_loops(php);
	put_frame(php, 0, 0, frame_at(0), 0);
	unwind_text(php);
	assert_int_equal(php->world->trace.error, UNWIND_TRUNCATED);
	/* Placeholders make no frames. */
	put(php, frame_at(0) + 24, 0);
	unwind_text(php);
	assert_int_equal(php->world->trace.error, UNWIND_TRUNCATED);
}
int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_loop_has_frames_up_to_the_first_that_c_called),
		TEST(fingerprints_are_those_of_functions),
		TEST(without_its_register_the_innermost_line_is_approximate),
		TEST(a_loop_that_is_not_called_yet_has_no_frame),
		TEST(a_generator_that_has_returned_has_no_frame),
		TEST(a_loop_that_is_left_has_no_frame),
		TEST(the_register_tells_that_the_loop_is_left),
		TEST(what_is_prepared_is_not_left),
		TEST(at_its_end_the_loop_has_no_frame_but_a_generator_s),
		TEST(generators_that_delegate_stand_between),
		TEST(a_generator_that_delegates_to_an_iterator_ends_nothing),
		TEST(a_loop_that_the_iterator_has_left_is_not_the_generators),
		TEST(a_generator_that_has_just_begun_to_delegate_ends_its_loop),
		TEST(included_code_says_what_included_it),
		TEST(what_cannot_be_read_is_missing),
		TEST(a_list_without_an_end_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
