/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Fetches debug files from servers (debuginfod) with the client of elfutils: `debuginfod-find
 * debuginfo BUILDID`, a separate process, one at a time. It finds the servers by DEBUGINFOD_URLS
 * and stores files in its usual cache. A fetched file is as hostile as any other; it is read where
 * debug files are searched for (debug_file.h).
 */
#ifndef SYMBOLS_DEBUGINFOD_H
#define SYMBOLS_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/binary.h"

/** The client, and its first argument. */
#define DEBUGINFOD_PROGRAM "debuginfod-find"
#define DEBUGINFOD_KIND "debuginfo"

enum {
	DEBUGINFOD_MAX_WAITING = 1024,
	/** Build ids that have been requested; above this limit some are requested again. */
	DEBUGINFOD_MAX_ASKED = 1 << 14,
};

struct debuginfod_options {
	/** A path, or a name that is searched for in PATH. */
	const char *program;
	/** Limit for one file. */
	uint64_t timeout_ns;
	/** Called by the thread when a debug file for @binary has arrived. */
	void (*came)(void *context, struct binary *binary);
	void *context;
};

/** Thread-safe. */
struct debuginfod;

/** Starts the thread. @options is copied. -ENOMEM. */
int debuginfod_create(const struct debuginfod_options *options, struct debuginfod **debuginfod);

/** Ends a running client and the thread; later requests are ignored. Takes NULL. */
void debuginfod_stop(struct debuginfod *debuginfod);
/** Calls debuginfod_stop() first. Takes NULL. */
void debuginfod_destroy(struct debuginfod *debuginfod);

/**
 * Requests the debug file of @binary, if it has a build id that has not been tried yet. Never
 * waits.
 */
void debuginfod_want(struct debuginfod *debuginfod, struct binary *binary);

/**
 * The client's cache directory, from DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME and HOME as in
 * debuginfod-find(1). -ENOENT: none of these is set, -E2BIG.
 */
int debuginfod_directory(char *path, size_t size);

#endif
