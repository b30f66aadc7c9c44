/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * A world (unwind_fixture.h) with a thread of CPython in it: native frames of the loop and of C functions
 * on the stack, frames and code objects on a heap, laid by hand. Traces become text, leaf first: digits
 * are Python frames by their code object, C native functions, L the loop, J code outside of files, E
 * the thread's entry, ! missing frames, X an error that ends the unwind.
 */
#ifndef EBPF_HOST_TESTS_PYTHON_FIXTURE_H
#define EBPF_HOST_TESTS_PYTHON_FIXTURE_H

#include "ebpf/abi/python.h"
#include "ebpf/host/tests/unwind_fixture.h"

enum {
	RULE_END = 0,
	/* A C function, the loop, and the loop before its first instruction. */
	RULE_C,
	RULE_OF_LOOP,
	RULE_LOOP_ENTRY,
	/* A library that makes coroutines by copying parts of the stack. */
	RULE_GREENLET,
	RULE_COUNT,
	C_WORDS = 4,
	LOOP_WORDS = 16,

	INTERPRETER_CELL = 2000,
	DATA_CELL = 2010,
	HEAP_WORDS = 1 << 16,
	THREAD_WORDS = 64,
	/* Offsets in struct _PyInterpreterFrame, PyFrameObject and PyCodeObject, as in some versions. */
	FRAME_CODE = 0,
	FRAME_PREVIOUS = 8,
	FRAME_INSTRUCTION = 56,
	FRAME_TLBC_INDEX = 64,
	FRAME_OWNER = 70,
	FRAME_BYTES = 72,
	OBJECT_BACK = 24,
	OBJECT_CODE = 32,
	OBJECT_LASTI = 100,
	CODE_CONSTS = 24,
	CODE_NAME = 120,
	CODE_TLBC = 160,
	CODE_BYTECODE = 184,
	NAME_HASH = 24,
	THREAD_FRAME = 72,
	THREAD_CFRAME = 56,
	/* Offset of the entry frame or the cframe in a native frame of the eval loop, in words. */
	ENTRY_WORD = 3,
	OWNER_LOOP = 3,
};

#define HEAP_START 0x7f0000000000ULL
#define THREAD_POINTER 0x7f1000000000ULL
#define THREAD_STATE (HEAP_START + 0x100)

struct python {
	struct world *world;
	struct python_process process;
	uint8_t heap[HEAP_WORDS * 8];
	uint64_t thread[THREAD_WORDS];
	/* First word of the next native frame, and whether it is the first. */
	uint32_t next_word;
	bool has_leaf;
	char text[2 * TRACE_MAX_WORDS];
};

static inline void put(struct python *python, uint64_t address, uint64_t value)
{
	if (address - STACK_START < STACK_WORDS * 8)
		memcpy((char *)python->world->stack + (address - STACK_START), &value,
		       sizeof(value));
	else
		memcpy(python->heap + (address - HEAP_START), &value, sizeof(value));
}

static inline uint64_t frame_at(uint32_t index)
{
	return HEAP_START + 0x10000 + index * 0x80ULL;
}

static inline uint64_t python_code_at(uint32_t index)
{
	return HEAP_START + 0x1000 + index * 0x200ULL;
}

static inline void publish(struct python *python)
{
	const struct runtime_row row = { EXECUTABLE_ID, FRAME_PYTHON, DATA_CELL };

	world_put(python->world, INTERPRETER_CELL, &row, sizeof(row));
	world_put(python->world, DATA_CELL, &python->process, sizeof(python->process));
	python->world->start.runtime_cell = INTERPRETER_CELL;
}

/* Frames are struct _PyInterpreterFrame. */
static inline void use_chain(struct python *python, enum python_chain chain)
{
	bool has_objects = chain == PYTHON_FRAME_OBJECTS || chain == PYTHON_FRAME_OBJECTS_CFRAME;

	python->process = (struct python_process){
		.thread_state[0] = { .offsets = { 16 }, .depth = 1 },
		.chain = chain,
		.thread_frame = THREAD_FRAME,
		.thread_cframe = THREAD_CFRAME,
		.cframe_current = 8,
		.cframe_previous = 16,
		.frame_bytes = FRAME_BYTES,
		.frame_code = FRAME_CODE,
		.frame_previous = FRAME_PREVIOUS,
		.frame_instruction = FRAME_INSTRUCTION,
		.frame_owner = FRAME_OWNER,
		.code_start = CODE_CONSTS,
		.code_bytes = 128,
		.frame_tlbc_index = PYTHON_NO_OFFSET,
		.code_words = { 0, 40, 64, CODE_NAME - CODE_CONSTS },
		.code_name = PYTHON_NO_OFFSET,
		.code_bytecode = CODE_BYTECODE,
		.code_tlbc = CODE_TLBC,
	};
	if (has_objects) {
		python->process.frame_start = OBJECT_BACK;
		python->process.frame_bytes = OBJECT_LASTI + 4 - OBJECT_BACK;
		python->process.frame_code = OBJECT_CODE - OBJECT_BACK;
		python->process.frame_previous = 0;
		python->process.frame_instruction = OBJECT_LASTI - OBJECT_BACK;
		python->process.frame_owner = PYTHON_NO_OFFSET;
		python->process.cframe_previous = 8;
	}
	publish(python);
}

