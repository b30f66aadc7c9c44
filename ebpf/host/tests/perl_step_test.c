// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Perl's frames between native ones: an interpreter with stacks and contexts on a heap, laid by hand. Traces become text, leaf
 * first: digits are subs by their number, e is an eval, f a file, M the main program, C is native code, L the loop, E the
 * thread's entry, ! missing frames.
 */
#include <stdio.h>

#include "ebpf/abi/perl.h"
#include "ebpf/host/tests/unwind_fixture.h"

enum {
	RULE_END,
	/** Native code, the loop, and functions by their names in struct perl_process. */
	RULE_C,
	RULE_OF_LOOP,
	RULE_CALLING,
	RULE_EVALUATING,
	RULE_RUNNING,
	RULE_CATCHING,
	RULE_ENTERING,
	RULE_LEAVING,
	RULE_REPLACING,
	RULE_DYING,
	RULE_COUNT,
	FRAME_WORDS = 4,

	RUNTIME_CELL = 2000,
	DATA_CELL = 2010,
	HEAP_BYTES = 0x20000,
	/** Offsets in the interpreter. */
	OP = 8,
	COP = 16,
	STACK = 24,
	SAVED = 32,
	SAVED_COUNT = 40,
	RUN = 48,
	SAVED_OP_TYPE = 18,

	MAIN = 1,
	SORT = 3,
	OVERLOAD = 5,
	BLOCKS = 10,
	STACK_BYTES = 64,
	CONTEXT_BYTES = 104,
	STACKS_MAX = 8,
	CONTEXTS_MAX = 16,

	NOTHING = 0,
	BLOCK = 2,
	SUB = 9,
	EVAL = 11,
	DEFER = 13,
	MULTICALL = 0x10,
	TEXT = 0x20,
	TRYING = 0x40,
	IS_FAKE = 0x80,
	FIRST_LINE = 100,

	/* Numbers of ops. */
	SUBST = 32,
	ENTER = 198,
	ENTERITER = 201,
	ENTERLOOP = 203,
	RETURN = 205,
	LEAVEEVAL = 346,
	ENTERTRY = 347,
	LEAVETRY = 348,
};

#define HEAP_START 0x7f0000000000ULL
#define THREAD HEAP_START
#define INTERPRETER (HEAP_START + 0x100)
#define SAVED_STACK (HEAP_START + 0x400)
/** Any op that is not 0. */
#define SOME_OP (HEAP_START + 0x800)
#define COP_FUNCTION 0x1234

struct perl {
	struct world *world;
	struct perl_process process;
	uint8_t heap[HEAP_BYTES];
	uint32_t stack_count;
	uint32_t context_count;
	uint32_t next_word;
	bool has_leaf;
	char text[2 * TRACE_MAX_WORDS];
};

static void put(struct perl *perl, uint64_t address, uint64_t value)
{
	assert_true(address - HEAP_START <= HEAP_BYTES - 8);
	memcpy(perl->heap + (address - HEAP_START), &value, sizeof(value));
}

static uint64_t stack_at(uint32_t index)
{
	return HEAP_START + 0x1000 + index * (uint64_t)STACK_BYTES;
}

static uint64_t context_at(uint32_t stack, uint32_t index)
{
	return HEAP_START + 0x2000 + (stack * CONTEXTS_MAX + index) * (uint64_t)CONTEXT_BYTES;
}

static uint64_t cop_at(uint32_t number)
{
	return HEAP_START + 0x8000 + number * 0x60ULL;
}

static uint64_t sub_at(uint32_t number)
{
	return HEAP_START + 0xa000 + number * 0x100ULL;
}

/* Makes sub @number: a CV, its body, its GV, that one's body and its name. It begins with the COP of its number. */
static void put_sub(struct perl *perl, uint32_t number)
{
	uint64_t sub = sub_at(number), glob = sub + 0x80, name = sub + 0xd0;

	put(perl, sub, sub + 0x10);
	put(perl, sub + 0x10 + PERL_CV_START, cop_at(number));
	put(perl, sub + 0x10 + PERL_CV_GLOB, glob);
	put(perl, glob, glob + 0x10);
	put(perl, glob + 0x10 + PERL_GLOB_NAME, name);
	put(perl, glob + 0x10 + PERL_GLOB_STASH, HEAP_START + 0x600);
	put(perl, name, 4ULL << 32 | number);
	put(perl, name + 8, 0x00627573 + ((uint64_t)number << 24));
}

