/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads the text profiles that pprof had before its messages, and that Go and gperftools still write: heap and growth of the
 * heap, contention and mutexes, threads, and Go's counts (goroutine, threadcreate). Formats: pprof's
 * profile/legacy_profile.go, Go's runtime/pprof/pprof.go, jemalloc's src/prof_data.c. The text is hostile.
 */
#ifndef VIEWER_OPEN_OPEN_PPROF_TEXT_H
#define VIEWER_OPEN_OPEN_PPROF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "viewer/open/opened_samples.h"

/** True if the first line is that of such a profile. */
bool is_pprof_text(const char *text, size_t count);

/**
 * Adds the samples to *@opened; @text ends with a NUL at @count and is changed. -EBADMSG or -E2BIG with a text for users, or
 * -ENOMEM.
 */
int open_pprof_text(char *text, size_t count, struct opened_samples *opened);

#endif
