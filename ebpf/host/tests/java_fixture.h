/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * A world (unwind_fixture.h) with HotSpot's code cache in it: one heap with its segment map, an interpreter,
 * call_stub, methods. Stacks are laid from the leaf up. Traces become text, leaf first: C a compiled
 * frame, I an interpreted one, s other code of the cache, E the thread's entry, ? a guess behind its
 * frame, ! an error that ends the unwind.
 */
#ifndef EBPF_HOST_TESTS_JAVA_FIXTURE_H
#define EBPF_HOST_TESTS_JAVA_FIXTURE_H

#include "ebpf/abi/java.h"
#include "ebpf/host/tests/unwind_fixture.h"

enum {
	SEGMENT_SHIFT = 6,
	SEGMENT_BYTES = 1 << SEGMENT_SHIFT,
	CODE_BYTES = 1 << 16,
	SEGMENT_COUNT = CODE_BYTES / SEGMENT_BYTES,
	BLOCK_BYTES = 16,
	BLOCK_USED = 8,
	/* Made blobs: offsets of fields, the header's size, the offset of code. */
	BLOB_NAME = 0,
	BLOB_HEADER_SIZE = 8,
	BLOB_FRAME_COMPLETE = 10,
	BLOB_FRAME_SIZE = 12,
	BLOB_CODE = 16,
	BLOB_DATA = 20,
	BLOB_OOP_MAPS = 24,
	BLOB_METHOD = 32,
	BLOB_DEOPT_HANDLER = 40,
	BLOB_DEOPT_MH_HANDLER = 48,
	BLOB_ORIGINAL_PC = 156,
	BLOB_COMPILE_ID = 160,
	NMETHOD_BYTES = 48,
	STUB_BYTES = 40,
	CODE_AT = 192,
	CODE_LENGTH = 0x400,
	/* The frame is made by 16 bytes of code. */
	FRAME_COMPLETE = 16,

	METHOD_CONST = 8,
	CONST_BYTES = 48,
	CONST_CONSTANTS = 8,
	CONST_CODE_SIZE = 32,
	BYTECODE_BYTES = 40,

	JAVA_INTERPRETER_CELL = 2000,
	JAVA_DATA_CELL = 2010,
	/* Data of another runtime. */
	JAVA_OTHER_CELL = 2400,
	OBJECT_WORDS = 512,

	/* Segments of the made blobs. */
	SEGMENT_COMPILED = 16,
	SEGMENT_CALLER = 64,
	SEGMENT_STUB = 128,
	SEGMENT_CALL_STUB = 192,
	SEGMENT_INTERPRETER = 256,
	INTERPRETER_BYTES = 4096,

	RULE_ENTRY = 0,
	LEAF_WORD = 1000,
	FRAME_WORDS = 6,
	CALLER_FRAME_WORDS = 8,
	BCP_SLOT = 8,
	EXCEPTION_REGISTER = 1,
	METHOD_REGISTER = 3,
	SENDER_SP_REGISTER = 13,

	/* Somewhere in a method's frame. */
	IN_CODE = 0x180,
};

#define CODE_START 0x7f2000000000ULL
#define MAP_START 0x7f3000000000ULL
#define OBJECTS 0x7f4000000000ULL
#define METHOD (OBJECTS + 0x100)
#define CONST_METHOD (OBJECTS + 0x200)
#define BYTECODES (CONST_METHOD + CONST_BYTES)
#define INTERPRETER (CODE_START + SEGMENT_INTERPRETER * SEGMENT_BYTES)

struct java {
	struct world *world;
	struct java_process process;
	uint8_t code[CODE_BYTES];
	uint8_t map[SEGMENT_COUNT];
	uint8_t objects[OBJECT_WORDS * 8];
	char text[TRACE_MAX_WORDS];
};

static inline void put_code(struct java *java, uint64_t address, const void *bytes, size_t size)
{
	assert_true(address - CODE_START + size <= CODE_BYTES);
	memcpy(java->code + (address - CODE_START), bytes, size);
}

static inline void put_number(struct java *java, uint64_t address, uint64_t value, size_t size)
{
	put_code(java, address, &value, size);
}

static inline void put_object(struct java *java, uint64_t address, uint64_t value, size_t size)
{
	assert_true(address - OBJECTS + size <= sizeof(java->objects));
	memcpy(java->objects + (address - OBJECTS), &value, size);
}

static inline uint64_t blob_at(uint32_t segment)
{
	return CODE_START + segment * SEGMENT_BYTES + BLOCK_BYTES;
}

static inline uint64_t java_code_at(uint32_t segment, uint32_t offset)
{
	return blob_at(segment) + CODE_AT + offset;
}

