// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * PHP's frames between native ones: execute_data, functions and generators on a heap, laid by hand. Traces become text, leaf
 * first: digits are PHP functions by their number, letters from a on C functions, C is native code, L the loop, B the beginning of
 * a fiber's stack, E the thread's entry, ! missing frames.
 */
#include <stdio.h>

#include "ebpf/abi/php.h"
#include "ebpf/host/tests/unwind_fixture.h"

enum {
	RULE_END,
	/** Native code, the loop, the loop at its end, the code that calls the loop, and the code that prepares that. */
	RULE_C,
	RULE_OF_LOOP,
	RULE_LOOP_END,
	RULE_ENTERING,
	RULE_RESUMED,
	RULE_PREPARING,
	RULE_RELEASING,
	RULE_STACK_START,
	RULE_SWITCHING,
	RULE_COUNT,
	C_WORDS = 4,
	LOOP_WORDS = 16,

	RUNTIME_CELL = 2000,
	DATA_CELL = 2010,
	HEAP_BYTES = 0x20000,
	PAGE_BYTES = 4096,
	FIELDS = 96,
	OP_COUNT = 8,
	CALL_TOP = 1 << 17,
	CALL_GENERATOR = 1 << 24,
	FUNCTION_COUNT = 64,
	IN_C = 32,
	LEFT_ADDRESS = TEXT_ADDRESS + RULE_OF_LOOP * 16 + 4,
	FIRST_LINE = 100,
	/* Words of a fiber's stack; where what has resumed it waits, and the words that are saved there. */
	FIBER_WORDS = 40,
	WAITING_WORD = 64,
	SAVED_WORDS = 9,
	FIBERS = 0x40,
};

#define HEAP_START 0x7f0000000000ULL
#define CODE_START 0x7f1200000000ULL
#define CURRENT HEAP_START
#define BEFORE_EXCEPTION (HEAP_START + 8)
#define MAIN_FIBER (HEAP_START + 0x100)
#define FIBER (HEAP_START + 0x200)
#define FIBER_STACK (HEAP_START + 0x300)
/* Two threads, whose memory is at a word of theirs. Its beginning is the list's. */
#define THREAD_POINTER(number) (HEAP_START + 0x400 + (number)*0x100ULL)
#define THREAD_MEMORY(number) (THREAD_POINTER(number) + 0x40)

struct php {
	struct world *world;
	struct php_process process;
	uint8_t heap[HEAP_BYTES];
	uint8_t text[PAGE_BYTES];
	uint32_t next_word;
	bool has_leaf;
	char traced[2 * TRACE_MAX_WORDS];
};

static void put(struct php *php, uint64_t address, uint64_t value)
{
	assert_true(address - HEAP_START <= HEAP_BYTES - 8);
	memcpy(php->heap + (address - HEAP_START), &value, sizeof(value));
}

static uint64_t function_at(uint32_t number)
{
	return HEAP_START + 0x1000 + number * 0x400ULL;
}

static uint64_t opcodes_of(uint32_t number)
{
	return function_at(number) + 0x200;
}

static uint64_t frame_at(uint32_t index)
{
	return HEAP_START + 0x12000 + index * 0x80ULL;
}

static uint64_t generator_at(uint32_t index)
{
	return HEAP_START + 0x18000 + index * 0x200ULL;
}

static void put_string(struct php *php, uint64_t address, const char *text)
{
	put(php, address + PHP_STRING_LENGTH, strlen(text));
	memcpy(php->heap + (address - HEAP_START) + PHP_STRING_BYTES, text, strlen(text));
}

