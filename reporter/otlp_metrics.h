/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The table of metrics (metric_table.h) to OTLP: one ExportMetricsServiceRequest of the OpenTelemetry protocol 1.10, as
 * proto/otlp_metrics.proto describes it. Sums are cumulative since the start of the agent. The resource is the agent:
 * the host's attributes and the tags of profiles, service.name, service.version, service.instance.id and process.pid.
 */
#ifndef REPORTER_OTLP_METRICS_H
#define REPORTER_OTLP_METRICS_H

#include "reporter/metric_table.h"
#include "reporter/otlp_profile.h"

#define OTLP_METRICS_SERVICE "allframes"

/** Times of all points: ns since 1970. */
struct otlp_metrics_times {
	uint64_t start;
	uint64_t now;
};

/** Encodes the families of @table that are for OTLP; its sample_count is the number of data points. -ENOMEM. */
int otlp_metrics_encode(const struct metric_table *table, const struct otlp_options *options,
			const struct otlp_metrics_times *times, struct otlp_request *request);

#endif
