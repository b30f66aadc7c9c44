// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Steps out of code that YJIT has generated, and out of a fiber without a loop: a thread with control frames on a heap, laid by
 * hand. Traces become text, leaf
 * first: digits are sequences by their number, ~ follows those whose line is approximate, m is a method in C, C is native
 * code, K the function that executes instructions, L the loop, E the thread's entry, J generated code, ! an error.
 */
#include <stdio.h>

#include "ebpf/abi/ruby.h"
#include "ebpf/host/tests/unwind_fixture.h"

enum {
	RULE_END,
	RULE_C,
	RULE_OF_LOOP,
	RULE_OF_CORE,
	RULE_COUNT,
	FRAME_WORDS = 4,

	RUNTIME_CELL = 2000,
	DATA_CELL = 2010,
	HEAP_BYTES = 0x8000,
	CODE_BYTES = 4096,
	CONTROL_FRAMES_MAX = 8,
	CONTROL_FRAME_BYTES = 64,
	/** Offsets in an execution context. */
	CONTEXT_FRAME = 16,
	CONTEXT_TAG = 24,
	CONTEXT_STACK_START = 32,
	CONTEXT_STACK_BYTES = 40,
	CONTEXT_FIBER = 48,
	/** Offsets in a fiber. */
	FIBER_RESUMER = 0,
	FIBER_STACK_POINTER = 8,
	FIBER_CONTEXT = 16,
	/** Word of the stack of the fiber that has resumed another: registers, the return address, its frames. */
	RESUMER_SP = 1000,
	RESUMER_RETURN = RESUMER_SP + 6,
	/** Words of a body. */
	BODY_INSTRUCTIONS = 1,
	BODY_FLAGS = 2,
	BODY_OPTIONAL_COUNT = 3,
	BODY_OPTIONAL_TABLE = 4,
	BODY_LABEL = 5,
	BODY_PATH = 6,
	/** The kind of a method's frame. */
	KIND_METHOD = 0x11110001,
	/** Words of the stack: the frame of generated code, the return address into its caller. */
	CODE_SP = FRAME_WORDS,
	CODE_RETURN = CODE_SP + 3,
};

#define HEAP_START 0x7f0000000000ULL
#define THREAD HEAP_START
#define CONTEXT (HEAP_START + 0x100)
#define FIBER (HEAP_START + 0x200)
#define RESUMER (HEAP_START + 0x300)
#define CONTROL_FRAMES (HEAP_START + 0x1000)
#define CODE_START 0x7f1200000000ULL
#define METHOD (HEAP_START + 0x6000)

struct ruby {
	struct world *world;
	struct ruby_process process;
	uint8_t heap[HEAP_BYTES];
	uint8_t code[CODE_BYTES];
	uint8_t text[CODE_BYTES];
	uint32_t count;
	char traced[4 * TRACE_MAX_WORDS];
};

static void put(struct ruby *ruby, uint64_t address, uint64_t value)
{
	assert_true(address - HEAP_START <= HEAP_BYTES - 8);
	memcpy(ruby->heap + (address - HEAP_START), &value, sizeof(value));
}

static uint64_t sequence_at(uint32_t number)
{
	return HEAP_START + 0x2000 + number * 0x200ULL;
}

static uint64_t instructions_at(uint32_t number)
{
	return sequence_at(number) + 0x100;
}

static void put_sequence(struct ruby *ruby, uint32_t number)
{
	uint64_t body = sequence_at(number) + 0x40;

	put(ruby, sequence_at(number), RUBY_IMEMO_SEQUENCE);
	put(ruby, sequence_at(number) + 16, body);
	put(ruby, body + 8 * BODY_INSTRUCTIONS, instructions_at(number));
	put(ruby, body + 8 * BODY_LABEL, HEAP_START + 0x7000);
	put(ruby, body + 8 * BODY_PATH, HEAP_START + 0x7000);
}

