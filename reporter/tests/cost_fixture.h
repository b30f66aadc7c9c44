/* SPDX-License-Identifier: Apache-2.0 */
/** Rows as the kernel side makes them. */
#ifndef REPORTER_TESTS_COST_FIXTURE_H
#define REPORTER_TESTS_COST_FIXTURE_H

#include <string.h>

#include "lib/base/clock.h"
#include "reporter/cost_table.h"

static inline struct cost_row cost_fixture_row(uint32_t pid, const char *comm, uint64_t ms)
{
	struct cost_row row = {
		.key = { .start_time_ns = pid * NS_PER_MS, .id = pid, .pid = pid },
		.cgroup_id = 1,
		.run_time_ns = ms * NS_PER_MS,
		.run_count = 2,
		.page_reads = 30,
		.page_writes = 4,
	};

	strncpy(row.comm, comm, sizeof(row.comm) - 1);
	row.softirqs[1] = 5;
	row.softirqs[9] = 6;
	return row;
}

#endif
