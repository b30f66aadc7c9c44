/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/ruby/ruby_lines.h"

enum {
	/** IMMEDIATE_TABLE_SIZE: counts of 7 bits, nine in a word. */
	IMMEDIATE_POSITIONS = 54,
	IMMEDIATE_IN_WORD = 9,
	IMMEDIATE_BITS = 7,
	IMMEDIATE_MASK = 0x7f,
	/** struct succ_dict_block: count before the block, counts of 9 bits before each word but the first, bits. */
	BLOCK_POSITIONS = 512,
	BLOCK_WORDS = 10,
	BLOCK_BITS = 2,
	SMALL_COUNT_BITS = 9,
	SMALL_COUNT_MASK = 0x1ff,
};

uint32_t ruby_lines_index_words(uint32_t positions)
{
	if (positions < IMMEDIATE_POSITIONS)
		return (positions + IMMEDIATE_IN_WORD - 1) / IMMEDIATE_IN_WORD;
	return IMMEDIATE_POSITIONS / IMMEDIATE_IN_WORD +
	       (positions - IMMEDIATE_POSITIONS + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS *
		       BLOCK_WORDS;
}

/* The number of entries that begin at or before @position, one of the first IMMEDIATE_POSITIONS. */
static uint32_t count_immediate(const struct ruby_lines *lines, uint32_t position)
{
	uint32_t word = position / IMMEDIATE_IN_WORD;

	if (word >= lines->index_words)
		return 0;
	return lines->index[word] >> position % IMMEDIATE_IN_WORD * IMMEDIATE_BITS & IMMEDIATE_MASK;
}

static uint32_t count_in_block(const struct ruby_lines *lines, uint32_t position)
{
	uint32_t bit = position % BLOCK_POSITIONS, small = bit / 64;
	uint32_t start =
		IMMEDIATE_POSITIONS / IMMEDIATE_IN_WORD + position / BLOCK_POSITIONS * BLOCK_WORDS;
	const uint64_t *block = lines->index + start;
	uint32_t count;

	if (start + BLOCK_WORDS > lines->index_words)
		return 0;
	count = (uint32_t)block[0];
	if (small)
		count += block[1] >> (small - 1) * SMALL_COUNT_BITS & SMALL_COUNT_MASK;
	return count + (uint32_t)__builtin_popcountll(block[BLOCK_BITS + small] << (63 - bit % 64));
}

uint32_t ruby_line(const struct ruby_lines *lines, uint32_t position)
{
	uint32_t count = 1;

	if (lines->count > 1)
		count = position < IMMEDIATE_POSITIONS ?
				count_immediate(lines, position) :
				count_in_block(lines, position - IMMEDIATE_POSITIONS);
	return count && count <= lines->count ? lines->lines[count - 1] : 0;
}
