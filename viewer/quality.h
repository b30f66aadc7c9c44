/* SPDX-License-Identifier: Apache-2.0 */
/** How good stacks and names are, by process and by binary, and what would mend those that are not. */
#ifndef VIEWER_QUALITY_H
#define VIEWER_QUALITY_H

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "viewer/question.h"

enum {
	/** Beside enum unwind_error: a stack that has a guess. */
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
	/** language_bit() of those that there are frames of. */
	uint32_t languages;
};

struct binary_quality {
	const struct binary *binary;
	/** Of stacks that have a frame of it, each once. */
	uint64_t samples;
	uint64_t complete;
	uint64_t frames;
	uint64_t named;
	/** Of the walks that did not find the caller of a frame of it. */
	uint64_t reasons[REASON_COUNT];
	/* The last key that was counted, from 1 on. */
	uint64_t counted;
};

VECTOR_DEFINE(process_quality_vector, struct process_quality)
VECTOR_DEFINE(binary_quality_vector, struct binary_quality)

struct quality {
	struct question *question;
	uint64_t samples;
	uint64_t complete;
	/** Those with the most to mend come first. */
	struct process_quality_vector processes;
	struct binary_quality_vector binaries;
	/* To places among the rows. */
	struct hash_map process_places;
	struct hash_map binary_places;
	/* Whether a native frame has a name, by binary and address. */
	struct hash_map is_named;
	uint64_t *counts;
};

/** Counts what @question, which is borrowed, selects. -ENOMEM. The caller deinits @quality in any case. */
int quality_count(struct quality *quality, struct question *question);
void quality_deinit(struct quality *quality);

/** Why something is not as it should be; texts are "" for none. */
struct quality_reason {
	const char *text;
	/** How often; 0 if it is not counted. */
	uint64_t count;
	const char *mend;
};

/** The most frequent one. */
struct quality_reason quality_reason(const uint64_t reasons[REASON_COUNT]);
/** Why frames of the binary have no name. */
struct quality_reason quality_names_reason(const struct binary_quality *binary);

#endif
