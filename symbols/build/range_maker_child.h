/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The process that symbols/build/range_maker.h starts: its messages, and what it does. Messages are
 * packets on a socket; both ends are from the same build.
 */
#ifndef SYMBOLS_BUILD_RANGE_MAKER_CHILD_H
#define SYMBOLS_BUILD_RANGE_MAKER_CHILD_H

#include <limits.h>
#include <stdint.h>

#include "symbols/build/range_maker.h"

/** The only argument of the program. */
#define RANGE_MAKER_ARGUMENT "-make-ranges-of-descriptors"

enum {
	/** The descriptor of the socket in the new process. */
	RANGE_MAKER_SOCKET = 3,
	/**
	 * Files sent with a request: the ELF file, the output, and the debug file if there is one.
	 */
	RANGE_MAKER_FILES_MAX = 3,
	/** The status with which libdw exits when it has no memory. */
	RANGE_MAKER_EXIT_NO_MEMORY = 1,
};

struct range_maker_request {
	struct range_maker_limits limits;
	struct hash128 key;
	/** enum range_depth */
	uint32_t depth;
	/** When this process ends, the new one ends too. */
	int32_t parent;
};

enum range_maker_message_kind {
	RANGE_MAKER_OPEN,
	RANGE_MAKER_OPEN_SCRATCH,
	RANGE_MAKER_OPEN_BIG_BYTES,
	RANGE_MAKER_OPENED,
	RANGE_MAKER_RESULT,
};

struct range_maker_message {
	/** enum range_maker_message_kind */
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

/** Handles the request on RANGE_MAKER_SOCKET and ends the process. */
void range_maker_child(void) __attribute__((noreturn));

#endif
