/* SPDX-License-Identifier: Apache-2.0 */
/* A function of 8.4 and code like that of the JIT, which are made here: the lines of addresses in the code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ebpf/abi/frame.h"
#include "ebpf/abi/php.h"
#include "interpreters/php/php_jit.h"

enum {
	BASE = 0x100000,
	FUNCTION = BASE,
	FILE_NAME = BASE + 0x400,
	OPCODES = BASE + 0x1000,
	TABLE = BASE + 0x2000,
	EXITS = BASE + 0x3000,
	/* zend_jit_trace_exit(), and its variable. */
	USING = BASE + 0x4000,
	VARIABLE = BASE + 0x4800,
	/* The code that leaves a trace, and a group of 3 exits. */
	LEAVING = BASE + 0x5000,
	GROUP = BASE + 0x5800,
	CODE = BASE + 0x6000,
	COLD = BASE + 0x7000,
	BYTES = 0x9000,
	TRACE_BYTES = 104,
	EXIT_INFO_BYTES = 48,
	EXIT_COUNT = 8,
	FALLBACK = 99,
};

/* The instructions: a loop from 3 to 7. */
enum { IN_BODY = 3, IN_BODY_TOO = 4, AT_CALL = 5, HEAD = 6, JUMP = 7, BEHIND = 8, COUNT = 9 };

struct fake {
	struct remote_memory memory;
	uint8_t bytes[BYTES];
	/** Where the next code goes. */
	uint64_t next;
	struct php_jit jit;
	uint32_t reads;
};

static void put_bytes(struct fake *fake, uint64_t address, const void *bytes, size_t size)
{
	memcpy(fake->bytes + (address - BASE), bytes, size);
}

static void put(struct fake *fake, uint64_t address, uint64_t word)
{
	put_bytes(fake, address, &word, sizeof(word));
}

static void put32(struct fake *fake, uint64_t address, uint32_t word)
{
	put_bytes(fake, address, &word, sizeof(word));
}

static int read_fake(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct fake *fake = (struct fake *)memory;

	fake->reads++;
	if (address < BASE || address - BASE >= BYTES || bytes > BYTES - (address - BASE))
		return -EFAULT;
	memcpy(buffer, fake->bytes + (address - BASE), bytes);
	return 0;
}

static uint64_t opline(int index)
{
	return OPCODES + (uint64_t)index * PHP_OPCODE_BYTES;
}

static void put_opcode(struct fake *fake, int index, uint8_t opcode, uint32_t line)
{
	put32(fake, opline(index) + PHP_OPCODE_LINE, line);
	fake->bytes[opline(index) + PHP_OPCODE_LINE + 4 - BASE] = opcode;
}

static void put_function(struct fake *fake)
{
	static const struct {
		uint8_t opcode;
		uint32_t line;
	} code[COUNT] = { { 63, 1 }, { 22, 2 }, { 42, 3 }, { 1, 4 }, { 3, 4 },
			  { 8, 5 },  { 20, 3 }, { 44, 3 }, { 62, 6 } };

	for (int i = 0; i < COUNT; i++)
		put_opcode(fake, i, code[i].opcode, code[i].line);
	put32(fake, opline(2) + 8, (HEAD - 2) * PHP_OPCODE_BYTES);
	put32(fake, opline(JUMP) + 12, (uint32_t)((IN_BODY - JUMP) * PHP_OPCODE_BYTES));
	put32(fake, FUNCTION + 96, COUNT);
	put(fake, FUNCTION + 104, OPCODES);
	put(fake, FUNCTION + 168, FILE_NAME);
}

/* Appends code; returns the address behind it. */
static uint64_t emit(struct fake *fake, const char *bytes, size_t size)
{
	put_bytes(fake, fake->next, bytes, size);
	fake->next += size;
	return fake->next;
}

