// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Stacks of V8's builtins, and of code that V8 has generated, for each position at which a thread may be interrupted. */
#include "ebpf/host/tests/javascript_fixture.h"

static void the_interpreter_s_frame_is_its_function_s(void **state)
{
	struct javascript *javascript = *state;

	/* C++ code that the interpreter has called. */
	world_set_registers(javascript->world, code_at(RULE_NATIVE), stack_address(LEAF_WORD),
			    stack_address(CALLER_WORD));
	put_caller(javascript, LEAF_WORD + 1);
	for (int i = 0; i < 2; i++) {
		make_heap(javascript, i);
		put_interpreted(javascript, CALLER_WORD, 0, CALLER_OFFSET);
		assert_javascript_unwind(javascript, "NI0E");
		assert_word(javascript, 2,
			    frame_word(FRAME_JAVASCRIPT, FRAME_RETURN_ADDRESS, shared_at(0)));
		assert_word(javascript, 3,
			    (uint64_t)CALLER_OFFSET << 32 | function_fingerprint(javascript, 0));
	}
	/* An offset that is before the first bytecode, and one that is too large. */
	put_word(javascript, CALLER_WORD - 5, smi(3));
	assert_javascript_unwind(javascript, "NI0E");
	assert_int_equal(frame_offset(javascript, 1), JAVASCRIPT_NO_OFFSET);
	put_word(javascript, CALLER_WORD - 5, smi(UINT32_MAX));
	assert_javascript_unwind(javascript, "NI0E");
	assert_int_equal(frame_offset(javascript, 1), JAVASCRIPT_NO_OFFSET);
}

static void a_leaf_in_the_interpreter_has_its_function_on_the_stack_or_in_a_register(void **state)
{
	struct javascript *javascript = *state;

	lay_in_frame(javascript, code_at(RULE_INTERPRETER), CONTEXT, function_at(1));
	put_word(javascript, FP_WORD - 5, smi(63 + 5));
	set_register(javascript, RDI, function_at(2));
	assert_javascript_unwind(javascript, "I1I0E");
	assert_int_equal(frame_offset(javascript, 0), 5);
	/* The frame was just made: the function is not pushed yet. */
	world_set_registers(javascript->world, code_at(RULE_INTERPRETER),
			    stack_address(FP_WORD - 1), stack_address(FP_WORD));
	put_word(javascript, FP_WORD - 2, 0);
	assert_javascript_unwind(javascript, "I2I0E");
}

static void before_its_frame_the_interpreter_has_the_function_in_a_register(void **state)
{
	struct javascript *javascript = *state;

	lay_frameless(javascript, code_at(RULE_INTERPRETER_AT_CALL), 0);
	set_register(javascript, RDI, function_at(3));
	assert_javascript_unwind(javascript, "I3I0E");
	assert_int_equal(frame_offset(javascript, 0), JAVASCRIPT_NO_OFFSET);
	/* Without a function the builtin's own frame is shown. */
	set_register(javascript, RDI, SCRIPT + JAVASCRIPT_TAG);
	assert_javascript_unwind(javascript, "NI0E");
	set_register(javascript, RDI, 0);
	assert_javascript_unwind(javascript, "NI0E");
}

/* The register may have a stale function. */
static void behind_its_frame_the_interpreter_shows_no_function(void **state)
{
	static const struct {
		const char *code;
		size_t size;
	} ends[] = {
		{ "\x59\x48\x03\xe3\x51\xc3", 6 }, { "\x48\x03\xe3\x51\xc3\x90", 6 },
		{ "\x48\x8d\x24\xdc\x51\xc3", 6 }, { "\x51\xc3\xcc\xcc", 4 },
		{ "\xc3\xcc\xcc\xcc", 4 },
	};
	struct javascript *javascript = *state;

	lay_frameless(javascript, code_at(RULE_INTERPRETER_AT_CALL), 0);
	set_register(javascript, RDI, function_at(3));
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		memset(javascript->text_bytes, 0x90, sizeof(javascript->text_bytes));
		memcpy(javascript->text_bytes + (code_at(RULE_INTERPRETER_AT_CALL) - TEXT_START),
		       ends[i].code, ends[i].size);
		assert_javascript_unwind(javascript, "NI0E");
	}
	/* push rcx, and no ret */
	memcpy(javascript->text_bytes + (code_at(RULE_INTERPRETER_AT_CALL) - TEXT_START),
	       "\x51\x90", 2);
	assert_javascript_unwind(javascript, "I3I0E");
}

