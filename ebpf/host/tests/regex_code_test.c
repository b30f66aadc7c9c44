// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Steps from code of a regular expression to what called it: which callers are accepted, and which are refused. */
#include "ebpf/host/tests/unwind_fixture.h"

#define REGEX_START 0x7f1300000000ULL

enum {
	RULE_END,
	RULE_MATCH,
	RULE_COUNT,
	CODE_BYTES = 4096,
	/* Words of the stack: of the leaf's stack pointer, of its return address, and the size of its caller's frame. */
	LEAF_WORD = 8,
	RETURN_WORD = 30,
	MATCH_WORDS = 26,
	/* From the caller's stack pointer to the struct, in words. */
	STRUCT_WORDS = 4,
};

struct regex {
	struct world *world;
	uint8_t text[CODE_BYTES];
	uint8_t code[CODE_BYTES];
};

/* Puts @bytes in front of the return address. */
static void put_call(struct regex *regex, const char *bytes, size_t count)
{
	memset(regex->text, 0x90, sizeof(regex->text));
	memcpy(regex->text + (code_at(RULE_MATCH) - TEXT_START) - count, bytes, count);
}

/* The struct is @words above the caller's stack pointer. */
static void put_struct(struct regex *regex, uint32_t words)
{
	world_set_registers(regex->world, REGEX_START + 0x80, stack_address(LEAF_WORD),
			    stack_address(RETURN_WORD + 1 + words));
}

/* Lays the stack of a leaf in compiled code, as libpcre2-8.so 10.46 calls it. */
static void lay(struct regex *regex, struct world *world)
{
	static const struct unwind_rule rules[RULE_COUNT] = {
		[RULE_END] = { .cfa = CFA_END },
		[RULE_MATCH] = CALL_RULE(8 * MATCH_WORDS),
	};
	const struct mapping_row mappings[] = {
		{ TEXT_START, TEXT_START + (1 << 20), TEXT_START - TEXT_ADDRESS, EXECUTABLE_ID },
		{ REGEX_START, REGEX_START + CODE_BYTES, 0, EXECUTABLE_ID_ANONYMOUS },
	};

	*regex = (struct regex){ .world = world };
	memset(regex->code, 0x90, sizeof(regex->code));
	world_publish_rules(world, rules, RULE_COUNT);
	world_set_mappings(world, 10, mappings, 2);
	world->user[1] = (struct region){ REGEX_START, CODE_BYTES, regex->code };
	world->user[2] = (struct region){ TEXT_START, CODE_BYTES, regex->text };
	put_call(regex, "\x48\x8d\x7c\x24\x20\x48\x89\x44\x24\x20\xff\xd6", 12);
	put_struct(regex, STRUCT_WORDS);
	world->stack[RETURN_WORD] = code_at(RULE_MATCH);
	world->stack[RETURN_WORD + MATCH_WORDS] = code_at(RULE_END);
}

static void assert_caller_found(const struct regex *regex)
{
	world_unwind(regex->world);
	assert_end(regex->world, 3);
	assert_frame(regex->world, 1, code_at(RULE_MATCH), FRAME_RETURN_ADDRESS);
	assert_frame(regex->world, 2, code_at(RULE_END), FRAME_RETURN_ADDRESS);
}

static void assert_nothing_found(const struct regex *regex)
{
	world_unwind(regex->world);
	assert_error(regex->world, 1, UNWIND_ANONYMOUS, REGEX_START + 0x80);
}

static void the_caller_of_a_regular_expression_is_no_guess(void **state)
{
	struct regex regex;

	lay(&regex, *state);
	assert_caller_found(&regex);
}

static void the_struct_may_begin_the_caller_s_frame(void **state)
{
	struct regex regex;

	lay(&regex, *state);
	put_call(&regex, "\x48\x89\xe7\x48\x89\x04\x24\xff\xd6", 9);
	put_struct(&regex, 0);
	assert_caller_found(&regex);
	/* That code passes no other address. */
	put_struct(&regex, 1);
	assert_nothing_found(&regex);
}

static void the_code_has_to_pass_the_very_address(void **state)
{
	struct regex regex;

	lay(&regex, *state);
	put_call(&regex, "\x48\x8d\x7c\x24\x28\x48\x89\x44\x24\x28\xff\xd6", 12);
	assert_nothing_found(&regex);
	put_call(&regex, "\x48\x8d\x74\x24\x20\x48\x89\x44\x24\x20\xff\xd6", 12);
	assert_nothing_found(&regex);
	/* All of it is there, but it is not the end of a call. */
	put_call(&regex, "\x48\x8d\x7c\x24\x20\x48\x89\x44\x24\x20\xff\xe6", 12);
	assert_nothing_found(&regex);
	/* The struct is too far up. */
	put_call(&regex, "\x48\x8d\x7c\x24\x80\x48\x89\x44\x24\x80\xff\xd6", 12);
	put_struct(&regex, 16);
	assert_nothing_found(&regex);
}

