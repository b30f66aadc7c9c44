/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Growing arrays, typed by macro:
 *
 *	VECTOR_DEFINE(address_vector, uint64_t)
 *
 * makes struct address_vector {items, count, capacity} and address_vector_reserve(), _push(),
 * _insert(), _remove() and _deinit(). All bytes zero is an empty vector. Items are plain values:
 * who owns what they point to is the user's to say. Not thread-safe. Callers bound the count.
 */
#ifndef LIB_BASE_VECTOR_H
#define LIB_BASE_VECTOR_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/**
 * Makes room for @wanted elements of @element_bytes in the malloc'ed array @items of *@capacity, which at least
 * doubles. Returns the array, moved or not; NULL without memory, and then the old array stays valid. Use the
 * typed functions below.
 */
void *vector_grow(void *items, size_t *capacity, size_t wanted, size_t element_bytes);

/** Frees memory that growth reserved beyond @bytes, if possible. Returns the array, moved or not. */
void *vector_shrink(void *items, size_t bytes);

#define VECTOR_DEFINE(name, type)                                                                  \
	struct name {                                                                              \
		type *items;                                                                       \
		size_t count;                                                                      \
		size_t capacity;                                                                   \
	};                                                                                         \
	/* Room for @wanted items in all: pushes up to there cannot fail. 0 or -ENOMEM. */         \
	__attribute__((unused)) static inline int name##_reserve(struct name *vector,              \
								 size_t wanted)                    \
	{                                                                                          \
		type *items;                                                                       \
                                                                                                   \
		if (wanted <= vector->capacity)                                                    \
			return 0;                                                                  \
		items = vector_grow(vector->items, &vector->capacity, wanted, sizeof(type));       \
		if (!items)                                                                        \
			return -ENOMEM;                                                            \
		vector->items = items;                                                             \
		return 0;                                                                          \
	}                                                                                          \
	/* Appends a copy of @value. 0 or -ENOMEM. */                                              \
	__attribute__((unused)) static inline int name##_push(struct name *vector, type value)     \
	{                                                                                          \
		int err = name##_reserve(vector, vector->count + 1);                               \
                                                                                                   \
		if (err)                                                                           \
			return err;                                                                \
		vector->items[vector->count++] = value;                                            \
		return 0;                                                                          \
	}                                                                                          \
	/* Puts @value before item @index (at most count). 0 or -ENOMEM. */                        \
	__attribute__((unused)) static inline int name##_insert(struct name *vector, size_t index, \
								type value)                        \
	{                                                                                          \
		int err = name##_reserve(vector, vector->count + 1);                               \
                                                                                                   \
		if (err)                                                                           \
			return err;                                                                \
		memmove(vector->items + index + 1, vector->items + index,                          \
			(vector->count - index) * sizeof(type));                                   \
		vector->items[index] = value;                                                      \
		vector->count++;                                                                   \
		return 0;                                                                          \
	}                                                                                          \
	/* Takes out item @index (below count); the order stays. */                                \
	__attribute__((unused)) static inline void name##_remove(struct name *vector,              \
								 size_t index)                     \
	{                                                                                          \
		vector->count--;                                                                   \
		memmove(vector->items + index, vector->items + index + 1,                          \
			(vector->count - index) * sizeof(type));                                   \
	}                                                                                          \
	/* Frees the array and leaves an empty vector. */                                          \
	__attribute__((unused)) static inline void name##_deinit(struct name *vector)              \
	{                                                                                          \
		free(vector->items);                                                               \
		memset(vector, 0, sizeof(*vector));                                                \
	}

#endif
