/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/javascript_symbolize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_process.h"

enum {
	OUTER_LITERAL = 3,
	INNER_LITERAL = 4,
	UNIQUE = 90,
	SCRIPT_ID = 7,
	OPTIMIZATION = 12,
	/* Length of "one\ntwo\r\nthree". */
	SOURCE_LENGTH = 14,
	BUILTIN_BYTES = 64,
	/* Words of the made stack: functions, and return addresses in their code. */
	OUTER_FUNCTION = 10,
	INNER_FUNCTION = 18,
	BASELINE_RETURN = 13,
	OPTIMIZED_RETURN = 21,
};

static struct made_process made;
static struct javascript_symbolizer symbolizer;
static struct interpreted_frames frames;
static uint64_t now_ns, outer, inner, script, source, baseline_code, optimized_code;

static struct v8_builtin builtin_items[] = {
	{ .start = 0, .end = BUILTIN_BYTES, .name = "ArrayMap" },
	{ .start = BUILTIN_BYTES, .end = 2 * BUILTIN_BYTES, .name = "ArrayForEach" },
};
static const struct v8_builtins builtins = { .start = 0x1000, .items = builtin_items, .count = 2 };

/* Counts reads. One of them fails, or memory is changed before it. */
struct counting_memory {
	struct remote_memory memory;
	uint32_t reads;
	uint32_t reads_until;
	int err;
	void (*change)(void);
};

static int read_counting(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct counting_memory *counting = (struct counting_memory *)memory;

	if (counting->reads++ == counting->reads_until) {
		if (counting->err)
			return counting->err;
		if (counting->change)
			counting->change();
	}
	return made_heap_read(&made.made.memory, address, buffer, bytes);
}

static const struct remote_memory_ops counting_ops = { .read = read_counting };

static uint64_t heap_word(uint64_t address)
{
	uint64_t word = 0;

	assert_int_equal(made_heap_read(&made.made.memory, address, &word, sizeof(word)), 0);
	return word;
}

static uint64_t field(uint64_t object, int32_t offset)
{
	return heap_word(object - V8_TAG + (uint64_t)offset);
}

static void set_ids(uint64_t shared, int32_t literal)
{
	const struct v8_layout *layout = &made.made.layout;

	made_int(&made.made, shared, layout->shared_literal_id, literal);
	if (layout->shared_unique_id != V8_ABSENT)
		made_int(&made.made, shared, layout->shared_unique_id, UNIQUE + literal);
}

static uint64_t code_of(uint32_t stack_word)
{
	struct v8_code code;

	assert_int_equal(v8_code_find(&made.made.heap, made.page.bias,
				      heap_word(made.stack + stack_word * 8), &code),
			 0);
	return code.object;
}

static void make_process(enum v8_line line)
{
	const struct v8_layout *layout = &made.made.layout;
	uint64_t bytecodes;

	made_process_init(&made, line);
	outer = field(heap_word(made.stack + OUTER_FUNCTION * 8), layout->function_shared);
	inner = field(heap_word(made.stack + INNER_FUNCTION * 8), layout->function_shared);
	script = field(outer, layout->shared_script);
	source = field(script, layout->script_source);
	made_word(&made.made, script, layout->script_id, made_smi(SCRIPT_ID));
	set_ids(outer, OUTER_LITERAL);
	set_ids(inner, INNER_LITERAL);
	baseline_code = code_of(BASELINE_RETURN);
	optimized_code = code_of(OPTIMIZED_RETURN);
	made_word(&made.made, field(optimized_code, layout->code_data),
		  layout->array_data + 8 * layout->deopt_optimization_id, made_smi(OPTIMIZATION));
	/* The inner function runs in Sparkplug's code. */
	bytecodes = field(inner, layout->shared_data);
	made_word(&made.made, baseline_code, layout->code_data, bytecodes);
	made_word(&made.made, inner, layout->shared_data, baseline_code);
	javascript_symbolizer_deinit(&symbolizer);
	javascript_symbolizer_init(&symbolizer, layout, &builtins);
	now_ns = NS_PER_SECOND;
}