/* The leaf is a handler without a frame, and the offset of its bytecode is in a register. */
static void lay_handler(struct javascript *javascript, uint8_t prefix, uint8_t bytecode,
			uint32_t offset)
{
	const uint8_t codes[] = { prefix, bytecode };

	lay_frameless(javascript, code_at(RULE_HANDLER), 0);
	put_bytes(javascript, BYTECODES + 63 + offset - 1, codes, sizeof(codes));
	set_register(javascript, R9, 63 + offset);
	set_register(javascript, R13, ROOT);
	put(javascript, ROOT + ROOT_DISPATCH_TABLE, DISPATCH_TABLE, 8);
}

static void put_handler(struct javascript *javascript, uint32_t table, uint8_t bytecode,
			uint64_t address)
{
	put(javascript, DISPATCH_TABLE + 8 * (256 * table + bytecode), address, 8);
}

static void a_handler_s_bytecode_is_the_one_that_the_dispatch_table_has_it_for(void **state)
{
	struct javascript *javascript = *state;

	lay_handler(javascript, 9, 77, 6);
	put_handler(javascript, 0, 77, code_at(RULE_HANDLER) - 8);
	assert_javascript_unwind(javascript, "I0E");
	assert_int_equal(frame_offset(javascript, 0), 6);
	/* The register has a value that is not a bytecode's offset. */
	put_handler(javascript, 0, 77, code_at(RULE_HANDLER) + 1);
	assert_javascript_unwind(javascript, "i0E");
	assert_int_equal(frame_offset(javascript, 0), CALLER_OFFSET);
	put_handler(javascript, 0, 77, code_at(RULE_HANDLER) - (1 << 14));
	assert_javascript_unwind(javascript, "i0E");
}

static void behind_a_prefix_the_handler_is_of_another_table(void **state)
{
	struct javascript *javascript = *state;

	for (uint8_t prefix = 0; prefix < 2; prefix++) {
		lay_handler(javascript, prefix, 78, 6);
		put_handler(javascript, 1 + prefix, 78, code_at(RULE_HANDLER));
		assert_javascript_unwind(javascript, "I0E");
		assert_int_equal(frame_offset(javascript, 0), 6);
	}
	/* Other bytecodes are no prefixes. */
	lay_handler(javascript, 2, 78, 6);
	put_handler(javascript, 3, 78, code_at(RULE_HANDLER));
	assert_javascript_unwind(javascript, "i0E");
}

static void at_its_end_a_handler_is_at_the_next_bytecode(void **state)
{
	struct javascript *javascript = *state;

	/* The handler of another bytecode, but an offset in the function's bytecodes. */
	lay_handler(javascript, 9, 77, 6);
	put(javascript, BYTECODES - 1 + JAVASCRIPT_ARRAY_LENGTH, 7ULL << 32, 8);
	assert_javascript_unwind(javascript, "I0E");
	assert_int_equal(frame_offset(javascript, 0), 6);
	put(javascript, BYTECODES - 1 + JAVASCRIPT_ARRAY_LENGTH, 6ULL << 32, 8);
	assert_javascript_unwind(javascript, "i0E");
}

static void what_is_no_bytecode_s_offset_is_not_taken_for_one(void **state)
{
	static const struct {
		uint32_t number;
		uint64_t value;
	} others[] = {
		{ R9, 62 }, { R9, 1ULL << 40 },	     { R9, JAVASCRIPT_OFFSET_MASK + 1 },
		{ R13, 8 }, { R13, UINT64_MAX - 7 },
	};
	struct javascript *javascript = *state;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		lay_handler(javascript, 9, 77, 6);
		put_handler(javascript, 0, 77, code_at(RULE_HANDLER));
		set_register(javascript, others[i].number, others[i].value);
		assert_javascript_unwind(javascript, "i0E");
		assert_int_equal(frame_offset(javascript, 0), CALLER_OFFSET);
	}
}

/* The leaf is a handler with a frame, which has @value in word @word of the stack. */
static void lay_handler_in_frame(struct javascript *javascript, uint32_t word, uint64_t value)
{
	lay_handler(javascript, 9, 77, 6);
	lay_in_frame(javascript, code_at(RULE_HANDLER_IN_FRAME), MARKER_STUB, 0);
	set_register(javascript, R9, 0);
	put_handler(javascript, 0, 77, code_at(RULE_HANDLER_IN_FRAME) - 8);
	put_word(javascript, word, value);
}

static void a_handler_with_a_frame_has_kept_its_bytecode(void **state)
{
	struct javascript *javascript = *state;

	lay_handler_in_frame(javascript, FP_WORD - 3, 63 + 6);
	assert_javascript_unwind(javascript, "I0E");
	assert_int_equal(frame_offset(javascript, 0), 6);
	/* The offset is not found: that in the interpreted frame may be an earlier one. */
	lay_handler_in_frame(javascript, FP_WORD - 3, 5);
	assert_javascript_unwind(javascript, "i0E");
	assert_int_equal(frame_offset(javascript, 0), CALLER_OFFSET);
}

