/* SPDX-License-Identifier: Apache-2.0 */
/** The costs of the agent's own machine's processes by pid (reporter/cost_table.h), for one answer of the page. */
#ifndef VIEWER_PROCESS_COSTS_H
#define VIEWER_PROCESS_COSTS_H

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "reporter/cost_table.h"
#include "viewer/api.h"

VECTOR_DEFINE(costs_sum_vector, struct costs_sum)

/** All bytes zero: costs are not counted. */
struct process_costs_by_pid {
	struct cost_facts facts;
	bool is_counted;
	/** Indexes of `sums` by pid. */
	struct hash_map indexes;
	struct costs_sum_vector sums;
	bool has_failed;
};

/** Reads the costs of all processes; nothing if @config has none. -ENOMEM. */
int process_costs_read(struct process_costs_by_pid *costs, const struct api_config *config);
void process_costs_deinit(struct process_costs_by_pid *costs);

/** The costs of the processes that had the pid @pid; NULL if they are not known. */
const struct costs_sum *process_costs_find(const struct process_costs_by_pid *costs, uint32_t pid);

#endif
