// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Stacks of WebAssembly in V8, for each position at which a thread may be interrupted. */
#include "ebpf/host/tests/javascript_fixture.h"

#include <string.h>

#define INSTANCE (HEAP_START + 0x9001)
#define OTHER_INSTANCE (HEAP_START + 0x9101)
/* Code in no map, whose frame alone says what it is. */
#define UNMAPPED (PAGE_START + CODE_BYTES - 64)

/* Adds an allocation with @code at its beginning to V8's map; returns its address. */
static uint64_t add_wasm(struct javascript *javascript, const char *code, size_t size)
{
	const uint64_t start = object_of_code(javascript->code_count);

	memset(javascript->code + (start - PAGE_START), 0x90, CODE_STEP);
	put_bytes(javascript, start, code, size);
	list_code(javascript, start);
	javascript->code_count++;
	return start;
}

#define TURBOFAN "\x55\x48\x89\xe5\x6a\x08\x56"

static void assert_wasm_words(const struct javascript *javascript, uint32_t flags,
			      uint64_t instance, uint64_t pc)
{
	uint64_t bytes;

	memcpy(&bytes, javascript->code + (pc - 8 - PAGE_START), sizeof(bytes));
	assert_word(javascript, 0, frame_word(FRAME_JAVASCRIPT, flags, instance));
	assert_word(javascript, 1, javascript_wasm_word(pc, bytes));
}

static void its_frame_says_what_it_is(void **state)
{
	struct javascript *javascript = *state;

	lay_in_frame(javascript, UNMAPPED, MARKER_WASM, INSTANCE);
	assert_javascript_unwind(javascript, "WI0E");
	assert_wasm_words(javascript, 0, INSTANCE, UNMAPPED);
	/* A call from wasm to JavaScript. */
	lay_in_frame(javascript, UNMAPPED, MARKER_WASM_TO_JS, INSTANCE);
	assert_javascript_unwind(javascript, "I0E");
	/* Without the marker it is not V8's code. */
	lay_in_frame(javascript, UNMAPPED, CONTEXT, function_at(1));
	javascript_unwind_text(javascript);
	assert_null(strchr(javascript->text, 'W'));
	assert_int_not_equal(javascript->world->trace.word_count, 0);
}

static void v8_s_map_has_it(void **state)
{
	struct javascript *javascript = *state;
	const uint64_t start = add_wasm(javascript, TURBOFAN, sizeof(TURBOFAN) - 1);

	lay_in_frame(javascript, start + IN_CODE, MARKER_WASM, INSTANCE);
	assert_javascript_unwind(javascript, "WI0E");
	assert_wasm_words(javascript, 0, INSTANCE, start + IN_CODE);
	/* Other bytes before the pc, as of other code there. */
	put(javascript, start + IN_CODE - 1, 0xcc, 1);
	assert_javascript_unwind(javascript, "WI0E");
	assert_wasm_words(javascript, 0, INSTANCE, start + IN_CODE);
	/* A wrapper has no frame of its own. */
	lay_in_frame(javascript, start + IN_CODE, MARKER_WASM_TO_JS, INSTANCE);
	assert_javascript_unwind(javascript, "I0E");
	/* Behind its end there is no code. */
	lay_in_frame(javascript, start + CODE_STEP, CONTEXT, function_at(1));
	javascript_unwind_text(javascript);
	assert_null(strchr(javascript->text, 'W'));
}

/* A leaf without its frame, or with a part of it. */
struct wasm_leaf {
	const char *code;
	size_t size;
	/* Offset of the pc in the code, and number of words between the stack pointer and the return address. */
	uint32_t offset;
	uint32_t return_words;
	/* The instance is in its slot, below the stack pointer. */
	bool is_end;
};

#define LEAF(code, offset, return_words, is_end)                                                   \
	{                                                                                          \
		code, sizeof(code) - 1, offset, return_words, is_end                               \
	}

