// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/* Windows for structs whose successors lie at lower addresses (Python's frames). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Another name for the linker: the emulated helper may be in the same program. */
#define emulated_probe_read_user read_memory
#include "ebpf/read_window.bpf.h"

#define START 0x7f0000000000ULL

enum { BYTES = 3 * PAGE_BYTES_MIN, FRAME = 72 };

static uint8_t memory[BYTES];
/* The readable part of `memory`. */
static uint64_t first, end;
static unsigned int read_count;

long bpf_probe_read_user(void *bytes, __u32 size, const void *address)
{
	uint64_t offset = (uintptr_t)address - START;

	read_count++;
	if (offset < first || offset > end || size > end - offset)
		return -1;
	memcpy(bytes, memory + offset, size);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	for (int i = 0; i < BYTES; i++)
		memory[i] = (uint8_t)(i * 7 + i / 256);
	first = 0;
	end = BYTES;
	read_count = 0;
	return 0;
}

/* Whether @window has the FRAME bytes at @offset. */
static void assert_has(const struct read_window *window, uint64_t offset)
{
	uint64_t in_window = START + offset - window->start;

	for (uint64_t i = 0; i < FRAME; i += 8) {
		uint64_t word;

		memcpy(&word, memory + offset + i, sizeof(word));
		assert_int_equal(window_word(window, in_window + i), word);
	}
}

static void frames_that_lie_below_are_read_with_the_first(void **state)
{
	struct read_window window = { 0 };

	(void)state;
	for (uint64_t offset = 2000; offset > 2000 - 3 * FRAME; offset -= FRAME) {
		assert_true(window_read_down(&window, START + offset, FRAME));
		assert_has(&window, offset);
	}
	assert_int_equal(read_count, 1);
	assert_true(window_read_down(&window, START + 2000 - 3 * FRAME, FRAME));
	assert_int_equal(read_count, 2);
}

static void a_frame_in_two_pages_is_read_alone(void **state)
{
	struct read_window window = { 0 };
	uint64_t offset = PAGE_BYTES_MIN - 16;

	(void)state;
	assert_true(window_read_down(&window, START + offset, FRAME));
	assert_has(&window, offset);
	assert_int_equal(window.bytes, FRAME);
	/* At the beginning of a page nothing below is wanted. */
	first = PAGE_BYTES_MIN;
	assert_true(window_read_down(&window, START + PAGE_BYTES_MIN, FRAME));
	assert_has(&window, PAGE_BYTES_MIN);
	assert_int_equal(window.bytes, WINDOW_BYTES);
}

static void what_lies_around_a_frame_need_not_be_there(void **state)
{
	struct read_window window = { 0 };

	(void)state;
	first = 2000;
	end = 2000 + FRAME;
	assert_true(window_read_down(&window, START + 2000, FRAME));
	assert_has(&window, 2000);
	assert_false(window_read_down(&window, START + 2000 - 8, FRAME));
	/* Nothing is left of what was there before. */
	assert_int_equal(window_offset(&window, START + 2000, FRAME), WINDOW_BYTES);
}

static void a_frame_may_be_unaligned(void **state)
{
	struct read_window window = { 0 };

	(void)state;
	assert_true(window_read_down(&window, START + 2003, FRAME));
	assert_has(&window, 2003);
	/* Only as much of it as was read. */
	assert_int_equal(window_offset(&window, START + 2003 + 8, FRAME), WINDOW_BYTES);
	assert_true(window_read_down(&window, START + 2003 + 8, FRAME));
	assert_has(&window, 2003 + 8);
}

static void no_more_is_read_exactly_than_there_is_room_for(void **state)
{
	struct read_window window = { 0 };

	(void)state;
	assert_false(window_read_down(&window, START, 0));
	assert_false(window_read_down(&window, START, WINDOW_EXACT_BYTES + 1));
	assert_false(window_read_exactly(&window, START, WINDOW_EXACT_BYTES + 1));
	assert_int_equal(read_count, 0);
	assert_true(window_read_exactly(&window, START, WINDOW_EXACT_BYTES));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(frames_that_lie_below_are_read_with_the_first),
		TEST(a_frame_in_two_pages_is_read_alone),
		TEST(what_lies_around_a_frame_need_not_be_there),
		TEST(a_frame_may_be_unaligned),
		TEST(no_more_is_read_exactly_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