/* An opcode, and the distance to @target. */
static uint64_t emit_to(struct fake *fake, const char *bytes, size_t size, uint64_t target)
{
	emit(fake, bytes, size);
	put32(fake, fake->next, (uint32_t)(target - (fake->next + 4)));
	fake->next += 4;
	return fake->next;
}

/* jo; add %rcx,%rax; jmp; call; lea instruction(%rip),%rax and mov %rax,(%r14) */
static uint64_t branch(struct fake *fake, uint64_t target)
{
	return emit_to(fake, "\x0f\x80", 2, target);
}

static uint64_t work(struct fake *fake)
{
	return emit(fake, "\x48\x01\xc8", 3) - 3;
}

static uint64_t jump(struct fake *fake, uint64_t target)
{
	return emit_to(fake, "\xe9", 1, target);
}

static uint64_t call(struct fake *fake)
{
	return emit_to(fake, "\xe8", 1, USING);
}

static void store(struct fake *fake, uint64_t instruction)
{
	emit_to(fake, "\x48\x8d\x05", 3, instruction);
	emit(fake, "\x49\x89\x06", 3);
}

/* The code of an exit. */
static uint64_t exit_at(int number)
{
	return GROUP + 4 * (uint64_t)number;
}

/* A group of exits, and what it leads to. */
static void put_exits(struct fake *fake)
{
	uint64_t constant = USING;

	fake->next = GROUP;
	for (int i = 0; i < EXIT_COUNT; i++) {
		uint8_t code[4] = { 0x6a, (uint8_t)i, 0xeb, (uint8_t)(4 * (EXIT_COUNT - 1 - i)) };

		emit(fake, (const char *)code, sizeof(code));
	}
	emit(fake, "\x48\x83\x04\x24\x00", 5);
	jump(fake, LEAVING);
	fake->next = LEAVING;
	emit(fake, "\x48\xb8", 2);
	emit(fake, (const char *)&constant, 8);
	emit(fake, "\xff\xd0", 2);
	fake->next = USING;
	work(fake);
	emit_to(fake, "\x48\x8b\x05", 3, VARIABLE);
	put(fake, VARIABLE, TABLE);
}

static void put_exit(struct fake *fake, int number, uint64_t instruction)
{
	put(fake, EXITS + (uint64_t)number * EXIT_INFO_BYTES, instruction);
}

static void put_trace(struct fake *fake, uint32_t id, uint64_t code, uint32_t size, int first)
{
	uint64_t trace = TABLE + (uint64_t)id * TRACE_BYTES;

	put32(fake, TABLE, id + 1);
	put32(fake, trace, id);
	put32(fake, trace + 16, EXIT_COUNT);
	put32(fake, trace + 24, size);
	put(fake, trace + 48, FUNCTION);
	put(fake, trace + 56, opline(first));
	put(fake, trace + 64, code);
	put(fake, trace + 72, EXITS);
}

static int set_up(void **state)
{
	static const struct remote_memory_ops ops = { .read = read_fake };
	static struct fake fake;

	memset(&fake, 0, sizeof(fake));
	fake.memory.ops = &ops;
	put_function(&fake);
	put_exits(&fake);
	php_jit_init(&fake.jit, php_layout_of(PHP_ENGINE_VERSION(4, 4)));
	fake.next = CODE;
	*state = &fake;
	return 0;
}

/* The line of @address as "LINE" or "LINE~", "-" if the code does not tell it. */
static const char *line_of(struct fake *fake, uint64_t address, uint8_t flags, uint32_t position,
			   uint64_t object)
{
	static char text[16];
	const uint64_t words[3] = { frame_word(FRAME_PHP, FRAME_HAS_OWNER, object),
				    (uint64_t)position << 32,
				    frame_word(FRAME_NONE, flags, address) };
	struct interpreted_frame frame = { .line = FALLBACK, .is_approximate = true };

	php_jit_improve(&fake->jit, &fake->memory, words, &frame);
	snprintf(text, sizeof(text), "%u%s", frame.line, frame.is_approximate ? "~" : "");
	return frame.line == FALLBACK ? "-" : text;
}

