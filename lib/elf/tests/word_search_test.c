/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lib/elf/word_search.h"

enum {
	/* More than one step of reading. */
	WORDS = 20000,
	/* Bytes before them, so that they are not aligned in the file. */
	BEFORE = 3,
};

static uint8_t file[BEFORE + WORDS * 8];
static struct elf_image image;

static int set_up(void **state)
{
	(void)state;
	memset(&image, 0, sizeof(image));
	for (uint64_t i = 0; i < WORDS; i++)
		memcpy(file + BEFORE + i * 8, &i, sizeof(i));
	image.fd = -1;
	image.memory = file;
	image.size = sizeof(file);
	return 0;
}

static void expect_end(struct word_search *search)
{
	uint64_t address, word;

	assert_int_equal(word_search_next(search, &address, &word), 0);
	word_search_deinit(search);
}

static void expect_words(struct word_search *search, uint64_t first, uint64_t count,
			 uint64_t first_address)
{
	uint64_t address, word;

	for (uint64_t i = 0; i < count; i++) {
		assert_int_equal(word_search_next(search, &address, &word), 1);
		assert_int_equal(word, first + i);
		assert_int_equal(address, first_address + i * 8);
	}
}

static void words_that_are_aligned_in_memory_are_found(void **state)
{
	struct elf_segment segment = { .type = PT_LOAD,
				       .address = 0x1000 - BEFORE,
				       .file_bytes = sizeof(file) };
	struct word_search search;

	(void)state;
	image.segments = &segment;
	image.segment_count = 1;
	word_search_init(&search, &image, 0, UINT64_MAX);
	expect_words(&search, 0, WORDS, 0x1000);
	expect_end(&search);
}

static void words_are_found_by_some_of_their_bits(void **state)
{
	struct elf_segment segment = { .type = PT_LOAD,
				       .address = 0x1000 - BEFORE,
				       .file_bytes = sizeof(file) };
	struct word_search search;
	uint64_t address, word;

	(void)state;
	image.segments = &segment;
	image.segment_count = 1;
	word_search_init(&search, &image, 0, UINT64_MAX);
	/* In every chunk that is read, the first and the last word among them. */
	for (uint64_t i = 0; i < WORDS; i += 64) {
		assert_int_equal(word_search_next_masked(&search, 63, 0, &address, &word), 1);
		assert_int_equal(word, i);
		assert_int_equal(address, 0x1000 + i * 8);
	}
	assert_int_equal(word_search_next_masked(&search, 63, 0, &address, &word), 0);
	word_search_deinit(&search);
	word_search_init(&search, &image, 0, UINT64_MAX);
	assert_int_equal(word_search_next_masked(&search, UINT64_MAX, WORDS - 1, &address, &word),
			 1);
	assert_int_equal(address, 0x1000 + (WORDS - 1) * 8);
	expect_end(&search);
}

static void of_the_segments_asked_for_as_much_as_is_asked_for(void **state)
{
	struct elf_segment segments[] = {
		{ .type = PT_LOAD, .flags = PF_R, .address = 0x1000, .file_bytes = 80 },
		{ .type = PT_LOAD,
		  .flags = PF_R | PF_W,
		  .offset = BEFORE,
		  .address = 0x2000,
		  .file_bytes = 84 },
		{ .type = PT_NOTE, .flags = PF_W, .address = 0x3000, .file_bytes = 80 },
		{ .type = PT_LOAD,
		  .flags = PF_W,
		  .offset = BEFORE + 800,
		  .address = 0x4000,
		  .file_bytes = 80 },
	};
	struct word_search search;

	(void)state;
	image.segments = segments;
	image.segment_count = 4;
	word_search_init(&search, &image, PF_W, 84 + 24);
	expect_words(&search, 0, 10, 0x2000);
	expect_words(&search, 100, 3, 0x4000);
	expect_end(&search);
}

static void what_the_file_has_not_is_left_out(void **state)
{
	struct elf_segment segments[] = {
		{ .type = PT_LOAD, .offset = sizeof(file) - 4, .address = 0x1000, .file_bytes = 16 },
		{ .type = PT_LOAD, .offset = BEFORE + 800, .address = 0x2000, .file_bytes = 8 },
		{ .type = PT_LOAD, .address = 0x3001, .file_bytes = 7 },
		{ .type = PT_LOAD,
		  .offset = UINT64_MAX,
		  .address = UINT64_MAX,
		  .file_bytes = UINT64_MAX },
	};
	struct word_search search;

	(void)state;
	image.segments = segments;
	image.segment_count = 4;
	word_search_init(&search, &image, 0, UINT64_MAX);
	expect_words(&search, 100, 1, 0x2000);
	expect_end(&search);
}

static void a_section_is_searched_by_itself(void **state)
{
	const struct elf_section section = { .address = 0x5000,
					     .offset = BEFORE + 160,
					     .size = 24 };
	struct elf_segment segment;
	struct word_search search;

	(void)state;
	word_search_init_section(&search, &image, &section, &segment);
	expect_words(&search, 20, 3, 0x5000);
	expect_end(&search);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(words_that_are_aligned_in_memory_are_found),
		TEST(words_are_found_by_some_of_their_bits),
		TEST(of_the_segments_asked_for_as_much_as_is_asked_for),
		TEST(what_the_file_has_not_is_left_out),
		TEST(a_section_is_searched_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