/* Adds a control frame, callers first; the last one is the innermost. */
static uint64_t push(struct ruby *ruby, uint64_t sequence, uint64_t pc, uint64_t flags)
{
	uint32_t index = CONTROL_FRAMES_MAX - ++ruby->count;
	uint64_t frame = CONTROL_FRAMES + index * (uint64_t)CONTROL_FRAME_BYTES;
	uint64_t environment = HEAP_START + 0x5000 + index * 0x40ULL;

	put(ruby, frame, pc);
	put(ruby, frame + 16, sequence);
	put(ruby, frame + 32, environment);
	put(ruby, environment - 16, sequence ? 0 : METHOD);
	put(ruby, environment, flags);
	put(ruby, CONTEXT + CONTEXT_FRAME, frame);
	return frame;
}

static struct ruby_code_range range_of(uint32_t rule)
{
	return (struct ruby_code_range){ TEXT_ADDRESS + rule * 16, TEXT_ADDRESS + rule * 16 + 16 };
}

static void put_runtime(struct ruby *ruby)
{
	const struct runtime_row row = { EXECUTABLE_ID, runtime_row_language(FRAME_RUBY),
					 DATA_CELL };

	ruby->process = (struct ruby_process){
		.context = { .depth = 1 },
		.bias = TEXT_START - TEXT_ADDRESS,
		.loop = range_of(RULE_OF_LOOP),
		.core = range_of(RULE_OF_CORE),
		.context_frame = CONTEXT_FRAME,
		.context_tag = CONTEXT_TAG,
		.context_stack_start = CONTEXT_STACK_START,
		.context_stack_bytes = CONTEXT_STACK_BYTES,
		.frame_bytes = CONTROL_FRAME_BYTES,
		.sequence_body = 16,
		.body_instructions = BODY_INSTRUCTIONS,
		.body_flags = BODY_FLAGS,
		.body_optional_count = BODY_OPTIONAL_COUNT,
		.body_optional_table = BODY_OPTIONAL_TABLE,
		.body_label = BODY_LABEL,
		.body_path = BODY_PATH,
	};
	world_put(ruby->world, RUNTIME_CELL, &row, sizeof(row));
	world_put(ruby->world, DATA_CELL, &ruby->process, sizeof(ruby->process));
	ruby->world->start.runtime_cell = RUNTIME_CELL;
	ruby->world->start.thread_pointer = THREAD;
}

/*
 * Lays native frames: generated code that @caller has called, which is the function that executes instructions or the loop
 * itself; the return address is in the word @word. The control frames are those of sequence 2, which has begun the loop, and of 1.
 */
static void lay_at(struct ruby *ruby, uint32_t caller, uint32_t word)
{
	ruby->world->stack[word] = code_at(caller);
	word += FRAME_WORDS;
	if (caller == RULE_OF_CORE) {
		ruby->world->stack[word] = code_at(RULE_OF_LOOP);
		word += FRAME_WORDS;
	}
	put(ruby, CONTEXT + CONTEXT_TAG, stack_address(word - 1));
	ruby->world->stack[word] = code_at(RULE_C);
	ruby->world->stack[word + FRAME_WORDS] = code_at(RULE_END);
	world_set_registers(ruby->world, CODE_START + 0x80, stack_address(CODE_SP), 0x1234);
}

/* The same, with a frame that has nothing but the saved registers. */
static void lay(struct ruby *ruby, uint32_t caller)
{
	lay_at(ruby, caller, CODE_RETURN);
}

