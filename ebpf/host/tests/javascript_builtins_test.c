// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Stacks of builtins that no rules tell of, or wrong ones: those that make and leave the frame of Sparkplug's code, and those
 * that move arguments. And code that is not where a page's list has it.
 */
#include "ebpf/host/tests/javascript_fixture.h"

static void put_text(struct javascript *javascript, uint32_t rule, const char *code, size_t size)
{
	memcpy(javascript->text_bytes + (code_at(rule) - TEXT_START), code, size);
}

/* Sparkplug's code of function 1, and where the builtin that makes its frame returns to in it. */
static uint64_t add_baseline(struct javascript *javascript)
{
	return add_code(javascript, KIND_BASELINE, 1) + IN_CODE;
}

static void before_the_prologue_makes_the_frame_it_is_below_its_own_return_address(void **state)
{
	/* pop r15 or r11; push rbp; mov rbp, rsp */
	static const char *const codes[] = { "\x41\x5f\x55\x48\x89\xe5",
					     "\x41\x5b\x55\x48\x8b\xec" };
	struct javascript *javascript = *state;

	for (size_t i = 0; i < 2; i++) {
		lay_frameless(javascript, code_at(RULE_PROLOGUE_AT_CALL), 1);
		put_word(javascript, LEAF_WORD, add_baseline(javascript));
		set_register(javascript, RDI, function_at(1));
		/* The instructions stand some way behind. */
		memset(javascript->text_bytes, 0x90, sizeof(javascript->text_bytes));
		put_text(javascript, RULE_PROLOGUE_AT_CALL, "\x90\x90\x90", 3);
		memcpy(javascript->text_bytes + (code_at(RULE_PROLOGUE_AT_CALL) - TEXT_START) + 3,
		       codes[i], 6);
		assert_javascript_unwind(javascript, "I1I0E");
		assert_int_equal(frame_offset(javascript, 0), JAVASCRIPT_NO_OFFSET);
	}
	/* Before `add rsp, 8`, where V8 goes to compile the function. */
	put_text(javascript, RULE_PROLOGUE_AT_CALL, "\x48\x83\xc4\x08\x90\x90\x90\x90\x90", 9);
	assert_javascript_unwind(javascript, "I1I0E");
}

static void while_the_prologue_makes_the_frame_it_is_above_its_own_return_address(void **state)
{
	struct javascript *javascript = *state;

	/* push rbp */
	put_text(javascript, RULE_PROLOGUE_AT_CALL, "\x55\x48\x89\xe5\x56\x57\x50\x90", 8);
	lay_frameless(javascript, code_at(RULE_PROLOGUE_AT_CALL), 0);
	set_register(javascript, RDI, function_at(1));
	assert_javascript_unwind(javascript, "I1I0E");
	/* mov rbp, rsp */
	put_text(javascript, RULE_PROLOGUE_AT_CALL, "\x48\x89\xe5\x56\x57\x50\x90\x90", 8);
	lay_frameless(javascript, code_at(RULE_PROLOGUE_AT_CALL), 1);
	put_word(javascript, LEAF_WORD, stack_address(CALLER_WORD));
	set_register(javascript, RDI, function_at(1));
	assert_javascript_unwind(javascript, "I1I0E");
	/* Context and function are pushed one by one. */
	put_text(javascript, RULE_PROLOGUE_AT_CALL, "\x90\x90\x90\x90\x90\x90\x90\x90", 8);
	for (uint32_t words = 0; words < 3; words++) {
		lay_in_frame(javascript, code_at(RULE_PROLOGUE_AT_CALL), words ? CONTEXT : 0x1234,
			     words > 1 ? function_at(1) : 0);
		world_set_registers(javascript->world, code_at(RULE_PROLOGUE_AT_CALL),
				    stack_address(FP_WORD - words), stack_address(FP_WORD));
		set_register(javascript, RDI, words > 1 ? 0 : function_at(1));
		assert_javascript_unwind(javascript, "I1I0E");
	}
}