static void the_pattern_may_begin_at_each_byte(void **state)
{
	static const char code[] =
		"\x48\x8d\x7c\x24\x20\x90\x90\x90\x90\x90\x90\x90\x90\x90\xff\xd6";
	struct regex regex;
	char bytes[16];

	lay(&regex, *state);
	for (uint32_t at = 0; at <= 9; at++) {
		memset(bytes, 0x90, sizeof(bytes));
		memcpy(bytes + at, code, 5);
		memcpy(bytes + 14, "\xff\xd6", 2);
		put_call(&regex, bytes, sizeof(bytes));
		assert_caller_found(&regex);
	}
}

static void a_register_that_is_no_address_of_the_stack_is_not_followed(void **state)
{
	struct regex regex;
	uint64_t *fp;

	lay(&regex, *state);
	fp = &regex.world->start.registers[6];
	*fp += 4;
	assert_nothing_found(&regex);
	*fp = stack_address(LEAF_WORD);
	assert_nothing_found(&regex);
	*fp = stack_address(LEAF_WORD + 8192);
	assert_nothing_found(&regex);
	*fp = 0;
	assert_nothing_found(&regex);
}

static void a_return_address_in_no_file_is_refused(void **state)
{
	struct regex regex;

	lay(&regex, *state);
	regex.world->stack[RETURN_WORD] = 8;
	assert_nothing_found(&regex);
	/* The code is there, but nothing is mapped. */
	regex.world->user[2].start += 1 << 20;
	regex.world->stack[RETURN_WORD] = code_at(RULE_MATCH) + (1 << 20);
	assert_nothing_found(&regex);
}

static void at_first_other_registers_have_the_address(void **state)
{
	static const uint32_t registers[] = { 3, 5 };
	struct regex regex;
	uint64_t *values;

	lay(&regex, *state);
	values = regex.world->start.registers;
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		put_struct(&regex, STRUCT_WORDS);
		values[registers[i]] = values[6];
		values[6] = 1;
		assert_caller_found(&regex);
		values[registers[i]] = 1;
		assert_nothing_found(&regex);
	}
}

static void a_word_of_the_frame_may_have_the_address(void **state)
{
	struct regex regex;
	uint64_t address;

	lay(&regex, *state);
	address = regex.world->start.registers[6];
	regex.world->start.registers[6] = REGEX_START;
	for (uint32_t word = LEAF_WORD + 2; word < LEAF_WORD + 9; word++) {
		regex.world->stack[word] = address;
		assert_caller_found(&regex);
		regex.world->stack[word] = 0;
		assert_nothing_found(&regex);
	}
}

static void at_the_end_registers_are_popped(void **state)
{
	/* pop %r13; pop %r14; pop %r15; pop %rbx; ret */
	static const char pops[] = "\x41\x5d\x41\x5e\x41\x5f\x5b\xc3";
	static const uint32_t starts[] = { 0, 2, 4, 6, 7 };
	struct regex regex;

	lay(&regex, *state);
	for (uint32_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		memcpy(regex.code + 0x80, pops + starts[i], sizeof(pops) - 1 - starts[i]);
		world_set_registers(regex.world, REGEX_START + 0x80,
				    stack_address(RETURN_WORD - 4 + i), 0);
		assert_caller_found(&regex);
		world_set_registers(regex.world, REGEX_START + 0x80,
				    stack_address(RETURN_WORD - 5 + i), 0);
		assert_nothing_found(&regex);
	}
	/* It does not return. */
	lay(&regex, regex.world);
	memcpy(regex.code + 0x80, "\x5b\x90", 2);
	world_set_registers(regex.world, REGEX_START + 0x80, stack_address(RETURN_WORD - 1), 0);
	assert_nothing_found(&regex);
}

static void only_a_leaf_is_looked_at(void **state)
{
	struct regex regex;

	lay(&regex, *state);
	regex.world->start.frame_flags = FRAME_RETURN_ADDRESS;
	assert_nothing_found(&regex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(the_caller_of_a_regular_expression_is_no_guess),
		world_test(the_struct_may_begin_the_caller_s_frame),
		world_test(the_code_has_to_pass_the_very_address),
		world_test(the_pattern_may_begin_at_each_byte),
		world_test(a_register_that_is_no_address_of_the_stack_is_not_followed),
		world_test(a_return_address_in_no_file_is_refused),
		world_test(at_first_other_registers_have_the_address),
		world_test(a_word_of_the_frame_may_have_the_address),
		world_test(at_the_end_registers_are_popped),
		world_test(only_a_leaf_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