static void put_cop(struct perl *perl, uint32_t number)
{
	put(perl, cop_at(number) + PERL_OP_FUNCTION, COP_FUNCTION);
	put(perl, cop_at(number) + 32, (uint64_t)(FIRST_LINE + number) << 32);
	put(perl, cop_at(number) + 48, HEAP_START + 0x700);
}

static struct perl_code_range range_of(uint32_t rule)
{
	return (struct perl_code_range){ TEXT_ADDRESS + rule * 16, TEXT_ADDRESS + rule * 16 + 16 };
}

static void put_runtime(struct perl *perl)
{
	const struct runtime_row row = { EXECUTABLE_ID, FRAME_PERL, DATA_CELL };

	perl->process.interpreter = (struct thread_local_path){ .depth = 1 };
	perl->process.bias = TEXT_START - TEXT_ADDRESS;
	perl->process.loop = TEXT_START + RULE_OF_LOOP * 16;
	perl->process.loop_return = TEXT_ADDRESS + RULE_OF_LOOP * 16 + 8;
	perl->process.calling[0] = range_of(RULE_CALLING);
	perl->process.evaluating = range_of(RULE_EVALUATING);
	perl->process.running = range_of(RULE_RUNNING);
	perl->process.catching = range_of(RULE_CATCHING);
	perl->process.entering = range_of(RULE_ENTERING);
	perl->process.leaving[0] = range_of(RULE_LEAVING);
	perl->process.replacing = range_of(RULE_REPLACING);
	perl->process.dying = range_of(RULE_DYING);
	perl->process.op = OP;
	perl->process.cop = COP;
	perl->process.stack = STACK;
	perl->process.saved = SAVED;
	perl->process.saved_count = SAVED_COUNT;
	perl->process.run = RUN;
	perl->process.saved_op_type = SAVED_OP_TYPE;
	perl->process.enter = ENTER;
	perl->process.entertry = ENTERTRY;
	perl->process.subst = SUBST;
	world_put(perl->world, RUNTIME_CELL, &row, sizeof(row));
	world_put(perl->world, DATA_CELL, &perl->process, sizeof(perl->process));
	perl->world->start.runtime_cell = RUNTIME_CELL;
	perl->world->start.thread_pointer = THREAD;
	/* The result of an op, where the loop is the leaf. */
	perl->world->start.registers[0] = SOME_OP;
}

/* From 5.38 on the loop executes the op of the C code that calls a sub. */
static void call_in_loop(struct perl *perl)
{
	perl->process.calls_in_loop = 1;
	world_put(perl->world, DATA_CELL, &perl->process, sizeof(perl->process));
}

/* Begins a stack of @type, the innermost one. */
static void push_stack(struct perl *perl, uint32_t type)
{
	uint32_t index = perl->stack_count++;

	assert_true(index < STACKS_MAX);
	put(perl, stack_at(index) + 8, context_at(index, 0));
	put(perl, stack_at(index) + 16, index ? stack_at(index - 1) : 0);
	put(perl, stack_at(index) + 32, UINT32_MAX);
	put(perl, stack_at(index) + 40, (uint64_t)type << 32 | UINT32_MAX);
	put(perl, INTERPRETER + STACK, stack_at(index));
	perl->context_count = 0;
}

/*
 * Pushes a context, called from the COP @cop. A sub is that of the number @sub. Without @has_retop C code has called it. The
 * savestack has @saved entries before it.
 */
static uint64_t push(struct perl *perl, uint32_t kind, uint32_t sub, bool has_retop, uint32_t cop,
		     uint32_t saved)
{
	uint32_t stack = perl->stack_count - 1, index = perl->context_count++;
	uint64_t context = context_at(stack, index), word;

	assert_true(index < CONTEXTS_MAX);
	put(perl, context, (uint64_t)saved << 32 | kind);
	put(perl, context + 16, cop_at(cop));
	put(perl, context + 48, has_retop ? SOME_OP : 0);
	put(perl, context + 72, (kind & 0xf) == SUB ? sub_at(sub) : 0);
	put(perl, stack_at(stack) + 32, index);
	if ((kind & 0xf) == SUB || (kind & 0xf) == EVAL) {
		memcpy(&word, perl->heap + (stack_at(stack) + 40 - HEAP_START), sizeof(word));
		put(perl, stack_at(stack) + 40, (word & ~0xffffffffULL) | index);
	}
	return context;
}