static int set_up(void **state)
{
	(void)state;
	memset(&symbolizer, 0, sizeof(symbolizer));
	made_heap_init(&made.made, V8_13_6);
	javascript_symbolizer_init(&symbolizer, &made.made.layout, &builtins);
	make_process(V8_13_6);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	javascript_symbolizer_deinit(&symbolizer);
	return 0;
}

static uint32_t fingerprint(int32_t literal)
{
	uint64_t ids = (uint64_t)literal;

	if (made.made.layout.shared_unique_id != V8_ABSENT)
		ids |= (uint64_t)(UNIQUE + literal) << 32;
	return javascript_function_fingerprint(ids, made_smi(SCRIPT_ID), SOURCE_LENGTH);
}

struct words {
	uint64_t words[2];
};

static struct words make_words(uint64_t object, uint8_t flags, uint32_t code, uint32_t offset,
			       uint32_t print)
{
	return (struct words){ {
		frame_word(FRAME_JAVASCRIPT, flags, object),
		(uint64_t)(code << JAVASCRIPT_CODE_SHIFT | offset) << 32 | print,
	} };
}

static struct words optimized_words(uint8_t flags)
{
	return make_words(optimized_code, flags, JAVASCRIPT_OPTIMIZED, MADE_RETURN_OFFSET,
			  javascript_code_fingerprint(fingerprint(OUTER_LITERAL), OPTIMIZATION));
}

static struct words interpreted_words(uint32_t offset)
{
	return make_words(outer, FRAME_RETURN_ADDRESS, JAVASCRIPT_INTERPRETED, offset,
			  fingerprint(OUTER_LITERAL));
}

static int symbolize_from(struct counting_memory *memory, struct words words)
{
	memory->memory.ops = &counting_ops;
	return javascript_symbolize(&symbolizer, &memory->memory, words.words, now_ns, &frames);
}

static int symbolize(struct words words)
{
	struct counting_memory memory = { .reads_until = UINT32_MAX };

	return symbolize_from(&memory, words);
}

static void check_frame(uint32_t index, const char *function, const char *file, uint32_t line,
			uint32_t column)
{
	assert_true(index < frames.count);
	assert_string_equal(frames.items[index].function, function);
	if (file)
		assert_string_equal(frames.items[index].file, file);
	else
		assert_null(frames.items[index].file);
	assert_int_equal(frames.items[index].line, line);
	assert_int_equal(frames.items[index].column, column);
}

static void an_interpreted_function_has_a_name_a_file_a_line_and_a_column(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		make_process(line);
		assert_int_equal(symbolize(interpreted_words(0)), 0);
		assert_int_equal(frames.count, 1);
		check_frame(0, "name", "a.js", 2, 2);
		assert_false(frames.items[0].is_inlined || frames.items[0].is_approximate);
		assert_int_equal(symbolize(interpreted_words(1)), 0);
		check_frame(0, "name", "a.js", 3, 1);
		/* The function has just been entered. */
		assert_int_equal(symbolize(interpreted_words(JAVASCRIPT_NO_OFFSET)), 0);
		check_frame(0, "name", "a.js", 2, 2);
		assert_false(frames.items[0].is_approximate);
	}
}

static void an_earlier_bytecode_is_approximate(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		make_process(line);
		/* Read at first, then cached. */
		for (int i = 0; i < 2; i++) {
			assert_int_equal(symbolize(make_words(outer, 0,
							      JAVASCRIPT_INTERPRETED_BEFORE, 1,
							      fingerprint(OUTER_LITERAL))),
					 0);
			check_frame(0, "name", "a.js", 3, 1);
			assert_true(frames.items[0].is_approximate);
		}
	}
}

