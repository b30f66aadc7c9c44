/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The process that symbols/build/symbol_cache_maker.h starts: its messages, and what it does. Messages are
 * packets on a socket; both ends are from the same build.
 */
#ifndef SYMBOLS_BUILD_SYMBOL_CACHE_MAKER_CHILD_H
#define SYMBOLS_BUILD_SYMBOL_CACHE_MAKER_CHILD_H

#include <limits.h>
#include <stdint.h>

#include "symbols/build/symbol_cache_maker.h"

/** The only argument of the program. */
#define SYMBOL_CACHE_MAKER_ARGUMENT "-make-symbol-cache-of-descriptors"

enum {
	/** The descriptor of the socket in the new process. */
	SYMBOL_CACHE_MAKER_SOCKET = 3,
	/**
	 * Files sent with a request: the ELF file, the output, and the debug file if there is one.
	 */
	SYMBOL_CACHE_MAKER_FILES_MAX = 3,
	/** The status with which libdw exits when it has no memory. */
	SYMBOL_CACHE_MAKER_EXIT_NO_MEMORY = 1,
};

struct symbol_cache_maker_request {
	struct symbol_cache_maker_limits limits;
	struct hash128 key;
	/** enum symbol_depth */
	uint32_t depth;
	/** When this process ends, the new one ends too. */
	int32_t parent;
};

enum symbol_cache_maker_message_kind {
	SYMBOL_CACHE_MAKER_OPEN,
	SYMBOL_CACHE_MAKER_OPEN_SCRATCH,
	SYMBOL_CACHE_MAKER_OPEN_BIG_BYTES,
	SYMBOL_CACHE_MAKER_OPENED,
	SYMBOL_CACHE_MAKER_RESULT,
};

struct symbol_cache_maker_message {
	/** enum symbol_cache_maker_message_kind */
	uint32_t kind;
	/** 0 or -errno */
	int32_t error;
	/** Size of a scratch file. */
	uint64_t bytes;
	/**
	 * A path, or the text of an error; if there is no error, the text of
	 * symbols/dwarf/dwarf_problem.h.
	 */
	char text[PATH_MAX];
};

/** Handles the request on SYMBOL_CACHE_MAKER_SOCKET and ends the process. */
void symbol_cache_maker_child(void) __attribute__((noreturn));

#endif
