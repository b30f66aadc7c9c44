/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A cache for reads of small neighbouring chunks of memory, such as one field of an object after the other.
 * A read fetches a whole window, which serves the reads that follow. Use it for one short look only; the
 * caller then checks with the memory itself that nothing has changed.
 */
#ifndef INTERPRETERS_READ_WINDOWS_H
#define INTERPRETERS_READ_WINDOWS_H

#include <stdint.h>

#include "lib/host/remote_memory.h"

enum {
	/** A power of two and at most a page, so that a window is readable as a whole or not at all. */
	READ_WINDOW_BYTES = 512,
	READ_WINDOW_COUNT = 16,
};

struct read_window {
	/** Address / READ_WINDOW_BYTES + 1; 0: empty. */
	uint64_t number;
	uint8_t bytes[READ_WINDOW_BYTES];
};

/** Owned by one thread. */
struct read_windows {
	struct remote_memory memory;
	/** Borrowed. */
	struct remote_memory *source;
	/** Number of windows that were filled. */
	uint32_t filled;
	struct read_window windows[READ_WINDOW_COUNT];
};

/** @source is borrowed. A read that does not fit into one window goes to it directly. */
void read_windows_init(struct read_windows *windows, struct remote_memory *source);

#endif
