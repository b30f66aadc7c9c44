/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Lines of instructions: a sequence has an entry for each place at which the line, or something else, changes, and a
 * succinct bit vector that says how many entries begin up to a position (iseq.c, struct succ_index_table).
 */
#ifndef INTERPRETERS_RUBY_RUBY_LINES_H
#define INTERPRETERS_RUBY_RUBY_LINES_H

#include <stddef.h>
#include <stdint.h>

enum {
	/** Sequences with more entries, or more words of instructions, are without lines. */
	RUBY_LINES_MAX_ENTRIES = 1 << 16,
	RUBY_LINES_MAX_POSITIONS = 1 << 20,
};

/** Borrowed from whoever read them. */
struct ruby_lines {
	/** A line for each entry. */
	const uint32_t *lines;
	uint32_t count;
	/** The bit vector, words as they stand in memory; none for a single entry. */
	const uint64_t *index;
	uint32_t index_words;
};

/** Words that the bit vector of a sequence of @positions takes. */
uint32_t ruby_lines_index_words(uint32_t positions);

/** The line of the instruction that has the word @position; 0 if it is not known. */
uint32_t ruby_line(const struct ruby_lines *lines, uint32_t position);

#endif