/* Frame @index runs code object @index, at unit @index of it; its caller's frame is at @previous. */
static inline uint64_t add_frame(struct python *python, uint32_t index, uint64_t previous)
{
	uint64_t frame = frame_at(index), code = python_code_at(index);

	if (python->process.frame_start) {
		put(python, frame + OBJECT_BACK, previous);
		put(python, frame + OBJECT_CODE, code);
		put(python, frame + OBJECT_LASTI, 2 * index);
	} else {
		put(python, frame + FRAME_CODE, code);
		put(python, frame + FRAME_PREVIOUS, previous);
		put(python, frame + FRAME_INSTRUCTION, code + CODE_BYTECODE + 2 * index);
	}
	for (int word = 0; word < 16; word++)
		put(python, code + CODE_CONSTS + 8 * word, index * 1000 + word);
	return frame;
}

/* Adds frames @first to @last; the last one is called from the frame at @previous. */
static inline uint64_t add_frames(struct python *python, uint32_t first, uint32_t last,
				  uint64_t previous)
{
	for (uint32_t index = last + 1; index-- > first;)
		previous = add_frame(python, index, previous);
	return previous;
}

/* Address of the eval loop's own frame in the native frame that begins at @word. */
static inline uint64_t loop_frame_at(uint32_t word)
{
	return stack_address(word + ENTRY_WORD);
}

static inline uint64_t add_loop_frame(struct python *python, uint32_t word, uint64_t previous)
{
	uint64_t frame = loop_frame_at(word);

	put(python, frame + FRAME_CODE, HEAP_START + 8);
	put(python, frame + FRAME_PREVIOUS, previous);
	put(python, frame + FRAME_OWNER - 6, (uint64_t)OWNER_LOOP << 48);
	return frame;
}

static inline uint64_t add_cframe(struct python *python, uint64_t cframe, uint64_t current,
				  uint64_t next)
{
	put(python, cframe + python->process.cframe_previous, next);
	if (python->process.chain == PYTHON_CFRAME)
		put(python, cframe + python->process.cframe_current, current);
	return cframe;
}

static inline void set_current(struct python *python, uint64_t frame)
{
	put(python, THREAD_STATE + THREAD_FRAME, frame);
}

static inline void set_cframe(struct python *python, uint64_t cframe)
{
	put(python, THREAD_STATE + THREAD_CFRAME, cframe);
}

/* Adds the next caller on the native stack; returns the index of its first word. */
static inline uint32_t add_native(struct python *python, uint32_t rule)
{
	uint32_t word = python->next_word;

	if (python->has_leaf)
		python->world->stack[word - 1] = code_at(rule);
	else
		world_set_registers(python->world, code_at(rule), stack_address(word), 0);
	python->has_leaf = true;
	python->next_word += rule == RULE_OF_LOOP    ? LOOP_WORDS :
			     rule == RULE_LOOP_ENTRY ? 1 :
						       C_WORDS;
	return word;
}

static inline char letter_of(const uint64_t *words)
{
	uint64_t address = frame_address(words[0]);

	switch (frame_kind(words[0])) {
	case FRAME_PYTHON:
		return (char)('0' + (address - python_code_at(0)) / 0x200);
	case FRAME_NATIVE:
		return words[1] == EXECUTABLE_ID_ANONYMOUS ? 'J' :
							     "ECLLG"[(address - TEXT_ADDRESS) / 16];
	default:
		return frame_flags(words[0]) >= UNWIND_INTERPRETER_THREAD ? '!' : 'X';
	}
}

static inline const char *unwind_text(struct python *python)
{
	const struct emulated_trace *trace = &python->world->trace;
	uint32_t length = 0;

	world_unwind(python->world);
	for (uint32_t i = 0; i < trace->word_count; i += frame_word_count(trace->words[i]))
		python->text[length++] = letter_of(&trace->words[i]);
	python->text[length] = 0;
	return python->text;
}

static inline int setup(void **state)
{
	struct python *python = calloc(1, sizeof(*python));
	struct unwind_rule rules[RULE_COUNT] = {
		[RULE_END] = { .cfa = CFA_END },
		[RULE_C] = { .cfa = CFA_SP, .cfa_offset = 8 * C_WORDS },
		[RULE_OF_LOOP] = { .cfa = CFA_SP, .cfa_offset = 8 * LOOP_WORDS },
		[RULE_LOOP_ENTRY] = { .cfa = CFA_SP, .cfa_offset = 8 },
		[RULE_GREENLET] = { .cfa = CFA_SP, .cfa_offset = 8 * C_WORDS },
	};
	int err = world_setup((void **)&python->world);

	for (int i = RULE_C; i < RULE_COUNT; i++) {
		rules[i].ra = SAVED_AT_CFA;
		rules[i].ra_offset = -8;
		rules[i].flags = i == RULE_C	    ? 0 :
				 i == RULE_GREENLET ? RULE_COPIES_STACKS :
						      RULE_LOOP;
	}
	world_publish_rules(python->world, rules, RULE_COUNT);
	python->world->user[1] = (struct region){ HEAP_START, sizeof(python->heap), python->heap };
	python->world->user[2] =
		(struct region){ THREAD_POINTER, sizeof(python->thread), python->thread };
	python->world->start.thread_pointer = THREAD_POINTER;
	python->thread[2] = THREAD_STATE;
	python->next_word = 100;
	*state = python;
	return err;
}

static inline int teardown(void **state)
{
	struct python *python = *state;

	world_teardown((void **)&python->world);
	free(python);
	return 0;
}

#define python_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