static void a_frame_that_v8_makes_in_the_prologue_is_its_own(void **state)
{
	struct javascript *javascript = *state;

	lay_in_frame(javascript, code_at(RULE_PROLOGUE_AT_CALL), MARKER_STUB, function_at(1));
	assert_javascript_unwind(javascript, "NI0E");
}

/* An instruction at the end of the builtin that leaves the frame. */
struct leave_instruction {
	const char *code;
	size_t size;
	/* The return address is at the stack pointer, or in r8. */
	bool is_in_register;
	/* Where the frame was: so many words below the stack pointer. */
	uint32_t frame_words;
};

static void behind_its_frame_the_leaver_has_the_function_below_the_stack(void **state)
{
	static const struct leave_instruction instructions[] = {
		/* pop r8; lea rsp, [rsp + rbx * 8], and with 8 more; push r8; ret */
		{ "\x41\x58\x48\x8d\x24\xdc\x41\x50\xc3", 9, false, 1 },
		{ "\x48\x8d\x24\xdc\x41\x50\xc3\xcc", 8, true, 2 },
		{ "\x48\x8d\x64\xdc\x08\x41\x50\xc3", 8, true, 2 },
		{ "\x41\x50\xc3\xcc\xcc\xcc\xcc\xcc", 8, true, 0 },
		{ "\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc", 8, false, 0 },
	};
	static const uint32_t rules[] = { RULE_LEAVE, RULE_LEAVE_AT_CALL };
	struct javascript *javascript = *state;

	for (size_t i = 0; i < 2 * sizeof(instructions) / sizeof(instructions[0]); i++) {
		const struct leave_instruction *instruction = &instructions[i / 2];
		const uint32_t rule = rules[i % 2];

		put_text(javascript, rule, instruction->code, instruction->size);
		lay_frameless(javascript, code_at(rule), 0);
		set_register(javascript, RDI, function_at(2));
		if (instruction->is_in_register) {
			put_interpreted(javascript, CALLER_WORD, 0, CALLER_OFFSET);
			put_word(javascript, LEAF_WORD, 0);
			set_register(javascript, R8, code_at(RULE_INTERPRETER));
		}
		put_word(javascript, LEAF_WORD - instruction->frame_words - 2,
			 instruction->frame_words ? function_at(1) : 0);
		assert_javascript_unwind(javascript, instruction->frame_words ? "I1I0E" : "NI0E");
	}
	/* The word that is left there is no function. */
	put_text(javascript, RULE_LEAVE, instructions[0].code, instructions[0].size);
	lay_frameless(javascript, code_at(RULE_LEAVE), 0);
	put_word(javascript, LEAF_WORD - 3, 0x1001);
	assert_javascript_unwind(javascript, "NI0E");
}

static void in_the_frame_the_leaver_is_its_function(void **state)
{
	static const uint32_t rules[] = { RULE_LEAVE, RULE_LEAVE_AT_CALL };
	struct javascript *javascript = *state;

	for (size_t i = 0; i < 2; i++) {
		lay_in_frame(javascript, code_at(rules[i]), CONTEXT, function_at(1));
		assert_javascript_unwind(javascript, "I1I0E");
	}
}

static void a_builtin_that_moves_arguments_has_its_return_address_at_one_end(void **state)
{
	struct javascript *javascript = *state;
	const uint32_t old = LEAF_WORD + 3;

	/* It is at the new end already, in Sparkplug's code or in the interpreter. */
	lay_frameless(javascript, code_at(RULE_MOVING), 0);
	assert_javascript_unwind(javascript, "NI0E");
	put_interpreted(javascript, CALLER_WORD, 0, CALLER_OFFSET);
	put_frame(javascript, CALLER_WORD, CONTEXT, function_at(1), CALLER_WORD + 20,
		  code_at(RULE_ENTRY));
	put_word(javascript, LEAF_WORD, add_baseline(javascript));
	assert_javascript_unwind(javascript, "NB1E");
	/* It is at the old one yet. */
	put_word(javascript, LEAF_WORD, function_at(2));
	put_word(javascript, old, add_baseline(javascript));
	set_register(javascript, R8, stack_address(old));
	assert_javascript_unwind(javascript, "NB1E");
	assert_null(strchr(javascript->text, '?'));
}

