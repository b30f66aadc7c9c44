/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that are made here; integration/javascript_stack_test.py has real ones. */
#include "interpreters/javascript/v8_unwind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_code.h"

enum {
	STACK_WORDS = 256,
	FRAMES_MAX = 16,
	NEXT_EXIT = -64,
};

/* The addresses of builtins are outside of the made memory. */
#define INTERPRETER 0x100001ULL
#define ARRAY_MAP 0x100002ULL
#define OTHER 0x100003ULL

static struct made_heap made;
static struct made_code_page page;
static uint64_t stack, context, shared, function, turbofan, regexp;

/* The frames that were emitted. */
static struct v8_unwind_frame frames[FRAMES_MAX];
static uint32_t frame_count;

static const struct v8_builtin *find_builtin(void *unused, uint64_t pc)
{
	static const struct v8_builtin builtins[] = {
		{ .name = "InterpreterEntryTrampoline",
		  .builtin_class = JAVASCRIPT_BUILTIN_INTERPRETER },
		{ .name = "ArrayMap" },
		{ .name = "CEntry" },
	};

	(void)unused;
	return pc < INTERPRETER || pc > OTHER ? NULL : &builtins[pc - INTERPRETER];
}

static int emit(void *unused, const struct v8_unwind_frame *frame)
{
	(void)unused;
	if (frame_count == FRAMES_MAX)
		abort();
	frames[frame_count++] = *frame;
	return 0;
}

static uint64_t at_word(uint32_t index)
{
	return stack + index * sizeof(uint64_t);
}

static void put_word(uint32_t index, uint64_t word)
{
	made_put(&made, at_word(index), &word, sizeof(word));
}

/* Writes a frame whose frame pointer points to word @index, with the caller's frame pointer and return address. */
static void put_frame(uint32_t index, uint64_t context_or_type, uint32_t caller, uint64_t caller_pc)
{
	put_word(index - 2, function);
	put_word(index - 1, context_or_type);
	put_word(index, caller ? at_word(caller) : 0);
	put_word(index + 1, caller_pc);
}

static uint64_t type(int32_t number)
{
	return (uint64_t)number << 1;
}

static void make_process(enum v8_line line)
{
	made_heap_init(&made, line);
	made_code_page_init(&page, &made);
	shared = made_shared(&made, made_text(&made, "f"), made_smi(0));
	function = made_function(&made, shared);
	context = made_object(&made, made.layout.type_fixed_array, 16);
	turbofan = made_code_add(&page, &(struct made_code){ .kind = made.layout.kind_turbofan,
							     .size = 40 });
	regexp = made_code_add(&page,
			       &(struct made_code){ .kind = made.layout.kind_regexp, .size = 40 });
	stack = made_room(&made, STACK_WORDS * sizeof(uint64_t));
	frame_count = 0;
}

static int unwind_words(uint32_t count)
{
	const struct v8_unwind unwind = {
		.heap = &made.heap,
		.bias = page.bias,
		.find_builtin = find_builtin,
		.emit = emit,
	};

	return v8_unwind_stack(&unwind, stack, at_word(count));
}

static int unwind(void)
{
	return unwind_words(STACK_WORDS);
}

/* Makes a stack with an exit at 10, entries at 60 and 120, and frames of functions at 20, 30 and 70. */
static void make_stack(void)
{
	put_frame(10, type(made.layout.frame_builtin_exit), 20, INTERPRETER);
	put_frame(20, context, 30, turbofan + 9);
	put_frame(30, context, 60, OTHER);
	put_frame(60, type(made.layout.frame_entry), 0, 0x5555);
	put_word(60 + NEXT_EXIT / 8, at_word(70));
	put_frame(70, type(made.layout.frame_exit), 80, ARRAY_MAP);
	put_frame(80, context, 120, OTHER);
	put_frame(120, type(made.layout.frame_entry), 0, 0x5555);
}

static void frames_are_what_their_pc_says(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		make_process(line);
		make_stack();
		assert_int_equal(unwind(), 0);
		assert_int_equal(frame_count, 4);
		assert_int_equal(frames[0].kind, V8_UNWIND_FUNCTION);
		assert_int_equal(frames[0].frame.tier, V8_TIER_INTERPRETED);
		assert_int_equal(frames[0].frame.shared, shared);
		assert_int_equal(frames[1].frame.tier, V8_TIER_TURBOFAN);
		assert_int_equal(frames[1].frame.pc, turbofan + 9);
		assert_int_equal(frames[1].frame.code.start, turbofan);
		assert_int_equal(frames[2].kind, V8_UNWIND_CPP);
		assert_int_equal(frames[3].kind, V8_UNWIND_BUILTIN);
		assert_string_equal(frames[3].builtin->name, "ArrayMap");
	}
}