static const char *line_at(struct fake *fake, uint64_t address)
{
	return line_of(fake, address, 0, 0, FUNCTION);
}

static const char *line_of_call(struct fake *fake, uint64_t address)
{
	return line_of(fake, address, FRAME_RETURN_ADDRESS, 0, FUNCTION);
}

/* The addresses of the loop's parts in the code of its trace. */
struct loop {
	uint64_t head;
	uint64_t first;
	uint64_t second;
	uint64_t call;
	uint64_t last;
	uint64_t end;
};

/* The trace of the loop. */
static struct loop put_loop(struct fake *fake)
{
	struct loop loop;

	put_exit(fake, 0, opline(BEHIND));
	put_exit(fake, 1, opline(IN_BODY));
	put_exit(fake, 2, opline(IN_BODY_TOO));
	put_exit(fake, 3, opline(HEAD));
	loop.head = work(fake);
	branch(fake, exit_at(0));
	loop.first = work(fake);
	branch(fake, exit_at(1));
	loop.second = work(fake);
	branch(fake, exit_at(2));
	store(fake, opline(AT_CALL));
	loop.call = call(fake);
	loop.last = work(fake);
	branch(fake, exit_at(3));
	loop.end = jump(fake, CODE);
	put_trace(fake, 1, CODE, (uint32_t)(loop.end - CODE), HEAD);
	return loop;
}

static void an_address_between_points_of_one_line_has_it(void **state)
{
	struct fake *fake = *state;
	struct loop loop = put_loop(fake);

	assert_string_equal(line_at(fake, loop.first), "4");
	assert_string_equal(line_at(fake, loop.second), "4");
	assert_true(fake->jit.traces.table == TABLE);
}

static void the_exit_of_a_loop_is_no_instruction_of_it(void **state)
{
	struct fake *fake = *state;
	struct loop loop = put_loop(fake);

	assert_string_equal(line_at(fake, loop.head), "3");
	assert_string_equal(line_at(fake, loop.first), "4");
	/* If the trace has what follows the loop, it is one. */
	put_exit(fake, 0, opline(IN_BODY));
	put_exit(fake, 1, opline(BEHIND));
	put_exit(fake, 2, opline(BEHIND));
	assert_string_equal(line_at(fake, loop.head), "3");
	assert_string_equal(line_at(fake, loop.first), "6");
}

static void a_line_between_points_of_two_lines_is_approximate(void **state)
{
	struct fake *fake = *state;
	struct loop loop = put_loop(fake);

	assert_string_equal(line_at(fake, loop.last), "3~");
}

static void a_call_has_the_instruction_that_was_stored_for_it(void **state)
{
	struct fake *fake = *state;
	struct loop loop = put_loop(fake);

	assert_string_equal(line_of_call(fake, loop.call), "5");
	/* The second call may be another one's, but not of one that is repeated behind an exit. */
	fake->next = loop.call;
	call(fake);
	loop.call = call(fake);
	branch(fake, exit_at(3));
	assert_string_equal(line_of_call(fake, loop.call), "5");
	fake->next = loop.call;
	store(fake, opline(HEAD));
	assert_string_equal(line_of_call(fake, loop.call), "3~");
}

