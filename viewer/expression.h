/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Expressions as operations of a nondeterministic automaton, whose states are all followed at once (K.
 * Thompson, "Regular expression search algorithm", 1968). viewer/name_pattern.h says what an
 * expression may have, and follows the states. Expressions are untrusted.
 */
#ifndef VIEWER_EXPRESSION_H
#define VIEWER_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OPERATIONS_MAX = 256,
	SETS_MAX = 32,
	RANGES_MAX = 32,
};

enum operation_kind {
	MATCH_CODE,
	MATCH_SET,
	MATCH_ANY,
	AT_START,
	AT_END,
	AT_WORD_EDGE,
	NOT_AT_WORD_EDGE,
	JUMP,
	SPLIT,
	FOUND,
};

struct operation {
	enum operation_kind kind;
	/* The character in lower case, or the index of the set. */
	uint32_t code;
	/* Relative to the operation. */
	int to;
	int other;
};

struct code_range {
	uint32_t from;
	uint32_t to;
};

struct code_set {
	bool is_negated;
	size_t count;
	struct code_range ranges[RANGES_MAX];
};

/** The last operation is FOUND. */
struct expression {
	size_t operation_count;
	struct operation operations[OPERATIONS_MAX];
	size_t set_count;
	struct code_set sets[SETS_MAX];
};

/**
 * Compiles the text from @start to @end into @expression, which is zeroed. -EINVAL with a text for
 * users (fail()) that says what is wrong and at which character.
 */
int expression_compile(struct expression *expression, const char *start, const char *end);

/**
 * Reads a character of UTF-8 and moves *@at, which is before @end, behind it. A byte that is none
 * counts as a character.
 */
uint32_t expression_next_code(const char **at, const char *end);

static inline uint32_t lower_code(uint32_t code)
{
	return code >= 'A' && code <= 'Z' ? code + 'a' - 'A' : code;
}

static inline uint32_t upper_code(uint32_t code)
{
	return code >= 'a' && code <= 'z' ? code + 'A' - 'a' : code;
}

static inline bool is_word_code(uint32_t code)
{
	return (lower_code(code) >= 'a' && lower_code(code) <= 'z') ||
	       (code >= '0' && code <= '9') || code == '_';
}

#endif