static int setup(void **state)
{
	static const struct unwind_rule rules[RULE_COUNT] = {
		[RULE_END] = { .cfa = CFA_END },
		[RULE_C] = CALL_RULE(8 * FRAME_WORDS),
		[RULE_OF_LOOP] = CALL_RULE(8 * FRAME_WORDS, .flags = RULE_LOOP),
		[RULE_OF_CORE] = CALL_RULE(8 * FRAME_WORDS),
	};
	const struct mapping_row mappings[] = {
		{ TEXT_START, TEXT_START + (1 << 20), TEXT_START - TEXT_ADDRESS, EXECUTABLE_ID },
		{ CODE_START, CODE_START + CODE_BYTES, 0, EXECUTABLE_ID_ANONYMOUS },
	};
	struct ruby *ruby = calloc(1, sizeof(*ruby));
	void *world;

	assert_int_equal(world_setup(&world), 0);
	ruby->world = world;
	world_publish_rules(ruby->world, rules, RULE_COUNT);
	world_set_mappings(ruby->world, 10, mappings, 2);
	ruby->world->user[1] = (struct region){ HEAP_START, sizeof(ruby->heap), ruby->heap };
	ruby->world->user[2] = (struct region){ CODE_START, CODE_BYTES, ruby->code };
	ruby->world->user[3] = (struct region){ TEXT_START, CODE_BYTES, ruby->text };
	for (uint32_t i = 0; i < RULE_COUNT; i++)
		memcpy(ruby->text + (code_at(i) - TEXT_START) - 2, "\xff\xd0", 2);
	put_runtime(ruby);
	put(ruby, THREAD, CONTEXT);
	put(ruby, CONTEXT, CONTROL_FRAMES);
	put(ruby, CONTEXT + 8, CONTROL_FRAMES_MAX * CONTROL_FRAME_BYTES / 8);
	put(ruby, CONTEXT + CONTEXT_STACK_START, stack_address(STACK_WORDS));
	put(ruby, CONTEXT + CONTEXT_STACK_BYTES, 8 * STACK_WORDS);
	put(ruby, METHOD, RUBY_IMEMO_METHOD);
	put_sequence(ruby, 1);
	put_sequence(ruby, 2);
	put_sequence(ruby, 3);
	push(ruby, sequence_at(2), instructions_at(2) + 16, KIND_METHOD | RUBY_FRAME_FINISH);
	push(ruby, sequence_at(1), instructions_at(1) + 24, KIND_METHOD);
	lay(ruby, RULE_OF_CORE);
	*state = ruby;
	return 0;
}

static int teardown(void **state)
{
	struct ruby *ruby = *state;
	void *world = ruby->world;

	world_teardown(&world);
	free(ruby);
	return 0;
}

static const char *text_of(const uint64_t *word)
{
	static const char *const natives[RULE_COUNT] = { "E", "C", "L", "K" };
	static char sequence[3];
	uint64_t address = frame_address(*word);
	uint32_t position = word[1] >> 32;

	switch (frame_kind(*word)) {
	case FRAME_RUBY:
		if (position == RUBY_METHOD_ENTRY)
			return "m";
		sequence[0] = (char)('0' + (address - sequence_at(0)) / 0x200);
		sequence[1] = position & RUBY_IS_APPROXIMATE ? '~' : '\0';
		return sequence;
	case FRAME_ERROR:
		return "!";
	default:
		return word[1] == EXECUTABLE_ID ? natives[(address - TEXT_ADDRESS) / 16] : "J";
	}
}

static const char *unwind_text(struct ruby *ruby)
{
	const struct emulated_trace *trace = &ruby->world->trace;

	world_unwind(ruby->world);
	ruby->traced[0] = '\0';
	for (uint32_t i = 0; i < trace->word_count; i += frame_word_count(trace->words[i]))
		strcat(ruby->traced, text_of(&trace->words[i]));
	return ruby->traced;
}

static void generated_code_is_left_to_its_caller(void **state)
{
	struct ruby *ruby = *state;

	assert_string_equal(unwind_text(ruby), "K1~2LCE");
	assert_int_equal(ruby->world->trace.error, UNWIND_OK);
	lay(ruby, RULE_OF_LOOP);
	assert_string_equal(unwind_text(ruby), "1~2LCE");
}

static void the_first_and_last_instructions_have_a_smaller_frame(void **state)
{
	struct ruby *ruby = *state;

	for (uint32_t word = CODE_SP; word <= CODE_RETURN; word++) {
		ruby->world->start.registers[7] = stack_address(word);
		assert_string_equal(unwind_text(ruby), "K1~2LCE");
	}
}

