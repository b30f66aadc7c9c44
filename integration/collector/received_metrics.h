/* SPDX-License-Identifier: Apache-2.0 */
/**
 * All metrics that the collector has received: each request is checked by the rules of metrics, and each series, a name
 * with attributes, is kept with its last value.
 */
#ifndef INTEGRATION_COLLECTOR_RECEIVED_METRICS_H
#define INTEGRATION_COLLECTOR_RECEIVED_METRICS_H

#include <stdio.h>

#include "integration/collector/metrics_message.h"
#include "lib/base/hash_map.h"

enum {
	/** Limits of the data that is kept; longer text is cut. */
	METRIC_SERIES_MAX = 10000,
	METRIC_TEXT_BYTES = 512,
};

struct metric_series {
	char name[METRIC_TEXT_BYTES];
	char unit[METRIC_TEXT_BYTES];
	/** "key=value key=value"; "" if there are none. */
	char attributes[METRIC_TEXT_BYTES];
	/** "gauge", "counter" or "up_down_counter". */
	const char *kind;
	uint64_t start_ns;
	uint64_t time_ns;
	double value;
	/** Points of the series, repeats of a request included. */
	uint64_t points;
};

VECTOR_DEFINE(metric_series_vector, struct metric_series)

/** Owner: the server's thread. Initialize with zeros. */
struct received_metrics {
	uint64_t requests;
	/** Requests that were taken, and their points. */
	uint64_t taken;
	uint64_t taken_points;
	/** Attributes of the last resource: "key=value key=value". */
	char resource[METRIC_TEXT_BYTES];
	struct metric_series_vector series;
	/** Maps name and attributes to the index of the series. */
	struct hash_map indices;
};

void received_metrics_deinit(struct received_metrics *received);

/** Checks and counts a request. @now_ns is CLOCK_REALTIME. 0 or -ENOMEM. */
int received_metrics_add(struct received_metrics *received, struct span bytes, uint64_t now_ns,
			 bool is_taken, struct findings *findings);

/** Writes the member "metrics" of the report. */
void received_metrics_write_report(const struct received_metrics *received, FILE *out);

#endif
