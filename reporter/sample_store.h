/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The sample store: every distinct sample (trace, process, thread and their names) once, with its
 * count. It is the struct reporter of the local outputs, and the only state in reporter/ that
 * several threads share: one lock, held for a few hash lookups. Memory has a limit; samples that
 * would need more are dropped and counted, and a warning comes once.
 */
#ifndef REPORTER_SAMPLE_STORE_H
#define REPORTER_SAMPLE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "reporter/reporter.h"

enum {
	SAMPLE_STORE_DEFAULT_MAX_BYTES = 256 << 20,
};

/** One distinct sample. Its strings live as long as the store. */
struct stored_sample {
	struct trace *trace;
	const char *process_comm;
	const char *thread_comm;
	const char *executable_path;
	uint32_t pid;
	uint32_t tid;
	uint64_t count;
};

/** Sums over all samples that are in the store; dropped ones are only in dropped. */
struct sample_totals {
	uint64_t samples;
	/** Not stored, for lack of memory or over the limit: lost. */
	uint64_t dropped;
	uint64_t complete;
	/** With at least one frame that is a guess. */
	uint64_t guesses;
	/** Whose walk ended in an error frame, by reason. */
	uint64_t errors[UNWIND_ERROR_COUNT];
	/** Taken before the agent knew the process. */
	uint64_t before_known;
	/**
	 * Of known processes that have a user stack: neither kernel threads nor tasks that gave up
	 * their memory to exit; and how many of these are complete.
	 */
	uint64_t known_user;
	uint64_t known_user_complete;
};

struct sample_store;

/** 0 for @max_bytes takes the default. NULL without memory. */
struct sample_store *sample_store_create(size_t max_bytes);
void sample_store_destroy(struct sample_store *store);

/** The reporter to hand samples to; borrowed from @store. */
struct reporter *sample_store_reporter(struct sample_store *store);

/** What was in a store at one moment, with references on traces. Owner: the thread that took it. */
struct sample_snapshot {
	struct stored_sample *samples;
	size_t count;
	struct sample_totals totals;
};

/** Copies the list of samples, so that outputs can take their time. -ENOMEM. */
int sample_store_take_snapshot(struct sample_store *store, struct sample_snapshot *snapshot);

/** To be called before the store is destroyed; takes a zeroed one. */
void sample_snapshot_deinit(struct sample_snapshot *snapshot);

#endif