static void a_c_function_that_generated_code_has_called_is_left_before(void **state)
{
	struct ruby *ruby = *state;

	world_set_registers(ruby->world, code_at(RULE_C), stack_address(0), 0x1234);
	ruby->world->stack[FRAME_WORDS - 1] = CODE_START + 0x40;
	assert_string_equal(unwind_text(ruby), "CK1~2LCE");
	/* The pc is stored before a method in C is called. */
	push(ruby, 0, 0, RUBY_FRAME_KIND_C | RUBY_FRAME_IS_C);
	assert_string_equal(unwind_text(ruby), "CKm12LCE");
}

static void generated_code_may_have_pushed_words_before_a_call(void **state)
{
	/* pop %rcx, twice; mov %rax,%rcx and six pops */
	static const uint8_t two[] = { 0x59, 0x59 };
	static const uint8_t six[] = { 0x48, 0x89, 0xc1, 0x58, 0x41, 0x5a,
				       0x41, 0x59, 0x41, 0x58, 0x5f, 0x5e };
	struct ruby *ruby = *state;
	uint64_t *stack = ruby->world->stack;

	for (uint32_t pushed = 0; pushed <= 6; pushed++) {
		memset(stack, 0, 8 * STACK_WORDS);
		lay_at(ruby, RULE_OF_CORE, CODE_RETURN + pushed);
		world_set_registers(ruby->world, code_at(RULE_C), stack_address(0), 0x1234);
		stack[FRAME_WORDS - 1] = CODE_START + 0x40;
		memset(ruby->code + 0x40, 0x90, sizeof(six));
		if (pushed == 2)
			memcpy(ruby->code + 0x40, two, sizeof(two));
		if (pushed == 6)
			memcpy(ruby->code + 0x40, six, sizeof(six));
		unwind_text(ruby);
		if (pushed % 6 == 0 || pushed == 2)
			assert_string_equal(ruby->traced, "CK1~2LCE");
		else
			assert_int_equal(ruby->traced[1], 'J');
	}
}

static void a_control_frame_may_have_no_pc_yet(void **state)
{
	struct ruby *ruby = *state;
	uint64_t frame = push(ruby, sequence_at(2), 0, KIND_METHOD);

	assert_string_equal(unwind_text(ruby), "K2~12LCE");
	/* One of C code has neither. */
	put(ruby, frame + 32, HEAP_START + 0x5200);
	put(ruby, HEAP_START + 0x5200, RUBY_FRAME_IS_C);
	assert_string_equal(unwind_text(ruby), "K12LCE");
}

static void code_that_has_popped_the_last_control_frame_has_none(void **state)
{
	/* mov to %rax: from -40(%rbx), from -400(%rbx), from %rsi; then jmp *-8(%r13) */
	static const uint8_t codes[][12] = {
		{ 0x48, 0x8b, 0x43, 0xd8, 0x41, 0xff, 0x65, 0xf8 },
		{ 0x48, 0x8b, 0x83, 0x70, 0xfe, 0xff, 0xff, 0x41, 0xff, 0x65, 0xf8 },
		{ 0x48, 0x89, 0xf0, 0x41, 0xff, 0x65, 0xf8 },
		{ 0x41, 0xff, 0x65, 0xf8 },
		{ 0x90, 0x41, 0xff, 0x65, 0xf8 },
	};
	struct ruby *ruby = *state;
	uint64_t popped = push(ruby, sequence_at(3), 0, KIND_METHOD | RUBY_FRAME_FINISH);

	put(ruby, popped + CONTROL_FRAME_BYTES - 8, CODE_START + 0x200);
	put(ruby, CONTEXT + CONTEXT_FRAME, popped + CONTROL_FRAME_BYTES);
	lay(ruby, RULE_OF_LOOP);
	for (uint32_t i = 0; i < 5; i++) {
		memcpy(ruby->code + 0x80, codes[i], sizeof(codes[i]));
		assert_string_equal(unwind_text(ruby), i < 4 ? "LCE" : "1~2LCE");
	}
	/* In the code to which the popped frame returns. */
	world_set_registers(ruby->world, CODE_START + 0x208, stack_address(CODE_SP), 0x1234);
	assert_string_equal(unwind_text(ruby), "LCE");
	put(ruby, CONTEXT + CONTEXT_FRAME, popped);
	put(ruby, popped - 8, 0);
	assert_string_equal(unwind_text(ruby), "3~LCE");
}

