/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A page cache for reads of many small chunks of a process's memory, so that most reads need no system call. Use
 * it for one short look only, at memory that does not change meanwhile, or whose changes do not matter.
 */
#ifndef INTERPRETERS_JAVA_REMOTE_PAGES_H
#define INTERPRETERS_JAVA_REMOTE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/host/remote_memory.h"

enum {
	REMOTE_PAGE_BYTES = 4096,
	/** A power of two; half a MiB in total. */
	REMOTE_PAGE_COUNT = 128,
};

struct remote_page {
	/** Address / REMOTE_PAGE_BYTES + 1; 0: empty. */
	uint64_t number;
	uint8_t bytes[REMOTE_PAGE_BYTES];
};

/** Owned by one thread. */
struct remote_pages {
	/** Borrowed. */
	struct remote_memory *memory;
	/** Number of bytes that may still be read from the process. */
	uint64_t bytes_left;
	struct remote_page *pages;
};

/** @max_bytes: reading more fails. -ENOMEM. */
int remote_pages_init(struct remote_pages *pages, struct remote_memory *memory, uint64_t max_bytes);
void remote_pages_deinit(struct remote_pages *pages);

/** Reads exactly @bytes bytes; -EFAULT, -ESRCH, -E2BIG over the limit. */
int remote_pages_read(struct remote_pages *pages, uint64_t address, void *buffer, size_t bytes);

/** Reads a string with its NUL into @size bytes; -E2BIG if it is longer. */
int remote_pages_read_string(struct remote_pages *pages, uint64_t address, char *text, size_t size);

#endif
