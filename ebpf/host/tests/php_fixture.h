/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * A world (unwind_fixture.h) with PHP's frames between native ones: execute_data, functions and generators on a heap, laid by
 * hand. Traces become text, leaf first: digits are PHP functions by their number, letters from a on C functions, C is native
 * code, L the loop, B the beginning of a fiber's stack, E the thread's entry, ! missing frames.
 */
#ifndef EBPF_HOST_TESTS_PHP_FIXTURE_H
#define EBPF_HOST_TESTS_PHP_FIXTURE_H

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

static inline void put(struct php *php, uint64_t address, uint64_t value)
{
	assert_true(address - HEAP_START <= HEAP_BYTES - 8);
	memcpy(php->heap + (address - HEAP_START), &value, sizeof(value));
}

static inline uint64_t function_at(uint32_t number)
{
	return HEAP_START + 0x1000 + number * 0x400ULL;
}

static inline uint64_t opcodes_of(uint32_t number)
{
	return function_at(number) + 0x200;
}

static inline uint64_t frame_at(uint32_t index)
{
	return HEAP_START + 0x12000 + index * 0x80ULL;
}

static inline uint64_t generator_at(uint32_t index)
{
	return HEAP_START + 0x18000 + index * 0x200ULL;
}

static inline void put_string(struct php *php, uint64_t address, const char *text)
{
	put(php, address + PHP_STRING_LENGTH, strlen(text));
	memcpy(php->heap + (address - HEAP_START) + PHP_STRING_BYTES, text, strlen(text));
}

/* Makes function @number, each of whose instructions has a line of its own. */
static inline void put_function(struct php *php, uint32_t number)
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
static inline uint64_t put_frame(struct php *php, uint32_t index, uint32_t number,
				 uint64_t previous, uint32_t flags)
{
	uint64_t frame = frame_at(index);

	put(php, frame, opcodes_of(number) + 2 * PHP_OPCODE_BYTES);
	put(php, frame + 24, function_at(number));
	put(php, frame + 40, flags);
	put(php, frame + 48, previous);
	return frame;
}

static inline void put_runtime(struct php *php)
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

static inline int setup(void **state)
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

static inline int teardown(void **state)
{
	struct php *php = *state;
	void *world = php->world;

	world_teardown(&world);
	free(php);
	return 0;
}

/* Adds a native frame at @pc, of a function with @rule: the leaf, or the caller of the one before. */
static inline void add_at(struct php *php, uint32_t rule, uint64_t pc)
{
	if (!php->has_leaf)
		world_set_registers(php->world, pc, stack_address(0), 0);
	else
		php->world->stack[php->next_word - 1] = pc;
	php->has_leaf = true;
	php->next_word += rule == RULE_OF_LOOP || rule == RULE_LOOP_END ? LOOP_WORDS : C_WORDS;
}

static inline void add(struct php *php, uint32_t rule)
{
	add_at(php, rule, code_at(rule));
}

/* Sets the registers in which VM code keeps its execute_data and its instruction. */
static inline void set_vm(struct php *php, uint64_t frame, uint64_t opline)
{
	php->world->start.registers[14] = frame;
	php->world->start.registers[15] = opline;
}

static inline char text_of(const uint64_t *word)
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

static inline const char *unwind_text(struct php *php)
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
static inline uint32_t position_of(const struct php *php, uint32_t index)
{
	return (uint32_t)(php->world->trace.words[2 * index + 1] >> 32);
}

/* A loop that runs 0, which 1 has called; C has called the loop for the function a, which 2 has called in another one. */
static inline void add_two_loops(struct php *php)
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

#endif
