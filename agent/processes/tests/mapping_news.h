/* SPDX-License-Identifier: Apache-2.0 */
/** Events of mappings for tests of process.h. */
#ifndef AGENT_PROCESSES_TESTS_MAPPING_NEWS_H
#define AGENT_PROCESSES_TESTS_MAPPING_NEWS_H

#include "agent/processes/process.h"

/** Notes a mapping of a file that no row is of. */
static inline enum mapping_news note_mapping(struct process_table *table, uint32_t pid,
					     uint64_t start, uint64_t length, uint64_t time_ns)
{
	const struct side_band_event event = {
		.type = SIDE_BAND_MAPPING,
		.time_ns = time_ns,
		.pid = pid,
		.start = start,
		.length = length,
		.path = "",
	};

	return process_table_note_mapping(table, &event);
}

#endif
