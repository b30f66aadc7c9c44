/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Text that a process has copied out of its file into anonymous memory at the same place, mostly to
 * have it in huge pages: it is the file's as before, if its bytes are. What was mapped there before
 * is known from the last sync; a process whose text was copied before that stays without.
 */
#ifndef AGENT_PROCESSES_COPIED_TEXT_H
#define AGENT_PROCESSES_COPIED_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/process.h"
#include "agent/runtimes/runtime_home.h"

/** Where a mapping lies, and where a file's text was mapped before. */
struct copied_text {
	uint64_t start;
	uint64_t end;
	/** Borrowed from what was known. */
	struct executable *executable;
	uint64_t bias;
};

/**
 * Whether one executable, on a local file system, was mapped in [@start, @end) according to the
 * @count sorted mappings @known: then *@text says which, and in which part of the range.
 */
bool copied_text_find(const struct process_mapping *known, uint32_t count, uint64_t start,
		      uint64_t end, struct copied_text *text);

/**
 * *@is_equal: whether the bytes of @text in the process's memory are those of the file, as far as a bounded
 * number of its pages tells. Reads the file, and has @home read the memory: what was anonymous a moment ago may be a file
 * by now that never answers. -EAGAIN: not known yet.
 */
int copied_text_is_equal(const struct copied_text *text, struct runtime_home *home,
			 const char *proc_root, uint32_t pid, bool *is_equal);

#endif