static void a_builtin_with_a_context_is_a_function(void **state)
{
	struct javascript *javascript = *state;
	const uint32_t offset = (RULE_BUILTIN - RULE_INTERPRETER) * 16 + 8;

	lay_in_frame(javascript, code_at(RULE_BUILTIN), CONTEXT, function_at(1));
	assert_javascript_unwind(javascript, "b1I0E");
	assert_int_equal(frame_offset(javascript, 0), offset);
	assert_word(javascript, 0, frame_word(FRAME_JAVASCRIPT, 0, shared_at(1)));
	/* A builtin that continues at the position of a deoptimized function. */
	lay_in_frame(javascript, code_at(RULE_BUILTIN), MARKER_CONTINUATION, function_at(1));
	assert_javascript_unwind(javascript, "b1I0E");
	/* A stub, and a frame without a function in the function's slot. */
	lay_in_frame(javascript, code_at(RULE_BUILTIN), MARKER_STUB, function_at(1));
	assert_javascript_unwind(javascript, "NI0E");
	lay_in_frame(javascript, code_at(RULE_BUILTIN), CONTEXT, SCRIPT + JAVASCRIPT_TAG);
	assert_javascript_unwind(javascript, "NI0E");
	lay_in_frame(javascript, code_at(RULE_BUILTIN), CONTEXT, 0);
	assert_javascript_unwind(javascript, "NI0E");
}

static void all_types_of_functions_are_functions(void **state)
{
	static const struct {
		uint32_t type;
		const char *text;
	} types[] = {
		{ TYPE_FUNCTION, "b1I0E" },
		{ TYPE_FUNCTION + TYPE_COUNT - 1, "b1I0E" },
	};
	struct javascript *javascript = *state;

	lay_in_frame(javascript, code_at(RULE_BUILTIN), CONTEXT, function_at(1));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		put(javascript, MAP + javascript->process.map_instance_type, types[i].type, 2);
		assert_javascript_unwind(javascript, types[i].text);
	}
	put(javascript, MAP + javascript->process.map_instance_type, TYPE_FUNCTION - 1, 2);
	assert_javascript_unwind(javascript, "NNE");
	put(javascript, MAP + javascript->process.map_instance_type, TYPE_FUNCTION + TYPE_COUNT, 2);
	assert_javascript_unwind(javascript, "NNE");
}

static void other_builtins_have_frames_of_their_own(void **state)
{
	struct javascript *javascript = *state;

	lay_in_frame(javascript, code_at(RULE_WRAPPER), CONTEXT, function_at(1));
	assert_javascript_unwind(javascript, "NI0E");
	lay_frameless(javascript, code_at(RULE_BUILTIN_AT_CALL), 0);
	set_register(javascript, RDI, function_at(1));
	assert_javascript_unwind(javascript, "NI0E");
}

static void a_builtin_without_a_frame_may_call_a_helper(void **state)
{
	struct javascript *javascript = *state;

	/* The frame pointer is that of function 0, which has called the builtin. */
	lay_in_frame(javascript, code_at(RULE_HELPER), MARKER_STUB, 0);
	put_caller(javascript, FP_WORD + 2);
	put_word(javascript, FP_WORD + 1, code_at(RULE_BUILTIN_AT_CALL));
	assert_javascript_unwind(javascript, "NNI0E");
	/* The helper has called C++. */
	put_word(javascript, LEAF_WORD + 1, code_at(RULE_HELPER));
	world_set_registers(javascript->world, code_at(RULE_NATIVE), stack_address(LEAF_WORD),
			    stack_address(FP_WORD));
	assert_javascript_unwind(javascript, "NNNI0E");
	/* Other builtins are called in a frame, whatever the rules say. */
	put_frame(javascript, CALLER_WORD, CONTEXT, function_at(1), CALLER_WORD + 20,
		  code_at(RULE_INTERPRETER));
	put_interpreted(javascript, CALLER_WORD + 20, 0, CALLER_OFFSET);
	world_set_registers(javascript->world, code_at(RULE_BUILTIN), stack_address(LEAF_WORD),
			    stack_address(FP_WORD));
	assert_javascript_unwind(javascript, "Nb1I0E");
}

