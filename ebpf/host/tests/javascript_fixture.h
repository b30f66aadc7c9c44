/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * A world (unwind_fixture.h) with a V8 in it: builtins in the executable's text, a page of code that V8 has generated, a heap
 * with functions, scripts and code objects. Stacks are laid by hand. Traces become text, leaf first: I an interpreted
 * function, i one at an earlier bytecode, B Sparkplug's code, O optimized code, b a builtin, each with the number of
 * its function, and * behind that where `new` has called it; R a regular expression, W wasm, N other native code, E the
 * thread's entry, x functions that are missing, ! an error that ends the unwind.
 */
#ifndef EBPF_HOST_TESTS_JAVASCRIPT_FIXTURE_H
#define EBPF_HOST_TESTS_JAVASCRIPT_FIXTURE_H

#include "ebpf/abi/javascript.h"
#include "ebpf/host/tests/unwind_fixture.h"

enum {
	RULE_ENTRY = 0,
	/* C++, which returns at the second word. */
	RULE_NATIVE,
	/* Builtins: in their frames, or without one. */
	RULE_INTERPRETER,
	RULE_INTERPRETER_AT_CALL,
	RULE_HANDLER,
	RULE_HANDLER_IN_FRAME,
	RULE_BUILTIN,
	RULE_BUILTIN_AT_CALL,
	RULE_WRAPPER,
	/* No rules: a builtin, and those that make and leave the frames of Sparkplug's code. */
	RULE_MOVING,
	RULE_PROLOGUE,
	RULE_LEAVE,
	RULE_DEOPTIMIZER,
	/* Builtins that make and leave such frames, with rules, which are wrong in a leaf. */
	RULE_PROLOGUE_AT_CALL,
	RULE_LEAVE_AT_CALL,
	RULE_HELPER,
	RULE_COUNT,
	BUILTINS_OFFSET = RULE_INTERPRETER * 16,

	JAVASCRIPT_RUNTIME_CELL = 2000,
	JAVASCRIPT_DATA_CELL = 2010,

	FUNCTION_COUNT = 4,
	FUNCTION_BYTES = 0x1000,
	HEAP_BYTES = 1 << 16,
	CODE_BYTES = 1 << 14,
	/* Numbers of the process's V8. */
	KIND_REGEXP = 3,
	KIND_BASELINE = 10,
	KIND_MAGLEV = 11,
	KIND_TURBOFAN = 12,
	MARKER_ENTRY = 2,
	MARKER_CONSTRUCT = 46,
	MARKER_FAST_CONSTRUCT = 48,
	MARKER_CONTINUATION = 40,
	MARKER_WASM = 8,
	MARKER_WASM_TO_JS = 10,
	MARKER_STUB = 34,
	TYPE_FUNCTION = 2065,
	TYPE_COUNT = 17,
	SCRIPT_ID = 7,
	SOURCE_LENGTH = 14,

	/* DWARF numbers. */
	RSI = 4,
	RDI = 5,
	R8 = 8,
	R9 = 9,
	R10 = 10,
	R12 = 12,
	R13 = 13,

	LEAF_WORD = 1000,
	/* Frame pointers: the innermost frame's, and of its caller, which is interpreted. */
	FP_WORD = LEAF_WORD + 10,
	CALLER_WORD = FP_WORD + 20,
	CALLER_OFFSET = 17,
	/* A page with a list. */
	PAGE_BYTES = 1 << 18,
	PAGE_AREA = 24,
	PAGE_HEADER_BYTES = 512,
	CODE_AT = 1024,
	CODE_STEP = 512,
	CODE_SIZE = 256,
	IN_CODE = 0x60,
};