/* Makes function @number, each of whose instructions has a line of its own. */
static void put_function(struct php *php, uint32_t number)
{
	uint64_t function = function_at(number), name = function + 0x100;
	char text[32];

	snprintf(text, sizeof(text), "function%u", number);
	put_string(php, name, text);
	put(php, function, number >= IN_C ? PHP_FUNCTION_INTERNAL : PHP_FUNCTION_USER);
	put(php, function + 8, name);
	if (number >= IN_C)
		return;
	put(php, function + FIELDS, OP_COUNT);
	put(php, function + FIELDS + 8, opcodes_of(number));
	put_string(php, function + 0x180, "/srv/a.php");
	put(php, function + FIELDS + 72, function + 0x180);
	put(php, function + FIELDS + 80, FIRST_LINE);
	for (uint32_t i = 0; i < OP_COUNT; i++)
		put(php, opcodes_of(number) + i * PHP_OPCODE_BYTES + PHP_OPCODE_LINE,
		    FIRST_LINE + 1 + i);
}

/* Makes an execute_data of function @number at its instruction @opline, and returns it. */
static uint64_t put_frame(struct php *php, uint32_t index, uint32_t number, uint64_t previous,
			  uint32_t flags)
{
	uint64_t frame = frame_at(index);

	put(php, frame, opcodes_of(number) + 2 * PHP_OPCODE_BYTES);
	put(php, frame + 24, function_at(number));
	put(php, frame + 40, flags);
	put(php, frame + 48, previous);
	return frame;
}

static void put_runtime(struct php *php)
{
	const struct runtime_row row = { EXECUTABLE_ID,
					 FRAME_PHP | RUNTIME_HAS_CODE | RUNTIME_HAS_STACKS,
					 DATA_CELL };
	const uint32_t at = TEXT_ADDRESS;

	php->process = (struct php_process){
		.current = CURRENT,
		.before_exception = BEFORE_EXCEPTION,
		.bias = TEXT_START - TEXT_ADDRESS,
		.end = { at + RULE_LOOP_END * 16, at + RULE_LOOP_END * 16 + 16 },
		.entering = { { at + RULE_ENTERING * 16, at + RULE_ENTERING * 16 + 16 } },
		.resumed = { { at + RULE_RESUMED * 16, at + RULE_RESUMED * 16 + 16 } },
		.preparing = { { at + RULE_PREPARING * 16, at + RULE_PREPARING * 16 + 16 } },
		.left = { LEFT_ADDRESS },
		.releasing = { at + RULE_RELEASING * 16, at + RULE_RELEASING * 16 + 16 },
		.code = FIELDS,
		.file = FIELDS + 72,
		.generator_frame = 56,
		.generator_values = 144,
		.generator_parent = 152,
		.generator_fake = 184,
		.frame_bytes = 8 * LOOP_WORDS,
		.switching = { at + RULE_SWITCHING * 16, at + RULE_SWITCHING * 16 + 16 },
		.fibers = FIBERS,
	};
	world_put(php->world, RUNTIME_CELL, &row, sizeof(row));
	world_put(php->world, DATA_CELL, &php->process, sizeof(php->process));
	php->world->start.runtime_cell = RUNTIME_CELL;
}

static int setup(void **state)
{
	static const struct unwind_rule rules[RULE_COUNT] = {
		[RULE_END] = { .cfa = CFA_END },
		[RULE_C] = CALL_RULE(8 * C_WORDS),
		[RULE_OF_LOOP] = CALL_RULE(8 * LOOP_WORDS, .flags = RULE_LOOP),
		[RULE_LOOP_END] = CALL_RULE(8 * LOOP_WORDS, .flags = RULE_LOOP),
		[RULE_ENTERING] = CALL_RULE(8 * C_WORDS),
		[RULE_RESUMED] = CALL_RULE(8 * C_WORDS),
		[RULE_PREPARING] = CALL_RULE(8 * C_WORDS),
		[RULE_RELEASING] = CALL_RULE(8 * C_WORDS),
		[RULE_SWITCHING] = CALL_RULE(8 * C_WORDS),
		[RULE_STACK_START] = { .cfa = CFA_END, .flags = RULE_BEGINS_STACK },
	};
	struct php *php = calloc(1, sizeof(*php));
	void *world;

	assert_int_equal(world_setup(&world), 0);
	php->world = world;
	world_publish_rules(php->world, rules, RULE_COUNT);
	php->world->user[1] = (struct region){ HEAP_START, sizeof(php->heap), php->heap };
	php->world->user[2] = (struct region){ TEXT_START, sizeof(php->text), php->text };
	/* Calls, in front of all return addresses. */
	for (uint32_t i = 0; i < RULE_COUNT; i++)
		memcpy(php->text + (code_at(i) - TEXT_START) - 2, "\xff\xd0", 2);
	put_runtime(php);
	for (uint32_t i = 0; i < FUNCTION_COUNT; i++)
		put_function(php, i);
	*state = php;
	return 0;
}

