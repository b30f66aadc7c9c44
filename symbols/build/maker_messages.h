/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The messages of a process that makes symbol caches (symbol_cache_maker.h), which may have been taken over by the file that it
 * reads: what it asks for is opened within limits, and its result is a number and a text, no more.
 */
#ifndef SYMBOLS_BUILD_MAKER_MESSAGES_H
#define SYMBOLS_BUILD_MAKER_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/elf/debug_file.h"

enum {
	MAKER_TEXT_BYTES = 128,
	/** Limit of opened .dwo files: one for each unit, at two paths. */
	MAKER_OPENS_MAX = 1 << 18,
};

/** All descriptors are borrowed. */
struct maker_messages {
	int socket;
	/** Where files with debug data are looked for; NULL: none is opened. */
	const struct debug_file_search *search;
	/** The file whose symbol caches are made. */
	int elf;
	/** Counts of the files opened so far. */
	uint32_t open_count;
	uint64_t scratch_bytes;
	/** The last result: 0 or -errno, and its text. */
	bool has_result;
	int result;
	char text[MAKER_TEXT_BYTES];
};

/** Handles one message, and answers it; never waits. False if there was none. */
bool maker_messages_hear(struct maker_messages *messages);

#endif
