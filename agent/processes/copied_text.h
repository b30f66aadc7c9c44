/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Text that a process has copied from its file into anonymous memory at the same address, mostly to get huge
 * pages. It still counts as the file's text if its bytes are the same. The earlier mapping is known from the
 * last sync, or from other parts of the file that are mapped below or above it.
 */
#ifndef AGENT_PROCESSES_COPIED_TEXT_H
#define AGENT_PROCESSES_COPIED_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/process.h"
#include "agent/runtimes/runtime_home.h"
#include "lib/host/proc_maps.h"

/** A mapping, and the file whose text was mapped there before. */
struct copied_text {
	uint64_t start;
	uint64_t end;
	/** Borrowed. */
	struct executable *executable;
	uint64_t bias;
};

/**
 * Whether an executable on a local file system was mapped in [@start, @end), according to the @count sorted
 * mappings @known. *@text then has the executable and its part of the range.
 */
bool copied_text_find(const struct process_mapping *known, uint32_t count, uint64_t start,
		      uint64_t end, struct copied_text *text);

/**
 * Whether code of @executable, on a local file system, belongs in [@start, @end) if @part is a mapping of its file. *@text
 * then has the executable and its part of the range.
 */
bool copied_text_find_beside(struct executable *executable, const struct proc_mapping *part,
			     uint64_t start, uint64_t end, struct copied_text *text);

/**
 * Sets *@is_equal to whether the bytes of @text in the process's memory equal the file's, in a bounded number
 * of pages. Reads the file. @home reads the memory, since memory that was anonymous a moment ago may by now be
 * a file that never answers. -EAGAIN: not known yet.
 */
int copied_text_is_equal(const struct copied_text *text, struct runtime_home *home,
			 const char *proc_root, uint32_t pid, bool *is_equal);

#endif
