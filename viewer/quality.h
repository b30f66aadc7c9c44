/* SPDX-License-Identifier: Apache-2.0 */
/** How good stacks and names are, by process and by binary, and what would improve them. */
#ifndef VIEWER_QUALITY_H
#define VIEWER_QUALITY_H

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "viewer/question.h"

enum {
	/** A reason besides enum unwind_error: the stack has a guessed frame. */
	REASON_GUESS = UNWIND_ERROR_COUNT,
	REASON_COUNT,
};

struct process_quality {
	const struct sample *key;
	uint64_t samples;
	uint64_t complete;
	uint64_t frames;
	uint64_t named;
	uint64_t reasons[REASON_COUNT];
	/** language_bit() of each language that has frames. */
	uint32_t languages;
};

struct binary_quality {
	const struct binary *binary;
	/** Of one of its samples. */
	const struct sample *key;
	/** Samples whose stacks have a frame of the binary, each counted once. */
	uint64_t samples;
	uint64_t complete;
	uint64_t frames;
	uint64_t named;
	/** Unwinds that failed at a frame of the binary, by reason. */
	uint64_t reasons[REASON_COUNT];
	/* The id of the last key that was counted, plus 1; 0: none. */
	uint64_t counted;
};

VECTOR_DEFINE(process_quality_vector, struct process_quality)
VECTOR_DEFINE(binary_quality_vector, struct binary_quality)

struct quality {
	struct question *question;
	uint64_t samples;
	uint64_t complete;
	/** Rows with the most to improve come first. */
	struct process_quality_vector processes;
	struct binary_quality_vector binaries;
	/* Map to indexes of rows. */
	struct hash_map process_indexes;
	struct hash_map binary_indexes;
	/* Whether a native frame has a name, by binary and address. */
	struct hash_map is_named;
	uint64_t *counts;
	/* The stack that is being counted. */
	struct key_stack stack;
};

/**
 * Counts the samples that @question selects; it is borrowed. -ENOMEM. The caller deinits @quality
 * in any case.
 */
int quality_count(struct quality *quality, struct question *question);
void quality_deinit(struct quality *quality);

/** The reason for a deficiency, and how to fix it; texts are "" if there is none. */
struct quality_reason {
	const char *text;
	/** How often it occurred; 0 if it is not counted. */
	uint64_t count;
	const char *mend;
};

/** The most frequent reason. */
struct quality_reason quality_reason(const uint64_t reasons[REASON_COUNT]);
/** The reason why frames of the binary have no name. */
struct quality_reason quality_names_reason(const struct binary_quality *binary);

#endif
