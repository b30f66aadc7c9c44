/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Ranges of the binaries that names are asked for, made by two threads of its own, one for symbols and one for
 * DWARF: one file at a time each, at low priority and with a share of the CPU at most. What was
 * made is known by the bytes that it was made of (range_key.h), so copies of a file share it. With a
 * disk cache it is kept there; else it lies in files without a name, of which the least recently used go
 * above a limit. No more than some are mapped at a time.
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
	 * Taken over in any case: the cache. What it borrows and its context must live until
	 * range_store_destroy() has returned true.
	 */
	struct range_work_options work;
	/** Of all range files that are held open; others are made or found again. */
	uint64_t file_bytes;
	/**
	 * Told by a thread, with its lock, that there is no DWARF for @binary, which may be got from
	 * elsewhere: then range_store_retry(). May be NULL.
	 */
	void (*no_dwarf)(void *context, struct binary *binary);
	void *no_dwarf_context;
};

int range_store_create(const struct range_store_options *options, struct range_store **store);

/**
 * Takes NULL. False: a thread waits for a file that takes its time; they are left behind with all that they
 * use, which must live on, and end when they can.
 */
bool range_store_destroy(struct range_store *store);

/** The store as a source; borrowed. */
struct range_source *range_store_source(struct range_store *store);

/**
 * Has ranges of @binary made, if they are not there. @pid: a process that has mapped it, in whose root the
 * debug file may be; 0 for none. Where it was gone too early another one that has mapped it counts. The source answers for no binary before, and has made again what was
 * dropped.
 */
void range_store_want(struct range_store *store, struct binary *binary, pid_t pid,
		      enum range_depth depth);

/** Has DWARF of @binary looked for once more, where there was none. Any thread. */
void range_store_retry(struct range_store *store, struct binary *binary);

/**
 * Waits until all that was wanted is there, or cannot be, and until @deadline_ns (CLOCK_MONOTONIC) at most.
 * Nothing holds the threads back any more. False if something is missing.
 */
bool range_store_wait(struct range_store *store, uint64_t deadline_ns);

/**
 * Waits until symbols are there, or cannot be, of all that was wanted, and until @deadline_ns at most, or
 * until the store ends or is frozen. False if some are missing. Any thread.
 */
bool range_store_wait_symbols(struct range_store *store, uint64_t deadline_ns);

/**
 * How many binaries are still waited for, and a number that grows whenever answers may have got better. Any thread.
 */
void range_store_progress(struct range_store *store, size_t *waiting, uint64_t *changes);

/** Housekeeping, several times a second. Any thread. */
void range_store_tick(struct range_store *store);

/** From now on answers stay as they are, so that outputs show a frame as one thing, wherever it is. */
void range_store_freeze(struct range_store *store);

#endif
