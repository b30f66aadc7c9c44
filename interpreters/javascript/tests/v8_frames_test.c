/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that are made here; integration/javascript_stack_test.py has real ones. */
#include "interpreters/javascript/v8_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_code.h"

enum {
	RETURN_OFFSET = 20,
	TRAMPOLINE_OFFSET = 35,
	CODE_SIZE = 40,
	SAFEPOINTS_CONFIGURATION = 1 | 1 << 4 | 1 << 7,
	DEOPT_WORDS = 16,
	/** Operations of 13.6. */
	BEGIN = 14,
	FUNCTION = 1,
	CONSTRUCT = 4,
};

static struct made_heap made;
static struct made_code_page page;
static struct v8_frame_functions functions;

/* Two functions of one script: the outer one, and one that is inlined into it. */
static uint64_t script, outer, inner, outer_code, inner_code;

/* Makes a BytecodeArray of plain bytecodes; the one at 3 has the script offset @offset. */
static uint64_t make_bytecodes(int32_t offset)
{
	/* These bytecodes have one byte in all versions. */
	static const uint8_t bytecodes[] = { 4, 4, 4, 4, 4 };
	struct made_table table = { 0 };

	made_position(&table, made.layout.line, 0, 1, -1, true);
	made_position(&table, made.layout.line, 3, offset, -1, true);
	return made_bytecodes(&made, bytecodes, sizeof(bytecodes),
			      made_bytes(&made, table.bytes, table.size));
}

static void make_functions(enum v8_line line)
{
	made_heap_init(&made, line);
	made_code_page_init(&page, &made);
	script = made_script(&made, made_text(&made, ""), made_text(&made, "a.js"));
	outer = made_shared(&made, made_text(&made, "outer"), script);
	inner = made_shared(&made, made_text(&made, "inner"), script);
	outer_code = make_bytecodes(70);
	inner_code = make_bytecodes(90);
	made_word(&made, outer, made.layout.shared_data, outer_code);
	made_word(&made, inner, made.layout.shared_data, inner_code);
}

static int read_functions(const struct v8_frame *frame, enum v8_inlining_source source)
{
	return v8_frame_find_functions(&made.heap, frame, source, &functions);
}

static void an_interpreted_frame_knows_its_bytecode(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		struct v8_frame frame = { .tier = V8_TIER_INTERPRETED };

		make_functions(line);
		frame.shared = outer;
		frame.bytecodes = outer_code;
		frame.bytecode_offset = made_smi(made.layout.bytecodes_data - V8_TAG + 4);
		assert_int_equal(read_functions(&frame, V8_INLINING_BEST), 0);
		assert_int_equal(functions.count, 1);
		assert_int_equal(functions.items[0].shared, outer);
		assert_int_equal(functions.items[0].script_offset, 70);
		frame.bytecode_offset = made_smi(made.layout.bytecodes_data - V8_TAG + 1);
		assert_int_equal(read_functions(&frame, V8_INLINING_BEST), 0);
		assert_int_equal(functions.items[0].script_offset, 1);
		/* An offset before the first bytecode. */
		frame.bytecode_offset = made_smi(3);
		assert_int_equal(read_functions(&frame, V8_INLINING_BEST), -EBADMSG);
		frame.bytecode_offset = outer;
		assert_int_equal(read_functions(&frame, V8_INLINING_BEST), -EBADMSG);
	}
}

static void positions_may_not_be_collected(void **state)
{
	struct v8_frame frame = { .tier = V8_TIER_INTERPRETED };

	(void)state;
	make_functions(V8_12_4);
	made_word(&made, outer_code, made.layout.bytecodes_positions, made_smi(0));
	frame.shared = outer;
	frame.bytecodes = outer_code;
	frame.bytecode_offset = made_smi(made.layout.bytecodes_data - V8_TAG + 4);
	assert_int_equal(read_functions(&frame, V8_INLINING_BEST), 0);
	assert_int_equal(functions.items[0].script_offset, -1);
}

static void a_frame_of_sparkplug_knows_its_bytecode_by_its_pc(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		struct v8_frame frame = { .tier = V8_TIER_BASELINE, .is_return_address = true };
		struct made_table table = { 0 };
		uint64_t start;

		make_functions(line);
		for (int i = 0; i < 6; i++)
			made_number(&table, 5);
		start = made_code_add(
			&page, &(struct made_code){
				       .kind = made.layout.kind_baseline,
				       .size = CODE_SIZE,
				       .positions = made_bytes(&made, table.bytes, table.size) });
		assert_int_equal(v8_code_find(&made.heap, page.bias, start, &frame.code), 0);
		frame.shared = outer;
		frame.bytecodes = outer_code;
		/* The last instruction of the fourth bytecode. */
		frame.pc = start + 25;
		assert_int_equal(read_functions(&frame, V8_INLINING_BEST), 0);
		assert_int_equal(functions.items[0].script_offset, 70);
		frame.pc = start + 20;
		assert_int_equal(read_functions(&frame, V8_INLINING_BEST), 0);
		assert_int_equal(functions.items[0].script_offset, 1);
	}
}