/* Puts PL_op, as it was, to the savestack's entry @index. */
static void save_op(struct perl *perl, uint32_t index, uint64_t op)
{
	put(perl, SAVED_STACK + 8 * index, op);
	put(perl, SAVED_STACK + 8 * index + 8, SAVED_OP_TYPE);
}

static int setup(void **state)
{
	static const struct unwind_rule rules[RULE_COUNT] = {
		[RULE_END] = { .cfa = CFA_END },
		[RULE_C] = CALL_RULE(8 * FRAME_WORDS),
		[RULE_OF_LOOP] = CALL_RULE(8 * FRAME_WORDS, .flags = RULE_LOOP),
		[RULE_CALLING] = CALL_RULE(8 * FRAME_WORDS),
		[RULE_EVALUATING] = CALL_RULE(8 * FRAME_WORDS),
		[RULE_RUNNING] = CALL_RULE(8 * FRAME_WORDS),
		[RULE_CATCHING] = CALL_RULE(8 * FRAME_WORDS),
		[RULE_ENTERING] = CALL_RULE(8 * FRAME_WORDS),
		[RULE_LEAVING] = CALL_RULE(8 * FRAME_WORDS),
		[RULE_REPLACING] = CALL_RULE(8 * FRAME_WORDS),
		[RULE_DYING] = CALL_RULE(8 * FRAME_WORDS),
	};
	struct perl *perl = calloc(1, sizeof(*perl));
	void *world;

	assert_int_equal(world_setup(&world), 0);
	perl->world = world;
	world_publish_rules(perl->world, rules, RULE_COUNT);
	perl->world->user[1] = (struct region){ HEAP_START, sizeof(perl->heap), perl->heap };
	put_runtime(perl);
	put(perl, THREAD, INTERPRETER);
	put(perl, INTERPRETER + OP, SOME_OP);
	put(perl, INTERPRETER + COP, cop_at(0));
	put(perl, INTERPRETER + SAVED, SAVED_STACK);
	put(perl, INTERPRETER + SAVED_COUNT, 20);
	put(perl, INTERPRETER + RUN, perl->process.loop);
	memcpy(perl->heap + 0x700, "/srv/a.pl", 10);
	for (uint32_t i = 0; i < 10; i++) {
		put_sub(perl, i);
		put_cop(perl, i);
	}
	push_stack(perl, MAIN);
	push(perl, BLOCK, 0, false, 0, 0);
	*state = perl;
	return 0;
}

static int teardown(void **state)
{
	struct perl *perl = *state;
	void *world = perl->world;

	world_teardown(&world);
	free(perl);
	return 0;
}

/* Adds native frames of functions with the rules: L is the loop, M its caller of the main program, s, e, c those of others. */
static void add(struct perl *perl, const char *names)
{
	static const char letters[] = "ECLsemcnlgd";

	for (; *names; names++) {
		uint64_t pc = code_at((uint32_t)(strchr(letters, *names) - letters));

		if (!perl->has_leaf)
			world_set_registers(perl->world, pc, stack_address(0), 0);
		else
			perl->world->stack[perl->next_word - 1] = pc;
		perl->has_leaf = true;
		perl->next_word += FRAME_WORDS;
	}
}

static char text_of(const uint64_t *word)
{
	uint64_t address = frame_address(*word);

	switch (frame_kind(*word)) {
	case FRAME_PERL:
		assert_int_equal(frame_word_count(*word), 3);
		switch (word[1] >> (32 + PERL_CODE_SHIFT) & PERL_CODE_MASK) {
		case PERL_CODE_SUB:
			return (char)('0' + (address - sub_at(0)) / 0x100);
		case PERL_CODE_EVAL:
			return 'e';
		case PERL_CODE_FILE:
			return 'f';
		default:
			return 'M';
		}
	case FRAME_ERROR:
		return '!';
	default:
		switch ((address - TEXT_ADDRESS) / 16) {
		case RULE_OF_LOOP:
			return 'L';
		case RULE_END:
			return 'E';
		default:
			return 'C';
		}
	}
}

