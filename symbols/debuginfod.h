/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Debug files from servers (debuginfod), by the client that elfutils has: `debuginfod-find debuginfo BUILDID`, a
 * process of its own, one at a time, which knows the servers by DEBUGINFOD_URLS and keeps what it gets in its usual
 * cache. What it brings is a hostile file as any other, and looked at where all of them are (debug_file.h).
 */
#ifndef SYMBOLS_DEBUGINFOD_H
#define SYMBOLS_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/binary.h"

enum {
	DEBUGINFOD_MAX_WAITING = 1024,
	/** Build ids that were asked for; beyond it some are asked for again. */
	DEBUGINFOD_MAX_ASKED = 1 << 14,
};

struct debuginfod_options {
	/** A path, or a name to be found in PATH. */
	const char *program;
	/** For one file. */
	uint64_t timeout_ns;
	/** Called by the thread when a debug file has come for @binary. */
	void (*came)(void *context, struct binary *binary);
	void *context;
};

/** Thread-safe. */
struct debuginfod;

/** Starts the thread. @options is copied. -ENOMEM. */
int debuginfod_create(const struct debuginfod_options *options, struct debuginfod **debuginfod);

/** Ends a client that is at work, and the thread; what is wanted from then on is not fetched. Takes NULL. */
void debuginfod_stop(struct debuginfod *debuginfod);
/** Stops as well. Takes NULL. */
void debuginfod_destroy(struct debuginfod *debuginfod);

/** Has the debug file of @binary fetched, if it has a build id for which that was not tried yet. Never waits. */
void debuginfod_want(struct debuginfod *debuginfod, struct binary *binary);

/**
 * Where the client keeps files, as debuginfod-find(1) says of DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME and HOME.
 * -ENOENT: none of these is set, -E2BIG.
 */
int debuginfod_directory(char *path, size_t size);

#endif
