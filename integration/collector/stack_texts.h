/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Stacks as folded text, in the format of the agent's -output x.folded, but without the process's
 * name: frames from the root to the leaf, separated by `;`.
 *
 *	name			the function of a line; native, kernel or interpreted
 *	file+0xaddress		a location without lines: last part of its mapping's file name
 *	..._[k] _[i] _[j]	kernel; inlined into the previous one; code generated at run time
 *	..._[~]			inlined here or nearby (attribute allframes.frame.approximate)
 *	..._[?]			a guess, by its name or by the attribute allframes.frame.guess
 *	[error: why]		an abort-marker, by its name
 */
#ifndef INTEGRATION_COLLECTOR_STACK_TEXTS_H
#define INTEGRATION_COLLECTOR_STACK_TEXTS_H

#include <stdio.h>

#include "integration/collector/otlp_message.h"
#include "lib/base/hash_map.h"
#include "lib/base/text_builder.h"

/**
 * Names for native locations that come without one, taken from a message that has them: the agent's
 * -output x.otlp. Initialize with zeros.
 */
struct location_names {
	/** Maps mapping and address to an offset in texts. */
	struct hash_map offsets;
	/** Texts, each with a NUL. */
	struct text_builder texts;
};

/** Adds all names of native locations in @message. 0 or -ENOMEM. */
int location_names_add(struct location_names *names, const struct otlp_message *message);
void location_names_deinit(struct location_names *names);

/** Appends the location's frames as described above. @names may be NULL. */
void append_location_text(struct text_builder *text, const struct otlp_message *message,
			  const struct otlp_location *location, const struct location_names *names);

/** Appends stack @index of @message; nothing if there is none. */
void append_stack_text(struct text_builder *text, const struct otlp_message *message, int32_t index,
		       const struct location_names *names);

struct folded_stack {
	char *text;
	uint64_t count;
};

VECTOR_DEFINE(folded_stack_vector, struct folded_stack)

/** Counts per text. Initialize with zeros. */
struct folded_stacks {
	struct hash_map indices;
	struct folded_stack_vector stacks;
	uint64_t total;
};

/** 0 or -ENOMEM. */
int folded_stacks_add(struct folded_stacks *folded, const char *text, uint64_t count);
void folded_stacks_deinit(struct folded_stacks *folded);

/**
 * Writes lines `text count`, most frequent first, equal counts in text order; errors stay in @out.
 */
void folded_stacks_write(struct folded_stacks *folded, FILE *out);

#endif