static const char *unwind_text(struct perl *perl)
{
	const struct emulated_trace *trace = &perl->world->trace;
	size_t length = 0;

	world_unwind(perl->world);
	for (uint32_t i = 0; i < trace->word_count; i += frame_word_count(trace->words[i]))
		perl->text[length++] = text_of(&trace->words[i]);
	perl->text[length] = '\0';
	return perl->text;
}

/* The line of the COP that the trace's Perl frame @index has come to, from FIRST_LINE on. */
static uint32_t line_of(const struct perl *perl, uint32_t index)
{
	const struct emulated_trace *trace = &perl->world->trace;

	for (uint32_t i = 0; i < trace->word_count; i += frame_word_count(trace->words[i]))
		if (frame_kind(trace->words[i]) == FRAME_PERL && !index--)
			return (uint32_t)(trace->words[i + 1] >> 32 & PERL_LINE_MASK) - FIRST_LINE;
	return UINT32_MAX;
}

static void each_loop_has_contexts_up_to_the_first_that_c_called(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 1, true, 1, 0);
	push(perl, SUB, 2, false, 2, 4);
	push(perl, BLOCK, 0, false, 3, 4);
	push(perl, SUB, 3, true, 3, 6);
	add(perl, "LsCLmE");
	assert_string_equal(unwind_text(perl), "32LCC1MLCE");
	assert_int_equal(line_of(perl, 0), 0);
	assert_int_equal(line_of(perl, 1), 3);
	assert_int_equal(line_of(perl, 2), 2);
	assert_int_equal(line_of(perl, 3), 1);
}

static void fingerprints_cover_sub_and_file(void **state)
{
	struct perl *perl = *state;
	uint64_t name = sub_at(1) + 0xd0, words[3], sum = 0, part = 0, file;
	int has_end;

	push(perl, SUB, 1, true, 1, 0);
	add(perl, "LmE");
	assert_string_equal(unwind_text(perl), "1MLCE");
	memcpy(words, perl->world->trace.words, sizeof(words));
	memcpy(&file, "/srv/a.p", 8);
	part = fingerprint_mix(part, file);
	part = fingerprint_mix(part, perl_text_word('l', &has_end));
	assert_true(has_end);
	sum = fingerprint_mix(fingerprint_mix(0, PERL_CODE_SUB), part | 1);
	part = fingerprint_mix(fingerprint_mix(0, HEAP_START + 0x600), name);
	part = fingerprint_mix(part, 4ULL << 32 | 1);
	part = fingerprint_mix(part, 0x00627573 + (1ULL << 24)) | 1;
	assert_int_equal((uint32_t)words[1], fingerprint_end(fingerprint_mix(sum, part)));
	assert_int_equal(words[2], perl_mark(part) << PERL_MARK_SHIFT | (HEAP_START + 0x700));
	/* It is known by its glob. */
	assert_int_equal(frame_address(words[0]), sub_at(1) + 0x80);
	assert_int_equal(words[1] >> 32 & PERL_HAS_GLOB, PERL_HAS_GLOB);
	/* Its name is gone. */
	put(perl, sub_at(1), 8);
	unwind_text(perl);
	assert_int_equal((uint32_t)perl->world->trace.words[1], 0);
	assert_int_equal(frame_address(perl->world->trace.words[0]), sub_at(1));
	assert_int_equal(perl->world->trace.words[1] >> 32 & PERL_HAS_GLOB, 0);
}

/* A Perl without threads: variables are the interpreter, and a COP has a glob, whose name is "_<" and the file's. */
static void variables_may_be_the_interpreter(void **state)
{
	struct perl *perl = *state;
	struct perl_process *process = &perl->process;
	uint64_t glob = HEAP_START + 0x900, name = HEAP_START + 0x980, words[3];

	process->interpreter = (struct thread_local_path){ 0 };
	process->op = INTERPRETER + OP;
	process->cop = INTERPRETER + COP;
	process->stack = INTERPRETER + STACK;
	process->saved = INTERPRETER + SAVED;
	process->saved_count = INTERPRETER + SAVED_COUNT;
	process->run = INTERPRETER + RUN;
	process->has_file_globs = 1;
	world_put(perl->world, DATA_CELL, process, sizeof(*process));
	/* No thread has an interpreter of its own. */
	put(perl, THREAD, 0);
	for (uint32_t i = 0; i < 2; i++)
		put(perl, cop_at(i) + 48, glob);
	put(perl, glob, glob + 0x10);
	put(perl, glob + 0x10 + PERL_GLOB_NAME, name);
	memcpy(perl->heap + (name + 8 - HEAP_START), "_</srv/a.pl", 12);
	push(perl, SUB, 1, true, 1, 0);
	add(perl, "LmE");
	assert_string_equal(unwind_text(perl), "1MLCE");
	assert_int_equal(line_of(perl, 1), 1);
	memcpy(words, perl->world->trace.words, sizeof(words));
	assert_int_equal(frame_address(words[2]), name + PERL_GLOB_FILE);
	assert_int_not_equal((uint32_t)words[1], 0);
	/* The glob is gone: the sub still has its name. */
	put(perl, glob, 8);
	assert_string_equal(unwind_text(perl), "1MLCE");
	assert_int_equal(frame_address(perl->world->trace.words[2]), 0);
	assert_int_not_equal((uint32_t)perl->world->trace.words[1], 0);
}

