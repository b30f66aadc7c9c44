/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * A world (unwind_fixture.h) with a thread of Go's runtime in it: its own stack (g0), that of the goroutine
 * that it runs, and its structs. Traces become text, leaf first: digits are ordinary functions,
 * letters those that switch stacks (letter_of_switch()), E the thread's entry, ! an error that ends the
 * unwind.
 */
#ifndef EBPF_HOST_TESTS_GO_FIXTURE_H
#define EBPF_HOST_TESTS_GO_FIXTURE_H

#include "ebpf/abi/go.h"
#include "ebpf/host/tests/unwind_fixture.h"

enum {
	RULE_END = 0,
	/* 1 to 9 are ordinary functions. */
	RULE_SWITCH = 10,
	RULE_COUNT = RULE_SWITCH + GO_SWITCH_RECOVERY + 1,
	/* Includes the return address. */
	PLAIN_WORDS = 4,
	SWITCH_WORDS = 2,

	/* Words of the stacks. */
	THREAD_STACK = 1000,
	THREAD_STACK_END = 2000,
	GOROUTINE_STACK = 4000,
	GOROUTINE_STACK_END = 5000,

	INTERPRETER_CELL = 2000,
	DATA_CELL = 2010,
	HEAP_WORDS = 1024,
	THREAD_WORDS = 16,
	/* Offsets in struct m and g. */
	M_CURG = 184,
	M_VDSO_SP = 896,
	M_VDSO_PC = 904,
	CALL_DEPTH = 0,
	CALL_G = 8,
	SCHED_LR = 88,
};

#define HEAP_START 0x7f0000000000ULL
#define THREAD_POINTER (0x7f1000000000ULL + 64)
#define CURG (HEAP_START + 0x100)
#define G0 (HEAP_START + 0x300)
#define M (HEAP_START + 0x500)
#define NOWHERE 0xdead0000ULL

struct go {
	struct world *world;
	struct go_process process;
	uint8_t heap[HEAP_WORDS * 8];
	uint64_t thread[THREAD_WORDS];
	/* First word of the next frame; word of the last frame's return address, 0: there is none. */
	uint32_t next_word;
	uint32_t return_word;
	char text[TRACE_MAX_WORDS];
};

static inline void put(struct go *go, uint64_t address, uint64_t value)
{
	assert_true(address - HEAP_START < sizeof(go->heap));
	memcpy(go->heap + (address - HEAP_START), &value, sizeof(value));
}

static inline void publish(struct go *go)
{
	const struct runtime_row row = { EXECUTABLE_ID, FRAME_GO, DATA_CELL };

	world_put(go->world, INTERPRETER_CELL, &row, sizeof(row));
	world_put(go->world, DATA_CELL, &go->process, sizeof(go->process));
	go->world->start.runtime_cell = INTERPRETER_CELL;
}

static inline uint32_t rule_words(uint32_t rule)
{
	return rule > RULE_SWITCH ? SWITCH_WORDS : PLAIN_WORDS;
}

/* Adds the leaf, or the next caller on the current stack. */
static inline void add(struct go *go, uint32_t rule)
{
	if (go->return_word)
		go->world->stack[go->return_word] = code_at(rule);
	else
		world_set_registers(go->world, code_at(rule), stack_address(go->next_word), 0);
	go->next_word += rule_words(rule);
	go->return_word = go->next_word - 1;
}

/* Adds function @kind, an enum go_switch. */
static inline void add_switch(struct go *go, uint32_t kind)
{
	add(go, RULE_SWITCH + kind);
}

/* The last function that was added, which switches stacks, waits at @word of the other stack. */
static inline void waits_at(struct go *go, uint32_t word)
{
	go->return_word = word + SWITCH_WORDS - 1;
	go->next_word = word + SWITCH_WORDS;
}

/* The next function is @rule with its stack pointer at @word; no call returns to it. */
static inline void goes_on_at(struct go *go, uint32_t word, uint32_t rule)
{
	go->next_word = word + rule_words(rule);
	go->return_word = go->next_word - 1;
}