/* Returns a return address in the blob at @segment, just behind a call. */
static inline uint64_t return_to(struct java *java, uint32_t segment)
{
	uint64_t address = java_code_at(segment, 0x200);

	put_code(java, address - 5, "\xe8\1\1\1\1", 5);
	return address;
}

static inline void put_word(struct java *java, uint32_t word, uint64_t value)
{
	java->world->stack[word] = value;
}

/* Makes a block with a blob, whose frame has @frame_words and is complete behind @complete bytes of code. */
static inline void put_blob(struct java *java, uint32_t segment, uint32_t header_bytes,
			    uint32_t frame_words, uint32_t complete)
{
	uint64_t blob = blob_at(segment);
	uint32_t segments =
		(BLOCK_BYTES + CODE_AT + CODE_LENGTH + SEGMENT_BYTES - 1) / SEGMENT_BYTES;

	for (uint32_t i = 0; i < segments; i++)
		java->map[segment + i] = (uint8_t)i;
	put_number(java, blob - BLOCK_BYTES + BLOCK_USED, 1, 1);
	put_number(java, blob + BLOB_HEADER_SIZE, header_bytes, 2);
	put_number(java, blob + BLOB_FRAME_COMPLETE, complete, 2);
	put_number(java, blob + BLOB_FRAME_SIZE, frame_words, 4);
	put_number(java, blob + BLOB_CODE, CODE_AT, 4);
	put_number(java, blob + BLOB_DATA, CODE_AT + CODE_LENGTH, 4);
	memset(java->code + (blob - CODE_START) + CODE_AT, 0x90, CODE_LENGTH);
}

static inline void publish_java(struct java *java)
{
	const struct runtime_row row = { EXECUTABLE_ID, runtime_row_language(FRAME_JAVA),
					 JAVA_DATA_CELL };

	world_put(java->world, JAVA_INTERPRETER_CELL, &row, sizeof(row));
	world_put(java->world, JAVA_DATA_CELL, &java->process, sizeof(java->process));
	java->world->start.runtime_cell = JAVA_INTERPRETER_CELL;
}

/* Lays call_stub's frame with its frame pointer at @word; its caller is native code. */
static inline void put_call_stub(struct java *java, uint32_t word)
{
	put_word(java, word, 0);
	put_word(java, word + 1, code_at(RULE_ENTRY));
}

/* Lays the leaf's caller: compiled, CALLER_FRAME_WORDS from @word on; its caller is call_stub. */
static inline void put_caller(struct java *java, uint32_t word)
{
	uint32_t end = word + CALLER_FRAME_WORDS;

	put_word(java, end - 2, stack_address(end + 20));
	put_word(java, end - 1, java->process.call_stub_return);
	put_call_stub(java, end + 20);
}

static inline char java_letter(uint32_t position)
{
	if (position == JAVA_STUB)
		return 's';
	return position & JAVA_COMPILED ? 'C' : 'I';
}

static inline const char *java_unwind_text(struct java *java)
{
	const struct emulated_trace *trace = &java->world->trace;
	uint32_t length = 0;

	world_unwind(java->world);
	for (uint32_t i = 0; i < trace->word_count; i += frame_word_count(trace->words[i])) {
		uint64_t word = trace->words[i];

		if (frame_kind(word) == FRAME_ERROR)
			java->text[length++] = '!';
		else if (frame_kind(word) == FRAME_JAVA)
			java->text[length++] = java_letter(trace->words[i + 1] >> 32);
		else
			java->text[length++] = 'E';
		if (frame_kind(word) != FRAME_ERROR && frame_flags(word) & FRAME_GUESS)
			java->text[length++] = '?';
	}
	java->text[length] = 0;
	return java->text;
}

static inline void assert_java_unwind(struct java *java, const char *text)
{
	assert_string_equal(java_unwind_text(java), text);
	assert_int_equal(java->world->trace.error, strchr(text, '!') ? UNWIND_NO_INFO : UNWIND_OK);
}

/* Sets the leaf, with @code at its pc, and its stack pointer at @word. */
static inline void set_leaf(struct java *java, uint64_t pc, const char *code, size_t size,
			    uint32_t word)
{
	put_code(java, pc, code, size);
	world_set_registers(java->world, pc, stack_address(word), 0);
	java->world->start.registers[SENDER_SP_REGISTER] = BYTECODES + 4;
}

/* An instruction's bytes, and the offset of the return address there, in words above the stack pointer. */
struct leaf {
	const char *code;
	size_t size;
	uint32_t return_word;
};

#define LEAF(code, return_word)                                                                    \
	{                                                                                          \
		code, sizeof(code) - 1, return_word                                                \
	}