static void the_loop_behind_code_that_has_popped_the_last_control_frame_has_none(void **state)
{
	struct ruby *ruby = *state;
	uint64_t popped = push(ruby, sequence_at(3), 0, KIND_METHOD | RUBY_FRAME_FINISH);
	uint32_t *address = &ruby->process.code_returns[0].start;

	address[0] = TEXT_ADDRESS + RULE_OF_LOOP * 16 + 8;
	address[1] = address[0] + 2;
	world_put(ruby->world, DATA_CELL, &ruby->process, sizeof(ruby->process));
	put(ruby, CONTEXT + CONTEXT_FRAME, popped + CONTROL_FRAME_BYTES);
	lay(ruby, RULE_OF_LOOP);
	world_set_registers(ruby->world, code_at(RULE_OF_LOOP), stack_address(CODE_RETURN + 1), 0);
	assert_string_equal(unwind_text(ruby), "LCE");
	ruby->world->start.registers[0] = RUBY_UNDEFINED;
	assert_string_equal(unwind_text(ruby), "12LCE");
}

static void code_that_the_loop_has_not_called_is_declined(void **state)
{
	struct ruby *ruby = *state;

	ruby->world->stack[CODE_RETURN] = code_at(RULE_C);
	unwind_text(ruby);
	assert_int_equal(ruby->traced[0], 'J');
	/* No call is in front of the return address. */
	lay(ruby, RULE_OF_CORE);
	memset(ruby->text, 0x90, sizeof(ruby->text));
	unwind_text(ruby);
	assert_int_equal(ruby->traced[0], 'J');
}

/* Lays a fiber that runs a method in C, on a stack without a loop; what has resumed it waits in a method in C. */
static void lay_fiber(struct ruby *ruby)
{
	uint64_t waiting = push(ruby, 0, 0, RUBY_FRAME_KIND_C | RUBY_FRAME_IS_C);
	uint64_t frame = CONTROL_FRAMES + 0x800, environment = HEAP_START + 0x5300;
	uint64_t *stack = ruby->world->stack;

	ruby->process.context_fiber = CONTEXT_FIBER;
	ruby->process.fiber_resumer = FIBER_RESUMER;
	ruby->process.fiber_stack_pointer = FIBER_STACK_POINTER;
	ruby->process.fiber_context = FIBER_CONTEXT;
	world_put(ruby->world, DATA_CELL, &ruby->process, sizeof(ruby->process));
	put(ruby, RESUMER + FIBER_STACK_POINTER, stack_address(RESUMER_SP));
	put(ruby, RESUMER + FIBER_CONTEXT, CONTROL_FRAMES);
	put(ruby, RESUMER + FIBER_CONTEXT + 8, CONTROL_FRAMES_MAX * CONTROL_FRAME_BYTES / 8);
	put(ruby, RESUMER + FIBER_CONTEXT + CONTEXT_FRAME, waiting);
	put(ruby, RESUMER + FIBER_CONTEXT + CONTEXT_STACK_START, stack_address(STACK_WORDS));
	put(ruby, RESUMER + FIBER_CONTEXT + CONTEXT_STACK_BYTES, 8 * STACK_WORDS);
	put(ruby, FIBER + FIBER_RESUMER, RESUMER);
	put(ruby, CONTEXT + CONTEXT_FIBER, FIBER);
	put(ruby, CONTEXT, frame);
	put(ruby, CONTEXT + 8, CONTROL_FRAME_BYTES / 8);
	put(ruby, CONTEXT + CONTEXT_FRAME, frame);
	put(ruby, CONTEXT + CONTEXT_STACK_START, stack_address(RESUMER_SP / 2));
	put(ruby, CONTEXT + CONTEXT_STACK_BYTES, 8 * RESUMER_SP / 2);
	put(ruby, frame + 32, environment);
	put(ruby, environment - 16, METHOD);
	put(ruby, environment, RUBY_FRAME_KIND_C | RUBY_FRAME_IS_C);
	stack[FRAME_WORDS - 1] = 0;
	stack[RESUMER_RETURN] = code_at(RULE_OF_CORE);
	stack[RESUMER_RETURN + FRAME_WORDS] = code_at(RULE_OF_LOOP);
	stack[RESUMER_RETURN + 2 * FRAME_WORDS] = code_at(RULE_C);
	stack[RESUMER_RETURN + 3 * FRAME_WORDS] = code_at(RULE_END);
	world_set_registers(ruby->world, code_at(RULE_C), stack_address(0), 0);
}