static void an_eval_around_a_call_from_c_is_its_loop_s(void **state)
{
	struct perl *perl = *state;

	push(perl, EVAL | TRYING, 0, true, 1, 0);
	push(perl, EVAL | TRYING, 0, false, 2, 4);
	push(perl, SUB, 3, false, 2, 4);
	add(perl, "LsCLmE");
	assert_string_equal(unwind_text(perl), "3eLCCeMLCE");
}

static void files_and_texts_have_frames_and_try_has_none(void **state)
{
	struct perl *perl = *state;

	push(perl, EVAL, 0, true, 1, 0);
	push(perl, EVAL | IS_FAKE, 0, true, 2, 0);
	push(perl, EVAL | TEXT, 0, false, 3, 4);
	put(perl, context_at(0, 3) + 96, stack_address(10));
	add(perl, "LeCLmE");
	assert_string_equal(unwind_text(perl), "eLCCfMLCE");
	assert_int_equal(line_of(perl, 1), 3);
	/* It is that of another call. */
	put(perl, context_at(0, 3) + 96, stack_address(5000));
	assert_string_equal(unwind_text(perl), "e!LCCLCE");
}

static void a_loop_in_a_frame_for_exceptions_has_the_whole_level(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 1, false, 1, 4);
	push(perl, EVAL | TRYING, 0, true, 2, 4);
	push(perl, SUB, 2, true, 3, 4);
	add(perl, "LcCLsLmE");
	assert_string_equal(unwind_text(perl), "2e1LCCLCMLCE");
}

static void a_loop_that_is_left_has_no_context(void **state)
{
	struct perl *perl = *state;

	save_op(perl, 18, SOME_OP);
	put(perl, INTERPRETER + OP, 0);
	add(perl, "LsLmE");
	assert_string_equal(unwind_text(perl), "LCMLCE");
	/* It has the result, but has not stored it. */
	put(perl, INTERPRETER + OP, SOME_OP);
	perl->world->start.registers[0] = 0;
	assert_string_equal(unwind_text(perl), "LCMLCE");
	/* Contexts and loops do not fit. */
	perl->world->start.registers[0] = SOME_OP;
	assert_string_equal(unwind_text(perl), "!LCLCE");
}

static void a_sub_that_is_left_has_no_context(void **state)
{
	struct perl *perl = *state;

	push_stack(perl, OVERLOAD);
	put(perl, context_at(1, 0), SUB);
	put(perl, context_at(1, 0) + 16, cop_at(0));
	add(perl, "lLsLmE");
	assert_string_equal(unwind_text(perl), "CLCMLCE");
	/* On a stack with others it may be an earlier one. */
	push(perl, SUB, 1, false, 1, 4);
	put(perl, context_at(1, 1), SUB);
	put(perl, context_at(1, 1) + 16, cop_at(0));
	assert_string_equal(unwind_text(perl), "C!LCLCE");
}

static void a_sub_that_is_entered_is_left_out(void **state)
{
	struct perl *perl = *state;

	/* The op is that of the C code, below the loop. */
	push(perl, SUB, 1, true, 1, 0);
	push(perl, SUB, 2, false, 0, 20);
	save_op(perl, 18, SOME_OP);
	put(perl, INTERPRETER + OP, stack_address(6));
	add(perl, "CsLmE");
	assert_string_equal(unwind_text(perl), "CC1MLCE");
	/* It is not pushed yet. */
	perl->context_count--;
	put(perl, stack_at(0) + 32, 1);
	put(perl, stack_at(0) + 40, (uint64_t)MAIN << 32 | 1);
	assert_string_equal(unwind_text(perl), "CC1MLCE");
}