static void the_bytecode_of_sparkplug_s_code_is_found_by_its_pc(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		make_process(line);
		/* The prologue and the code of each bytecode have 10 bytes. */
		assert_int_equal(symbolize(make_words(inner, FRAME_RETURN_ADDRESS,
						      JAVASCRIPT_BASELINE, 20,
						      fingerprint(INNER_LITERAL))),
				 0);
		check_frame(0, "ame", "a.js", 2, 2);
		assert_int_equal(symbolize(make_words(inner, FRAME_RETURN_ADDRESS,
						      JAVASCRIPT_BASELINE, 30,
						      fingerprint(INNER_LITERAL))),
				 0);
		check_frame(0, "ame", "a.js", 3, 1);
	}
}

static void a_function_whose_sparkplug_code_is_gone_keeps_its_name(void **state)
{
	(void)state;
	assert_int_equal(symbolize(make_words(outer, 0, JAVASCRIPT_BASELINE, 20,
					      fingerprint(OUTER_LITERAL))),
			 0);
	check_frame(0, "name", "a.js", 2, 2);
	assert_true(frames.items[0].is_approximate);
}

static void functions_that_are_inlined_come_first(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		make_process(line);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(symbolize(optimized_words(0)), 0);
			assert_int_equal(frames.count, 2);
			check_frame(0, "ame", "a.js", 2, 2);
			check_frame(1, "name", "a.js", 1, 2);
			assert_true(frames.items[0].is_inlined);
			assert_false(frames.items[1].is_inlined);
		}
	}
}

static void at_a_call_the_deoptimizer_s_table_tells(void **state)
{
	(void)state;
	assert_int_equal(symbolize(optimized_words(FRAME_RETURN_ADDRESS)), 0);
	assert_int_equal(frames.count, 2);
	check_frame(0, "new ame", "a.js", 3, 1);
	check_frame(1, "name", "a.js", 3, 1);
}

static void what_new_has_called_is_shown_so(void **state)
{
	struct words words;

	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		make_process(line);
		words = interpreted_words(0);
		words.words[1] |= (uint64_t)JAVASCRIPT_NEW << 32;
		assert_int_equal(symbolize(words), 0);
		check_frame(0, "new name", "a.js", 2, 2);
		/* `new` is shown for the function that has the frame, not for one that is inlined into it. */
		words = optimized_words(0);
		words.words[1] |= (uint64_t)JAVASCRIPT_NEW << 32;
		assert_int_equal(symbolize(words), 0);
		check_frame(0, "ame", "a.js", 2, 2);
		check_frame(1, "new name", "a.js", 1, 2);
	}
}

static void a_function_without_a_name_is_anonymous(void **state)
{
	struct words words;
	uint64_t shared;

	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		make_process(line);
		shared = made_shared(&made.made, made_smi(0), script);
		set_ids(shared, 5);
		words = make_words(shared, 0, JAVASCRIPT_INTERPRETED, JAVASCRIPT_NO_OFFSET,
				   fingerprint(5));
		assert_int_equal(symbolize(words), 0);
		check_frame(0, "(anonymous)", "a.js", 0, 0);
		words.words[1] |= (uint64_t)JAVASCRIPT_NEW << 32;
		assert_int_equal(symbolize(words), 0);
		check_frame(0, "new (anonymous)", "a.js", 0, 0);
	}
}

static void a_builtin_is_called_as_programs_call_it(void **state)
{
	uint64_t shared;

	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		uint32_t print;

		make_process(line);
		/* V8's own functions have no script: the field is no object, and its fields count as 0. */
		shared = made_shared(&made.made, made_text(&made.made, "map"), made_smi(0));
		set_ids(shared, 6);
		print = javascript_function_fingerprint(made.made.layout.shared_unique_id ==
									V8_ABSENT ?
								6 :
								(uint64_t)(UNIQUE + 6) << 32 | 6,
							0, 0);
		assert_int_equal(symbolize(make_words(shared, 0, JAVASCRIPT_BUILTIN, 10, print)),
				 0);
		assert_int_equal(frames.count, 1);
		check_frame(0, "Array.prototype.map", NULL, 0, 0);
		/* A return address may be after the last instruction. */
		assert_int_equal(symbolize(make_words(shared, FRAME_RETURN_ADDRESS,
						      JAVASCRIPT_BUILTIN, BUILTIN_BYTES, print)),
				 0);
		check_frame(0, "Array.prototype.map", NULL, 0, 0);
		/* There is no builtin at that offset, so the function's own name is used. */
		assert_int_equal(symbolize(make_words(shared, 0, JAVASCRIPT_BUILTIN,
						      2 * BUILTIN_BYTES, print)),
				 0);
		check_frame(0, "map", NULL, 0, 0);
	}
}