/* Lays a compiled leaf at @offset of its code, its return address @return_word above the stack pointer. */
static inline void lay_compiled(struct java *java, uint32_t offset, const struct leaf *leaf)
{
	set_leaf(java, java_code_at(SEGMENT_COMPILED, offset), leaf->code, leaf->size, LEAF_WORD);
	put_word(java, LEAF_WORD + leaf->return_word, return_to(java, SEGMENT_CALLER));
	put_caller(java, LEAF_WORD + leaf->return_word + 1);
}

static const struct leaf in_frame = LEAF("\x90", FRAME_WORDS - 1);

static inline int java_setup(void **state)
{
	const struct unwind_rule rule = { .cfa = CFA_END };
	struct java *java = calloc(1, sizeof(*java));
	int err = world_setup((void **)&java->world);

	world_publish_rules(java->world, &rule, 1);
	memset(java->map, JAVA_SEGMENT_FREE, sizeof(java->map));
	java->process = (struct java_process){
		.heaps[1] = { CODE_START, MAP_START, CODE_BYTES, SEGMENT_SHIFT },
		.code_start = CODE_START,
		.code_bytes = CODE_BYTES,
		.interpreter_start = INTERPRETER,
		.interpreter_end = INTERPRETER + INTERPRETER_BYTES,
		.call_stub_return = java_code_at(SEGMENT_CALL_STUB, 0x100),
		.block_used = BLOCK_USED,
		.block_bytes = BLOCK_BYTES,
		.head_bytes = BLOCK_BYTES + 24,
		.blob_name = BLOB_NAME,
		.blob_header_size = BLOB_HEADER_SIZE,
		.blob_frame_size = BLOB_FRAME_SIZE,
		.blob_frame_complete = BLOB_FRAME_COMPLETE,
		.blob_code = BLOB_CODE,
		.blob_data = BLOB_DATA,
		.nmethod_bytes = NMETHOD_BYTES,
		.blob_oop_maps = BLOB_OOP_MAPS,
		.nmethod_method = BLOB_METHOD,
		.nmethod_compile_id = BLOB_COMPILE_ID,
		.nmethod_deopt_handler = BLOB_DEOPT_HANDLER,
		.nmethod_deopt_mh_handler = BLOB_DEOPT_MH_HANDLER,
		.nmethod_original_pc = BLOB_ORIGINAL_PC,
		.deopt_handler_bytes = 8,
		.method_const_method = METHOD_CONST,
		.const_method_bytes = CONST_BYTES,
		.const_method_constants = CONST_CONSTANTS,
		.const_method_code_size = CONST_CODE_SIZE,
		.header_size_bytes = 2,
		.frame_complete_bytes = 2,
		.bcp_slot = BCP_SLOT,
	};
	publish_java(java);
	put_blob(java, SEGMENT_COMPILED, NMETHOD_BYTES, FRAME_WORDS, FRAME_COMPLETE);
	put_blob(java, SEGMENT_CALLER, NMETHOD_BYTES, CALLER_FRAME_WORDS, FRAME_COMPLETE);
	put_blob(java, SEGMENT_STUB, STUB_BYTES, 0, 0xffff);
	put_blob(java, SEGMENT_CALL_STUB, STUB_BYTES, 0, 0xffff);
	put_number(java, blob_at(SEGMENT_COMPILED) + BLOB_METHOD, METHOD, 8);
	put_number(java, blob_at(SEGMENT_COMPILED) + BLOB_COMPILE_ID, 77, 4);
	put_number(java, blob_at(SEGMENT_CALLER) + BLOB_OOP_MAPS, OBJECTS, 8);
	put_number(java, blob_at(SEGMENT_CALLER) + BLOB_METHOD, METHOD, 8);
	put_number(java, blob_at(SEGMENT_CALLER) + BLOB_COMPILE_ID, 78, 4);
	put_object(java, METHOD + METHOD_CONST, CONST_METHOD, 8);
	put_object(java, CONST_METHOD + CONST_CONSTANTS, OBJECTS, 8);
	put_object(java, CONST_METHOD + CONST_CODE_SIZE, BYTECODE_BYTES, 2);
	java->world->user[1] = (struct region){ CODE_START, CODE_BYTES, java->code };
	java->world->user[2] = (struct region){ MAP_START, sizeof(java->map), java->map };
	java->world->user[3] = (struct region){ OBJECTS, sizeof(java->objects), java->objects };
	*state = java;
	return err;
}

static inline int java_teardown(void **state)
{
	struct java *java = *state;

	world_teardown((void **)&java->world);
	free(java);
	return 0;
}

#define java_test(name) cmocka_unit_test_setup_teardown(name, java_setup, java_teardown)

#endif
