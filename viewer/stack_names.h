/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Turns stacks into lists of ids of functions, so that stacks can be summed without their strings.
 * All of the page's requests use it. The list of a stack is cached while there is room and until
 * names get better. For one thread.
 */
#ifndef VIEWER_STACK_NAMES_H
#define VIEWER_STACK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reporter/byte_pool.h"
#include "reporter/stack_ids.h"
#include "viewer/history.h"

/** Flags in addition to those of enum text_flag. */
enum {
	/** The frame stands for several (stack_names_group()). */
	FUNCTION_IS_GROUP = 1 << 3,
};

/** Equal functions have equal identities. Strings are ids. */
struct function_identity {
	uint32_t name;
	/** The source file, else the binary or module; "" if there is no name at all. */
	uint32_t file;
	/** enum text_kind; enum text_flag and FUNCTION_IS_GROUP. */
	uint8_t kind;
	uint8_t flags;
	/** 1 if the function has no name but the address of one of its instructions. */
	uint16_t is_unnamed;
};

/** A code location: a function, and a line and a column in it, 0 if unknown. */
struct stack_location {
	uint32_t function;
	uint32_t line;
	uint32_t column;
	/** String id of the path of its binary, or of the kernel's module; "" for code in no file. */
	uint32_t binary;
	/** Id of the first location that has the same function, line and column, in whatever binary. */
	uint32_t position;
};

VECTOR_DEFINE(function_vector, struct function_identity)
VECTOR_DEFINE(stack_location_vector, struct stack_location)

/** A list of code locations, outermost first. */
struct location_list {
	const uint32_t *locations;
	size_t count;
};

enum { STACK_NAMES_QUESTION_MAX = 2 };

struct cached_list;

VECTOR_DEFINE(cached_list_vector, struct cached_list *)

struct stack_names {
	struct stack_ids ids;
	struct byte_pool strings;
	struct function_vector functions;
	/** By function: the id of its first location. */
	struct number_vector first_locations;
	struct stack_location_vector locations;
	/**
	 * Maps from struct function_identity, from positions, from code locations, and from hashes of struct stack_identity to a
	 * struct cached_list.
	 */
	struct hash_map function_ids;
	struct hash_map position_ids;
	struct hash_map location_ids;
	struct hash_map lists;
	/** By key of the history: its list, or NULL. */
	struct cached_list_vector lists_of_keys;
	struct key_stack stack;
	struct text_builder text;
	struct number_vector scratch;
	/** Ids in the order of names: of functions, and of code locations. New ones are sorted in when ranks are asked for. */
	struct number_vector sorted[2];
	size_t bytes;
	size_t max_bytes;
	uint64_t generation;
};

/**
 * @lookup may be NULL. stack_names_begin() keeps the cache below @max_bytes between requests; the
 * lists of one request may take STACK_NAMES_QUESTION_MAX times that.
 */
void stack_names_init(struct stack_names *names, struct symbol_lookup *lookup, size_t max_bytes);
void stack_names_deinit(struct stack_names *names);

/** Drops the lists of the keys that were freed since the view before this one. To be called for each view of the history. */
void stack_names_tidy(struct stack_names *names, const struct history_view *view);

/** Drops all lists and names. */
void stack_names_empty(struct stack_names *names);

/** The approximate memory. */
size_t stack_names_bytes(const struct stack_names *names);

/** Call it before each request. Empties the cache if @generation has changed or it is too large. */
void stack_names_begin(struct stack_names *names, uint64_t generation);

/**
 * The list of the stack of @key, for which stack_names_tidy() was called with @view. Equal stacks mostly have the same list. Borrowed until the next
 * begin. -ENOMEM; -EINVAL: the lists are too large.
 */
int stack_names_list(struct stack_names *names, const struct history_view *view, uint32_t key,
		     struct location_list *list);

/** The id of a string. -ENOMEM. */
int stack_names_intern(struct stack_names *names, const char *text, uint32_t *id);

/** The code location of a frame that stands for several: @name with the string ids of its @file and @binary. -ENOMEM. */
int stack_names_group(struct stack_names *names, uint8_t kind, const char *name, uint32_t file,
		      uint32_t binary, uint32_t *location);

/**
 * The code location that stands for a level above the stacks: @name of a process or thread.
 * -ENOMEM.
 */
int stack_names_level(struct stack_names *names, enum text_kind kind, const char *name,
		      uint32_t *location);

static inline const char *stack_names_text(const struct stack_names *names, uint32_t text)
{
	return byte_pool_at(&names->strings, text);
}

static inline const struct function_identity *stack_names_function(const struct stack_names *names,
								   uint32_t location)
{
	return &names->functions.items[names->locations.items[location].function];
}

/**
 * The position of each function, or @with_lines of each code location, in the order of names;
 * indexed by id. The caller frees it; NULL without memory.
 */
uint32_t *stack_names_rank(struct stack_names *names, bool with_lines);

#endif