static void a_context_that_is_half_written_is_left_out(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 1, true, 1, 0);
	push(perl, SUB, 2, false, 7, 3);
	put(perl, stack_at(0) + 40, (uint64_t)MAIN << 32 | 1);
	add(perl, "nLmE");
	assert_string_equal(unwind_text(perl), "C1MLCE");
	assert_int_equal(line_of(perl, 0), 0);
	/* Position and kind are there. */
	push(perl, SUB, 2, false, 0, 20);
	perl->context_count--;
	put(perl, stack_at(0) + 32, 2);
	memcpy(perl->heap + (context_at(0, 2) - HEAP_START),
	       perl->heap + (context_at(0, 3) - HEAP_START), CONTEXT_BYTES);
	put(perl, stack_at(0) + 40, (uint64_t)MAIN << 32 | 2);
	assert_string_equal(unwind_text(perl), "C1MLCE");
}

static void the_op_shows_that_a_context_is_being_pushed(void **state)
{
	static const uint32_t ops[] = { ENTER, ENTERITER, ENTERLOOP, ENTERTRY, SUBST };
	struct perl *perl = *state;

	/* Its kind is that of an earlier one. */
	push(perl, SUB, 1, true, 1, 0);
	push(perl, SUB, 2, false, 7, 3);
	put(perl, stack_at(0) + 40, (uint64_t)MAIN << 32 | 1);
	add(perl, "CLmE");
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		/* Flags are in the same word. */
		put(perl, SOME_OP + PERL_OP_NUMBER, 0xabcd0200 | ops[i]);
		assert_string_equal(unwind_text(perl), "C1MLCE");
		assert_int_equal(line_of(perl, 0), 0);
	}
}

static void a_loop_that_is_being_pushed_is_no_block(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 1, true, 1, 0);
	push(perl, NOTHING, 0, false, 0, 3);
	add(perl, "CLmE");
	assert_string_equal(unwind_text(perl), "C1MLCE");
	assert_int_equal(line_of(perl, 0), 0);
	/* In the block of a sort. */
	push_stack(perl, SORT);
	push(perl, NOTHING, 0, false, 2, 10);
	push(perl, NOTHING, 0, false, 3, 12);
	perl->has_leaf = false;
	perl->next_word = 0;
	add(perl, "CLCLmE");
	assert_string_equal(unwind_text(perl), "CLC1MLCE");
}

static void the_op_shows_that_an_eval_is_being_popped(void **state)
{
	static const uint32_t ops[] = { LEAVETRY, LEAVEEVAL, RETURN };
	struct perl *perl = *state;

	push(perl, SUB, 1, true, 1, 0);
	push(perl, EVAL | TRYING, 0, true, 7, 3);
	put(perl, stack_at(0) + 40, (uint64_t)MAIN << 32 | 1);
	add(perl, "CLmE");
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		put(perl, SOME_OP + PERL_OP_NUMBER, ops[i]);
		assert_string_equal(unwind_text(perl), "Ce1MLCE");
		assert_int_equal(line_of(perl, 1), 7);
	}
	/* A sub may be an earlier one. */
	put(perl, context_at(0, 2), 3ULL << 32 | SUB);
	assert_string_equal(unwind_text(perl), "C!LCE");
}

static void what_else_is_half_written_is_an_error(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 1, true, 1, 0);
	push(perl, EVAL | TRYING, 0, true, 7, 3);
	put(perl, stack_at(0) + 40, (uint64_t)MAIN << 32 | 1);
	add(perl, "CLmE");
	assert_string_equal(unwind_text(perl), "C!LCE");
}

static void a_loop_with_the_op_of_its_caller_has_no_level(void **state)
{
	struct perl *perl = *state;

	/* A sub in C that C code calls, and that calls a sub of Perl. */
	call_in_loop(perl);
	push(perl, SUB, 1, true, 1, 0);
	push(perl, SUB, 2, false, 2, 10);
	save_op(perl, 8, stack_address(17));
	add(perl, "LsCLsLmE");
	assert_string_equal(unwind_text(perl), "2LCCLC1MLCE");
}

