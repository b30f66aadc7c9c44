/* SPDX-License-Identifier: Apache-2.0 */
/** The costs of processes and cgroups, as a part of the report for people and of the one in JSON (docs/accounting.md). */
#ifndef REPORTER_COST_REPORT_H
#define REPORTER_COST_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "lib/base/text_builder.h"
#include "reporter/cost_table.h"

/**
 * Appends two tables, of processes and of cgroups, each with an empty line before it. The cgroups are left out if there is one only.
 * Columns that do not fit into @columns, or that this machine cannot count, are left out. -ENOMEM.
 */
int cost_report_append(const struct cost_table *table, uint32_t columns, bool has_colours,
		       struct text_builder *text);

/** Writes one object, without a line end: all processes and all cgroups, those with the most run time first. -ENOMEM. */
int cost_report_write_json(FILE *out, const struct cost_table *table);

#endif