static int teardown(void **state)
{
	struct php *php = *state;
	void *world = php->world;

	world_teardown(&world);
	free(php);
	return 0;
}

/* Adds a native frame at @pc, of a function with @rule: the leaf, or the caller of the one before. */
static void add_at(struct php *php, uint32_t rule, uint64_t pc)
{
	if (!php->has_leaf)
		world_set_registers(php->world, pc, stack_address(0), 0);
	else
		php->world->stack[php->next_word - 1] = pc;
	php->has_leaf = true;
	php->next_word += rule == RULE_OF_LOOP || rule == RULE_LOOP_END ? LOOP_WORDS : C_WORDS;
}

static void add(struct php *php, uint32_t rule)
{
	add_at(php, rule, code_at(rule));
}

/* Sets the registers in which VM code keeps its execute_data and its instruction. */
static void set_vm(struct php *php, uint64_t frame, uint64_t opline)
{
	php->world->start.registers[14] = frame;
	php->world->start.registers[15] = opline;
}

static char text_of(const uint64_t *word)
{
	uint64_t address = frame_address(*word);
	uint32_t number;

	switch (frame_kind(*word)) {
	case FRAME_PHP:
		/* For code without a name it is the string next to it. */
		number = (uint32_t)((address - function_at(0)) / 0x400);
		return (char)(number >= IN_C ? 'a' + number - IN_C : '0' + number);
	case FRAME_ERROR:
		return '!';
	default:
		switch ((address - TEXT_ADDRESS) / 16) {
		case RULE_OF_LOOP:
		case RULE_LOOP_END:
			return 'L';
		case RULE_END:
			return 'E';
		case RULE_STACK_START:
			return 'B';
		default:
			return 'C';
		}
	}
}

static const char *unwind_text(struct php *php)
{
	const struct emulated_trace *trace = &php->world->trace;
	size_t length = 0;

	world_unwind(php->world);
	for (uint32_t i = 0; i < trace->word_count; i += frame_word_count(trace->words[i]))
		php->traced[length++] = text_of(&trace->words[i]);
	php->traced[length] = '\0';
	return php->traced;
}

/* The position of the trace's frame @index, all of whose frames have two words. */
static uint32_t position_of(const struct php *php, uint32_t index)
{
	return (uint32_t)(php->world->trace.words[2 * index + 1] >> 32);
}

/* A loop that runs 0, which 1 has called; C has called the loop for the function a, which 2 has called in another one. */
static void add_two_loops(struct php *php)
{
	uint64_t frame;

	add(php, RULE_OF_LOOP);
	add(php, RULE_C);
	add(php, RULE_OF_LOOP);
	add(php, RULE_C);
	add(php, RULE_END);
	frame = put_frame(php, 3, 2, 0, CALL_TOP);
	frame = put_frame(php, 2, IN_C, frame, 0);
	frame = put_frame(php, 1, 1, frame, CALL_TOP);
	put(php, CURRENT, put_frame(php, 0, 0, frame, 0));
}

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

