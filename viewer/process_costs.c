/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/process_costs.h"

#include <errno.h>

static void take_process(void *context, const struct process_costs *process)
{
	struct process_costs_by_pid *costs = context;
	uint64_t index = costs->sums.count;

	if (!process->key.pid || costs->has_failed)
		return;
	if (hash_map_find(&costs->indexes, process->key.pid, &index)) {
		costs_sum_add(&costs->sums.items[index], &process->sum);
		return;
	}
	costs->has_failed = costs_sum_vector_push(&costs->sums, process->sum) ||
			    hash_map_set(&costs->indexes, process->key.pid, index);
}

int process_costs_read(struct process_costs_by_pid *costs, const struct api_config *config)
{
	if (!config->read_costs)
		return 0;
	costs->is_counted = config->read_costs(config->context, take_process, costs, &costs->facts);
	return costs->has_failed ? -ENOMEM : 0;
}

void process_costs_deinit(struct process_costs_by_pid *costs)
{
	hash_map_deinit(&costs->indexes);
	costs_sum_vector_deinit(&costs->sums);
}

const struct costs_sum *process_costs_find(const struct process_costs_by_pid *costs, uint32_t pid)
{
	uint64_t index;

	return hash_map_find(&costs->indexes, pid, &index) ? &costs->sums.items[index] : NULL;
}