static void a_leaf_without_a_frame_is_called_by_the_next_one(void **state)
{
	static const struct wasm_leaf leaves[] = {
		/* push rbp; mov rbp, rsp; push 8; push rsi */
		LEAF(TURBOFAN, 0, 0, false),
		LEAF(TURBOFAN, 1, 1, false),
		/* Liftoff's: mov r12d, 2; call */
		LEAF("\x41\xbc\x02\0\0\0\xe8\0\0\0\0\x48\x81", 0, 0, false),
		LEAF("\x41\xbc\x02\0\0\0\xe8\0\0\0\0\x48\x81", 6, 0, false),
		/* xor r12d, r12d; call */
		LEAF("\x45\x31\xe4\xe8\0\0\0\0\x48\x81", 3, 0, false),
		/* Jumps of a table. */
		LEAF("\xe9\x3b\x0a\0\0\xcc\xcc\xcc\xe9\x3b\x0a\0\0\xcc\xcc\xcc", 8, 0, false),
		LEAF("\xff\x25\x02\0\0\0\x66\x90\xff\x25\x02\0\0\0\x66\x90", 8, 0, false),
		/* ret, and ret 8, behind pop rbp */
		LEAF(TURBOFAN "\x5d\xc3", 8, 0, true),
		LEAF(TURBOFAN "\x5d\xc2\x08\0", 8, 0, true),
	};

	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		const struct wasm_leaf *leaf = &leaves[i];
		struct javascript *javascript;
		uint64_t start;

		javascript_teardown(state);
		javascript_setup(state);
		javascript = *state;
		start = add_wasm(javascript, leaf->code, leaf->size);
		lay_frameless(javascript, start + leaf->offset, leaf->return_words);
		if (leaf->return_words)
			put_word(javascript, LEAF_WORD, stack_address(CALLER_WORD));
		set_register(javascript, RSI, leaf->is_end ? OTHER_INSTANCE : INSTANCE);
		put_word(javascript, LEAF_WORD - 3, leaf->is_end ? INSTANCE : OTHER_INSTANCE);
		assert_javascript_unwind(javascript, "WI0E");
		assert_word(javascript, 0, frame_word(FRAME_JAVASCRIPT, 0, INSTANCE));
	}
}

static void a_leaf_that_makes_its_frame_has_its_instance_in_a_register(void **state)
{
	struct javascript *javascript = *state;
	const uint64_t start = add_wasm(javascript, TURBOFAN, sizeof(TURBOFAN) - 1);

	/* At push 8, and at push rsi. */
	for (uint32_t pushed = 0; pushed < 2; pushed++) {
		lay_in_frame(javascript, start + 4 + 2 * pushed, pushed ? MARKER_WASM : 0x55, 0x77);
		world_set_registers(javascript->world, start + 4 + 2 * pushed,
				    stack_address(FP_WORD - pushed), stack_address(FP_WORD));
		set_register(javascript, RSI, INSTANCE);
		assert_javascript_unwind(javascript, "WI0E");
		assert_word(javascript, 0, frame_word(FRAME_JAVASCRIPT, 0, INSTANCE));
	}
}

static void callers_are_in_their_frames(void **state)
{
	struct javascript *javascript = *state;
	const uint64_t start = add_wasm(javascript, TURBOFAN "\xc3", sizeof(TURBOFAN));

	/* A function at its beginning called from another one; a return address may be any instruction's. */
	lay_frameless(javascript, start, 0);
	set_register(javascript, RSI, INSTANCE);
	put_word(javascript, LEAF_WORD, start + sizeof(TURBOFAN) - 1);
	put_frame(javascript, FP_WORD, MARKER_WASM, OTHER_INSTANCE, CALLER_WORD, 0);
	put_caller(javascript, FP_WORD + 1);
	world_set_registers(javascript->world, start, stack_address(LEAF_WORD),
			    stack_address(FP_WORD));
	set_register(javascript, RSI, INSTANCE);
	assert_javascript_unwind(javascript, "WWI0E");
	assert_word(javascript, 0, frame_word(FRAME_JAVASCRIPT, 0, INSTANCE));
	assert_word(javascript, 2,
		    frame_word(FRAME_JAVASCRIPT, FRAME_RETURN_ADDRESS, OTHER_INSTANCE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		javascript_test(its_frame_says_what_it_is),
		javascript_test(v8_s_map_has_it),
		javascript_test(a_leaf_without_a_frame_is_called_by_the_next_one),
		javascript_test(a_leaf_that_makes_its_frame_has_its_instance_in_a_register),
		javascript_test(callers_are_in_their_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
