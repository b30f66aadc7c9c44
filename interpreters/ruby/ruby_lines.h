/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds lines of instructions. A sequence has an entry for each position at which the line, or something else, changes,
 * and a succinct bit vector with the number of entries that begin up to a position (iseq.c, struct succ_index_table).
 */
#ifndef INTERPRETERS_RUBY_RUBY_LINES_H
#define INTERPRETERS_RUBY_RUBY_LINES_H

#include <stddef.h>
#include <stdint.h>

enum {
	/** Limits of entries and of words of instructions; longer sequences get no lines. */
	RUBY_LINES_MAX_ENTRIES = 1 << 16,
	RUBY_LINES_MAX_POSITIONS = 1 << 20,
};

/** The tables of a sequence. All borrowed. */
struct ruby_lines {
	/** The line of each entry. */
	const uint32_t *lines;
	uint32_t count;
	/** The bit vector, as words of memory; there is none for a single entry. */
	const uint64_t *index;
	uint32_t index_words;
};

/** The number of words in the bit vector of a sequence with @positions positions. */
uint32_t ruby_lines_index_words(uint32_t positions);

/** The line of the instruction that contains the word @position; 0 if it is unknown. */
uint32_t ruby_line(const struct ruby_lines *lines, uint32_t position);

#endif