/* Lays a loop that has jumped into generated code, with the stack pointer @pad words lower, and runs function 1. */
static void add_generated(struct php *php, uint32_t pad)
{
	const struct mapping_row mappings[] = {
		{ TEXT_START, TEXT_START + (1 << 20), TEXT_START - TEXT_ADDRESS, EXECUTABLE_ID },
		{ CODE_START, CODE_START + PAGE_BYTES, 0, EXECUTABLE_ID_ANONYMOUS },
	};

	world_set_mappings(php->world, 10, mappings, 2);
	add_at(php, RULE_OF_LOOP, CODE_START + 0x40);
	php->next_word += pad;
	add(php, RULE_PREPARING);
	add(php, RULE_END);
	put(php, CURRENT, put_frame(php, 0, 1, 0, CALL_TOP));
}

static void generated_code_runs_in_the_frame_of_the_loop(void **state)
{
	struct php *php = *state;

	add_generated(php, 0);
	/* The register seldom has the instruction. */
	set_vm(php, frame_at(0), opcodes_of(1));
	assert_string_equal(unwind_text(php), "1LCE");
	assert_int_equal(position_of(php, 0), (FIRST_LINE + 3) | PHP_IS_APPROXIMATE);
}

/* The third word of the innermost frame; 0: it has none. */
static uint64_t code_word(const struct php *php, uint32_t index)
{
	const uint64_t *words = php->world->trace.words + index;

	return frame_flags(words[0]) & FRAME_HAS_OWNER ? words[2] : 0;
}

static void the_innermost_frame_has_the_address_in_generated_code(void **state)
{
	struct php *php = *state;

	add_generated(php, 0);
	set_vm(php, frame_at(0), 0);
	assert_string_equal(unwind_text(php), "1LCE");
	assert_true(code_word(php, 0) == frame_word(FRAME_NONE, 0, CODE_START + 0x40));
	/* Not if a function in C has been called, which is innermost. */
	put(php, CURRENT, put_frame(php, 1, IN_C, frame_at(0), 0));
	set_vm(php, frame_at(1), 0);
	assert_string_equal(unwind_text(php), "a1LCE");
	assert_true(code_word(php, 0) == 0);
	assert_true(code_word(php, 2) == 0);
}

/* As add_generated(), in a new world. */
static void add_generated_again(struct php *php, uint32_t pad)
{
	php->next_word = 0;
	php->has_leaf = false;
	add_generated(php, pad);
	set_vm(php, frame_at(0), 0);
}

static void generated_code_may_have_a_lower_stack_pointer(void **state)
{
	/* Words that are pushed; where a trace is left, all registers. */
	static const uint32_t pads[] = { 1, 2, 3, 4, 32, 34 };
	struct php *php = *state;

	for (size_t i = 0; i < sizeof(pads) / sizeof(pads[0]); i++) {
		add_generated_again(php, pads[i]);
		assert_string_equal(unwind_text(php), "1LCE");
		memset(php->world->stack, 0, sizeof(php->world->stack));
	}
}

static void a_part_that_all_code_shares_has_the_return_address_of_the_code(void **state)
{
	struct php *php = *state;

	/* The code has pushed a word, and the other part another one. */
	php->process.code_bytes = 8;
	world_put(php->world, DATA_CELL, &php->process, sizeof(php->process));
	add_generated_again(php, 3);
	php->world->stack[1] = CODE_START + 0x80;
	assert_string_equal(unwind_text(php), "1LCE");
	assert_true(code_word(php, 0) ==
		    frame_word(FRAME_NONE, FRAME_RETURN_ADDRESS, CODE_START + 0x80));
	/* The code that leaves a trace has saved all registers. */
	memset(php->world->stack, 0, sizeof(php->world->stack));
	add_generated_again(php, 32);
	assert_string_equal(unwind_text(php), "1LCE");
	assert_true(code_word(php, 0) == 0);
}