static void what_new_calls_is_marked(void **state)
{
	static const uint64_t markers[] = { MARKER_CONSTRUCT, MARKER_FAST_CONSTRUCT };
	struct javascript *javascript = *state;

	for (int i = 0; i < 2; i++) {
		/* Function 1, called by a construct stub, called by function 0. */
		lay_in_frame(javascript, code_at(RULE_INTERPRETER), CONTEXT, function_at(1));
		put_frame(javascript, FP_WORD, CONTEXT, function_at(1), FP_WORD + 10,
			  code_at(RULE_BUILTIN));
		put_frame(javascript, FP_WORD + 10, markers[i], 0, CALLER_WORD,
			  code_at(RULE_INTERPRETER));
		assert_javascript_unwind(javascript, "I1*NI0E");
	}
	/* A stub has been called by the other one: the function is not called by that. */
	put_frame(javascript, FP_WORD, MARKER_STUB, 0, FP_WORD + 10, code_at(RULE_BUILTIN));
	world_set_registers(javascript->world, code_at(RULE_BUILTIN), stack_address(LEAF_WORD),
			    stack_address(FP_WORD));
	assert_javascript_unwind(javascript, "NNI0E");
}

static void code_is_found_by_maps_and_by_the_lists_of_pages(void **state)
{
	static const uint32_t kinds[] = { KIND_MAGLEV, KIND_TURBOFAN, KIND_BASELINE };
	struct javascript *javascript = *state;

	for (int i = 0; i < 2; i++) {
		make_heap(javascript, i);
		for (uint32_t j = 0; j < 3; j++) {
			uint64_t start = add_code(javascript, kinds[j], j + 1);
			char text[8] = "O1I0E";
			const bool is_baseline = kinds[j] == KIND_BASELINE;

			text[0] = is_baseline ? 'B' : 'O';
			text[1] = (char)('1' + j);
			lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(j + 1));
			assert_javascript_unwind(javascript, text);
			assert_int_equal(frame_offset(javascript, 0), IN_CODE);
			assert_word(javascript, 0,
				    frame_word(FRAME_JAVASCRIPT, 0,
					       is_baseline ? shared_at(j + 1) :
							     code_object_of(javascript, j)));
			/* All of it, and nothing behind it. */
			lay_in_frame(javascript, start + CODE_SIZE - 1, CONTEXT,
				     function_at(j + 1));
			assert_javascript_unwind(javascript, text);
			lay_in_frame(javascript, start + CODE_SIZE, CONTEXT, function_at(j + 1));
			assert_string_not_equal(javascript_unwind_text(javascript), text);
		}
	}
}

/* A call may be the last instruction. */
static void an_address_behind_the_last_instruction_is_returned_to(void **state)
{
	struct javascript *javascript = *state;

	for (int i = 0; i < 2; i++) {
		uint64_t start;

		make_heap(javascript, i);
		start = add_code(javascript, KIND_TURBOFAN, 2);
		lay_in_frame(javascript, code_at(RULE_BUILTIN), CONTEXT, function_at(1));
		put_frame(javascript, FP_WORD, CONTEXT, function_at(1), FP_WORD + 10,
			  start + CODE_SIZE);
		put_frame(javascript, FP_WORD + 10, CONTEXT, function_at(2), CALLER_WORD,
			  code_at(RULE_INTERPRETER));
		assert_javascript_unwind(javascript, "b1O2I0E");
		assert_int_equal(frame_offset(javascript, 1), CODE_SIZE);
		assert_word(javascript, 2,
			    frame_word(FRAME_JAVASCRIPT, FRAME_RETURN_ADDRESS,
				       code_object_of(javascript, 0)));
	}
}

static void code_of_no_function_has_no_function(void **state)
{
	struct javascript *javascript = *state;
	uint64_t start = add_code(javascript, KIND_REGEXP, 1);

	/* Such a frame may have any value in the slot of the context. */
	lay_in_frame(javascript, start + IN_CODE, 0x1234, 0);
	assert_javascript_unwind(javascript, "RI0E");
	assert_word(javascript, 0, frame_word(FRAME_JAVASCRIPT, 0, start + IN_CODE));
	/* A stub of V8's own. */
	start = add_code(javascript, 2, 1);
	lay_in_frame(javascript, start + IN_CODE, MARKER_STUB, 0);
	assert_javascript_unwind(javascript, "I0E");
}

/* An instruction's bytes, and the state of the stack there. */
struct leaf_instruction {
	const char *code;
	size_t size;
	/* Words between the stack pointer and the return address above it. */
	uint32_t return_words;
	/* Or the register with the return address. */
	uint32_t in_register;
};

#define LEAF(code, return_words, in_register)                                                      \
	{                                                                                          \
		code, sizeof(code) - 1, return_words, in_register                                  \
	}