/* Makes deoptimization data of 13.6 whose translation has a call of `new inner` in outer. */
static uint64_t make_deopt_data(void)
{
	const uint64_t literals[] = { inner, (outer & ~3ULL) | V8_WEAK_TAG };
	const uint64_t protected_literals[] = { outer_code, inner_code };
	const int32_t translated[][3] = { { 3, 1, 0 }, { 3, 0, 1 } };
	struct made_table translation = { 0 };
	uint64_t words[DEOPT_WORDS] = { 0 }, wrapper;
	uint8_t inlining[16] = { 0 };
	const uint64_t call = made_packed(60, -1);

	made_byte(&translation, BEGIN);
	made_number(&translation, 0);
	made_signed(&translation, 3);
	made_signed(&translation, 2);
	for (int i = 0; i < 2; i++) {
		made_byte(&translation, FUNCTION);
		for (int j = 0; j < 3; j++)
			made_signed(&translation, translated[i][j]);
		made_number(&translation, 0);
		if (!i) {
			made_byte(&translation, CONSTRUCT);
			made_signed(&translation, 0);
			made_number(&translation, 1);
		}
	}
	memcpy(inlining, &call, sizeof(call));
	wrapper = made_object(&made, made.layout.type_wrapper, 16);
	made_word(&made, wrapper, made.layout.wrapper_shared, outer);
	words[made.layout.deopt_translations] =
		made_bytes(&made, translation.bytes, translation.size);
	words[made.layout.deopt_literals] = made_array(&made, literals, 2);
	words[made.layout.deopt_protected_literals] = made_array(&made, protected_literals, 2);
	words[made.layout.deopt_shared] = wrapper;
	words[made.layout.deopt_inlining] = made_bytes(&made, inlining, sizeof(inlining));
	/* The translation's index. */
	words[made.layout.deopt_entries + 1] = made_smi(0);
	return made_array(&made, words, DEOPT_WORDS);
}

/* Makes optimized code with a call that returns to RETURN_OFFSET, with or without a table of positions. */
static void make_optimized(struct v8_frame *frame, bool has_positions)
{
	struct made_table safepoints = { 0 }, positions = { 0 };
	uint64_t start;

	make_functions(V8_13_6);
	made_fixed(&safepoints, 0, 4);
	made_fixed(&safepoints, 1, 4);
	made_fixed(&safepoints, SAFEPOINTS_CONFIGURATION, 4);
	made_byte(&safepoints, RETURN_OFFSET);
	made_byte(&safepoints, 1);
	made_byte(&safepoints, TRAMPOLINE_OFFSET + 1);
	made_position(&positions, V8_13_6, 0, 50, -1, true);
	made_position(&positions, V8_13_6, RETURN_OFFSET - 1, 80, 0, true);
	made_position(&positions, V8_13_6, RETURN_OFFSET, 55, -1, true);
	start = made_code_add(
		&page,
		&(struct made_code){ .kind = made.layout.kind_turbofan,
				     .size = CODE_SIZE,
				     .safepoints = &safepoints,
				     .data = make_deopt_data(),
				     .positions = made_bytes(&made, positions.bytes,
							     has_positions ? positions.size : 0) });
	*frame = (struct v8_frame){ .tier = V8_TIER_TURBOFAN, .is_return_address = true };
	frame->pc = start + RETURN_OFFSET;
	frame->shared = outer;
	assert_int_equal(v8_code_find(&made.heap, page.bias, start, &frame->code), 0);
}

static void assert_inner_in_outer(int32_t inner_offset, int32_t outer_offset)
{
	assert_int_equal(functions.count, 2);
	assert_int_equal(functions.items[0].shared, inner);
	assert_int_equal(functions.items[0].script_offset, inner_offset);
	assert_int_equal(functions.items[1].shared, outer);
	assert_int_equal(functions.items[1].script_offset, outer_offset);
}

static void a_translation_tells_what_is_inlined_at_a_call(void **state)
{
	struct v8_frame frame;

	(void)state;
	make_optimized(&frame, true);
	assert_int_equal(read_functions(&frame, V8_INLINING_BEST), 0);
	assert_inner_in_outer(90, 70);
	assert_true(functions.items[0].is_construct);
	assert_false(functions.items[1].is_construct);
	/* The deoptimizer has replaced the return address by its own. */
	frame.pc = frame.code.start + TRAMPOLINE_OFFSET;
	assert_int_equal(read_functions(&frame, V8_INLINING_BEST), 0);
	assert_inner_in_outer(90, 70);
}