static void generated_code_has_an_execute_data_in_its_register(void **state)
{
	struct php *php = *state;

	add_generated_again(php, 0);
	assert_string_equal(unwind_text(php), "1LCE");
	/* It has just called, or is about to return: the list has the caller or the callee. */
	set_vm(php, put_frame(php, 1, 2, frame_at(0), 0), 0);
	assert_string_equal(unwind_text(php), "1LCE");
	put(php, CURRENT, frame_at(1));
	set_vm(php, frame_at(0), 0);
	assert_string_equal(unwind_text(php), "21LCE");
	/* Other code has other values there. */
	put(php, CURRENT, frame_at(0));
	set_vm(php, put_frame(php, 2, 2, frame_at(1), 0), 0);
	assert_null(strchr(unwind_text(php), '1'));
	set_vm(php, 0x1234, 0);
	assert_null(strchr(unwind_text(php), '1'));
}

static void what_generated_code_has_called_comes_before(void **state)
{
	struct php *php = *state;

	php->process.code_bytes = 16;
	world_put(php->world, DATA_CELL, &php->process, sizeof(php->process));
	add(php, RULE_C);
	add_generated(php, 2);
	assert_string_equal(unwind_text(php), "C1LCE");
	assert_true(code_word(php, 2) ==
		    frame_word(FRAME_NONE, FRAME_RETURN_ADDRESS, CODE_START + 0x40));
	/* Behind a function in C the stored instruction is the right one. */
	put(php, CURRENT, put_frame(php, 1, IN_C, frame_at(0), 0));
	assert_string_equal(unwind_text(php), "Ca1LCE");
	assert_int_equal(position_of(php, 2), FIRST_LINE + 3);
}

static void a_loop_that_releases_its_closure_has_no_frame(void **state)
{
	struct php *php = *state;
	uint64_t frame;

	add(php, RULE_RELEASING);
	add(php, RULE_OF_LOOP);
	add_two_loops(php);
	/* The function in C that is at the front of the list has called the first loop. */
	frame = put_frame(php, 5, IN_C + 1, frame_at(0), 0);
	put(php, CURRENT, frame);
	assert_string_equal(unwind_text(php), "CLb01LCa2LCE");
	/* A function in PHP would be that loop's. */
	put(php, CURRENT, put_frame(php, 6, 3, frame, CALL_TOP));
	assert_string_equal(unwind_text(php), "C3Lb01LCa2LCE");
}

static void code_that_no_loop_has_entered_is_declined(void **state)
{
	struct php *php = *state;

	add_generated_again(php, 5);
	assert_null(strchr(unwind_text(php), '1'));
	memset(php->world->stack, 0, sizeof(php->world->stack));
	add_generated_again(php, 33);
	assert_null(strchr(unwind_text(php), '1'));
	memset(php->world->stack, 0, sizeof(php->world->stack));
	/* This return address is in no function that calls loops. */
	add_generated_again(php, 0);
	assert_string_equal(unwind_text(php), "1LCE");
	php->world->stack[LOOP_WORDS - 1] = code_at(RULE_C);
	assert_null(strchr(unwind_text(php), '1'));
}

static void put_threads(struct php *php)
{
	php->process.thread = (struct thread_local_path){ .offsets = { 16 }, .depth = 1 };
	php->process.current = 0;
	php->process.before_exception = 8;
	world_put(php->world, DATA_CELL, &php->process, sizeof(php->process));
	for (int i = 0; i < 2; i++)
		put(php, THREAD_POINTER(i) + 16, THREAD_MEMORY(i));
}