static void every_function_is_called_something(void **state)
{
	uint64_t shared = made_shared(&made.made, made_smi(0), script);

	(void)state;
	set_ids(shared, 5);
	assert_int_equal(symbolize(make_words(shared, FRAME_RETURN_ADDRESS, JAVASCRIPT_BUILTIN, 0,
					      fingerprint(5))),
			 0);
	check_frame(0, "(anonymous)", NULL, 0, 0);
}

/* The name has more characters than the limit, of three bytes each, after one of a single byte. */
static void long_names_are_cut_behind_a_whole_character(void **state)
{
	static uint16_t characters[2048];
	uint64_t shared;

	(void)state;
	for (uint32_t i = 0; i < 2048; i++)
		characters[i] = i < 3 ? 'a' : 0x20ac;
	for (uint32_t extra = 0; extra < 3; extra++) {
		struct words words;
		size_t length;

		make_process(V8_13_6);
		shared = made_shared(
			&made.made,
			made_string(&made.made, characters + extra, 2048 - extra, false), script);
		set_ids(shared, 5);
		words = make_words(shared, 0, JAVASCRIPT_BUILTIN, 10, fingerprint(5));
		words.words[1] |= (uint64_t)JAVASCRIPT_NEW << 32;
		assert_int_equal(symbolize(words), 0);
		length = strlen(frames.items[0].function);
		assert_in_range(length, FRAME_NAME_MAX_BYTES - 8, FRAME_NAME_MAX_BYTES);
		assert_memory_equal(frames.items[0].function + length - 3, "\xe2\x82\xac", 3);
	}
}

static void code_of_no_function_is_named_without_memory(void **state)
{
	struct counting_memory memory = { .err = -ESRCH };

	(void)state;
	assert_int_equal(symbolize_from(&memory, make_words(0x1234, 0, JAVASCRIPT_REGEXP, 0, 0)),
			 0);
	assert_int_equal(frames.count, 1);
	check_frame(0, "[regular expression]", NULL, 0, 0);
	assert_int_equal(memory.reads, 0);
}

/* The words of a frame at @pc in wasm's code. */
static struct words wasm_words(uint64_t instance, uint64_t pc, uint8_t flags)
{
	return (struct words){ {
		frame_word(FRAME_JAVASCRIPT, flags, instance),
		javascript_wasm_word(pc, heap_word(pc - 8)),
	} };
}

static void wasm_has_the_names_of_its_module_or_numbers(void **state)
{
	const struct made_wasm *wasm = &made.wasm;

	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		make_process(line);
		/* Read at first, then cached. */
		for (int i = 0; i < 2; i++) {
			assert_int_equal(symbolize(wasm_words(wasm->instance,
							      wasm->code[0] + MADE_WASM_CODE_SIZE,
							      FRAME_RETURN_ADDRESS)),
					 0);
			assert_int_equal(frames.count, 1);
			check_frame(0, "add", "wasm://wasm/known-12ab", 0, 0);
		}
		assert_int_equal(symbolize(wasm_words(wasm->instance, wasm->code[2], 0)), 0);
		check_frame(0, "wasm function 3 in known-12ab", "wasm://wasm/known-12ab", 0, 0);
		/* A table of jumps, and what is no instance. */
		assert_int_equal(symbolize(wasm_words(wasm->instance, wasm->code[1], 0)), 0);
		check_frame(0, "[wasm function]", NULL, 0, 0);
		assert_int_equal(symbolize(wasm_words(0x1235, wasm->code[0], 0)), 0);
		check_frame(0, "[wasm function]", NULL, 0, 0);
	}
}

