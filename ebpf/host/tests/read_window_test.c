// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* The stack is read some words at a time, and a word at a time where that cannot be. */
#include "ebpf/host/tests/unwind_fixture.h"

enum {
	RULE_END,
	RULE_CALL,
	RULE_COUNT,
	FRAME_WORDS = 4,
	PAGE_WORDS = 4096 / 8,
};

static unsigned int read_count;

static int count_read(void *context, uint64_t address, void *bytes, size_t size)
{
	read_count++;
	return world_read_user(context, address, bytes, size);
}

static int set_up(void **state)
{
	const struct unwind_rule rules[RULE_COUNT] = {
		[RULE_END] = { .cfa = CFA_END },
		[RULE_CALL] = CALL_RULE(8 * FRAME_WORDS),
	};
	int err = world_setup(state);

	if (err)
		return err;
	world_publish_rules(*state, rules, RULE_COUNT);
	((struct world *)*state)->memory.read_user = count_read;
	read_count = 0;
	return 0;
}

/* @count frames whose first is at @word of the stack, which is moved by @bytes; then the end. */
static void unwind_frames(struct world *world, uint32_t word, uint32_t count, uint32_t bytes)
{
	char *stack = (char *)world->stack + bytes;

	for (uint32_t i = 1; i <= count; i++) {
		uint64_t address = code_at(i < count ? RULE_CALL : RULE_END);

		memcpy(stack + 8 * (word + i * FRAME_WORDS - 1), &address, sizeof(address));
	}
	world_set_registers(world, code_at(RULE_CALL), stack_address(word) + bytes, 0);
	world_unwind(world);
}

static void frames_that_lie_next_to_each_other_are_read_at_once(void **state)
{
	struct world *world = *state;

	unwind_frames(world, 100, 32, 0);
	assert_end(world, 33);
	assert_in_range(read_count, 4, 8);
}

static void a_page_is_read_to_its_end_and_not_beyond(void **state)
{
	struct world *world = *state;

	world->user[0].size = 8 * 2 * PAGE_WORDS;
	/* The last word of the last page is the outermost frame's. */
	unwind_frames(world, 2 * PAGE_WORDS - 16 * FRAME_WORDS, 16, 0);
	assert_end(world, 17);
	assert_in_range(read_count, 1, 4);
	/* One frame lies in two pages. */
	unwind_frames(world, PAGE_WORDS - 2, 16, 0);
	assert_end(world, 17);
}

static void what_lies_around_a_word_need_not_be_there(void **state)
{
	struct world *world = *state;

	world->user[0] =
		(struct region){ stack_address(100), 8 * 4 * FRAME_WORDS, &world->stack[100] };
	unwind_frames(world, 100, 4, 0);
	assert_end(world, 5);
	world->user[0].size -= 8;
	unwind_frames(world, 100, 4, 0);
	assert_error(world, 4, UNWIND_STACK_UNREADABLE, code_at(RULE_CALL));
}

static void a_stack_may_be_unaligned(void **state)
{
	struct world *world = *state;

	unwind_frames(world, 100, 8, 3);
	assert_end(world, 9);
}

static void an_unwind_reads_nothing_that_was_read_for_another(void **state)
{
	struct world *world = *state;

	unwind_frames(world, 100, 8, 0);
	assert_end(world, 9);
	unwind_frames(world, 100, 3, 0);
	assert_end(world, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(frames_that_lie_next_to_each_other_are_read_at_once),
		TEST(a_page_is_read_to_its_end_and_not_beyond),
		TEST(what_lies_around_a_word_need_not_be_there),
		TEST(a_stack_may_be_unaligned),
		TEST(an_unwind_reads_nothing_that_was_read_for_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