#define HEAP_START 0x7f4000000000ULL
/* A page of code of 256 KiB, of which the beginning is used. */
#define PAGE_START 0x7f2000040000ULL
#define MAP (HEAP_START + 0x100)
#define SCRIPT (HEAP_START + 0x200)
#define SOURCE (HEAP_START + 0x300)
#define CONTEXT (HEAP_START + 0x401)
#define BYTECODES (HEAP_START + 0x501)
/* Maps and lists of code. */
#define JIT_PAGES (HEAP_START + 0x600)
#define PAGE_MAP (HEAP_START + 0x640)
#define PAGE_NODE (HEAP_START + 0x680)
#define JIT_PAGE (HEAP_START + 0x700)
#define CODE_NODES (HEAP_START + 0x800)
#define LIST (HEAP_START + 0xa00)
#define LIST_WORDS (HEAP_START + 0xb00)
#define OTHER_LIST 0x7f5000000000ULL
#define NODE_BYTES 64
/* Handlers of bytecodes: without a prefix, with each of two. */
#define DISPATCH_TABLE (HEAP_START + 0x8000)
/* Value of the root register, and the offset from it of the table's address. */
#define ROOT (HEAP_START + 0x580)
#define ROOT_DISPATCH_TABLE 0x10

struct javascript {
	struct world *world;
	struct javascript_process process;
	uint8_t heap[HEAP_BYTES];
	uint8_t code[CODE_BYTES];
	/* The builtins' instructions, and some behind them. */
	uint8_t text_bytes[(RULE_COUNT + 4) * 16];
	uint32_t code_count;
	char text[4 * TRACE_MAX_WORDS];
};

static inline void put_bytes(struct javascript *javascript, uint64_t address, const void *bytes,
			     size_t size)
{
	if (address - PAGE_START < CODE_BYTES) {
		assert_true(address - PAGE_START + size <= CODE_BYTES);
		memcpy(javascript->code + (address - PAGE_START), bytes, size);
	} else {
		assert_true(address - HEAP_START + size <= HEAP_BYTES);
		memcpy(javascript->heap + (address - HEAP_START), bytes, size);
	}
}

static inline void put(struct javascript *javascript, uint64_t address, uint64_t value, size_t size)
{
	put_bytes(javascript, address, &value, size);
}

static inline void put_word(struct javascript *javascript, uint32_t word, uint64_t value)
{
	javascript->world->stack[word] = value;
}

static inline void publish_javascript(struct javascript *javascript)
{
	const struct runtime_row row = { EXECUTABLE_ID, runtime_row_language(FRAME_JAVASCRIPT),
					 JAVASCRIPT_DATA_CELL };

	world_put(javascript->world, JAVASCRIPT_RUNTIME_CELL, &row, sizeof(row));
	world_put(javascript->world, JAVASCRIPT_DATA_CELL, &javascript->process,
		  sizeof(javascript->process));
	javascript->world->start.runtime_cell = JAVASCRIPT_RUNTIME_CELL;
}

/* Tagged. */
static inline uint64_t function_at(uint32_t index)
{
	return HEAP_START + 0x1000 + index * FUNCTION_BYTES + JAVASCRIPT_TAG;
}

static inline uint64_t shared_at(uint32_t index)
{
	return function_at(index) + 0x100;
}

/* Deoptimization data of the function's optimized code, which leads to the function through a wrapper. */
static inline uint64_t data_at(uint32_t index)
{
	return function_at(index) + 0x200;
}

static inline uint64_t wrapper_at(uint32_t index)
{
	return function_at(index) + 0x300;
}

/* Code objects apart from their instructions. */
static inline uint64_t code_object_at(uint32_t index)
{
	return HEAP_START + 0x6000 + index * 0x80 + JAVASCRIPT_TAG;
}

static inline uint32_t optimization_of(uint32_t index)
{
	return 40 + index;
}

static inline uint64_t smi(uint32_t value)
{
	return (uint64_t)value << 32;
}

static inline void make_function(struct javascript *javascript, uint32_t index)
{
	const struct javascript_process *process = &javascript->process;
	const uint64_t function = function_at(index) - JAVASCRIPT_TAG;
	const uint64_t shared = shared_at(index) - JAVASCRIPT_TAG;
	const uint64_t elements = data_at(index) - JAVASCRIPT_TAG + JAVASCRIPT_ARRAY_DATA;

	put(javascript, function, MAP + JAVASCRIPT_TAG, 8);
	put(javascript, function + process->function_shared, shared_at(index), 8);
	put(javascript, shared + process->shared_script, SCRIPT + JAVASCRIPT_TAG, 8);
	put(javascript, shared + process->shared_literal_id, index + 1, 4);
	if (process->shared_unique_id)
		put(javascript, shared + process->shared_unique_id, index + 90, 4);
	put(javascript, elements + 8 * process->deopt_optimization_id, smi(optimization_of(index)),
	    8);
	put(javascript, elements + 8 * process->deopt_shared,
	    process->wrapper_shared ? wrapper_at(index) : shared_at(index), 8);
	if (process->wrapper_shared)
		put(javascript, wrapper_at(index) - JAVASCRIPT_TAG + process->wrapper_shared,
		    shared_at(index), 8);
}

