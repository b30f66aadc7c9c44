/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The agent's metrics for other programs, as families with rows. This is the one table that Prometheus's text
 * (viewer/metrics_text.h) and OTLP (reporter/otlp_metrics.h) are written from. Its values come from the table of
 * metrics (lib/model/metrics.h), the summary's classes of ticks (reporter/summary.h) and the process's own usage.
 *
 * Names and units are those of OpenTelemetry: "allframes.oldest_sample_age" in "s", "By" for bytes, "{sample}" for
 * what is counted (unitsofmeasure.org). Prometheus's names are made from them: "allframes_oldest_sample_age_seconds"
 * (opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics).
 *
 * Metrics of processes, or of anything else that comes and goes, are families whose rows have labels (cost_metrics.h). Such
 * rows must be limited: the largest of them, and one with the sum of the rest.
 */
#ifndef REPORTER_METRIC_TABLE_H
#define REPORTER_METRIC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "lib/host/process_usage.h"
#include "lib/model/metrics.h"
#include "reporter/sample_totals.h"

enum { METRIC_FAMILY_NAME_BYTES = 96, METRIC_LABELS_MAX = 6 };

enum metric_family_kind {
	/** A sum that never falls while the agent runs. */
	FAMILY_COUNTER,
	/** A number of what is there now; numbers of several agents can be added up. */
	FAMILY_UP_DOWN_COUNTER,
	/** A value of now, such as an age. */
	FAMILY_GAUGE,
};

/** Strings are static. */
struct metric_family {
	/** OpenTelemetry's name; "" if the family is not for OTLP. */
	char name[METRIC_FAMILY_NAME_BYTES];
	/** Prometheus's name, without "_total", where programs have agreed on another; else NULL. */
	const char *prometheus_name;
	/** UCUM; "" for numbers without a unit. */
	const char *unit;
	/** Begins in lower case, without a full stop. */
	const char *meaning;
	enum metric_family_kind kind;
	size_t first_row;
	size_t row_count;
};

/** The value is any text. */
struct metric_label {
	const char *key;
	const char *value;
};

/** Strings are borrowed from whoever filled the table. */
struct metric_row {
	struct metric_label labels[METRIC_LABELS_MAX];
	uint32_t label_count;
	/** When its sum began at 0, ns since 1970; 0: when the agent was started. */
	uint64_t start_ns;
	bool is_fraction;
	/** The value: @fraction if is_fraction. */
	uint64_t number;
	double fraction;
};

VECTOR_DEFINE(metric_family_vector, struct metric_family)
VECTOR_DEFINE(metric_row_vector, struct metric_row)
VECTOR_DEFINE(metric_text_vector, char *)

/** Owner: the thread that fills it. All bytes zero is an empty table. */
struct metric_table {
	struct metric_family_vector families;
	struct metric_row_vector rows;
	/** Copies that the table owns. */
	struct metric_text_vector texts;
	/** No memory for a part of it. */
	bool failed;
};

struct metric_table_input {
	const struct metrics_snapshot *metrics;
	const struct sample_totals *samples;
	const struct process_usage *usage;
	/** When the agent was started, ns since 1970, and its version. */
	uint64_t start_ns;
	const char *version;
};

void metric_table_fill(struct metric_table *table, const struct metric_table_input *input);

/** Begins a family: rows that are added next belong to it. */
void metric_table_begin(struct metric_table *table, const struct metric_family *family);
void metric_table_put(struct metric_table *table, const struct metric_row *row);
/** A copy of @text for labels, which the table owns; "" without memory. */
const char *metric_table_copy(struct metric_table *table, const char *text);

void metric_table_deinit(struct metric_table *table);

/** The UCUM unit of a unit of lib/model/metrics.h ("samples": "{sample}"); NULL if it is not known. */
const char *metric_table_unit(const char *unit);

#endif
