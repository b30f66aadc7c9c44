/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The stack table, for people: `42.5% comm;root;...;leaf`, most frequent first. The shares are of
 * all busy samples in the table.
 */
#ifndef REPORTER_STACK_TABLE_H
#define REPORTER_STACK_TABLE_H

#include <stdio.h>

#include "reporter/stack_counts.h"

/** Write errors stay in @out (ferror()). */
void stack_table_write(FILE *out, const struct stack_counts *counts);

#endif