static void what_returns_to_no_code_of_v8_is_a_guess(void **state)
{
	struct javascript *javascript = *state;

	lay_frameless(javascript, code_at(RULE_MOVING), 0);
	put_word(javascript, LEAF_WORD, function_at(2));
	set_register(javascript, R8, stack_address(LEAF_WORD));
	javascript_unwind_text(javascript);
	assert_int_not_equal(frame_flags(javascript->world->trace.words[2]) & FRAME_GUESS, 0);
	/* The process has no V8 that is known. */
	javascript->world->start.runtime_cell = 0;
	world_unwind(javascript->world);
	assert_frame(javascript->world, 0, code_at(RULE_MOVING), 0);
	assert_int_not_equal(frame_flags(javascript->world->trace.words[2]) & FRAME_GUESS, 0);
}

static void a_builtin_that_has_called_something_needs_no_rules(void **state)
{
	static const uint32_t rules[] = { RULE_MOVING, RULE_PROLOGUE, RULE_LEAVE };
	struct javascript *javascript = *state;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		lay_in_frame(javascript, code_at(RULE_BUILTIN), MARKER_STUB, 0);
		put_frame(javascript, FP_WORD, MARKER_STUB, 0, FP_WORD + 10, code_at(rules[i]));
		put_frame(javascript, FP_WORD + 10, MARKER_STUB, 0, CALLER_WORD,
			  code_at(RULE_INTERPRETER));
		assert_javascript_unwind(javascript, "NNI0E");
		put_frame(javascript, FP_WORD + 10, CONTEXT, function_at(1), CALLER_WORD,
			  code_at(RULE_INTERPRETER));
		assert_javascript_unwind(javascript, "Nb1I0E");
	}
}

/* The frame pointer may lead to a frame that was there. */
static void what_the_deoptimizer_has_done_is_a_guess(void **state)
{
	struct javascript *javascript = *state;

	lay_in_frame(javascript, code_at(RULE_BUILTIN), MARKER_STUB, 0);
	put_frame(javascript, FP_WORD, MARKER_STUB, 0, FP_WORD + 10, code_at(RULE_DEOPTIMIZER));
	put_frame(javascript, FP_WORD + 10, CONTEXT, function_at(1), CALLER_WORD,
		  code_at(RULE_INTERPRETER));
	javascript_unwind_text(javascript);
	assert_int_not_equal(frame_flags(javascript->world->trace.words[4]) & FRAME_GUESS, 0);
}

/* The first word of the old object says where the function is now, before anything is there. */
static void a_function_that_is_being_moved_is_known(void **state)
{
	enum { MOVED_TO = 0x7000 };
	struct javascript *javascript = *state;
	const uint64_t function = function_at(1) - JAVASCRIPT_TAG;

	lay_in_frame(javascript, code_at(RULE_BUILTIN), CONTEXT, function_at(1));
	put(javascript, function, HEAP_START + MOVED_TO, 8);
	assert_javascript_unwind(javascript, "NI0E");
	put(javascript, HEAP_START + MOVED_TO, MAP + JAVASCRIPT_TAG, 8);
	assert_javascript_unwind(javascript, "b1I0E");
	/* One that has the same code was met before in this unwind. */
	put(javascript, HEAP_START + MOVED_TO, 0, 8);
	put(javascript, function_at(2) - JAVASCRIPT_TAG + javascript->process.function_shared,
	    shared_at(1), 8);
	lay_in_frame(javascript, code_at(RULE_BUILTIN), CONTEXT, function_at(2));
	put_frame(javascript, FP_WORD, CONTEXT, function_at(2), FP_WORD + 10,
		  code_at(RULE_BUILTIN));
	put_frame(javascript, FP_WORD + 10, CONTEXT, function_at(1), CALLER_WORD,
		  code_at(RULE_INTERPRETER));
	assert_javascript_unwind(javascript, "b1b1I0E");
	/* No word that says where to, but no map either. */
	put(javascript, function, SCRIPT + JAVASCRIPT_TAG, 8);
	assert_javascript_unwind(javascript, "b1NI0E");
}

