/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory of a process that is read in many small pieces: pages of it are kept, so that a piece costs
 * no call of the system. For the short time of one look at what does not change meanwhile, or may.
 */
#ifndef INTERPRETERS_JAVA_REMOTE_PAGES_H
#define INTERPRETERS_JAVA_REMOTE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/host/remote_memory.h"

enum {
	REMOTE_PAGE_BYTES = 4096,
	/** A power of two; half a MiB in all. */
	REMOTE_PAGE_COUNT = 128,
};

struct remote_page {
	/** Address / REMOTE_PAGE_BYTES + 1; 0: empty. */
	uint64_t number;
	uint8_t bytes[REMOTE_PAGE_BYTES];
};

/** One thread's. */
struct remote_pages {
	/** Borrowed. */
	struct remote_memory *memory;
	/** What may still be read of the process. */
	uint64_t bytes_left;
	struct remote_page *pages;
};

/** @max_bytes: reading more fails. -ENOMEM. */
int remote_pages_init(struct remote_pages *pages, struct remote_memory *memory, uint64_t max_bytes);
void remote_pages_deinit(struct remote_pages *pages);

/** Reads exactly @bytes bytes; -EFAULT, -ESRCH, -E2BIG over what may be read. */
int remote_pages_read(struct remote_pages *pages, uint64_t address, void *buffer, size_t bytes);

/** Reads a string with its NUL into @size bytes; -E2BIG if it is longer. */
int remote_pages_read_string(struct remote_pages *pages, uint64_t address, char *text, size_t size);

#endif