static void the_register_of_instructions_may_be_moved(void **state)
{
	struct fake *fake = *state;
	uint64_t address;

	/* lea instruction(%rip),%r15; sub $32,%r15; call */
	emit(fake, "\x90\x90\x90\x90\x90\x90\x90\x90", 8);
	emit_to(fake, "\x4c\x8d\x3d", 3, opline(AT_CALL));
	emit(fake, "\x49\x83\xef\x20", 4);
	address = call(fake);
	assert_string_equal(line_of_call(fake, address), "4");
	/* Behind the call its value is not known; add $32,%r15; call */
	emit(fake, "\x49\x83\xc7\x20", 4);
	address = call(fake);
	assert_string_equal(line_of_call(fake, address), "4~");
	/* lea instruction(%rip),%r15; mov (%r14),%r15; add $32,%r15; call */
	emit_to(fake, "\x4c\x8d\x3d", 3, opline(AT_CALL));
	emit(fake, "\x4d\x8b\x3e\x49\x83\xc7\x20", 7);
	address = call(fake);
	assert_string_equal(line_of_call(fake, address), "5");
}

static void an_instruction_ends_when_its_result_is_stored(void **state)
{
	struct fake *fake = *state;
	uint64_t result, next;

	put_loop(fake);
	put_exit(fake, 4, opline(AT_CALL));
	fake->next = CODE;
	work(fake);
	result = branch(fake, exit_at(2));
	next = emit(fake, "\x49\x89\x06", 3);
	work(fake);
	branch(fake, exit_at(4));
	assert_string_equal(line_at(fake, result), "5~");
	assert_string_equal(line_at(fake, next), "5~");
	assert_string_equal(line_at(fake, next + 3), "5");
	/* Another check than that for overflow comes before the instruction does something. */
	fake->bytes[result - 5 - BASE] = 0x85;
	assert_string_equal(line_at(fake, next + 3), "5~");
}

static void another_trace_may_have_replaced_an_exit(void **state)
{
	struct fake *fake = *state;
	struct loop loop = put_loop(fake);
	uint64_t side = CODE + 0x100;

	put_trace(fake, 2, side, 16, 0);
	put(fake, TABLE + 2 * TRACE_BYTES + 56, 0);
	put32(fake, EXITS + 16, 1);
	fake->next = loop.head + 3;
	branch(fake, side);
	assert_string_equal(line_at(fake, loop.head), "3");
	assert_string_equal(line_at(fake, loop.first), "4");
	/* Of two such exits it is the one in front of the next exit of the code. */
	put32(fake, EXITS + 3 * EXIT_INFO_BYTES + 16, 1);
	assert_string_equal(line_at(fake, loop.head), "3");
	assert_string_equal(line_at(fake, loop.first), "4");
	/* None is known as replaced. */
	put32(fake, EXITS + 16, 0);
	assert_string_equal(line_at(fake, loop.first), "4~");
	/* It is in no trace. */
	assert_string_equal(line_at(fake, CODE + 0x800), "-");
}

static void code_of_a_function_continues_elsewhere_where_a_check_fails(void **state)
{
	struct fake *fake = *state;
	uint64_t first, second, third;

	fake->next = COLD;
	store(fake, opline(IN_BODY));
	jump(fake, CODE);
	store(fake, opline(IN_BODY_TOO));
	jump(fake, CODE);
	fake->next = CODE;
	first = work(fake);
	branch(fake, COLD);
	second = work(fake);
	branch(fake, COLD + 15);
	third = work(fake);
	jump(fake, CODE + 0x200);
	fake->next = CODE + 0x200;
	work(fake);
	store(fake, opline(AT_CALL));
	assert_string_equal(line_at(fake, second), "4");
	assert_string_equal(line_at(fake, third), "5~");
	assert_string_equal(line_at(fake, first), "4");
	/* The bytes in front of the code are no instructions. */
	memset(fake->bytes + (CODE - BASE) - 0x300, 0x06, 0x300);
	assert_string_equal(line_at(fake, third), "5~");
	fake->next = CODE + 9;
	emit(fake, "\x90\x90\x90\x90\x90\x90\x90", 7);
	branch(fake, COLD + 15);
	third = work(fake);
	store(fake, opline(IN_BODY_TOO));
	assert_string_equal(line_at(fake, third), "4");
}