static inline uint32_t function_fingerprint(const struct javascript *javascript, uint32_t index)
{
	uint64_t unique = javascript->process.shared_unique_id ? index + 90 : 0;

	return javascript_function_fingerprint(unique << 32 | (index + 1), smi(SCRIPT_ID),
					       SOURCE_LENGTH);
}

static inline uint32_t code_fingerprint(const struct javascript *javascript, uint32_t index)
{
	return javascript_code_fingerprint(function_fingerprint(javascript, index),
					   optimization_of(index));
}

static inline uint64_t object_of_code(uint32_t number)
{
	return PAGE_START + CODE_AT + number * CODE_STEP;
}

/* Lists the object at @object in its page. */
static inline void list_code(struct javascript *javascript, uint64_t object)
{
	const uint32_t number = javascript->code_count;
	const uint64_t node = CODE_NODES + number * NODE_BYTES;

	put(javascript, LIST_WORDS + 8 * number, object, 8);
	put(javascript, LIST + 8, LIST_WORDS + 8 * (number + 1), 8);
	put(javascript, node + 32, object, 8);
	put(javascript, node + 40, CODE_STEP, 8);
	/* Not a tree that a std::map would make, but its lookup is the same. */
	put(javascript,
	    number ? node - NODE_BYTES + 24 :
		     JIT_PAGE + javascript->process.jit_page_allocations + 16,
	    node, 8);
}

/* Sets the page's list to the @count @words, at OTHER_LIST. */
static inline void set_list(struct javascript *javascript, uint64_t *words, size_t count)
{
	javascript->world->user[4] = (struct region){ OTHER_LIST, count * sizeof(*words), words };
	put(javascript, LIST, OTHER_LIST, 8);
	put(javascript, LIST + 8, OTHER_LIST + count * sizeof(*words), 8);
}

/* Adds code of @kind, optimized code for function @index; returns the address of its first instruction. */
static inline uint64_t add_code(struct javascript *javascript, uint32_t kind, uint32_t index)
{
	const struct javascript_process *process = &javascript->process;
	const uint32_t number = javascript->code_count;
	const uint64_t object = object_of_code(number);
	const uint64_t start = object + process->code_header;
	uint64_t head = object;

	if (process->code_object) {
		head = code_object_at(number) - JAVASCRIPT_TAG;
		put(javascript, object + process->code_object, code_object_at(number), 8);
		put(javascript, head + process->code_start, start, 8);
	}
	put(javascript, head + process->code_flags, kind | 1 << 20, 4);
	put(javascript, head + process->code_size, CODE_SIZE, 4);
	put(javascript, head + process->code_data, data_at(index), 8);
	memset(javascript->code + (start - PAGE_START), 0x90, CODE_SIZE);
	list_code(javascript, object);
	javascript->code_count++;
	return start;
}

/* A tagged pointer, as in word 0 of a frame. */
static inline uint64_t code_object_of(const struct javascript *javascript, uint32_t number)
{
	return javascript->process.code_object ? code_object_at(number) :
						 object_of_code(number) + JAVASCRIPT_TAG;
}

/* Lays a frame with its frame pointer at @word, called from @return_address in the frame at @caller; 0: that has none. */
static inline void put_frame(struct javascript *javascript, uint32_t word, uint64_t context,
			     uint64_t function, uint32_t caller, uint64_t return_address)
{
	put_word(javascript, word - 2, function);
	put_word(javascript, word - 1, context);
	put_word(javascript, word, caller ? stack_address(caller) : 0);
	put_word(javascript, word + 1, return_address);
}

