/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The waiting room of first samples, of whatever type: they arrive before the maps of their process
 * have been read, and wait here for a bounded time, in order, until somebody says that they can be
 * walked or used. Owned by the work thread.
 */
#ifndef AGENT_PROCESSES_FIRST_SAMPLES_H
#define AGENT_PROCESSES_FIRST_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/sample.h"

enum {
	/** About 6 MB, if every one has a whole stack copy; 12, if they are forks with 3,000 frames. */
	FIRST_SAMPLES_MAX = 256,
};

struct first_samples {
	/** A ring of copies, the oldest at start. */
	struct waiting_sample {
		struct trace_record *record;
		/** Its process has to be known by then, and all else by the deadline. */
		uint64_t known_by_ns;
		uint64_t deadline_ns;
		/** The owner's: an executable without whose rows another try is of no use; 0: none. */
		uint64_t awaited_id;
	} waiting[FIRST_SAMPLES_MAX];
	uint32_t start;
	uint32_t count;
};

/** All bytes zero is an empty room. */
void first_samples_deinit(struct first_samples *samples);

/** Copies @sample and the @bytes bytes of its record. -ENOSPC if the room is full, -ENOMEM. */
int first_samples_add(struct first_samples *samples, const struct waiting_sample *sample,
		      size_t bytes);

/** How many of them are samples of @pid. */
uint32_t first_samples_count_of(const struct first_samples *samples, uint32_t pid);

/** Calls @try_sample for each one, the oldest first; those for which it returns true leave. */
void first_samples_try(struct first_samples *samples, uint64_t now_ns,
		       bool (*try_sample)(void *context, struct waiting_sample *sample,
					  uint64_t now_ns),
		       void *context);

#endif