static void other_code_of_wasm_at_its_address_is_stale(void **state)
{
	const struct made_wasm *wasm = &made.wasm;
	const struct words words = wasm_words(wasm->instance, wasm->code[0] + 16, 0);
	const uint64_t other = 0x5548;
	struct counting_memory gone = { .err = -ESRCH };

	(void)state;
	made_put(&made.made, wasm->code[0] + 8, &other, sizeof(other));
	assert_int_equal(symbolize(words), -ESTALE);
	assert_int_equal(symbolize_from(&gone, words), -ESRCH);
}

static void another_function_at_its_address_is_stale(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		make_process(line);
		set_ids(outer, OUTER_LITERAL + 1);
		assert_int_equal(symbolize(interpreted_words(0)), -ESTALE);
		assert_int_equal(symbolize(optimized_words(0)), -ESTALE);
		set_ids(outer, OUTER_LITERAL);
		/* Another compilation. */
		made_word(&made.made, field(optimized_code, made.made.layout.code_data),
			  made.made.layout.array_data + 8 * made.made.layout.deopt_optimization_id,
			  made_smi(OPTIMIZATION + 1));
		assert_int_equal(symbolize(optimized_words(0)), -ESTALE);
		/* Another script, of another length. */
		made_word(&made.made, script, made.made.layout.script_id, made_smi(SCRIPT_ID + 1));
		assert_int_equal(symbolize(interpreted_words(0)), -ESTALE);
		made_word(&made.made, script, made.made.layout.script_id, made_smi(SCRIPT_ID));
		made_int(&made.made, source, made.made.layout.string_length, SOURCE_LENGTH - 1);
		assert_int_equal(symbolize(interpreted_words(0)), -ESTALE);
		made_int(&made.made, source, made.made.layout.string_length, SOURCE_LENGTH);
		assert_int_equal(symbolizer.frames.count, 0);
		assert_int_equal(symbolize(interpreted_words(0)), 0);
	}
}

static void what_is_no_function_any_more_is_stale(void **state)
{
	(void)state;
	/* An address that cannot be read, an object that is no code, and a word that is no object. */
	assert_int_equal(symbolize(make_words(MADE_HEAP_BASE + MADE_HEAP_BYTES + 1, 0,
					      JAVASCRIPT_INTERPRETED, 0,
					      fingerprint(OUTER_LITERAL))),
			 -ESTALE);
	assert_int_equal(symbolize(make_words(outer, 0, JAVASCRIPT_OPTIMIZED, 0,
					      fingerprint(OUTER_LITERAL))),
			 -ESTALE);
	assert_int_equal(symbolize(make_words(0, 0, JAVASCRIPT_INTERPRETED, 0, 0)), -ESTALE);
}

static void what_was_named_once_is_not_read_again(void **state)
{
	struct counting_memory memory = { .reads_until = UINT32_MAX };

	(void)state;
	assert_int_equal(symbolize_from(&memory, optimized_words(0)), 0);
	assert_in_range(memory.reads, 2, 200);
	/* The cache is used even if the process is gone. */
	memory = (struct counting_memory){ .err = -ESRCH };
	set_ids(outer, 99);
	assert_int_equal(symbolize_from(&memory, optimized_words(0)), 0);
	assert_int_equal(frames.count, 2);
	check_frame(0, "ame", "a.js", 2, 2);
	check_frame(1, "name", "a.js", 1, 2);
	assert_int_equal(memory.reads, 0);
	/* Another offset in the same code is read. */
	assert_int_equal(symbolize_from(&memory, optimized_words(FRAME_RETURN_ADDRESS)), -ESRCH);
	assert_int_equal(memory.reads, 1);
}

static void lines_of_a_script_are_read_once(void **state)
{
	(void)state;
	assert_int_equal(symbolize(interpreted_words(0)), 0);
	assert_int_equal(symbolizer.scripts.count, 1);
	/* The line ends are removed from the source, but the lines are cached. */
	memset(made.made.bytes + (source - V8_TAG + 16 - MADE_HEAP_BASE), 'x', SOURCE_LENGTH);
	assert_int_equal(symbolize(interpreted_words(1)), 0);
	check_frame(0, "name", "a.js", 3, 1);
	assert_int_equal(symbolizer.scripts.count, 1);
}