static inline void set_sched(struct go *go, uint64_t g, uint64_t sp, uint64_t pc)
{
	put(go, g + GO_G_SCHED + GO_GOBUF_SP, sp);
	put(go, g + GO_G_SCHED + GO_GOBUF_PC, pc);
}

static inline char letter_of_switch(uint32_t kind)
{
	/* systemstack, mcall, morestack, asmcgocall, cgocallback, nanotime, gogo, execute, clone, injected, recovery */
	return "?SMKABVGXCIR"[kind];
}

static inline const char *unwind_text(struct go *go)
{
	const struct emulated_trace *trace = &go->world->trace;
	uint32_t length = 0;

	world_unwind(go->world);
	for (uint32_t i = 0; i < trace->word_count; i += frame_word_count(trace->words[i])) {
		uint64_t rule = (frame_address(trace->words[i]) - TEXT_ADDRESS) / 16;

		if (frame_kind(trace->words[i]) == FRAME_ERROR)
			go->text[length++] = '!';
		else if (rule > RULE_SWITCH)
			go->text[length++] = letter_of_switch(rule - RULE_SWITCH);
		else
			go->text[length++] = rule ? '0' + rule : 'E';
	}
	go->text[length] = 0;
	return go->text;
}

/* Asserts that the unwind reaches the end with frames @text. */
static inline void assert_unwind(struct go *go, const char *text)
{
	assert_string_equal(unwind_text(go), text);
	assert_int_equal(go->world->trace.error, UNWIND_OK);
}

/* Asserts that the unwind ends with @error after frames @text, the last of which is '!'. */
static inline void assert_unwind_fails(struct go *go, const char *text, enum unwind_error error)
{
	assert_string_equal(unwind_text(go), text);
	assert_int_equal(go->world->trace.error, error);
}

static inline void start_on(struct go *go, uint32_t word)
{
	go->next_word = word;
	go->return_word = 0;
}

static inline int setup(void **state)
{
	struct go *go = calloc(1, sizeof(*go));
	struct unwind_rule rules[RULE_COUNT] = { { .cfa = CFA_END } };
	int err = world_setup((void **)&go->world);

	for (uint32_t i = 1; i < RULE_COUNT; i++) {
		rules[i] = (struct unwind_rule)CALL_RULE(8 * rule_words(i), .fp = SAVED_UNDEFINED,
							 .rbx_slot = RBX_LOST);
		if (i <= RULE_SWITCH)
			continue;
		rules[i].cfa = CFA_LANGUAGE;
		rules[i].cfa_addend = FRAME_GO;
		rules[i].cfa_register = i - RULE_SWITCH;
	}
	world_publish_rules(go->world, rules, RULE_COUNT);
	go->process = (struct go_process){
		.g = { .offsets = { -8 }, .depth = 1 },
		.m_curg = M_CURG,
		.m_vdso_sp = M_VDSO_SP,
		.m_vdso_pc = M_VDSO_PC,
		.call_g = CALL_G,
		.call_depth = CALL_DEPTH,
		.g_sched_lr = SCHED_LR,
	};
	publish(go);
	go->world->user[1] = (struct region){ HEAP_START, sizeof(go->heap), go->heap };
	go->world->user[2] = (struct region){ THREAD_POINTER - 64, sizeof(go->thread), go->thread };
	go->world->start.thread_pointer = THREAD_POINTER;
	/* On g0. */
	go->thread[7] = G0;
	put(go, G0 + GO_G_STACK_LOW, stack_address(THREAD_STACK));
	put(go, G0 + GO_G_STACK_HIGH, stack_address(THREAD_STACK_END));
	put(go, G0 + GO_G_M, M);
	put(go, M + GO_M_G0, G0);
	put(go, M + M_CURG, CURG);
	put(go, CURG + GO_G_STACK_LOW, stack_address(GOROUTINE_STACK));
	put(go, CURG + GO_G_STACK_HIGH, stack_address(GOROUTINE_STACK_END));
	put(go, CURG + GO_G_M, M);
	start_on(go, THREAD_STACK + 100);
	*state = go;
	return err;
}

static inline int teardown(void **state)
{
	struct go *go = *state;

	world_teardown((void **)&go->world);
	free(go);
	return 0;
}

#define go_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