static void with_threads_each_has_a_list_of_its_own(void **state)
{
	struct php *php = *state;

	add_two_loops(php);
	put_threads(php);
	put(php, THREAD_MEMORY(0), frame_at(0));
	put(php, THREAD_MEMORY(1), put_frame(php, 4, 4, frame_at(2), CALL_TOP));
	set_vm(php, 0, 0);
	php->world->start.thread_pointer = THREAD_POINTER(0);
	assert_string_equal(unwind_text(php), "01LCa2LCE");
	php->world->start.thread_pointer = THREAD_POINTER(1);
	assert_string_equal(unwind_text(php), "4LCa2LCE");
	/* An instruction that threw an exception is the thread's own, too. */
	put(php, frame_at(4), 0);
	put(php, THREAD_MEMORY(0) + 8, opcodes_of(4));
	put(php, THREAD_MEMORY(1) + 8, opcodes_of(4) + 6 * PHP_OPCODE_BYTES);
	unwind_text(php);
	assert_int_equal(position_of(php, 0), FIRST_LINE + 7);
}

static void a_thread_without_globals_has_no_frames(void **state)
{
	struct php *php = *state;

	add_two_loops(php);
	put_threads(php);
	/* Not even if the address without the thread's memory could be read. */
	php->process.current = CURRENT;
	world_put(php->world, DATA_CELL, &php->process, sizeof(php->process));
	put(php, THREAD_POINTER(0) + 16, 0);
	php->world->start.thread_pointer = THREAD_POINTER(0);
	assert_string_equal(unwind_text(php), "!LCLCE");
	assert_int_equal(php->world->trace.interpreter_error, UNWIND_INTERPRETER_THREAD);
}

static void generated_code_has_the_list_of_its_thread(void **state)
{
	struct php *php = *state;

	add_generated_again(php, 0);
	put_threads(php);
	put(php, THREAD_MEMORY(0), frame_at(0));
	put(php, THREAD_MEMORY(1), put_frame(php, 4, 4, 0, CALL_TOP));
	php->world->start.thread_pointer = THREAD_POINTER(0);
	assert_string_equal(unwind_text(php), "1LCE");
	/* Another thread's list does not have the execute_data that is in the register. */
	php->world->start.thread_pointer = THREAD_POINTER(1);
	assert_null(strchr(unwind_text(php), '1'));
	assert_null(strchr(php->traced, '4'));
	put(php, THREAD_POINTER(0) + 16, 0);
	php->world->start.thread_pointer = THREAD_POINTER(0);
	assert_null(strchr(unwind_text(php), '1'));
}

/* Ends a fiber's stack, which the loop of 2 has started by the function a. */
static void add_resumer(struct php *php)
{
	add(php, RULE_STACK_START);
	put(php, CURRENT + FIBERS, MAIN_FIBER);
	put(php, CURRENT + FIBERS + 8, FIBER);
	put(php, FIBER + PHP_FIBER_STACK, FIBER_STACK);
	put(php, FIBER + PHP_FIBER_RESUMER, MAIN_FIBER);
	put(php, FIBER_STACK, stack_address(0));
	put(php, FIBER_STACK + 8, 8 * FIBER_WORDS);
	put(php, MAIN_FIBER, stack_address(WAITING_WORD));
	php->next_word = WAITING_WORD + SAVED_WORDS;
	add(php, RULE_C);
	add(php, RULE_OF_LOOP);
	add(php, RULE_END);
	put_frame(php, 2, 2, 0, CALL_TOP);
	put_frame(php, 1, IN_C, frame_at(2), 0);
}

static void a_fiber_goes_on_with_what_has_resumed_it(void **state)
{
	struct php *php = *state;

	add(php, RULE_OF_LOOP);
	add(php, RULE_C);
	add_resumer(php);
	put(php, CURRENT, put_frame(php, 0, 0, frame_at(1), CALL_TOP));
	assert_string_equal(unwind_text(php), "0LCBCa2LE");
	assert_int_equal(php->world->trace.error, UNWIND_OK);
	/* About to suspend: nothing has resumed it any more. */
	put(php, FIBER + PHP_FIBER_RESUMER, 0);
	assert_string_equal(unwind_text(php), "0LCB");
	assert_int_equal(php->world->trace.error, UNWIND_OK);
	/* Another stack than the fiber's. */
	put(php, FIBER + PHP_FIBER_RESUMER, MAIN_FIBER);
	put(php, FIBER_STACK, stack_address(WAITING_WORD));
	assert_string_equal(unwind_text(php), "0LCB");
	/* The main program is no fiber. */
	put(php, CURRENT + FIBERS + 8, MAIN_FIBER);
	assert_string_equal(unwind_text(php), "0LCB");
}