static void positions_tell_it_at_all_instructions(void **state)
{
	struct v8_frame frame;

	(void)state;
	make_optimized(&frame, true);
	assert_int_equal(read_functions(&frame, V8_INLINING_POSITIONS), 0);
	assert_inner_in_outer(80, 60);
	frame.pc = frame.code.start + TRAMPOLINE_OFFSET;
	assert_int_equal(read_functions(&frame, V8_INLINING_POSITIONS), 0);
	assert_inner_in_outer(80, 60);
	/* The innermost pc, whose instruction is not done. */
	frame.is_return_address = false;
	frame.pc = frame.code.start + RETURN_OFFSET;
	assert_int_equal(read_functions(&frame, V8_INLINING_BEST), 0);
	assert_int_equal(functions.count, 1);
	assert_int_equal(functions.items[0].script_offset, 55);
	frame.pc--;
	assert_int_equal(read_functions(&frame, V8_INLINING_BEST), 0);
	assert_inner_in_outer(80, 60);
}

static void code_without_tables_is_of_its_function(void **state)
{
	struct v8_frame frame;

	(void)state;
	make_optimized(&frame, false);
	assert_int_equal(read_functions(&frame, V8_INLINING_POSITIONS), -ENOENT);
	frame.is_return_address = false;
	assert_int_equal(read_functions(&frame, V8_INLINING_TRANSLATIONS), -ENOENT);
	assert_int_equal(read_functions(&frame, V8_INLINING_BEST), 0);
	assert_int_equal(functions.count, 1);
	assert_int_equal(functions.items[0].shared, outer);
	assert_int_equal(functions.items[0].script_offset, -1);
}

static void literals_that_are_gone_are_not_followed(void **state)
{
	const uint64_t gone[] = { V8_WEAK_TAG, V8_WEAK_TAG };
	struct v8_frame frame;

	(void)state;
	make_optimized(&frame, false);
	made_word(&made, frame.code.data,
		  made.layout.array_data + made.layout.deopt_literals * V8_TAGGED_BYTES,
		  made_array(&made, gone, 2));
	assert_int_equal(read_functions(&frame, V8_INLINING_TRANSLATIONS), -EBADMSG);
	made_word(&made, frame.code.data,
		  made.layout.array_data + made.layout.deopt_literals * V8_TAGGED_BYTES,
		  made_array(&made, gone, 1));
	assert_int_equal(read_functions(&frame, V8_INLINING_TRANSLATIONS), -EBADMSG);
}

static int optimized_function_error(uint64_t data)
{
	const struct v8_code code = { .data = data };
	uint64_t found = 1;
	int err = v8_optimized_function(&made.heap, &code, &found);

	assert_int_equal(found, 1);
	return err;
}

static void optimized_code_leads_to_the_function_that_was_compiled(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		const struct v8_layout *layout = &made.layout;
		uint64_t words[DEOPT_WORDS] = { 0 }, found = 0, data;
		struct v8_code code = { 0 };

		make_functions(line);
		words[layout->deopt_shared] = outer;
		if (layout->wrapper_shared != V8_ABSENT) {
			words[layout->deopt_shared] = made_object(&made, layout->type_wrapper, 16);
			made_word(&made, words[layout->deopt_shared], layout->wrapper_shared,
				  outer);
		}
		data = code.data = made_array(&made, words, DEOPT_WORDS);
		assert_int_equal(v8_optimized_function(&made.heap, &code, &found), 0);
		assert_int_equal(found, outer);
		/* A script, the function without its wrapper if the version has them, and a word that is no object. */
		made_word(&made, data, layout->array_data + 8 * layout->deopt_shared, script);
		assert_int_equal(optimized_function_error(data), -EBADMSG);
		if (layout->wrapper_shared != V8_ABSENT) {
			made_word(&made, data, layout->array_data + 8 * layout->deopt_shared,
				  outer);
			assert_int_equal(optimized_function_error(data), -EBADMSG);
		}
		made_word(&made, data, layout->array_data + 8 * layout->deopt_shared, 0);
		assert_int_equal(optimized_function_error(data), -EBADMSG);
		/* Data that is too short. */
		assert_int_equal(optimized_function_error(made_array(&made, words, 2)), -EBADMSG);
		assert_int_equal(optimized_function_error(0x1001), -EFAULT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interpreted_frame_knows_its_bytecode),
		cmocka_unit_test(positions_may_not_be_collected),
		cmocka_unit_test(a_frame_of_sparkplug_knows_its_bytecode_by_its_pc),
		cmocka_unit_test(a_translation_tells_what_is_inlined_at_a_call),
		cmocka_unit_test(positions_tell_it_at_all_instructions),
		cmocka_unit_test(code_without_tables_is_of_its_function),
		cmocka_unit_test(literals_that_are_gone_are_not_followed),
		cmocka_unit_test(optimized_code_leads_to_the_function_that_was_compiled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
