/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory of which small neighbouring pieces are read, one after the other: a field of an object, and then
 * the next one. Each read goes on to the end of a window, which answers those that follow. For one look at
 * what is then checked to be as it was, by the memory itself.
 */
#ifndef INTERPRETERS_READ_WINDOWS_H
#define INTERPRETERS_READ_WINDOWS_H

#include <stdint.h>

#include "lib/host/remote_memory.h"

enum {
	/** A power of two, and no more than a page, so that all of a window is there or nothing. */
	READ_WINDOW_BYTES = 512,
	READ_WINDOW_COUNT = 16,
};

struct read_window {
	/** Address / READ_WINDOW_BYTES + 1; 0: empty. */
	uint64_t number;
	uint8_t bytes[READ_WINDOW_BYTES];
};

/** One thread's. */
struct read_windows {
	struct remote_memory memory;
	/** Borrowed. */
	struct remote_memory *source;
	/** Of those that were filled. */
	uint32_t filled;
	struct read_window windows[READ_WINDOW_COUNT];
};

/** What is larger than a window, or lies in two, is read from @source, which is borrowed. */
void read_windows_init(struct read_windows *windows, struct remote_memory *source);

#endif