static void a_fiber_of_a_function_in_c_has_no_loop(void **state)
{
	struct php *php = *state;

	add(php, RULE_C);
	add(php, RULE_C);
	add_resumer(php);
	put(php, CURRENT, put_frame(php, 0, IN_C + 1, frame_at(1), 0));
	assert_string_equal(unwind_text(php), "CCBCba2LE");
	assert_int_equal(php->world->trace.error, UNWIND_OK);
}

static void a_loop_that_a_fiber_has_not_called_yet_has_no_frame(void **state)
{
	struct php *php = *state;

	add(php, RULE_ENTERING);
	add(php, RULE_C);
	add_resumer(php);
	put(php, CURRENT, put_frame(php, 0, 0, frame_at(1), CALL_TOP));
	assert_string_equal(unwind_text(php), "CCBCa2LE");
}

static void a_fiber_that_begins_does_not_go_on(void **state)
{
	struct php *php = *state;

	add(php, RULE_C);
	add_resumer(php);
	put(php, CURRENT, frame_at(1));
	assert_string_equal(unwind_text(php), "CB");
	assert_int_equal(php->world->trace.error, UNWIND_OK);
}

static void a_fiber_that_changes_stacks_does_not_go_on(void **state)
{
	struct php *php = *state;

	add(php, RULE_SWITCHING);
	add(php, RULE_OF_LOOP);
	add_resumer(php);
	put(php, CURRENT, put_frame(php, 0, 0, frame_at(1), CALL_TOP));
	assert_string_equal(unwind_text(php), "C0LB");
	assert_int_equal(php->world->trace.error, UNWIND_OK);
}

static void a_fiber_s_saved_stack_pointer_may_lie(void **state)
{
	struct php *php = *state;

	add(php, RULE_OF_LOOP);
	add(php, RULE_C);
	add_resumer(php);
	put(php, CURRENT, put_frame(php, 0, 0, frame_at(1), CALL_TOP));
	put(php, MAIN_FIBER, 0x1000);
	assert_string_equal(unwind_text(php), "0LCB!");
	assert_int_equal(php->world->trace.error, UNWIND_STACK_SWITCH);
	/* A fiber that has resumed itself. */
	put(php, FIBER + PHP_FIBER_RESUMER, FIBER);
	put(php, FIBER, stack_address(0) - 8 * SAVED_WORDS);
	assert_int_not_equal(strlen(unwind_text(php)), 0);
	assert_int_not_equal(php->world->trace.error, UNWIND_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_fiber_goes_on_with_what_has_resumed_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_fiber_of_a_function_in_c_has_no_loop, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_loop_that_a_fiber_has_not_called_yet_has_no_frame,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_fiber_that_begins_does_not_go_on, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_fiber_that_changes_stacks_does_not_go_on, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_fiber_s_saved_stack_pointer_may_lie, setup,
						teardown),
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
		TEST(generated_code_runs_in_the_frame_of_the_loop),
		TEST(the_innermost_frame_has_the_address_in_generated_code),
		TEST(a_part_that_all_code_shares_has_the_return_address_of_the_code),
		TEST(generated_code_may_have_a_lower_stack_pointer),
		TEST(generated_code_has_an_execute_data_in_its_register),
		TEST(what_generated_code_has_called_comes_before),
		TEST(a_loop_that_releases_its_closure_has_no_frame),
		TEST(code_that_no_loop_has_entered_is_declined),
		TEST(with_threads_each_has_a_list_of_its_own),
		TEST(a_thread_without_globals_has_no_frames),
		TEST(generated_code_has_the_list_of_its_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