/* The frame was popped: @instruction is at IN_CODE. */
static void lay_end(struct javascript *javascript, uint64_t start,
		    const struct leaf_instruction *instruction)
{
	put_bytes(javascript, start + IN_CODE, instruction->code, instruction->size);
	if (instruction->in_register) {
		put_interpreted(javascript, CALLER_WORD, 0, CALLER_OFFSET);
		world_set_registers(javascript->world, start + IN_CODE, stack_address(LEAF_WORD),
				    stack_address(CALLER_WORD));
		set_register(javascript, instruction->in_register, code_at(RULE_INTERPRETER));
	} else {
		lay_frameless(javascript, start + IN_CODE, instruction->return_words);
	}
}

static void at_its_end_code_has_no_frame(void **state)
{
	static const struct leaf_instruction instructions[] = {
		/* ret, ret 8, ret 256 */
		LEAF("\xc3\xcc\xcc\xcc", 0, 0),
		LEAF("\xc2\x08\x00\x41\x5a\x48\x8d\x24", 0, 0),
		LEAF("\xc2\x00\x01\x41\x5a\x48\x8d\x24", 0, 0),
		/* cmp rcx, 3; jg; ret 24; and with r8 */
		LEAF("\x48\x83\xf9\x03\x7f\x03\xc2\x18\x00\x41\x5a", 0, 0),
		LEAF("\x49\x83\xf8\x03\x7f\x03\xc2\x18\x00\x41\x59", 0, 0),
		LEAF("\x48\x83\xf9\x03\x0f\x8f\x03\0\0\0\xc2\x18\x00", 0, 0),
		/* jg; ret 24 */
		LEAF("\x7f\x03\xc2\x18\x00\x41\x5a", 0, 0),
		LEAF("\x0f\x8f\x03\0\0\0\xc2\x18\x00", 0, 0),
		/* pop r10 or r9; lea rsp, [rsp + rcx * 8] or r8 */
		LEAF("\x41\x5a\x48\x8d\x24\xcc\x41\x52\xc3", 0, 0),
		LEAF("\x41\x59\x4a\x8d\x24\xc4\x41\x51\xc3", 0, 0),
		/* The rest of that. */
		LEAF("\x48\x8d\x24\xcc\x41\x52\xc3", 0, R10),
		LEAF("\x4a\x8d\x24\xc4\x41\x51\xc3", 0, R9),
		LEAF("\x48\x8d\x64\xcc\x08\x41\x52\xc3", 0, R10),
		LEAF("\x41\x52\xc3", 0, R10),
		LEAF("\x41\x51\xc3", 0, R9),
	};

	for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
		struct javascript *javascript;

		javascript_teardown(state);
		javascript_setup(state);
		javascript = *state;
		lay_end(javascript, add_code(javascript, KIND_TURBOFAN, 1), &instructions[i]);
		assert_javascript_unwind(javascript, "O1I0E");
		assert_int_equal(frame_offset(javascript, 0), IN_CODE);
	}
}

static void what_looks_like_an_end_but_is_none_is_in_its_frame(void **state)
{
	static const struct leaf_instruction instructions[] = {
		/* pop r10, and no lea; push r10, and no ret; jg, and no ret */
		LEAF("\x41\x5a\x90\x90", 0, 0),
		LEAF("\x41\x52\x90\x90", 0, 0),
		LEAF("\x7f\x03\x90\x90\x90", 0, 0),
		/* cmp rcx, 3, of a function that compares */
		LEAF("\x48\x83\xf9\x03\x75\x10\x90\x90\x90", 0, 0),
		/* lea rsp, [rsp + rcx * 8], and no push */
		LEAF("\x48\x8d\x24\xcc\x90\x90\x90", 0, 0),
	};

	for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
		struct javascript *javascript;
		uint64_t start;

		javascript_teardown(state);
		javascript_setup(state);
		javascript = *state;
		start = add_code(javascript, KIND_TURBOFAN, 1);
		put_bytes(javascript, start + IN_CODE, instructions[i].code, instructions[i].size);
		lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
		assert_javascript_unwind(javascript, "O1I0E");
	}
}

