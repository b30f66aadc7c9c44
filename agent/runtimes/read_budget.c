/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths come from hostile memory, so sums are made without overflow. */
#include "agent/runtimes/read_budget.h"

#include <errno.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"

void read_budget_begin_stack(struct read_budget *budget, uint64_t now_ns)
{
	uint64_t passed_ms = (now_ns - budget->refilled_ns) / NS_PER_MS;

	budget->spent_for_stack = 0;
	if (!passed_ms)
		return;
	budget->refilled_ns += passed_ms * NS_PER_MS;
	if (passed_ms > READ_BUDGET_BURST_BYTES / READ_BUDGET_BYTES_PER_MS ||
	    passed_ms * READ_BUDGET_BYTES_PER_MS > budget->spent)
		budget->spent = 0;
	else
		budget->spent -= passed_ms * READ_BUDGET_BYTES_PER_MS;
}

static int read_within_budget(struct remote_memory *memory, uint64_t address, void *buffer,
			      size_t bytes)
{
	struct budgeted_memory *budgeted = (struct budgeted_memory *)memory;
	struct read_budget *budget = budgeted->budget;

	if (bytes > READ_BUDGET_STACK_BYTES)
		return fail(-EAGAIN, "%zu bytes for one stack", bytes);
	budget->spent += bytes + READ_BUDGET_PER_READ;
	budget->spent_for_stack += bytes + READ_BUDGET_PER_READ;
	if (budget->spent > READ_BUDGET_BURST_BYTES ||
	    budget->spent_for_stack > READ_BUDGET_STACK_BYTES) {
		budget->spent -= bytes + READ_BUDGET_PER_READ;
		return fail(-EAGAIN, "names take too much reading");
	}
	return remote_memory_read(budgeted->source, address, buffer, bytes);
}

void budgeted_memory_init(struct budgeted_memory *memory, struct remote_memory *source,
			  struct read_budget *budget)
{
	static const struct remote_memory_ops ops = { .read = read_within_budget };

	*memory = (struct budgeted_memory){ .memory = { .ops = &ops },
					    .source = source,
					    .budget = budget };
}