/* Lays the frame of an interpreted function, at the bytecode at @offset from the first one. */
static inline void put_interpreted(struct javascript *javascript, uint32_t word, uint32_t index,
				   uint32_t offset)
{
	put_frame(javascript, word, CONTEXT, function_at(index), word + 20, code_at(RULE_ENTRY));
	put_word(javascript, word - 4, BYTECODES);
	put_word(javascript, word - 5, smi(offset + javascript->process.bytecodes_before));
}

/* Function 0 is interpreted, and calls the function whose return address is at @word. */
static inline void put_caller(struct javascript *javascript, uint32_t word)
{
	put_word(javascript, word, code_at(RULE_INTERPRETER));
	put_interpreted(javascript, CALLER_WORD, 0, CALLER_OFFSET);
}

/* The leaf's frame is made, its frame pointer at FP_WORD. */
static inline void lay_in_frame(struct javascript *javascript, uint64_t pc, uint64_t context,
				uint64_t function)
{
	put_frame(javascript, FP_WORD, context, function, CALLER_WORD, 0);
	put_caller(javascript, FP_WORD + 1);
	world_set_registers(javascript->world, pc, stack_address(LEAF_WORD),
			    stack_address(FP_WORD));
}

/* The leaf has no frame: its return address is @return_words above its stack pointer. */
static inline void lay_frameless(struct javascript *javascript, uint64_t pc, uint32_t return_words)
{
	put_caller(javascript, LEAF_WORD + return_words);
	world_set_registers(javascript->world, pc, stack_address(LEAF_WORD),
			    stack_address(CALLER_WORD));
}

static inline void set_register(struct javascript *javascript, uint32_t number, uint64_t value)
{
	javascript->world->start.registers[number] = value;
}

/* Returns the number of the function of the frame @words, as a digit. */
static inline char function_digit(const struct javascript *javascript, const uint64_t words[2])
{
	for (uint32_t i = 0; i < FUNCTION_COUNT; i++)
		if ((uint32_t)words[1] == function_fingerprint(javascript, i) ||
		    (uint32_t)words[1] == code_fingerprint(javascript, i))
			return (char)('0' + i);
	return '-';
}

static inline uint32_t add_text(const struct javascript *javascript, const uint64_t *words,
				char *text)
{
	static const char letters[] = "IiBObRW?";
	uint32_t position, code, length = 0;

	if (frame_kind(words[0]) == FRAME_ERROR) {
		text[0] = frame_flags(words[0]) == UNWIND_INTERPRETER_FRAMES ? 'x' : '!';
		return 1;
	}
	if (frame_kind(words[0]) == FRAME_NATIVE) {
		text[0] = frame_address(words[0]) / 16 * 16 == TEXT_ADDRESS ? 'E' : 'N';
		return 1;
	}
	position = words[1] >> 32;
	code = position >> JAVASCRIPT_CODE_SHIFT & JAVASCRIPT_CODE_MASK;
	text[length++] = letters[code];
	if (code < JAVASCRIPT_REGEXP)
		text[length++] = function_digit(javascript, words);
	if (position & JAVASCRIPT_NEW)
		text[length++] = '*';
	return length;
}

static inline const char *javascript_unwind_text(struct javascript *javascript)
{
	const struct emulated_trace *trace = &javascript->world->trace;
	uint32_t length = 0;

	publish_javascript(javascript);
	world_unwind(javascript->world);
	for (uint32_t i = 0; i < trace->word_count; i += frame_word_count(trace->words[i]))
		length += add_text(javascript, trace->words + i, javascript->text + length);
	javascript->text[length] = 0;
	return javascript->text;
}

static inline void assert_javascript_unwind(struct javascript *javascript, const char *text)
{
	assert_string_equal(javascript_unwind_text(javascript), text);
	assert_int_equal(javascript->world->trace.error != UNWIND_OK, strchr(text, '!') != NULL);
}

static inline void assert_word(const struct javascript *javascript, uint32_t index, uint64_t word)
{
	assert_int_equal(javascript->world->trace.words[index], word);
}

/* Returns the offset in the position of frame @index of the last unwind. */
static inline uint32_t frame_offset(const struct javascript *javascript, uint32_t index)
{
	return javascript->world->trace.words[2 * index + 1] >> 32 & JAVASCRIPT_OFFSET_MASK;
}