static void at_its_beginning_code_makes_its_frame(void **state)
{
	/* test; jne; push rbp; mov rbp, rsp; push rsi; push rdi */
	static const char code[] = "\xf6\x43\x32\x20\x75\x10\x55\x48\x89\xe5\x56\x57";
	static const struct {
		uint32_t offset;
		uint32_t return_words;
	} instructions[] = { { 0, 0 }, { 4, 0 }, { 6, 0 }, { 7, 1 } };
	struct javascript *javascript = *state;
	uint64_t start = add_code(javascript, KIND_TURBOFAN, 1);

	put_bytes(javascript, start, code, sizeof(code) - 1);
	for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
		lay_frameless(javascript, start + instructions[i].offset,
			      instructions[i].return_words);
		if (instructions[i].return_words) {
			put_word(javascript, LEAF_WORD, stack_address(CALLER_WORD));
			/* It may not be in the register any more. */
			world_set_registers(javascript->world, start + instructions[i].offset,
					    stack_address(LEAF_WORD), 0);
		}
		assert_javascript_unwind(javascript, "O1I0E");
	}
	/* The frame exists; context and function are pushed one by one. */
	for (uint32_t words = 0; words < 3; words++) {
		lay_in_frame(javascript, start + 10 + words, words ? CONTEXT : 0x1234,
			     function_at(1));
		world_set_registers(javascript->world, start + 10 + words,
				    stack_address(FP_WORD - words), stack_address(FP_WORD));
		assert_javascript_unwind(javascript, "O1I0E");
	}
}

static void sparkplug_s_code_has_its_frame_made_by_a_builtin(void **state)
{
	/* mov ebx, 8; mov r12, bytecodes; call; mov, or call [r13 + d32] */
	static const struct {
		const char *code;
		size_t size;
		uint32_t prologue;
	} codes[] = {
		{ "\xbb\x08\0\0\0\x49\xbc\x01\x02\x03\x04\x05\x06\0\0\xe8\1\1\1\1\x90\x90\x90", 23,
		  20 },
		{ "\xbb\x08\0\0\0\x49\xbc\x01\x02\x03\x04\x05\x06\0\0\x41\xff\x95\1\1\1\1\x90", 23,
		  22 },
	};
	static const uint32_t offsets[] = { 0, 5, 15 };

	for (size_t i = 0; i < 2; i++) {
		struct javascript *javascript;
		uint64_t start;

		javascript_teardown(state);
		javascript_setup(state);
		javascript = *state;
		start = add_code(javascript, KIND_BASELINE, 1);
		put_bytes(javascript, start, codes[i].code, codes[i].size);
		for (size_t j = 0; j < sizeof(offsets) / sizeof(offsets[0]); j++) {
			lay_frameless(javascript, start + offsets[j], 0);
			set_register(javascript, RDI, function_at(2));
			assert_javascript_unwind(javascript, "B2I0E");
			assert_int_equal(frame_offset(javascript, 0), offsets[j]);
		}
		lay_in_frame(javascript, start + codes[i].prologue, CONTEXT, function_at(1));
		set_register(javascript, RDI, function_at(2));
		assert_javascript_unwind(javascript, "B1I0E");
	}
}

static void code_that_is_none_is_declined(void **state)
{
	struct javascript *javascript = *state;

	for (int i = 0; i < 2; i++) {
		uint64_t start;

		make_heap(javascript, i);
		start = add_code(javascript, KIND_TURBOFAN, 1);
		/* Before the instructions, in the object's header, and on another page. */
		lay_in_frame(javascript, start - 1, CONTEXT, function_at(1));
		assert_null(strchr(javascript_unwind_text(javascript), 'O'));
		lay_in_frame(javascript, PAGE_START + 8, CONTEXT, function_at(1));
		assert_null(strchr(javascript_unwind_text(javascript), 'O'));
		lay_in_frame(javascript, PAGE_START - 4096, CONTEXT, function_at(1));
		assert_null(strchr(javascript_unwind_text(javascript), 'O'));
		lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
		assert_javascript_unwind(javascript, "O1I0E");
	}
}

static void code_has_to_say_itself_where_it_is(void **state)
{
	struct javascript *javascript = *state;
	uint64_t start = add_code(javascript, KIND_TURBOFAN, 1);

	lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
	assert_javascript_unwind(javascript, "O1I0E");
	put(javascript, code_object_at(0) - JAVASCRIPT_TAG + 40, start + 8, 8);
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
	put(javascript, code_object_at(0) - JAVASCRIPT_TAG + 40, start, 8);
	put(javascript, code_object_at(0) - JAVASCRIPT_TAG + 56, UINT32_MAX, 4);
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
	put(javascript, code_object_at(0) - JAVASCRIPT_TAG + 56, 0, 4);
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
	/* A Code object that cannot be read. */
	put(javascript, object_of_code(0) + 8, 0x1001, 8);
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
}

static void functions_that_cannot_be_read_are_missing(void **state)
{
	struct javascript *javascript = *state;
	const uint64_t elements = data_at(1) - JAVASCRIPT_TAG + JAVASCRIPT_ARRAY_DATA;
	uint64_t start = add_code(javascript, KIND_TURBOFAN, 1);

	lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
	put(javascript, elements + 8 * javascript->process.deopt_shared, 0x1001, 8);
	assert_javascript_unwind(javascript, "xI0E");
	assert_int_equal(javascript->world->trace.interpreter_error, UNWIND_INTERPRETER_FRAMES);
	start = add_code(javascript, KIND_BASELINE, 1);
	lay_in_frame(javascript, start + IN_CODE, CONTEXT, 0x1001);
	assert_javascript_unwind(javascript, "xI0E");
}