static void without_the_op_it_is_not_known(void **state)
{
	struct perl *perl = *state;

	call_in_loop(perl);
	push(perl, SUB, 1, false, 1, 4);
	push(perl, SUB, 2, false, 2, 10);
	add(perl, "LsCLsLmE");
	assert_string_equal(unwind_text(perl), "2LCC!LCLCE");
}

static void a_block_that_c_calls_ends_with_its_context(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 1, true, 1, 0);
	push_stack(perl, BLOCKS);
	push(perl, SUB | MULTICALL, 2, false, 2, 10);
	/* The last call of a block has no op to return to. */
	push(perl, SUB, 3, false, 3, 12);
	add(perl, "LCCLmE");
	assert_string_equal(unwind_text(perl), "32LCC1MLCE");
}

static void a_block_that_waits_is_left_out(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 1, true, 1, 0);
	push_stack(perl, BLOCKS);
	push(perl, SUB | MULTICALL, 2, false, 2, 10);
	save_op(perl, 10, SOME_OP);
	put(perl, INTERPRETER + OP, 0);
	add(perl, "CLmE");
	assert_string_equal(unwind_text(perl), "C1MLCE");
	assert_int_equal(line_of(perl, 0), 2);
	/* It has not been called yet. */
	put(perl, INTERPRETER + OP, SOME_OP);
	put(perl, INTERPRETER + COP, cop_at(2));
	assert_string_equal(unwind_text(perl), "C1MLCE");
	/* It runs. */
	put(perl, INTERPRETER + COP, cop_at(3));
	assert_string_equal(unwind_text(perl), "C2!LCE");
	/* Its scope is left. */
	put(perl, INTERPRETER + SAVED_COUNT, 10);
	assert_string_equal(unwind_text(perl), "C1MLCE");
	assert_int_equal(line_of(perl, 0), 2);
	/* It is popped. */
	put(perl, stack_at(1) + 40, (uint64_t)BLOCKS << 32 | UINT32_MAX);
	assert_string_equal(unwind_text(perl), "C1MLCE");
	assert_int_equal(line_of(perl, 0), 2);
	put(perl, INTERPRETER + SAVED_COUNT, 12);
	assert_string_equal(unwind_text(perl), "C!LCE");
	/* It may be an earlier one. */
	put(perl, INTERPRETER + SAVED_COUNT, 10);
	save_op(perl, 10, cop_at(1));
	assert_string_equal(unwind_text(perl), "C!LCE");
}

static void a_block_whose_scope_is_not_entered_is_left_out(void **state)
{
	struct perl *perl = *state;
	uint64_t context;

	push(perl, SUB, 1, true, 1, 0);
	push_stack(perl, BLOCKS);
	context = push(perl, SUB | MULTICALL, 2, false, 2, 20);
	put(perl, INTERPRETER + COP, cop_at(2));
	/* The savestack has something older there. */
	save_op(perl, 20, cop_at(1));
	add(perl, "CLmE");
	assert_string_equal(unwind_text(perl), "C1MLCE");
	assert_int_equal(line_of(perl, 0), 2);
	/* The scope of a pattern may be left while its code runs. */
	put(perl, context, 20ULL << 32 | SUB | MULTICALL | TRYING);
	assert_string_equal(unwind_text(perl), "C2!LCE");
}

static void the_block_of_a_sort_has_no_frame(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 1, true, 1, 0);
	push_stack(perl, SORT);
	push(perl, NOTHING, 0, false, 2, 10);
	add(perl, "LCLmE");
	assert_string_equal(unwind_text(perl), "LC1MLCE");
	/* The position is in the block. */
	assert_int_equal(line_of(perl, 0), 0);
}

static void a_deferred_block_and_code_of_a_pattern_have_no_frame(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 1, true, 1, 0);
	push(perl, DEFER, 0, false, 2, 10);
	add(perl, "LCLmE");
	assert_string_equal(unwind_text(perl), "LC1MLCE");
	push_stack(perl, BLOCKS);
	push(perl, SUB | MULTICALL | IS_FAKE, 1, false, 3, 12);
	perl->has_leaf = false;
	perl->next_word = 0;
	add(perl, "LCLCLmE");
	assert_string_equal(unwind_text(perl), "LCLC1MLCE");
}

