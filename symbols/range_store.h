/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes the ranges of binaries whose names are requested, in two threads, one for symbols and one
 * for DWARF. Each makes one file at a time, at low priority and with a limited share of the CPU.
 * Results are keyed by the bytes from which they were made (range_key.h), so copies of a file share
 * them. They are stored in the disk cache if there is one; otherwise in unnamed files, of which the
 * least recently used are dropped above a limit. The number of mapped files is limited.
 *
 * Files whose file system may never answer are not read.
 */
#ifndef SYMBOLS_RANGE_STORE_H
#define SYMBOLS_RANGE_STORE_H

#include "symbols/range_source.h"
#include "symbols/range_work.h"

enum {
	RANGE_STORE_MAX_BINARIES = 8192,
	RANGE_STORE_MAX_WAITING = 8192,
	RANGE_STORE_MAX_MAPPED = 256,
};

/** Thread-safe. */
struct range_store;

struct range_store_options {
	/**
	 * Taken over in any case: the cache. The memory that work borrows, and its context, must
	 * live until range_store_destroy() has returned true.
	 */
	struct range_work_options work;
	/** Limit of all range files that are held open; others are made or found again. */
	uint64_t file_bytes;
	/**
	 * Called by a thread, with its lock held, when there is no DWARF for @binary. If it can be
	 * fetched from elsewhere, call range_store_retry() afterwards. May be NULL.
	 */
	void (*no_dwarf)(void *context, struct binary *binary);
	void *no_dwarf_context;
};

int range_store_create(const struct range_store_options *options, struct range_store **store);

/**
 * Takes NULL. False if a thread is blocked by a slow file. The threads then keep running, and
 * everything that they use must live on; they end when they can.
 */
bool range_store_destroy(struct range_store *store);

/** The store as a source; borrowed. */
struct range_source *range_store_source(struct range_store *store);

/**
 * Requests ranges of @binary, if there are none. @pid: a process that has mapped it, whose root
 * directory may have the debug file; 0: none. If that process is gone too early, another one that
 * has mapped the binary is used. Before this call the source has no answer for the binary. Dropped
 * ranges are made again.
 */
void range_store_want(struct range_store *store, struct binary *binary, pid_t pid,
		      enum range_depth depth);

/** Searches for DWARF of @binary again, after there was none. Any thread. */
void range_store_retry(struct range_store *store, struct binary *binary);

/**
 * Waits until all requested ranges are made or have failed, at most until @deadline_ns
 * (CLOCK_MONOTONIC). The threads no longer limit their CPU share then. False if something is
 * missing.
 */
bool range_store_wait(struct range_store *store, uint64_t deadline_ns);

/**
 * Waits until all requested symbols are made or have failed, at most until @deadline_ns, or until
 * the store ends or is frozen. False if some are missing. Any thread.
 */
bool range_store_wait_symbols(struct range_store *store, uint64_t deadline_ns);

/**
 * The number of binaries whose ranges are pending, and a number that grows when answers may have
 * become better. Any thread.
 */
void range_store_progress(struct range_store *store, size_t *waiting, uint64_t *changes);

/** Housekeeping; call it several times a second. Any thread. */
void range_store_tick(struct range_store *store);

/** From now on answers do not change, so that outputs show a frame the same way everywhere. */
void range_store_freeze(struct range_store *store);

#endif
