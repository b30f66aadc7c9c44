/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A decoded ExportMetricsServiceRequest of OTLP 1.10. Only the wire format is checked. Gauges and sums are decoded; of
 * other kinds of metrics only the name is.
 */
#ifndef INTEGRATION_COLLECTOR_METRICS_MESSAGE_H
#define INTEGRATION_COLLECTOR_METRICS_MESSAGE_H

#include "integration/collector/otlp_message.h"

enum metric_kind {
	METRIC_NONE,
	METRIC_GAUGE,
	METRIC_SUM,
	METRIC_OTHER,
};

struct otlp_point {
	/** Range in key_values. */
	struct range attributes;
	uint64_t start_ns;
	uint64_t time_ns;
	bool has_number;
	double number;
};

struct otlp_metric {
	struct span name;
	struct span description;
	struct span unit;
	enum metric_kind kind;
	uint64_t temporality;
	bool is_monotonic;
	/** Range in points. */
	struct range points;
};

struct metrics_scope {
	bool has_scope;
	struct span name;
	/** Range in metrics. */
	struct range metrics;
};

struct metrics_resource {
	bool has_resource;
	/** Range in key_values. */
	struct range attributes;
	/** Range in scopes. */
	struct range scopes;
};

VECTOR_DEFINE(point_vector, struct otlp_point)
VECTOR_DEFINE(metric_vector, struct otlp_metric)
VECTOR_DEFINE(metrics_scope_vector, struct metrics_scope)
VECTOR_DEFINE(metrics_resource_vector, struct metrics_resource)

/** Borrows the bytes that it was decoded from. Initialize with zeros. */
struct metrics_message {
	struct metrics_resource_vector resources;
	struct metrics_scope_vector scopes;
	struct metric_vector metrics;
	struct point_vector points;
	struct key_value_vector key_values;
};

/**
 * Decodes @bytes into a zeroed @message as far as possible; malformed parts are reported in @findings. 0 or -ENOMEM.
 */
int metrics_message_decode(struct metrics_message *message, struct span bytes,
			   struct findings *findings);
void metrics_message_deinit(struct metrics_message *message);

#endif
