/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes the symbol caches of binaries whose names are requested, in two threads, one for symbols and one
 * for DWARF. Each makes one file at a time, at low priority and with a limited share of the CPU.
 * Results are keyed by the bytes from which they were made (symbol_cache_key.h), so copies of a file share
 * them. They are stored in the disk cache if there is one; otherwise in unnamed files, of which the
 * least recently used are dropped above a limit. The number of mapped files is limited.
 *
 * Files whose file system may never answer are not read.
 */
#ifndef SYMBOLS_SYMBOL_CACHES_H
#define SYMBOLS_SYMBOL_CACHES_H

#include "symbols/symbol_cache_source.h"
#include "symbols/symbol_cache_work.h"

enum {
	SYMBOL_CACHES_MAX_BINARIES = 8192,
	SYMBOL_CACHES_MAX_WAITING = 8192,
	SYMBOL_CACHES_MAX_MAPPED = 256,
};

/** Thread-safe. */
struct symbol_caches;

struct symbol_caches_options {
	/**
	 * Taken over in any case: the cache. The memory that work borrows, and its context, must
	 * live until symbol_caches_destroy() has returned true.
	 */
	struct symbol_cache_work_options work;
	/** Limit of all symbol caches that are held open; others are made or found again. */
	uint64_t file_bytes;
	/** Somebody waits for the results from the start: as after symbol_caches_wait(). */
	bool is_hurried;
	/**
	 * Called by a thread, with its lock held, when there is no DWARF for @binary. If it can be
	 * fetched from elsewhere, call symbol_caches_retry() afterwards. May be NULL.
	 */
	void (*no_dwarf)(void *context, struct binary *binary);
	void *no_dwarf_context;
};

/**
 * The limits of the agent, and a disk cache in @cache_dir unless that is NULL; what @options had is overwritten. -errno with a text
 * for users.
 */
int symbol_caches_options_init(struct symbol_caches_options *options, const char *cache_dir);

int symbol_caches_create(const struct symbol_caches_options *options, struct symbol_caches **store);

/**
 * Takes NULL. False if a thread is blocked by a slow file. The threads then keep running, and
 * everything that they use must live on; they end when they can.
 */
bool symbol_caches_destroy(struct symbol_caches *store);

/** The store as a source; borrowed. */
struct symbol_cache_source *symbol_caches_source(struct symbol_caches *store);

/**
 * Requests symbol caches of @binary, if there are none. @pid: a process that has mapped it, whose root
 * directory may have the debug file; 0: none. If that process is gone too early, another one that
 * has mapped the binary is used. Before this call the source has no answer for the binary. Dropped
 * symbol caches are made again.
 */
void symbol_caches_want(struct symbol_caches *store, struct binary *binary, pid_t pid,
			enum symbol_depth depth);

/** Searches for DWARF of @binary again, after there was none. Any thread. */
void symbol_caches_retry(struct symbol_caches *store, struct binary *binary);

/**
 * Waits until all requested symbol caches are made or have failed, at most until @deadline_ns
 * (CLOCK_MONOTONIC). The threads no longer limit their CPU share then. False if something is
 * missing.
 */
bool symbol_caches_wait(struct symbol_caches *store, uint64_t deadline_ns);

/**
 * Waits until all requested symbols are made or have failed, at most until @deadline_ns, or until
 * the store ends or is frozen. False if some are missing. Any thread.
 */
bool symbol_caches_wait_symbols(struct symbol_caches *store, uint64_t deadline_ns);

/** Whether the symbol cache of @binary at this depth is still to be made. Any thread. */
bool symbol_caches_are_pending(struct symbol_caches *store, const struct binary *binary,
			       enum symbol_depth depth);

/**
 * The number of binaries whose symbol caches are pending, and a number that grows when answers may have
 * become better. Any thread.
 */
void symbol_caches_progress(struct symbol_caches *store, size_t *waiting, uint64_t *changes);

/** Housekeeping; call it several times a second. Any thread. */
void symbol_caches_tick(struct symbol_caches *store);

/** From now on answers do not change, so that outputs show a frame the same way everywhere. */
void symbol_caches_freeze(struct symbol_caches *store);

#endif
