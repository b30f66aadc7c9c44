/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The costs of processes and cgroups as metrics: families of the table of metrics (metric_table.h), with a row for each of the
 * processes that use most (cost_series.h), one for all others and one for idle CPUs. What this machine does not count has no family.
 * Rows come from the kernel side's as they are read, so that a value is only ever added to. Not thread-safe.
 */
#ifndef REPORTER_COST_METRICS_H
#define REPORTER_COST_METRICS_H

#include "reporter/cost_series.h"
#include "reporter/cost_table.h"
#include "reporter/metric_table.h"

/** All bytes zero: nothing is counted yet. */
struct cost_metrics {
	struct cost_series_set processes;
	struct cost_series_set cgroups;
	struct costs_sum idle;
	/** For a round. */
	struct cost_candidate_vector candidates;
};

enum {
	/** A process that used less in a round becomes no series. */
	COST_METRICS_MIN_NS = 5000000,
};

void cost_metrics_deinit(struct cost_metrics *metrics);

void cost_metrics_add(struct cost_metrics *metrics, const struct cost_row *row, bool is_idle);

/** Joules by enum energy_kind; @key as of cost_table_add_energy(). */
void cost_metrics_add_energy(struct cost_metrics *metrics, const struct cost_key *key,
			     uint64_t cgroup_id, const double joules[ENERGY_KIND_COUNT]);
void cost_metrics_add_idle_energy(struct cost_metrics *metrics,
				  const double joules[ENERGY_KIND_COUNT]);

/** Ends a round: decides which processes and cgroups of @table are shown. @now_ns: since 1970. -ENOMEM. */
int cost_metrics_choose(struct cost_metrics *metrics, struct cost_table *table, uint64_t now_ns);

/** Appends the families to @to. @sources as of the table of costs. */
void cost_metrics_put(const struct cost_metrics *metrics, uint32_t sources,
		      struct metric_table *to);

#endif