static void another_compilation_is_another_frame(void **state)
{
	struct javascript *javascript = *state;
	const uint64_t elements = data_at(1) - JAVASCRIPT_TAG + JAVASCRIPT_ARRAY_DATA;
	uint64_t start = add_code(javascript, KIND_TURBOFAN, 1);
	uint64_t word;

	lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
	assert_javascript_unwind(javascript, "O1I0E");
	word = javascript->world->trace.words[1];
	put(javascript, elements + 8 * javascript->process.deopt_optimization_id, smi(99), 8);
	assert_javascript_unwind(javascript, "O-I0E");
	assert_int_not_equal(javascript->world->trace.words[1], word);
}

static void forged_maps_come_to_an_end(void **state)
{
	struct javascript *javascript = *state;
	uint64_t start = add_code(javascript, KIND_TURBOFAN, 1);

	lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
	/* A node that is its own child finds itself. */
	put(javascript, CODE_NODES + 24, CODE_NODES, 8);
	assert_javascript_unwind(javascript, "O1I0E");
	/* A cycle of nodes with keys above the address. */
	put(javascript, CODE_NODES + 32, UINT64_MAX, 8);
	put(javascript, CODE_NODES + 16, CODE_NODES, 8);
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
	/* Nodes, a page, and maps that cannot be read. */
	put(javascript, CODE_NODES + 16, 8, 8);
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
	put(javascript, PAGE_NODE + 40, UINT64_MAX, 8);
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
	put(javascript, PAGE_MAP + 16, 0, 8);
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
	put(javascript, JIT_PAGES, 0, 8);
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
	javascript->process.jit_pages = 8;
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
}

static void an_allocation_that_ends_before_the_address_is_not_its_own(void **state)
{
	struct javascript *javascript = *state;
	uint64_t start = add_code(javascript, KIND_TURBOFAN, 1);

	lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
	put(javascript, CODE_NODES + 40, 32 + IN_CODE + 1, 8);
	assert_javascript_unwind(javascript, "O1I0E");
	put(javascript, CODE_NODES + 40, 32 + IN_CODE, 8);
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
}

static void forged_lists_come_to_an_end(void **state)
{
	static const struct {
		uint64_t first;
		uint64_t end;
	} lists[] = {
		{ LIST_WORDS + 8, LIST_WORDS },
		{ LIST_WORDS, LIST_WORDS + (1 << 20) },
		{ LIST_WORDS, LIST_WORDS + (1 << 16) },
		{ 0, 0 },
		{ 0, 64 },
		{ UINT64_MAX - 7, 8 },
		{ LIST_WORDS, LIST_WORDS },
	};
	struct javascript *javascript = *state;
	uint64_t start;

	make_heap(javascript, false);
	start = add_code(javascript, KIND_TURBOFAN, 1);
	lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		put(javascript, LIST, lists[i].first, 8);
		put(javascript, LIST + 8, lists[i].end, 8);
		assert_null(strchr(javascript_unwind_text(javascript), 'O'));
	}
	/* An end in the middle of a word. */
	put(javascript, LIST, LIST_WORDS, 8);
	put(javascript, LIST + 8, LIST_WORDS + 12, 8);
	javascript_unwind_text(javascript);
	/* No list at all. */
	put(javascript, PAGE_START + javascript->process.page_registry, 0, 8);
	assert_null(strchr(javascript_unwind_text(javascript), 'O'));
}

static void the_longest_list_is_searched_to_its_end(void **state)
{
	enum { COUNT = (1 << 18) / 32 };
	static uint64_t words[COUNT];
	struct javascript *javascript = *state;
	uint64_t start;

	make_heap(javascript, false);
	start = add_code(javascript, KIND_TURBOFAN, 1);
	lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
	set_list(javascript, words, COUNT);
	for (uint32_t index = 0; index < COUNT; index += index < 4 || index > COUNT - 5 ? 1 : 509) {
		for (uint32_t i = 0; i < COUNT; i++)
			words[i] = i < index  ? PAGE_START + i % 8 :
				   i == index ? object_of_code(0) :
						UINT64_MAX;
		assert_javascript_unwind(javascript, "O1I0E");
	}
}

