/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The stack table, for people: `42.5% comm;root;...;leaf`, most frequent first. The shares are of
 * all busy samples in the table. Comments stand before it: `# host: box`.
 */
#ifndef REPORTER_STACK_TABLE_H
#define REPORTER_STACK_TABLE_H

#include <stdio.h>

#include "reporter/profile_info.h"
#include "reporter/stack_counts.h"

/** -ENOMEM; write errors stay in @out (ferror()). */
int stack_table_write(FILE *out, const struct stack_counts *counts,
		      const struct sample_snapshot *snapshot, const struct profile_info *info);

#endif