static void frames_of_v8_itself_are_left_out(void **state)
{
	(void)state;
	make_process(V8_13_6);
	make_stack();
	/* A stub's frame between exit and function, and a constructor's frame as the function's caller. */
	put_frame(10, type(made.layout.frame_builtin_exit), 14, OTHER);
	put_frame(14, type(made.layout.frame_construct + 20), 20, INTERPRETER);
	put_frame(20, context, 25, OTHER);
	put_frame(25, type(made.layout.frame_construct), 30, turbofan + 9);
	assert_int_equal(unwind(), 0);
	assert_int_equal(frame_count, 4);
	assert_true(frames[0].is_construct);
	assert_false(frames[1].is_construct);
	/* Code that calls the runtime before it has its own frame. */
	frame_count = 0;
	put_frame(30, type(made.layout.frame_exit), 60, OTHER);
	assert_int_equal(unwind(), 0);
	assert_int_equal(frame_count, 3);
	assert_int_equal(frames[1].kind, V8_UNWIND_CPP);
}

static void regular_expressions_need_no_type(void **state)
{
	(void)state;
	make_process(V8_9_4);
	make_stack();
	put_frame(10, type(made.layout.frame_exit), 15, regexp + 3);
	/* A string of the program instead of a context. */
	put_frame(15, made_text(&made, "subject"), 20, INTERPRETER);
	assert_int_equal(unwind(), 0);
	assert_int_equal(frame_count, 5);
	assert_int_equal(frames[0].kind, V8_UNWIND_REGEXP);
	assert_int_equal(frames[1].frame.tier, V8_TIER_INTERPRETED);
}

static void wasm_is_known_by_its_type(void **state)
{
	(void)state;
	make_process(V8_14_6);
	make_stack();
	put_frame(6, type(made.layout.frame_builtin_exit), 10, OTHER);
	put_frame(10, type(made.layout.frame_wasm + 1), 14, 0x777777);
	put_frame(14, type(made.layout.frame_wasm), 20, INTERPRETER);
	assert_int_equal(unwind(), 0);
	assert_int_equal(frames[0].kind, V8_UNWIND_WASM);
	assert_int_equal(frame_count, 5);
}

static void words_that_look_like_an_exit_are_none(void **state)
{
	(void)state;
	make_process(V8_12_4);
	make_stack();
	/* Left-over words of other C++: a return address in no code, and a frame that precedes. */
	put_frame(5, type(made.layout.frame_exit), 20, 0x123456);
	assert_int_equal(unwind(), 0);
	assert_int_equal(frame_count, 4);
	frame_count = 0;
	put_word(5, at_word(2));
	put_word(6, INTERPRETER);
	assert_int_equal(unwind(), 0);
	assert_int_equal(frame_count, 4);
}

static void a_stack_full_of_exits_is_given_up(void **state)
{
	enum { WORDS = 1200 };

	(void)state;
	make_process(V8_12_4);
	stack = made_room(&made, WORDS * sizeof(uint64_t));
	for (uint32_t i = 2; i + 2 < WORDS; i += 4)
		put_frame(i, type(made.layout.frame_exit), WORDS - 1, 0x123456);
	assert_int_equal(unwind_words(WORDS), -E2BIG);
}

static void threads_without_javascript_have_no_frames(void **state)
{
	(void)state;
	make_process(V8_12_4);
	assert_int_equal(unwind(), -ENOENT);
	assert_int_equal(frame_count, 0);
}

static void hostile_stacks_end(void **state)
{
	(void)state;
	make_process(V8_12_4);
	make_stack();
	/* A frame that is its own caller. */
	put_frame(30, context, 30, INTERPRETER);
	assert_int_equal(unwind(), -EBADMSG);
	/* An address without code. */
	make_stack();
	put_frame(20, context, 30, 0x123456);
	assert_int_equal(unwind(), -EBADMSG);
	/* An entry whose saved exit is invalid. */
	make_stack();
	put_word(60 + NEXT_EXIT / 8, at_word(80));
	assert_int_equal(unwind(), -EBADMSG);
	put_word(60 + NEXT_EXIT / 8, at_word(20));
	assert_int_equal(unwind(), -EBADMSG);
	put_word(60 + NEXT_EXIT / 8, at_word(STACK_WORDS));
	assert_int_equal(unwind(), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_what_their_pc_says),
		cmocka_unit_test(frames_of_v8_itself_are_left_out),
		cmocka_unit_test(regular_expressions_need_no_type),
		cmocka_unit_test(wasm_is_known_by_its_type),
		cmocka_unit_test(words_that_look_like_an_exit_are_none),
		cmocka_unit_test(a_stack_full_of_exits_is_given_up),
		cmocka_unit_test(threads_without_javascript_have_no_frames),
		cmocka_unit_test(hostile_stacks_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