static void be_another_function(void)
{
	made_int(&made.made, source, made.made.layout.string_length, SOURCE_LENGTH - 1);
}

/* Fails at read @until, or replaces the function before it; returns the number of reads. */
static uint32_t try_until(struct words words, uint32_t until, int err, int *result)
{
	struct counting_memory memory = { .reads_until = until, .err = err };

	if (!err)
		memory.change = be_another_function;
	*result = symbolize_from(&memory, words);
	return memory.reads;
}

static void what_is_read_in_part_is_no_answer_and_not_kept(void **state)
{
	static const int errors[] = { -EAGAIN, -ESRCH, 0 };

	(void)state;
	for (uint32_t i = 0; i < 3 * 2; i++) {
		uint32_t until = 0;
		int err = 0;

		for (;; until++) {
			make_process(V8_13_6);
			if (try_until(i % 2 ? optimized_words(0) : interpreted_words(1), until,
				      errors[i / 2], &err) <= until)
				break;
			assert_int_equal(err, errors[i / 2] ? errors[i / 2] : -ESTALE);
			assert_int_equal(symbolizer.frames.count, 0);
		}
		assert_int_equal(err, 0);
		assert_int_equal(symbolizer.frames.count, 1);
		assert_in_range(until, 2, 60);
	}
}

static void frames_are_forgotten_when_there_are_too_many(void **state)
{
	(void)state;
	for (uint32_t offset = 0; offset < JAVASCRIPT_FRAMES_MAX_ENTRIES + 100; offset++)
		assert_int_equal(symbolize(interpreted_words(offset)), 0);
	assert_in_range(symbolizer.frames.count, 100, JAVASCRIPT_FRAMES_MAX_ENTRIES);
	assert_in_range(symbolizer.frames.bytes, 100, JAVASCRIPT_FRAMES_MAX_BYTES);
}

static void frames_and_lines_that_nobody_asks_for_are_let_go(void **state)
{
	(void)state;
	assert_int_equal(symbolize(interpreted_words(0)), 0);
	assert_int_equal(symbolize(interpreted_words(1)), 0);
	for (int i = 0; i < 2; i++) {
		now_ns += JAVASCRIPT_CACHE_AGE_NS;
		assert_int_equal(symbolize(interpreted_words(1)), 0);
	}
	assert_int_equal(symbolizer.frames.count, 1);
	assert_int_equal(symbolizer.scripts.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_interpreted_function_has_a_name_a_file_a_line_and_a_column),
		TEST(an_earlier_bytecode_is_approximate),
		TEST(the_bytecode_of_sparkplug_s_code_is_found_by_its_pc),
		TEST(a_function_whose_sparkplug_code_is_gone_keeps_its_name),
		TEST(functions_that_are_inlined_come_first),
		TEST(at_a_call_the_deoptimizer_s_table_tells),
		TEST(what_new_has_called_is_shown_so),
		TEST(a_function_without_a_name_is_anonymous),
		TEST(a_builtin_is_called_as_programs_call_it),
		TEST(every_function_is_called_something),
		TEST(long_names_are_cut_behind_a_whole_character),
		TEST(code_of_no_function_is_named_without_memory),
		TEST(wasm_has_the_names_of_its_module_or_numbers),
		TEST(other_code_of_wasm_at_its_address_is_stale),
		TEST(another_function_at_its_address_is_stale),
		TEST(what_is_no_function_any_more_is_stale),
		TEST(what_was_named_once_is_not_read_again),
		TEST(lines_of_a_script_are_read_once),
		TEST(what_is_read_in_part_is_no_answer_and_not_kept),
		TEST(frames_are_forgotten_when_there_are_too_many),
		TEST(frames_and_lines_that_nobody_asks_for_are_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