static void a_sub_that_is_replaced_by_one_in_c_may_be_missing(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 1, false, 1, 0);
	add(perl, "CgLsLmE");
	assert_string_equal(unwind_text(perl), "CC!LCLCE");
}

static void contexts_may_be_missing_while_an_exception_leaves_them(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 1, true, 1, 0);
	push(perl, SUB, 2, false, 2, 4);
	add(perl, "CdCLsLmE");
	assert_string_equal(unwind_text(perl), "CCC!LCLCE");
}

static void the_main_program_keeps_its_own(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 1, true, 1, 0);
	add(perl, "CdCLmE");
	assert_string_equal(unwind_text(perl), "CCC1MLCE");
}

static void before_its_first_op_a_sub_is_at_its_first_cop(void **state)
{
	struct perl *perl = *state;

	push(perl, SUB, 5, true, 0, 0);
	put(perl, INTERPRETER + OP, cop_at(5));
	add(perl, "CLmE");
	assert_string_equal(unwind_text(perl), "C5MLCE");
	assert_int_equal(line_of(perl, 0), 5);
	assert_int_equal(line_of(perl, 1), 0);
	/* That is no COP. */
	put(perl, cop_at(5) + PERL_OP_FUNCTION, 1);
	unwind_text(perl);
	assert_int_equal(line_of(perl, 0), 0);
}

static void what_cannot_be_read_is_missing(void **state)
{
	struct perl *perl = *state;

	add(perl, "LmE");
	put(perl, stack_at(0) + 8, HEAP_START - 4096);
	assert_string_equal(unwind_text(perl), "!LCE");
	assert_int_equal(perl->world->trace.interpreter_error, UNWIND_INTERPRETER_FRAMES);
	put(perl, INTERPRETER + RUN, 1);
	assert_string_equal(unwind_text(perl), "!LCE");
	put(perl, THREAD, 0);
	assert_string_equal(unwind_text(perl), "!LCE");
	assert_int_equal(perl->world->trace.interpreter_error, UNWIND_INTERPRETER_THREAD);
}

static void a_list_without_an_end_ends(void **state)
{
	struct perl *perl = *state;

	push_stack(perl, OVERLOAD);
	push(perl, SUB, 1, true, 1, 0);
	put(perl, stack_at(1) + 16, stack_at(1));
	add(perl, "CLmE");
	unwind_text(perl);
	assert_int_equal(perl->world->trace.error, UNWIND_TRUNCATED);
	/* Empty stacks have no frames. */
	put(perl, stack_at(1) + 32, UINT32_MAX);
	assert_string_equal(unwind_text(perl), "C!LCE");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_loop_has_contexts_up_to_the_first_that_c_called),
		TEST(fingerprints_cover_sub_and_file),
		TEST(variables_may_be_the_interpreter),
		TEST(an_eval_around_a_call_from_c_is_its_loop_s),
		TEST(files_and_texts_have_frames_and_try_has_none),
		TEST(a_loop_in_a_frame_for_exceptions_has_the_whole_level),
		TEST(a_loop_that_is_left_has_no_context),
		TEST(a_sub_that_is_left_has_no_context),
		TEST(a_sub_that_is_entered_is_left_out),
		TEST(a_context_that_is_half_written_is_left_out),
		TEST(the_op_shows_that_a_context_is_being_pushed),
		TEST(a_loop_that_is_being_pushed_is_no_block),
		TEST(the_op_shows_that_an_eval_is_being_popped),
		TEST(what_else_is_half_written_is_an_error),
		TEST(a_loop_with_the_op_of_its_caller_has_no_level),
		TEST(without_the_op_it_is_not_known),
		TEST(a_block_that_c_calls_ends_with_its_context),
		TEST(a_block_that_waits_is_left_out),
		TEST(a_block_whose_scope_is_not_entered_is_left_out),
		TEST(the_block_of_a_sort_has_no_frame),
		TEST(a_deferred_block_and_code_of_a_pattern_have_no_frame),
		TEST(a_sub_that_is_replaced_by_one_in_c_may_be_missing),
		TEST(contexts_may_be_missing_while_an_exception_leaves_them),
		TEST(the_main_program_keeps_its_own),
		TEST(before_its_first_op_a_sub_is_at_its_first_cop),
		TEST(what_cannot_be_read_is_missing),
		TEST(a_list_without_an_end_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
