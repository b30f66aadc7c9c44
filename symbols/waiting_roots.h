/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Roots of processes that ran a binary whose DWARF waits to be read: the process may be gone by then. For a second
 * only, since the file system of a root that is held cannot be unmounted.
 */
#ifndef SYMBOLS_WAITING_ROOTS_H
#define SYMBOLS_WAITING_ROOTS_H

#include <stddef.h>
#include <stdint.h>

enum {
	WAITING_ROOTS_MAX = 256,
};

struct waiting_root {
	uint64_t executable_id;
	uint64_t since_ns;
	int fd;
};

/** All bytes zero: none. The oldest first. */
struct waiting_roots {
	struct waiting_root roots[WAITING_ROOTS_MAX];
	size_t count;
};

/** Keeps a copy of @fd, if there is room. */
void waiting_roots_add(struct waiting_roots *waiting, uint64_t executable_id, int fd,
		       uint64_t now_ns);

/** The caller's; -1 if there is none. */
int waiting_roots_take(struct waiting_roots *waiting, uint64_t executable_id);

/** Closes those that were added more than a second before. */
void waiting_roots_close_old(struct waiting_roots *waiting, uint64_t now_ns);

#endif
