/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The functions that stacks consist of, by number, so that stacks can be added up without their texts: what the
 * page's questions have in common. A stack's list is made once and kept, as long as there is room and names do not
 * get better. For one thread.
 */
#ifndef VIEWER_STACK_NAMES_H
#define VIEWER_STACK_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "reporter/kept_bytes.h"
#include "reporter/stack_numbers.h"

/** What a function is told apart by. Texts are numbers. */
struct function_identity {
	uint32_t name;
	/** Source file, else the binary or module; that of no name at all is "". */
	uint32_t file;
	/** enum text_kind, enum text_flag. */
	uint8_t kind;
	uint8_t flags;
	uint16_t reserved;
};

/** A function and a line in it, 0 if it is not known. */
struct stack_place {
	uint32_t function;
	uint32_t line;
};

VECTOR_DEFINE(function_vector, struct function_identity)
VECTOR_DEFINE(place_vector, struct stack_place)

/** A list of places, those of the outermost function first. */
struct place_list {
	const uint32_t *places;
	size_t count;
};

enum { STACK_NAMES_QUESTION_MAX = 4 };

struct kept_list;

VECTOR_DEFINE(kept_list_vector, struct kept_list *)

struct stack_names {
	struct stack_numbers numbers;
	struct kept_bytes texts;
	struct function_vector functions;
	struct place_vector places;
	/** Of struct function_identity, of places, of traces to a struct kept_list. */
	struct hash_map function_numbers;
	struct hash_map place_numbers;
	struct hash_map lists;
	struct text_builder text;
	struct number_vector scratch;
	size_t bytes;
	size_t max_bytes;
	uint64_t generation;
};

/**
 * @lookup may be NULL. Between two questions at most @max_bytes are kept, as stack_names_begin() sees to; the lists
 * for one question may take STACK_NAMES_QUESTION_MAX times that.
 */
void stack_names_init(struct stack_names *names, struct symbol_lookup *lookup, size_t max_bytes);
void stack_names_deinit(struct stack_names *names);

/** Forgets the lists of traces that nobody else has any more: that the history has let go. */
void stack_names_tidy(struct stack_names *names);

/** Before each question: tidies; forgets everything if @generation is another one, or too much is kept. */
void stack_names_begin(struct stack_names *names, uint64_t generation);

/** The list of @trace, borrowed until the next begin. -ENOMEM. */
int stack_names_list(struct stack_names *names, struct trace *trace, struct place_list *list);

/** The place of a level above the stacks: @name of a process or thread. -ENOMEM. */
int stack_names_level(struct stack_names *names, enum text_kind kind, const char *name,
		      uint32_t *place);

static inline const char *stack_names_text(const struct stack_names *names, uint32_t text)
{
	return kept_bytes_at(&names->texts, text);
}

static inline const struct function_identity *stack_names_function(const struct stack_names *names,
								   uint32_t place)
{
	return &names->functions.items[names->places.items[place].function];
}

/**
 * By number of a function, or @with_lines of a place: where it stands in the order of names. The caller's; NULL without
 * memory.
 */
uint32_t *stack_names_rank(const struct stack_names *names, bool with_lines);

#endif
