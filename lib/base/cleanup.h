/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Scope guards: `_cleanup_(free_pointer) char *text = NULL;` frees when the scope is left.
 */
#ifndef LIB_BASE_CLEANUP_H
#define LIB_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

static inline void free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

/** Hands the value of @pointer to the caller and disarms its guard. */
#define take_pointer(pointer)                                                                      \
	({                                                                                         \
		__typeof__(pointer) taken = (pointer);                                             \
		(pointer) = NULL;                                                                  \
		taken;                                                                             \
	})

/** As take_pointer(), for a file descriptor. */
#define take_fd(fd)                                                                                \
	({                                                                                         \
		int taken = (fd);                                                                  \
		(fd) = -1;                                                                         \
		taken;                                                                             \
	})

#endif