static inline struct javascript_process made_javascript_process(bool is_new)
{
	struct javascript_process process = {
		.builtins_start = TEXT_ADDRESS + BUILTINS_OFFSET,
		.builtins_bytes = (RULE_COUNT - RULE_INTERPRETER) * 16,
		.ranges = { { 0, JAVASCRIPT_BUILTIN_INTERPRETER },
			    { (RULE_HANDLER - RULE_INTERPRETER) * 16, JAVASCRIPT_BUILTIN_HANDLER },
			    { (RULE_BUILTIN - RULE_INTERPRETER) * 16, JAVASCRIPT_BUILTIN_OTHER },
			    { (RULE_WRAPPER - RULE_INTERPRETER) * 16,
			      JAVASCRIPT_BUILTIN_NO_FUNCTION },
			    { (RULE_MOVING - RULE_INTERPRETER) * 16, JAVASCRIPT_BUILTIN_CALL },
			    { (RULE_PROLOGUE - RULE_INTERPRETER) * 16,
			      JAVASCRIPT_BUILTIN_PROLOGUE },
			    { (RULE_LEAVE - RULE_INTERPRETER) * 16, JAVASCRIPT_BUILTIN_LEAVE },
			    { (RULE_DEOPTIMIZER - RULE_INTERPRETER) * 16,
			      JAVASCRIPT_BUILTIN_DEOPTIMIZER },
			    { (RULE_PROLOGUE_AT_CALL - RULE_INTERPRETER) * 16,
			      JAVASCRIPT_BUILTIN_PROLOGUE },
			    { (RULE_LEAVE_AT_CALL - RULE_INTERPRETER) * 16,
			      JAVASCRIPT_BUILTIN_LEAVE },
			    { (RULE_HELPER - RULE_INTERPRETER) * 16, JAVASCRIPT_BUILTIN_HELPER } },
		.code_header = is_new ? 32 : 128,
		.code_flags = is_new ? 52 : 48,
		.code_size = is_new ? 56 : 40,
		.code_data = is_new ? 8 : 16,
		.kind_mask = 15,
		.kind_regexp = KIND_REGEXP,
		.kind_baseline = KIND_BASELINE,
		.kind_maglev = KIND_MAGLEV,
		.kind_turbofan = KIND_TURBOFAN,
		.deopt_optimization_id = is_new ? 6 : 5,
		.deopt_shared = is_new ? 7 : 6,
		.function_shared = is_new ? 32 : 24,
		.shared_script = is_new ? 40 : 32,
		.shared_literal_id = is_new ? 60 : 52,
		.script_id = 64,
		.script_source = 8,
		.string_length = 12,
		.bytecodes_before = is_new ? 63 : 55,
		.marker_entry = MARKER_ENTRY,
		.marker_construct = MARKER_CONSTRUCT,
		.marker_fast_construct = MARKER_FAST_CONSTRUCT,
		.marker_continuation = MARKER_CONTINUATION,
		.marker_wasm = MARKER_WASM,
		.marker_wasm_to_js = MARKER_WASM_TO_JS,
		.map_instance_type = 12,
		.type_function = TYPE_FUNCTION,
		.type_function_count = TYPE_COUNT,
		.dispatch_table = ROOT_DISPATCH_TABLE,
	};

	for (int i = 11; i < JAVASCRIPT_BUILTIN_RANGES_MAX; i++)
		process.ranges[i].start = JAVASCRIPT_OFFSET_MASK;
	if (is_new) {
		process.jit_pages = JIT_PAGES;
		process.jit_page_allocations = 8;
		process.code_object = 8;
		process.code_start = 40;
		process.wrapper_shared = 8;
		process.shared_unique_id = 64;
	} else {
		process.page_registry = 272;
	}
	return process;
}