static void what_was_appended_to_a_list_is_found_there(void **state)
{
	enum { OLD = 300, NEW = 100 };
	static uint64_t words[OLD + NEW];
	struct javascript *javascript = *state;
	uint64_t start;

	make_heap(javascript, false);
	start = add_code(javascript, KIND_TURBOFAN, 1);
	lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
	set_list(javascript, words, OLD + NEW);
	for (uint32_t index = OLD; index < OLD + NEW; index += 9) {
		for (uint32_t i = 0; i < OLD + NEW; i++)
			words[i] = i == index  ? object_of_code(0) :
				   i < OLD / 2 ? PAGE_START + PAGE_HEADER_BYTES + i :
						 object_of_code(1) + 32ULL * i;
		assert_javascript_unwind(javascript, "O1I0E");
	}
	/* Nothing before a short list is looked at. */
	for (uint32_t i = 0; i < OLD + NEW; i++)
		words[i] = object_of_code(0) + 8;
	words[OLD] = object_of_code(1);
	words[OLD + 1] = object_of_code(0);
	put(javascript, LIST, OTHER_LIST + 8 * OLD, 8);
	put(javascript, LIST + 8, OTHER_LIST + 8 * (OLD + 2), 8);
	assert_javascript_unwind(javascript, "O1I0E");
}

static void a_large_object_has_pages_of_its_own(void **state)
{
	struct javascript *javascript = *state;
	const uint64_t object = object_of_code(0);
	/* The beginnings of the later ones do not look like a header. */
	static uint64_t words[64];
	uint64_t start, pc;

	make_heap(javascript, false);
	start = add_code(javascript, KIND_TURBOFAN, 1);
	pc = start + 2 * PAGE_BYTES;
	put(javascript, PAGE_START + PAGE_AREA, object, 8);
	put(javascript, PAGE_START + PAGE_AREA + 8, PAGE_START + 3 * PAGE_BYTES, 8);
	put(javascript, object + javascript->process.code_size, 2 * PAGE_BYTES + CODE_SIZE, 4);
	javascript->world->user[4] =
		(struct region){ PAGE_START + 2 * PAGE_BYTES, sizeof(words), words };
	lay_in_frame(javascript, pc, CONTEXT, function_at(1));
	assert_javascript_unwind(javascript, "O1I0E");
	assert_int_equal(frame_offset(javascript, 0), 2 * PAGE_BYTES);
	/* The page ends before it. */
	put(javascript, PAGE_START + PAGE_AREA + 8, pc, 8);
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		javascript_test(
			before_the_prologue_makes_the_frame_it_is_below_its_own_return_address),
		javascript_test(
			while_the_prologue_makes_the_frame_it_is_above_its_own_return_address),
		javascript_test(a_frame_that_v8_makes_in_the_prologue_is_its_own),
		javascript_test(behind_its_frame_the_leaver_has_the_function_below_the_stack),
		javascript_test(in_the_frame_the_leaver_is_its_function),
		javascript_test(a_builtin_that_moves_arguments_has_its_return_address_at_one_end),
		javascript_test(what_returns_to_no_code_of_v8_is_a_guess),
		javascript_test(a_builtin_that_has_called_something_needs_no_rules),
		javascript_test(what_the_deoptimizer_has_done_is_a_guess),
		javascript_test(a_function_that_is_being_moved_is_known),
		javascript_test(what_was_appended_to_a_list_is_found_there),
		javascript_test(a_large_object_has_pages_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