static void a_fiber_without_a_loop_is_left_to_the_one_that_has_resumed_it(void **state)
{
	struct ruby *ruby = *state;
	uint64_t pending;

	lay_fiber(ruby);
	assert_string_equal(unwind_text(ruby), "CmKm12LCE");
	assert_int_equal(ruby->world->trace.error, UNWIND_OK);
	/* A block that the loop will run. */
	pending = CONTROL_FRAMES + 0x800 - CONTROL_FRAME_BYTES;
	put(ruby, pending, instructions_at(3));
	put(ruby, pending + 16, sequence_at(3));
	put(ruby, pending + 32, HEAP_START + 0x5400);
	put(ruby, HEAP_START + 0x5400, KIND_METHOD | RUBY_FRAME_FINISH);
	put(ruby, CONTEXT, pending);
	put(ruby, CONTEXT + 8, 2 * CONTROL_FRAME_BYTES / 8);
	put(ruby, CONTEXT + CONTEXT_FRAME, pending);
	assert_string_equal(unwind_text(ruby), "CmKm12LCE");
	/* It has not been resumed, or is about to yield. */
	put(ruby, FIBER + FIBER_RESUMER, 0);
	assert_string_equal(unwind_text(ruby), "Cm");
}

static void a_stack_that_is_no_fiber_s_ends_the_unwind(void **state)
{
	struct ruby *ruby = *state;

	lay_fiber(ruby);
	put(ruby, CONTEXT + CONTEXT_STACK_BYTES, 8);
	assert_string_equal(unwind_text(ruby), "C");
	assert_int_equal(ruby->world->trace.error, UNWIND_OK);
	/* Fibers of this build are not known. */
	lay_fiber(ruby);
	ruby->process.fiber_stack_pointer = 0;
	world_put(ruby->world, DATA_CELL, &ruby->process, sizeof(ruby->process));
	assert_string_equal(unwind_text(ruby), "C");
	/* The thread has no context. */
	lay_fiber(ruby);
	put(ruby, THREAD, 0);
	assert_string_equal(unwind_text(ruby), "C");
	assert_int_equal(ruby->world->trace.interpreter_error, UNWIND_OK);
}

#define ruby_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ruby_test(generated_code_is_left_to_its_caller),
		ruby_test(the_first_and_last_instructions_have_a_smaller_frame),
		ruby_test(a_c_function_that_generated_code_has_called_is_left_before),
		ruby_test(generated_code_may_have_pushed_words_before_a_call),
		ruby_test(a_control_frame_may_have_no_pc_yet),
		ruby_test(code_that_has_popped_the_last_control_frame_has_none),
		ruby_test(the_loop_behind_code_that_has_popped_the_last_control_frame_has_none),
		ruby_test(code_that_the_loop_has_not_called_is_declined),
		ruby_test(a_fiber_without_a_loop_is_left_to_the_one_that_has_resumed_it),
		ruby_test(a_stack_that_is_no_fiber_s_ends_the_unwind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
