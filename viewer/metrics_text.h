/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Writes the table of metrics (reporter/metric_table.h) as text for Prometheus: its text format 0.0.4
 * (prometheus.io/docs/instrumenting/exposition_formats), or OpenMetrics 1.0 (prometheus.io/docs/specs/om/open_metrics_spec).
 * A name has the unit at its end, if that is seconds or bytes, and "_total" if it is a counter.
 */
#ifndef VIEWER_METRICS_TEXT_H
#define VIEWER_METRICS_TEXT_H

#include <stdbool.h>

#include "lib/base/text_builder.h"
#include "reporter/metric_table.h"

#define METRICS_TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define OPEN_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/** True if a client with the header @accept, or NULL, prefers OpenMetrics 1.0 to plain text (RFC 9110, 12.5.1). */
bool metrics_text_is_open(const char *accept);

void metrics_text_append(struct text_builder *text, const struct metric_table *table, bool is_open);

#endif