static void a_called_function_of_the_trace_has_its_own_lines(void **state)
{
	struct fake *fake = *state;
	uint64_t callee = BASE + 0x800, inside, before;

	put_loop(fake);
	fake->next = CODE;
	/* The caller's instruction is 3; then the called function begins, and returns. */
	branch(fake, exit_at(2));
	before = work(fake);
	put_exit(fake, 4, OPCODES + 0x800);
	put_exit(fake, 5, OPCODES + 0x820);
	branch(fake, exit_at(4));
	inside = work(fake);
	branch(fake, exit_at(5));
	put(fake, callee + 104, OPCODES + 0x800);
	put32(fake, callee + 96, 3);
	put_opcode(fake, 0x800 / PHP_OPCODE_BYTES, 1, 40);
	put_opcode(fake, 0x820 / PHP_OPCODE_BYTES, 1, 40);
	put_opcode(fake, 0x840 / PHP_OPCODE_BYTES, 62, 41);
	assert_string_equal(line_of(fake, inside, 0, 0, callee), "40");
	assert_string_equal(line_of(fake, before, 0, 0, callee), "40");
	/* The caller is at its call, or on its way there. */
	put_opcode(fake, AT_CALL, 130, 4);
	assert_string_equal(line_at(fake, before), "4");
	put_opcode(fake, AT_CALL, 130, 7);
	assert_string_equal(line_at(fake, before), "4~");
	assert_string_equal(line_at(fake, inside), "-");
	/* It can be the exit of a loop. */
	put_opcode(fake, AT_CALL, 130, 4);
	put_exit(fake, 2, opline(IN_BODY));
	assert_string_equal(line_at(fake, before), "4~");
}

static void code_of_a_file_has_the_function_of_the_trace(void **state)
{
	struct fake *fake = *state;
	struct loop loop = put_loop(fake);

	assert_string_equal(line_of(fake, loop.first, 0, PHP_IS_FILE, FILE_NAME), "4");
	assert_string_equal(line_of(fake, loop.first, 0, PHP_IS_FILE, FILE_NAME + 8), "-");
}

static void tables_that_make_no_sense_tell_no_line(void **state)
{
	struct fake *fake = *state;
	struct loop loop = put_loop(fake);

	/* The first element has the wrong index. */
	put32(fake, TABLE + TRACE_BYTES, 7);
	assert_string_equal(line_at(fake, loop.first), "5~");
	assert_true(fake->jit.traces.table == 0);
	for (int i = 0; i < PHP_TRACES_MAX_SEARCHES; i++)
		line_at(fake, loop.first);
	/* It is looked for so many times, and then not any more. */
	put32(fake, TABLE + TRACE_BYTES, 1);
	line_at(fake, loop.first);
	assert_true(fake->jit.traces.table == 0);
	php_jit_init(&fake->jit, fake->jit.layout);
	assert_string_equal(line_at(fake, loop.first), "4");
	put32(fake, TABLE + TRACE_BYTES + 16, 1);
	assert_string_equal(line_at(fake, loop.second), "5~");
	put32(fake, FUNCTION + 96, 1 << 20);
	assert_string_equal(line_at(fake, loop.first), "-");
	assert_string_equal(line_at(fake, 16), "-");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(an_address_between_points_of_one_line_has_it),
		TEST(the_exit_of_a_loop_is_no_instruction_of_it),
		TEST(a_line_between_points_of_two_lines_is_approximate),
		TEST(a_call_has_the_instruction_that_was_stored_for_it),
		TEST(the_register_of_instructions_may_be_moved),
		TEST(an_instruction_ends_when_its_result_is_stored),
		TEST(another_trace_may_have_replaced_an_exit),
		TEST(code_of_a_function_continues_elsewhere_where_a_check_fails),
		TEST(a_called_function_of_the_trace_has_its_own_lines),
		TEST(code_of_a_file_has_the_function_of_the_trace),
		TEST(tables_that_make_no_sense_tell_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