/* A heap with functions and a page without code; @is_new: as from 12.4 on, else as up to 11.3. */
static inline void make_heap(struct javascript *javascript, bool is_new)
{
	memset(javascript->heap, 0, sizeof(javascript->heap));
	memset(javascript->code, 0, sizeof(javascript->code));
	javascript->code_count = 0;
	javascript->process = made_javascript_process(is_new);
	put(javascript, MAP + javascript->process.map_instance_type, TYPE_FUNCTION + 1, 2);
	put(javascript, SCRIPT + javascript->process.script_id, smi(SCRIPT_ID), 8);
	put(javascript, SCRIPT + javascript->process.script_source, SOURCE + JAVASCRIPT_TAG, 8);
	put(javascript, SOURCE + javascript->process.string_length, SOURCE_LENGTH, 4);
	for (uint32_t i = 0; i < FUNCTION_COUNT; i++)
		make_function(javascript, i);
	put(javascript, JIT_PAGES, PAGE_MAP, 8);
	put(javascript, PAGE_MAP + 16, PAGE_NODE, 8);
	put(javascript, PAGE_NODE + 32, PAGE_START, 8);
	put(javascript, PAGE_NODE + 40, JIT_PAGE, 8);
	put(javascript, LIST, LIST_WORDS, 8);
	put(javascript, LIST + 8, LIST_WORDS, 8);
	if (is_new)
		return;
	put(javascript, PAGE_START + javascript->process.page_registry, LIST, 8);
	put(javascript, PAGE_START + PAGE_AREA, PAGE_START + PAGE_HEADER_BYTES, 8);
	put(javascript, PAGE_START + PAGE_AREA + 8, PAGE_START + PAGE_BYTES, 8);
}

static inline int javascript_setup(void **state)
{
#define IN_FRAME                                                                                   \
	{                                                                                          \
		.cfa = CFA_FP, .cfa_offset = 16, .ra = SAVED_AT_CFA, .ra_offset = -8,              \
		.fp = SAVED_AT_CFA, .fp_offset = -16, .flags = RULE_LOOP                           \
	}
#define RULELESS                                                                                   \
	{                                                                                          \
		.cfa = CFA_LANGUAGE, .cfa_addend = FRAME_JAVASCRIPT, .flags = RULE_LOOP            \
	}
	static const struct unwind_rule rules[RULE_COUNT] = {
		[RULE_ENTRY] = { .cfa = CFA_END },
		[RULE_NATIVE] = CALL_RULE(16),
		[RULE_INTERPRETER] = IN_FRAME,
		[RULE_INTERPRETER_AT_CALL] = CALL_RULE(8, .flags = RULE_LOOP),
		[RULE_HANDLER] = CALL_RULE(8, .flags = RULE_LOOP),
		[RULE_HANDLER_IN_FRAME] = IN_FRAME,
		[RULE_BUILTIN] = IN_FRAME,
		[RULE_BUILTIN_AT_CALL] = CALL_RULE(8, .flags = RULE_LOOP),
		[RULE_WRAPPER] = IN_FRAME,
		[RULE_MOVING] = RULELESS,
		[RULE_PROLOGUE] = RULELESS,
		[RULE_LEAVE] = RULELESS,
		[RULE_DEOPTIMIZER] = RULELESS,
		[RULE_PROLOGUE_AT_CALL] = CALL_RULE(8, .flags = RULE_LOOP),
		[RULE_LEAVE_AT_CALL] = CALL_RULE(8, .flags = RULE_LOOP),
		[RULE_HELPER] = IN_FRAME,
	};
#undef RULELESS
#undef IN_FRAME
	struct javascript *javascript = calloc(1, sizeof(*javascript));
	int err = world_setup((void **)&javascript->world);

	world_publish_rules(javascript->world, rules, RULE_COUNT);
	make_heap(javascript, true);
	javascript->world->user[1] = (struct region){ HEAP_START, HEAP_BYTES, javascript->heap };
	javascript->world->user[2] = (struct region){ PAGE_START, CODE_BYTES, javascript->code };
	javascript->world->user[3] = (struct region){ TEXT_START, sizeof(javascript->text_bytes),
						      javascript->text_bytes };
	memset(javascript->text_bytes, 0x90, sizeof(javascript->text_bytes));
	*state = javascript;
	return err;
}

static inline int javascript_teardown(void **state)
{
	struct javascript *javascript = *state;

	world_teardown((void **)&javascript->world);
	free(javascript);
	return 0;
}

#define javascript_test(name)                                                                      \
	cmocka_unit_test_setup_teardown(name, javascript_setup, javascript_teardown)

#endif
