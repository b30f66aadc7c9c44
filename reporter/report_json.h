/* SPDX-License-Identifier: Apache-2.0 */
/** The report of a run or of an opened profile as JSON (docs/output.md), for scripts: all processes and all functions. */
#ifndef REPORTER_REPORT_JSON_H
#define REPORTER_REPORT_JSON_H

#include <stdio.h>

#include "lib/model/profile_facts.h"
#include "reporter/cost_table.h"
#include "reporter/function_counts.h"
#include "reporter/profile_info.h"

/**
 * Writes one object and a line end. @counts are those of @snapshot, or values of @type if that is not NULL. Functions are in the
 * order of their own values. @snapshot may be NULL, and @costs, which become the object "costs". -ENOMEM; write errors stay in @out (ferror()).
 */
int report_json_write(FILE *out, const struct function_counts *counts,
		      const struct sample_snapshot *snapshot, const struct profile_info *info,
		      const struct value_type *type, const struct cost_table *costs);

#endif