static void a_frame_that_does_not_go_up_ends_the_unwind(void **state)
{
	struct javascript *javascript = *state;
	uint64_t start = add_code(javascript, KIND_TURBOFAN, 1);

	lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
	/* The frame pointer is below the stack pointer. */
	world_set_registers(javascript->world, start + IN_CODE, stack_address(FP_WORD + 2),
			    stack_address(FP_WORD));
	javascript_unwind_text(javascript);
	assert_int_equal(javascript->world->trace.error, UNWIND_NO_PROGRESS);
	/* The frame would be too large. */
	world_set_registers(javascript->world, start + IN_CODE, 0, stack_address(FP_WORD));
	javascript_unwind_text(javascript);
	assert_int_equal(javascript->world->trace.error, UNWIND_NO_PROGRESS);
	/* A frame that leads to itself. */
	lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
	put_word(javascript, FP_WORD, stack_address(FP_WORD));
	put_word(javascript, FP_WORD + 1, start + IN_CODE);
	javascript_unwind_text(javascript);
	assert_int_equal(javascript->world->trace.error, UNWIND_NO_PROGRESS);
	assert_string_equal(javascript->text, "O1O1!");
}

static void a_frame_pointer_that_leads_nowhere_ends_the_unwind(void **state)
{
	struct javascript *javascript = *state;
	uint64_t start = add_code(javascript, KIND_TURBOFAN, 1);

	lay_in_frame(javascript, start + IN_CODE, CONTEXT, function_at(1));
	world_set_registers(javascript->world, start + IN_CODE, stack_address(LEAF_WORD), 8);
	javascript_unwind_text(javascript);
	assert_int_equal(javascript->world->trace.error, UNWIND_STACK_UNREADABLE);
	assert_string_equal(javascript->text, "!");
}

static void without_what_is_known_of_v8_frames_are_native(void **state)
{
	const struct runtime_row row = { EXECUTABLE_ID, runtime_row_language(FRAME_JAVASCRIPT),
					 UINT32_MAX };
	struct javascript *javascript = *state;

	lay_in_frame(javascript, code_at(RULE_BUILTIN), CONTEXT, function_at(1));
	publish_javascript(javascript);
	world_put(javascript->world, JAVASCRIPT_RUNTIME_CELL, &row, sizeof(row));
	world_unwind(javascript->world);
	assert_frame(javascript->world, 0, code_at(RULE_BUILTIN), 0);
	assert_frame(javascript->world, 1, code_at(RULE_INTERPRETER), FRAME_RETURN_ADDRESS);
	assert_end(javascript->world, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		javascript_test(the_interpreter_s_frame_is_its_function_s),
		javascript_test(
			a_leaf_in_the_interpreter_has_its_function_on_the_stack_or_in_a_register),
		javascript_test(before_its_frame_the_interpreter_has_the_function_in_a_register),
		javascript_test(behind_its_frame_the_interpreter_shows_no_function),
		javascript_test(a_handler_s_bytecode_is_the_one_that_the_dispatch_table_has_it_for),
		javascript_test(behind_a_prefix_the_handler_is_of_another_table),
		javascript_test(at_its_end_a_handler_is_at_the_next_bytecode),
		javascript_test(what_is_no_bytecode_s_offset_is_not_taken_for_one),
		javascript_test(a_handler_with_a_frame_has_kept_its_bytecode),
		javascript_test(a_builtin_with_a_context_is_a_function),
		javascript_test(all_types_of_functions_are_functions),
		javascript_test(other_builtins_have_frames_of_their_own),
		javascript_test(a_builtin_without_a_frame_may_call_a_helper),
		javascript_test(what_new_calls_is_marked),
		javascript_test(code_is_found_by_maps_and_by_the_lists_of_pages),
		javascript_test(an_address_behind_the_last_instruction_is_returned_to),
		javascript_test(code_of_no_function_has_no_function),
		javascript_test(at_its_end_code_has_no_frame),
		javascript_test(what_looks_like_an_end_but_is_none_is_in_its_frame),
		javascript_test(at_its_beginning_code_makes_its_frame),
		javascript_test(sparkplug_s_code_has_its_frame_made_by_a_builtin),
		javascript_test(code_that_is_none_is_declined),
		javascript_test(code_has_to_say_itself_where_it_is),
		javascript_test(functions_that_cannot_be_read_are_missing),
		javascript_test(another_compilation_is_another_frame),
		javascript_test(forged_maps_come_to_an_end),
		javascript_test(an_allocation_that_ends_before_the_address_is_not_its_own),
		javascript_test(forged_lists_come_to_an_end),
		javascript_test(the_longest_list_is_searched_to_its_end),
		javascript_test(a_frame_that_does_not_go_up_ends_the_unwind),
		javascript_test(a_frame_pointer_that_leads_nowhere_ends_the_unwind),
		javascript_test(without_what_is_known_of_v8_frames_are_native),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
